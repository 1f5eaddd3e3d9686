/** The text format of Prometheus, read as strictly as these tests need. */

export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** Without what is not known yet. @throws Error for a line that is neither a comment nor a sample */
export function parseMetrics(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.endsWith(' Nan'))
    .map((line) => {
      const [, name, labels = '', value] = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? []
      if (name === undefined || Number.isNaN(Number(value))) throw new Error(`no sample: ${line}`)
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key!, text!])
      return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }
    })
}

/** The sum of the samples with this name that have these labels among theirs; 0 where there are none. */
export function sumOf(text: string, name: string, labels: Record<string, string> = {}): number {
  return parseMetrics(text)
    .filter((one) => one.name === name && Object.entries(labels).every(([key, of]) => one.labels[key] === of))
    .reduce((sum, { value }) => sum + value, 0)
}
