// Owns how figures are written: tables, and numbers in them.

/** The first column, and one that is called `tables`, are text, the others are numbers. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = columns.map((name, index) => (index === 0 || name === 'tables' ? '---' : '--:'))
  return [columns, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

export function whole(value: number | undefined): string {
  return value !== undefined && Number.isFinite(value) ? value.toFixed(0) : '–'
}

export function factor(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(2)
}

export function times(milliseconds: number): string {
  return `${milliseconds.toFixed(1)} ms`
}

/** `1 234 567`, as the pages write it. */
export function grouped(value: number): string {
  return whole(value).replaceAll(/\B(?=(\d{3})+$)/g, ' ')
}
