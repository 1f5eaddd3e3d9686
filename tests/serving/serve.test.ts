/** Starts that are refused, the default port, and what a development start prints. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseEnv, promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { Finding } from '../../src/doctor/finding.ts'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { runCommandHere } from '../support/command-here.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { statusOf } from '../support/service.ts'

const database = await createDatabase()
const settings = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(40) }

/** Listens on a port, or leaves it to whoever has it already. */
async function occupy(port: number): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1')
  atEndOfFile(async () => server.close())
  await Promise.race([once(server, 'listening'), once(server, 'error').then(() => {})]).catch(() => {})
  return (server.address() as AddressInfo | null)?.port ?? port
}

test('a port that was set and is taken is refused by its name', async () => {
  const port = await occupy(0)
  const { status, stderr } = await runCommand(['serve'], { ...settings, PORT: port })
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `PORT ${port} on 127.0.0.1 is in use. Set another PORT, or leave it out: then the next free one is taken.\n`,
  })
})

/** What `doctor` finds who was not told of the port either. */
async function issuerByDoctor(): Promise<string | undefined> {
  const { stdout } = await runCommandHere(['doctor', '--json'], settings)
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  return findings.find(({ check }) => check === 'issuer')?.status
}

/** What a command names that is run in the same directory, and was told of neither. */
async function issuerByCommand(DATA_DIR: string): Promise<string | undefined> {
  const create = ['client', 'create', '--redirect-uris', 'https://app.example/back', '--env']
  const { stdout } = await runCommandHere(create, { ...settings, DATA_DIR })
  return parseEnv(stdout)['OIDC_ISSUER']
}

test.each([
  ['the default port moves on when it is taken, which is said', { WORKERS: '1' }, true],
  ['the default port of workers moves on when it is taken, which is said', { WORKERS: '2' }, true],
  ['port 0 is any that is free', { PORT: '0' }, false],
])('%s, and the issuer with it', async (_name, given, said) => {
  await occupy(3000)
  const { PATH, HOME } = process.env
  const main = resolve(import.meta.dirname, '../../src/main.ts')
  const cwd = await temporaryDirectory()
  const child = spawn(process.execPath, [main], { env: { PATH, HOME, ...settings, ...given }, cwd })
  atEndOfFile(async () => child.kill('SIGKILL'))
  let issuer = ''
  let printed = ''
  for await (const line of createInterface(child.stdout)) {
    printed += line
    issuer = /"issuer":"([^"]*)".*"msg":"ready"/.exec(line)?.[1] ?? issuer
    // Of several workers, the first says it, and another may be ready before.
    if (issuer !== '' && (!said || printed.includes(' is in use: '))) break
  }
  const { port } = new URL(issuer)
  expect(Number(port)).toBeGreaterThan(3000)
  expect(printed.includes(`3000 is in use: ${port}`)).toBe(said)
  const discovery = await fetch(`http://127.0.0.1:${port}/.well-known/openid-configuration`)
  expect(await discovery.json()).toMatchObject({ issuer, token_endpoint: `${issuer}/token` })
  // Commands wait for a moment for the server that is said to be there.
  const asked = async () => (said ? [await issuerByDoctor(), await issuerByCommand(join(cwd, 'data'))] : [])
  await expect.poll(asked).toEqual(said ? ['ok', issuer] : [])
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
})

test('a setting that was misspelt is named in the log, once for all workers', async () => {
  const server = await spawnServer({ WORKERS: 2, OIDC_TOKEN_EXPIRES: 60 })
  await expect.poll(server.output).toContain('OIDC_TOKEN_EXPIRES is no setting')
  await server.stop()
  const lines = server.output().split('\n').filter((line) => line.includes('is no setting')) // prettier-ignore
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      level: 'warn',
      msg: 'OIDC_TOKEN_EXPIRES is no setting, and is ignored: the nearest is OIDC_TOKEN_EXPIRE.',
    },
  ])
})

