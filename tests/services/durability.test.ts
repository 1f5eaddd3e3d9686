/** What a database that was told not to be sure may lose, and who is told. */
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { lossesOf } from '../../src/services/durability.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { runCommandHere } from '../support/command-here.ts'
import { spawnServer } from '../support/process.ts'
import { prepare } from '../support/settings.ts'

const main = resolve(import.meta.dirname, '../../src/main.ts')

const SURE = { fsync: true, fullPageWrites: true, synchronousCommit: 'on' }

test('each setting that is off has a sentence, which says what is lost and what to do', () => {
  expect(lossesOf(SURE)).toEqual([])
  for (const [name, given] of [
    ['fsync', { fsync: false }],
    ['full_page_writes', { fullPageWrites: false }],
    ['synchronous_commit', { synchronousCommit: 'off' }],
  ] as const)
    expect(lossesOf({ ...SURE, ...given })).toEqual([
      expect.stringMatching(new RegExp(`^Its ${name} is off, so a crash .*: turn it on.*\\.$`)),
    ])
})

/** The database of the tests has neither fsync nor full_page_writes. */
async function notSure(): Promise<TestDatabase> {
  const database = await createDatabase()
  await database.query(
    `alter database ${new URL(database.url).pathname.slice(1)} set synchronous_commit = off`,
  )
  return database
}

const SAID = /"level":"warn",[^\n]*THE DATABASE MAY LOSE WHAT WE ACKNOWLEDGE. Its (\w+) is off/g
const saidIn = (output: string): string[] => Array.from(output.matchAll(SAID), ([, name]) => name!)

test('a production start says so in its log', async () => {
  const given = { NODE_ENV: 'production', OIDC_ISSUER: 'https://id.example' }
  const { settings } = await prepare(given, { database: await notSure() })
  const env = Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value)]))
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  atEndOfFile(async () => child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await expect
    .poll(() => saidIn(output), { timeout: 90_000 })
    .toEqual(['fsync', 'full_page_writes', 'synchronous_commit'])
})

test('a development start does not', async () => {
  const server = await spawnServer({}, { database: await notSure() })
  await expect.poll(server.output).toContain('"msg":"ready"')
  await server.stop()
  expect(saidIn(server.output())).toEqual([])
})

test('doctor says so too', async () => {
  const { url } = await createDatabase()
  const { stdout } = await runCommandHere(['doctor'], { DATABASE_URL: url, SECRET_KEY: 'k'.repeat(40) })
  expect(stdout).toMatch(
    /^warn {2}database: Its fsync is off, so a crash .*\nwarn {2}database: Its full_page_writes is off/m,
  )
})
