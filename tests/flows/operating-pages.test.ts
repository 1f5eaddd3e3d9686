/** docs/metrics.md and docs/doctor.md: their commands as they stand there, and that they name what there is. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parseMetrics } from '../support/metrics.ts'
import { spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

/** A page, and its command blocks in their order. */
async function read(page: string): Promise<{ text: string; commands: string[] }> {
  const text = await readFile(join(root, 'docs', page), 'utf8')
  return { text, commands: [...text.matchAll(/\n```sh\n([\s\S]*?)\n```\n/g)].map(([, block]) => block!) }
}

const METRICS_PORT = await freePort()
const server = await spawnServer({ METRICS_PORT })
const env = {
  ...Object.fromEntries(Object.entries(server.settings).map(([name, value]) => [name, String(value)])),
  PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
}
const sh = async (command: string): Promise<string> => {
  const { stdout, stderr } = await run('sh', ['-euc', command], { cwd: root, env })
  expect(stderr).toBe('')
  return stdout
}

test('docs/metrics.md: the command shows the metrics, the table names each, and the alerts none other', async () => {
  const { text, commands } = await read('metrics.md')
  expect(commands).toHaveLength(1)
  await server.get('/jwks')
  const shown = parseMetrics(await sh(commands[0]!.replace(':9464', `:${METRICS_PORT}`)))
  const all = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text()
  const offered = [...all.matchAll(/^# TYPE (latchkey_\S+)/gm)].map(([, name]) => name!)
  expect(offered.length).toBeGreaterThan(10)
  const base = (name: string): string => name.replace(/_(?:bucket|count|sum)$/, '')
  for (const { name } of shown) expect(offered).toContain(base(name))
  const [, table = '', alerts = ''] = text.split(/\n## /)
  const tabled = [...table.matchAll(/^\| `(latchkey_\w+)`/gm)].map(([, name]) => name!)
  const hereOnly = tabled.filter((name) => !/_(?:distribut|prepared|everywhere|replica)/.test(name))
  expect(hereOnly.toSorted()).toEqual(offered.toSorted())
  const alerted = [...alerts.matchAll(/\b(latchkey_\w+)/g)].map(([, name]) => base(name!))
  expect(alerted.length).toBeGreaterThan(5)
  expect(tabled).toEqual(expect.arrayContaining(alerted))
})

test('docs/doctor.md: both commands, and every check that they print', async () => {
  const { text, commands } = await read('doctor.md')
  // The third is of a client, whom `tests/commands/doctor-client.test.ts` has.
  expect(commands).toHaveLength(3)
  const [lines, json] = [await sh(commands[0]!), await sh(commands[1]!)]
  const { ok, findings } = JSON.parse(json) as { ok: boolean; findings: Record<string, string>[] }
  expect(ok).toBe(true)
  const timeless = (line: string): string => line.replace(/\d{4}-\S+Z/, 'now')
  expect(lines.trim().split('\n').map(timeless)).toEqual(
    findings.map(({ status, check, says }) => timeless(`${status!.padEnd(4)}  ${check}: ${says}`)),
  )
  for (const { check } of findings) expect(text).toContain(`\`${check}\``)
})