test('with a SEED_FILE it is said that the demo is not there; without one, that it is', async () => {
  const SEED_FILE = join(await temporaryDirectory(), 'seed.json')
  await writeFile(SEED_FILE, JSON.stringify({ scopes: [{ name: 'of_the_file' }] }))
  const own = await spawnServer({ SEED_FILE })
  await expect.poll(own.output).toContain(`Demo         none, since SEED_FILE is set: ${SEED_FILE}\n`)
  await expect.poll(own.output).toContain('SEED_FILE is applied')
  const demo = await spawnServer({}, { seed: 'demo' })
  await expect.poll(demo.output).toContain('Sign in as   demo / ')
  await expect.poll(demo.output).toContain('"The demo is applied: what was new in it or had changed"')
  expect(demo.output()).not.toContain('SEED_FILE')
})

test.each([
  ['/no/such/seed.json', /^SEED_FILE \/no\/such\/seed\.json cannot be read \(ENOENT\)\.\n$/],
  [import.meta.filename, /^SEED_FILE .* is not a JSON object\.\n$/],
])('SEED_FILE %s is refused in one sentence', async (SEED_FILE, sentence) => {
  const { status, stdout, stderr } = await runCommand(['serve'], { ...settings, PORT: 0, SEED_FILE })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(sentence)
})

test('a database that goes away once requests are answered ends no server: what it would have printed is missing', async () => {
  const own = await createDatabase()
  const proxy = await startDatabaseProxy(own.url)
  proxy.cutAt('users-has-role', 'before')
  const server = await spawnServer({ DATABASE_URL: proxy.url }, { database: own })
  await expect.poll(server.output).toContain('what a start prints for development is left out')
  expect((await server.get('/readyz')).status).toBe(200)
  expect(await server.stop()).toBe(0)
})

test('the first start says where everything is; its commands work as printed, and those of ours beside it', async () => {
  const DATA_DIR = join(await temporaryDirectory(), `it's "our" data`)
  const server = await spawnServer({ DATABASE_URL: undefined, DATA_DIR }, { seed: 'demo' })
  // The sample web app comes up first.
  await expect.poll(server.output).toContain('/books')
  const printed = server.output()
  expect(printed).toMatch(/^Making the database in .* \(once, some seconds\) …\n/)
  expect(printed).toContain(`Issuer       ${server.url}\n`)
  expect(printed).toContain(`Discovery    ${server.url}/.well-known/openid-configuration\n`)
  expect(printed).toContain('embedded PostgreSQL in ')
  const [, secret] = (await readFile(join(DATA_DIR, 'demo-client'), 'utf8')).trim().split(':')
  expect(secret).toMatch(/^lks_/)
  expect(printed).not.toContain(secret)
  const password = (await readFile(join(DATA_DIR, 'demo-user'), 'utf8')).trim()
  expect(printed).toContain(`Sign in as   demo / ${password}\n`)
  const [, mails = ''] = /^ {2}Mails {8}(\S+)$/m.exec(printed) ?? []
  expect((await fetch(mails)).status).toBe(200)
  const log = printed.split('\n').filter((line) => line.startsWith('{'))
  expect(log.join('\n')).not.toContain(password)

  const commands = printed.split('\n').filter((line) => line.startsWith('  curl '))
  expect(commands).toHaveLength(2)
  const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
  const answers = await Promise.all(
    commands.map(async (command) => (await promisify(execFile)('sh', ['-c', command], { env })).stdout),
  )
  expect(JSON.parse(answers[0]!)).toMatchObject({ token_type: 'Bearer', scope: 'read_books' })
  expect(JSON.parse(answers[1]!)).toEqual({ books: expect.any(Array) as unknown })

  const listClients = async () => {
    const { status, stdout, stderr } = await runCommand(['client', 'list', '--json'], server.settings)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    return (JSON.parse(stdout) as { client_id: string }[]).map(({ client_id }) => client_id)
  }
  const { stdout: user } = await runCommandHere(['user', 'show', 'demo', '--json'], server.settings)
  expect(JSON.parse(user)).toMatchObject({ name: 'Demo User', email: 'demo@example.com', disabled: false })
  const isRunning = () => existsSync(join(DATA_DIR, 'postgres', 'postmaster.pid'))
  expect(await listClients()).toEqual(['demo-service', 'sample-web'])
  expect(await statusOf(server.get('/readyz'))).toBe(200)
  expect(isRunning()).toBe(true)
  expect(await server.stop()).toBe(0)
  expect(isRunning()).toBe(false)
  expect(await listClients()).toEqual(['demo-service', 'sample-web'])
  expect(isRunning()).toBe(false)
})
