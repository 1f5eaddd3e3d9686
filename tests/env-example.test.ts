/** `.env.example` is what operators copy: it must name every setting, with its default, and none that is gone. */
import { execFile } from 'node:child_process'
import { glob, readFile } from 'node:fs/promises'
import { parseEnv, promisify } from 'node:util'
import { expect, test } from 'vitest'
import { describeSettings } from '../src/config.ts'

const run = promisify(execFile)
const text = await readFile(new URL('../.env.example', import.meta.url), 'utf8')
const lines = [...text.matchAll(/^# ([A-Z][A-Z0-9_]*=.*)$/gm)].map(([, line]) => line!)
const shown = new Map(Object.entries(parseEnv(lines.join('\n'))))

test('.env.example names every setting and no other', () => {
  expect([...shown.keys()].toSorted()).toEqual(
    describeSettings()
      .map(({ name }) => name)
      .toSorted(),
  )
})

test('.env.example shows each default as it is', () => {
  const defaults = describeSettings().filter(
    ({ default: fallback }) => fallback !== undefined && !Array.isArray(fallback),
  )
  expect(defaults.map(({ name }) => [name, shown.get(name)])).toEqual(
    defaults.map(({ name, default: fallback }) => [name, `${fallback as string | number | boolean}`]),
  )
})

/** Settings that a page shows alone on a line: of those before a command a shell alone makes sense. */
async function settingsOfPages(): Promise<string[]> {
  const names = new Set(describeSettings().map(({ name }) => name))
  const found: string[] = []
  for await (const page of glob('{docs/*.md,README.md}', { cwd: new URL('..', import.meta.url) }))
    for (const line of (await readFile(new URL(`../${page}`, import.meta.url), 'utf8')).split('\n')) {
      const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? []
      if (name !== undefined && names.has(name) && !/\$|(?:npm start|node --test \S+)$/.test(value!))
        found.push(line)
    }
  return found
}

/** What a shell makes of each line. */
const SHELL = `for line; do
  (eval "$line" && eval "printf %s \\"\\$\${line%%=*}\\"") 2> /dev/null
  printf '\\n'
done`

test('.env.example and the pages show values that node --env-file and a shell read alike', async () => {
  const all = [...lines, ...(await settingsOfPages())]
  const { stdout } = await run('sh', ['-uc', SHELL, 'sh', ...all], { env: {} })
  const read = stdout.split('\n')
  expect(all.filter((line, at) => read[at] !== Object.values(parseEnv(line))[0])).toEqual([])
})
