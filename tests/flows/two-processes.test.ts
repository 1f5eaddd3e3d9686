/** Two processes that share nothing but a database: what one changes, the other uses within two seconds. */
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { type TestClient, createClient, getToken, requestToken } from '../support/clients.ts'
import { createDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import type { Requests } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import {
  GUARDED,
  GUARDED_SCOPE,
  getAccessToken,
  isActive,
  revoke,
  statusOf,
  statusOfRoute,
  toClient,
} from '../support/service.ts'
import { freePort } from '../support/settings.ts'

const settings = { PLUGINS: GUARDED, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }
const often = { interval: 25 }

const one = await startServer(settings)
const two = await spawnBeside(one.settings, one.database)
const { clients } = one.server.oauth

const createService = (members: Record<string, unknown> = {}) =>
  createClient(one, { scope: GUARDED_SCOPE, ...members })

async function grantedScope(service: TestClient, server: Requests = two): Promise<unknown> {
  return ((await (await requestToken(server, service)).json()) as { scope?: string }).scope
}

test('a client registered by one is known to the other', async () => {
  const registered = { client_id: 'early', client_secret: 'a secret that was chosen' }
  const early = toClient(registered)
  expect(await statusOf(requestToken(two, early))).toBe(401)
  await createService(registered)
  await expect.poll(() => statusOf(requestToken(two, early)), often).toBe(200)
})

test('a scope list that is assigned and saved by one is granted by the other', async () => {
  const service = await createService()
  expect(await grantedScope(service)).toBe(GUARDED_SCOPE)
  const client = await clients.find(service.clientId)
  client!.scope = [GUARDED_SCOPE, 'write_shelf']
  await clients.save(client!)
  await expect.poll(() => grantedScope(service), often).toBe(`${GUARDED_SCOPE} write_shelf`)
})

test('a scope list changed by command is granted by both', async () => {
  const service = await createService()
  await Promise.all([getToken(one, service), getToken(two, service)])
  const { status } = await runCommand(['client', 'update', service.clientId, '--scope', 'a b'], one.settings)
  expect(status).toBe(0)
  const both = async () => [await grantedScope(service, one), await grantedScope(service, two)]
  await expect.poll(both, often).toEqual(['a b', 'a b'])
})

test('a secret rotated by one with an overlap: the other takes both, then the new one alone', async () => {
  const service = await createService()
  await getToken(two, service)
  const rotated = toClient(await clients.rotateSecret(service.clientId, 3))
  const until = Date.now() + 3_000
  const formerUntil = async () => ((await statusOf(requestToken(two, service))) === 200 ? Date.now() : 0)
  await expect.poll(() => statusOf(requestToken(two, rotated)), often).toBe(200)
  let worked = await formerUntil()
  for (let now = worked; now > 0; now = await formerUntil()) worked = now
  expect(Math.abs(worked - until)).toBeLessThan(1_000)
  expect(await statusOf(requestToken(two, rotated))).toBe(200)
})

test('a secret rotated by one without an overlap is dead at the other', async () => {
  const service = await createService()
  await getToken(two, service)
  const rotated = toClient(await clients.rotateSecret(service.clientId))
  await expect.poll(() => statusOf(requestToken(two, service)), often).toBe(401)
  expect(await statusOf(requestToken(two, rotated))).toBe(200)
})

test.each(['jwt', 'opaque'])(
  'a client deleted by one is gone at the other, with its %s tokens',
  async (format) => {
    const service = await createService({ access_token_format: format })
    const reader = await createService({ scope: 'token_introspection' })
    const token = await getAccessToken(two, service)
    expect(await statusOfRoute(two, token)).toBe(200)
    expect(await isActive(two, reader, token)).toBe(true)
    expect(await clients.delete(service.clientId)).toBe(true)
    await expect.poll(() => statusOfRoute(two, token), often).toBe(401)
    expect(await isActive(two, reader, token)).toBe(false)
    expect(await statusOf(requestToken(two, service))).toBe(401)
  },
)

test.each([
  ['jwt', one, two],
  ['jwt', two, one],
  ['opaque', one, two],
  ['opaque', two, one],
])('a %s token revoked at one is refused by the other', async (access_token_format, here, there) => {
  const service = await createService({ access_token_format })
  const token = await getAccessToken(here, service)
  const answers = async () => [await statusOfRoute(there, token), await isActive(there, service, token)]
  await expect.poll(answers, often).toEqual([200, true])
  expect(await statusOf(revoke(here, service, token))).toBe(200)
  expect(await isActive(here, service, token)).toBe(false)
  await expect.poll(answers, often).toEqual([401, false])
})

test('two processes that start at once on an empty database make one schema, one key of each kind and one seed', async () => {
  const database = await createDatabase()
  await database.query('drop schema public cascade')
  await database.query('create schema public')
  const seeded = { client_id: 'seeded', client_secret: 'chosen by the operator', scope: [GUARDED_SCOPE] }
  const seed = {
    resources: [{ resource: 'https://shelf.example', scopes: ['shelf:read'] }],
    scopes: [{ name: GUARDED_SCOPE, description: 'Read the shelf' }],
    clients: [seeded, { client_id: 'generated', client_secret: `lks_${'x'.repeat(43)}`, scope: 'a' }],
  }
  const first = await freePort()
  const shared = { ...settings, OIDC_ISSUER: `http://127.0.0.1:${first}`, SECRET_KEY: 'k'.repeat(40) }
  const servers = await Promise.all([
    spawnServer({ ...shared, PORT: first }, { database, seed }),
    spawnServer({ ...shared, PORT: await freePort() }, { database, seed }),
  ])
  await expect.poll(() => servers.map((server) => server.output().includes('"ready"'))).toEqual([true, true])
  const counts = await database.query(`select
    (select count(*)::int from clients) clients, (select count(*)::int from client_secrets) secrets,
    (select count(*)::int from scopes) scopes, (select count(*)::int from resources) resources,
    (select count(*)::int from signing_keys) keys`)
  expect(counts).toEqual([{ clients: 2, secrets: 2, scopes: 2, resources: 1, keys: 2 }])
  expect(await statusOf(requestToken(servers[0], toClient(seeded)))).toBe(200)
})
