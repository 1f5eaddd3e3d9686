/**
 * A request that somebody approved, whose tokens were lost on their way from the database: what was stored is handed out to the client
 * that asks again, as RFC 8628 §3.5 tells it to.
 * @needs latchkey-device-code, latchkey-ciba
 */
import { decodeJwt } from 'jose'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import * as ciba from '../support/ciba.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import * as device from '../support/device.ts'
import { createDpopKey, prove } from '../support/dpop.ts'
import { spawnServer } from '../support/process.ts'
import { basic, type Requests } from '../support/requests.ts'
import type { UserAgent } from '../support/user-agent.ts'

const { TV, PRINTER } = device
const ANOTHER = { ...TV, client_id: 'another-tv' }
const OPAQUE = { ...PRINTER, client_id: 'opaque', access_token_format: 'opaque' }
const database = await createDatabase({ refusing: false })
const proxy = await startDatabaseProxy(database.url)
const one = await spawnServer(
  { ...device.DEVICE_SETTINGS, ...ciba.CIBA_SETTINGS, DATABASE_URL: proxy.url },
  { seed: { ...device.DEVICE_SEED, clients: [...device.DEVICE_SEED.clients, ciba.CALL_CENTRE, ANOTHER, OPAQUE] }, database },
) // prettier-ignore
const two = await spawnBeside(one.settings, database)

type Poll = (
  server?: Requests,
  more?: { headers?: Record<string, string>; form?: Record<string, string> },
) => Promise<device.Answer>

/** Of a request that alice approved. */
async function approvedBy(
  client: { client_id: string; client_secret?: string },
  person: UserAgent = device.newPerson(one),
): Promise<Poll> {
  const { client_id, client_secret } = client
  const credentials = client_secret === undefined ? {} : basic(client_id, client_secret)
  const named = client_secret === undefined ? { client_id } : {}
  const form = { ...named, scope: 'openid read_books' }
  const asked = await device.answer(one.post('/device_authorization', form, credentials))
  await device.allow(one, asked as unknown as device.Asked, person)
  const { device_code } = asked as unknown as device.Asked
  const sent = { ...named, grant_type: device.GRANT_TYPE, device_code }
  return async (server = one, more = {}) =>
    device.answer(server.post('/token', { ...sent, ...more.form }, { ...credentials, ...more.headers }))
}

async function approvedByTelephone(): Promise<Poll> {
  const asked = await ciba.ask(one)
  await ciba.approve(one, asked)
  return async (server = one) => ciba.poll(server, asked)
}

async function isAlive(token: unknown, server: Requests = two): Promise<boolean> {
  return (await server.get('/userinfo', { authorization: `Bearer ${String(token)}` })).status === 200
}

test.each([
  ['a device', async () => approvedBy(TV), true],
  ['a device without refresh tokens', async () => approvedBy(PRINTER), false],
  ['a device with opaque tokens', async () => approvedBy(OPAQUE), false],
  ['a client of CIBA', approvedByTelephone, true],
])('%s is answered 503, then gets its tokens, once', async (_who, approved, refreshes) => {
  const poll = await approved()
  proxy.cutAt('artifact-spend', 'after')
  expect(await poll()).toMatchObject({ status: 503 })
  const got = await poll()
  expect(got).toMatchObject({ status: 200, scope: 'openid read_books' })
  expect(await isAlive(got['access_token'])).toBe(true)
  expect(decodeJwt(String(got['id_token']))).toHaveProperty('auth_time')
  expect('refresh_token' in got).toBe(refreshes)
  for (const server of [one, two]) expect(await poll(server)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await isAlive(got['access_token'])).toBe(true)
}) // prettier-ignore

test('one that was not stored is approved still, and gives tokens once', async () => {
  const poll = await approvedBy(PRINTER)
  proxy.cutAt('artifact-spend', 'before')
  expect(await poll()).toMatchObject({ status: 503 })
  expect(await poll(two)).toMatchObject({ status: 200 })
  for (const server of [one, two]) expect(await poll(server)).toMatchObject({ error: 'invalid_grant' })
})

test('a second answer that is lost leaves it owed', async () => {
  const poll = await approvedBy(TV)
  proxy.cutAt('artifact-spend', 'after')
  expect(await poll()).toMatchObject({ status: 503 })
  proxy.cutAt('refresh-token-confirm', 'after')
  expect(await poll()).toMatchObject({ status: 503 })
  const got = await poll()
  expect(got).toMatchObject({ status: 200 })
  const form = { grant_type: 'refresh_token', client_id: 'tv', refresh_token: String(got['refresh_token']) }
  expect(await device.answer(two.post('/token', form))).toMatchObject({ status: 200 })
})

test('what is bound to a key is handed out to who shows that key', async () => {
  const [key, other] = [await createDpopKey(), await createDpopKey()]
  const by = async (shown: typeof key) => ({ headers: { dpop: await prove(shown, { method: 'POST', url: `${one.url}/token` }) } })
  const poll = await approvedBy(TV)
  proxy.cutAt('artifact-spend', 'after')
  expect(await poll(one, await by(key))).toMatchObject({ status: 503 })
  expect(await poll()).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await poll(one, await by(other))).toMatchObject({ status: 400, error: 'invalid_grant' })
  const got = await poll(one, await by(key))
  expect(got).toMatchObject({ status: 200, token_type: 'DPoP' })
  expect(decodeJwt(String(got['access_token']))['cnf']).toEqual({ jkt: key.thumbprint })
}) // prettier-ignore

test('nothing is owed to another client, at another process, or once the person has signed out', async () => {
  const person = device.newPerson(one)
  const poll = await approvedBy(TV, person)
  proxy.cutAt('artifact-spend', 'after')
  expect(await poll()).toMatchObject({ status: 503 })
  expect(await poll(one, { form: { client_id: ANOTHER.client_id } })).toMatchObject({
    error: 'invalid_grant',
  })
  expect(await poll(two)).toMatchObject({ error: 'invalid_grant' })
  await person.submit(await person.get(`${two.url}/end-session`), 'end-session')
  expect(await poll()).toMatchObject({ status: 400, error: 'invalid_grant' })
})

test('who asks while it is stored at last is told to try again, for that a try before may have done it', async () => {
  const poll = await approvedBy(TV)
  proxy.cutAt('artifact-spend', 'before')
  expect(await poll()).toMatchObject({ status: 503 })
  const late = new Client({ connectionString: database.url })
  await late.connect()
  try {
    await late.query('begin')
    await late.query(`update artifacts set spent_at = now() where kind = 'device' and spent_at is null`)
    const asking = poll()
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    // It waits for four seconds at most.
    let isAnswered = false
    void asking.finally(() => (isAnswered = true))
    await expect.poll(async () => isAnswered || (await database.query(waiting)).length === 1).toBe(true)
    await late.query('commit')
    expect(await asking).toMatchObject({ status: 503, error: 'temporarily_unavailable' })
  } finally {
    await late.end()
  }
})
