/** docs/rotate.md, as it stands there, on a PostgreSQL with roles and passwords. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { execute, withDatabase } from '../support/connection.ts'
import { requestToken } from '../support/clients.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { statusOf, toClient } from '../support/service.ts'
import { WEB } from '../support/sign-in.ts'
import { noPostgres, startSystemPostgres } from '../support/system-postgres.ts'
import { createDatabase } from '../support/database.ts'
import { openPage, sitDown, substitute } from './page.ts'

const page = await openPage('rotate.md')
const [keys, revoke, secret, secretKeys] = [
  page.next('sh'),
  page.next('sh'),
  page.next('sh'),
  page.next('ini'),
]
const [takeTurns, takeAway] = [page.next('sh'), page.next('sh')]
const client = toClient(WEB)

test('the page has no other commands', () => page.end())

test('keys rotate, and a client has two secrets for a while', async () => {
  const server = await startServer({}, { seed: { clients: [WEB] } })
  const desk = await sitDown(server.settings)
  const { stdout: listed } = await desk.sh(keys)
  for (const algorithm of ['ES256', 'RS256']) {
    expect(listed).toMatch(new RegExp(`${algorithm} +current`))
    expect(listed).toMatch(new RegExp(`${algorithm} +next`))
  }
  const kid = new RegExp(`^([\\w-]+) +ES256 +current`, 'm').exec(listed)![1]!
  const [ask, end] = substitute(revoke, { KID: kid }).trim().split('\n') as [string, string]
  await expect(desk.sh(ask)).rejects.toThrow('Every token that it signed is refused at once')
  expect((await desk.sh(end)).stdout).toMatch(/ES256 +revoked/)
  const { stdout } = await desk.sh(substitute(secret, { CLIENT_ID: 'web' }))
  const [generated] = /lks_[\w-]+/.exec(stdout)!
  for (const one of [client.clientSecret, generated])
    expect(await statusOf(server.post('/introspect', { token: 'x' }, basic('web', one)))).toBe(200)
})

test('SECRET_KEY is replaced by the settings of the page, in their order, and the client goes on', async () => {
  const [old, fresh] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
  const stages = secretKeys
    .trim()
    .split('\n')
    .map((line) => line.replace('SECRET_KEY=', '').replace('old', old).replace('new', fresh))
  expect(stages).toHaveLength(3)
  const database = await createDatabase()
  const created = await runCommand(
    ['client', 'create', '--client-name', 'One', '--scope', 'read', '--json'],
    { DATABASE_URL: database.url, SECRET_KEY: old, LOG_LEVEL: 'error' },
  )
  const one = toClient(JSON.parse(created.stdout) as Record<string, unknown>)
  // What was signed before is still verified.
  const signedBy = new Set<string>()
  for (const SECRET_KEY of [old, ...stages]) {
    const server = await spawnServer({ SECRET_KEY }, { database })
    const { keys: published } = (await (await server.get('/jwks')).json()) as { keys: { kid: string }[] }
    for (const kid of signedBy) expect(published.map((key) => key.kid)).toContain(kid)
    const response = await requestToken(server, one)
    expect(response.status).toBe(200)
    const { access_token: token } = (await response.json()) as { access_token: string }
    signedBy.add((JSON.parse(atob(token.split('.')[0]!)) as { kid: string }).kid)
    await server.stop()
  }
})

test.skipIf(noPostgres)('two roles of the database take turns: both work, then one', async () => {
  const postgres = await startSystemPostgres()
  await execute(postgres.url, `create role latchkey login password 'first'`)
  await execute(postgres.url, 'create database latchkey owner latchkey')
  const as = (user: string, password: string): string =>
    withDatabase(postgres.url, 'latchkey').replace(/postgres:\w+@/, `${user}:${password}@`)
  const settings = { SECRET_KEY: randomBytes(32).toString('hex'), LOG_LEVEL: 'error' }
  const migrate = async (DATABASE_URL: string) => runCommand(['migrate'], { ...settings, DATABASE_URL })
  expect(await migrate(as('latchkey', 'first'))).toMatchObject({ status: 0 })

  const desk = await sitDown({ ADMIN_URL: postgres.url }, postgres.PATH)
  await desk.sh(substitute(takeTurns, { '$(openssl rand -hex 32)': 'second' }))
  for (const url of [as('latchkey', 'first'), as('latchkey_b', 'second')]) {
    const made = ['client', 'create', '--client-name', 'x', '--scope', 'read', '--json']
    expect(await runCommand(made, { ...settings, DATABASE_URL: url })).toMatchObject({ status: 0 })
  }
  // What it makes belongs to the role that both share, so that the next migration can change it.
  await execute(as('latchkey_b', 'second'), 'create table made_by_b ()')
  const [made] = await execute(
    as('latchkey_b', 'second'),
    "select tableowner from pg_tables where tablename = 'made_by_b'",
  )
  expect(made).toEqual({ tableowner: 'latchkey' })

  await desk.sh(takeAway)
  expect(await migrate(as('latchkey_b', 'second'))).toMatchObject({ status: 0 })
  expect(await migrate(as('latchkey', 'first'))).toMatchObject({ status: 1 })
})
