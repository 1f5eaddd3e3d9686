/**
 * A person downloads all that is kept of them: theirs alone, without secrets, of any length.
 * @needs latchkey-own-data
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { runAs } from '../../../src/services/audit/origin.ts'
import { ALICE, BOB, getTokens, SEED } from '../../support/sign-in.ts'
import { startServer } from '../../support/server.ts'
import { age, open, signedIn } from '../account/owner.ts'

const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { users } = kernelOf(server.server)
const { id } = (await users.find('alice'))!

interface Downloaded extends Record<string, unknown> {
  apps: { client_id: string; scopes: string[] }[]
  activity: { type: string; by: string; address: string | null }[]
  sessions: object[]
}

const download = async (agent: Awaited<ReturnType<typeof signedIn>>): Promise<Downloaded> =>
  JSON.parse((await open(server, agent, '/data/download')).body) as Downloaded

test('the overview leads to it, and it has profile, sessions, apps, records and what happened', async () => {
  const agent = await signedIn(server)
  await getTokens(server, { scope: 'openid read_books' }, agent)
  await users.records('sample', { describe: ({ name }) => ({ name }) }).put(id, 'one', { name: 'Key', secret: 'hush' })
  expect((await open(server, agent)).body).toContain('href="/account/data"')
  expect((await open(server, agent, '/data')).body).toContain('href="/account/data/download"')
  const told = await download(agent)
  expect(told).toMatchObject({
    issuer: server.server.oauth.issuer,
    sub: id,
    username: 'alice',
    email: 'alice@example.com',
    ways_to_sign_in: ['password'],
    apps: [{ client_id: 'web', scopes: ['openid', 'read_books'] }],
    records: { sample: [{ name: 'Key' }] },
  })
  expect(told.sessions).toMatchObject([{ clients: ['web'] }])
  expect(told.activity.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['user.registered', 'user.signed_in', 'consent.given']),
  )
}) // prettier-ignore

test('is a file that nobody stores on its way', async () => {
  const { cookies } = await signedIn(server)
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const { status, headers, body } = await server.request('/account/data/download', { headers: { cookie } })
  await body?.cancel()
  expect(status).toBe(200)
  expect(headers.get('content-disposition')).toBe('attachment; filename="your-data.json"')
  expect([headers.get('content-type'), headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual(['application/json', 'no-store', 'nosniff'])
}) // prettier-ignore

test('has no secret, and nothing of others', async () => {
  await signedIn(server, BOB)
  const agent = await signedIn(server)
  const tokens = await getTokens(server, { scope: 'openid read_books' }, agent)
  const root = (await users.find('root'))!
  await runAs({ kind: 'user', id: root.id }, async () => users.update('alice', { nickname: 'Al' }))
  await server.database.query(`update audit_events set address = '192.0.2.7' where actor_id = '${root.id}'`)
  const { body } = await open(server, agent, '/data/download')
  const bob = (await users.find('bob'))!
  const stored = JSON.stringify(
    await server.database.query(`select password_hash, hash from users u join sessions s on s.user_id = u.id where u.id = '${id}'`),
  )
  const hashes = [...stored.matchAll(/"((?:\$argon2|[A-Za-z0-9_-]{43})[^"]*)"/g)].map(([, hash]) => hash!)
  expect(hashes.length).toBeGreaterThan(1)
  for (const secret of [...hashes, ...agent.cookies.values(), tokens.access_token, tokens.refresh_token, ALICE.password, bob.id, root.id, '192.0.2.7', 'hush', 'argon2'])
    expect(body).not.toContain(secret)
  const { activity } = JSON.parse(body) as Downloaded
  expect(activity[0]).toMatchObject({ type: 'user.changed', by: 'an administrator', address: null })
}) // prettier-ignore

test('asks those who signed in more than ten minutes ago once more, and gives nothing before', async () => {
  const agent = await signedIn(server)
  await age(server, 601)
  const asked = await open(server, agent, '/data/download')
  expect(asked.url).toContain('/sign-in?')
  expect(asked.body).not.toContain('"sub"')
  const { username, password } = ALICE
  expect((await agent.submit(asked, 'login', { username, password })).url).toBe(`${server.url}/account/data`)
  expect((await download(agent)).sub).toBe(id)
})

test('holds a page at a time of somebody with 10,000 apps', async () => {
  await server.database.query(`insert into clients (client_id) select 'app-' || n from generate_series(1, 10000) n`)
  await server.database.query(`insert into consents (user_id, client_id, scopes, resources)
    select '${id}', 'app-' || n, '{read_books}', '{}' from generate_series(1, 10000) n`)
  const told = await download(await signedIn(server))
  expect(new Set(told.apps.map(({ client_id: app }) => app)).size).toBe(told.apps.length)
  expect(told.apps.length).toBeGreaterThan(10_000)
  const { apps } = await users.exportByPage(id)
  for await (const page of apps) expect(page.length).toBeLessThanOrEqual(100)
}) // prettier-ignore

test('left out, the account is as it was without it', async () => {
  const less = await startServer({}, { seed: SEED, build: { without: ['latchkey-own-data'] } })
  const agent = await signedIn(less)
  expect((await open(less, agent)).body).not.toContain('/account/data')
  expect((await open(less, agent, '/data')).status).toBe(404)
})
