/** What the audit log says of those who guess: where that began to be refused, and which links and codes were wrong. */
import { expect, test } from 'vitest'
import type { AuditEvent, EventType } from '../../src/events.ts'
import { SET_PASSWORD, SETUP } from '../security/forms.ts'
import { ask, DEVICE_SEED, DEVICE_SETTINGS } from '../support/device.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { statusOf } from '../support/service.ts'
import { ALICE, WEB } from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'
import { isThere } from '../support/left-out.ts'

const server = await startServer(DEVICE_SETTINGS, { seed: DEVICE_SEED })
const { audit, users } = server.server.oauth
const STRANGER = { kind: 'user', id: null }
/** What a person might put into the wrong field. */
const TYPED = 'the-password-in-the-field-of-the-name'
/** Of the form of a generated secret, whose check is quick. */
const WRONG_SECRET = `lks_${'x'.repeat(43)}`

let addresses = 0

/** Somebody at an address of their own. */
function newcomer(): { address: string; headers: Record<string, string>; agent: UserAgent } {
  const address = `198.51.100.${++addresses}`
  const headers = { 'x-forwarded-for': address }
  return { address, headers, agent: createUserAgent(server.url, headers) }
}

async function find<Type extends EventType>(type: Type, from: string): Promise<AuditEvent<Type>[]> {
  const { events } = await audit.list({ type }, { limit: 1000 })
  return (events as AuditEvent<Type>[]).filter(({ address }) => address === from)
}

/** How often it happened there, however many rows that is. */
async function timesOf(type: EventType, from: string): Promise<number> {
  return (await find(type, from)).reduce((sum, { count }) => sum + count, 0)
}

/** Presents a wrong secret. */
async function guessSecret(clientId: string, headers: Record<string, string>): Promise<number> {
  const form = { grant_type: 'client_credentials' }
  return statusOf(server.post('/token', form, { ...basic(clientId, WRONG_SECRET), ...headers }))
}

/** Guesses until that is refused, and thirty times more; returns how many guesses were checked. */
async function exhaust(guess: () => Promise<number>): Promise<number> {
  let checked = 0
  while ((await guess()) !== 429) checked++
  for (let refused = 0; refused < 30; refused++) if ((await guess()) !== 429) checked++
  return checked
}

/** Once what is stored behind the requests is there. */
async function reachedFrom(address: string): Promise<AuditEvent<'limit.reached'>[]> {
  await expect.poll(async () => timesOf('limit.reached', address)).toBeGreaterThan(0)
  return find('limit.reached', address)
}

test('guesses at the secret of a client: one event, by whoever came to the limit', async () => {
  const { address, headers } = newcomer()
  await exhaust(async () => guessSecret(WEB.client_id, headers))
  const reached = await reachedFrom(address)
  expect(reached).toMatchObject([
    { client: 'web', address, actor: STRANGER, count: 1, details: { kind: 'client', limit: 'account' } },
  ])
  const [{ requestId }] = reached as [AuditEvent]
  expect(requestId).toMatch(/^[0-9a-f]{32}$/)
  expect(reached[0]!.details.account).toBeUndefined()
})

test('a client that is not there is told by the hash that its failures have', async () => {
  const { address, headers } = newcomer()
  const checked = await exhaust(async () => guessSecret(TYPED, headers))
  const [reached] = await reachedFrom(address)
  expect(reached!.client).toBeUndefined()
  expect(reached!.details.account).toMatch(/\S{20}/)
  await expect.poll(async () => timesOf('client.authentication_failed', address)).toBe(checked)
  const failed = await find('client.authentication_failed', address)
  expect(new Set(failed.map(({ details }) => details.account))).toEqual(new Set([reached!.details.account]))
})

test('guesses at many clients: the limit of the network, which is of none of them', async () => {
  const { address, headers } = newcomer()
  let at = 0
  await exhaust(async () => guessSecret(`sprayed-${++at}`, headers))
  const reached = await reachedFrom(address)
  expect(reached.map(({ details }) => details)).toEqual([{ kind: 'client', limit: 'network' }])
  expect(reached[0]!.client).toBeUndefined()
})

test.each([
  ['name', ALICE.username.toUpperCase()],
  ['address', ALICE.email.toUpperCase()],
])('guesses at the password of a user, by %s: which user', async (_by, username) => {
  const { address, agent } = newcomer()
  const page = await agent.get(`${server.url}/sign-in`)
  const guess = { username, password: TYPED }
  await exhaust(async () => (await agent.submit(page, 'login', guess)).status)
  const { id: user } = (await users.find(ALICE.username))!
  const reached = await reachedFrom(address)
  expect(reached).toMatchObject([{ user, count: 1, details: { kind: 'user', limit: 'account' } }])
  expect(reached[0]!.details.account).toBeUndefined()
})

test('a set-up link that is wrong, opened or used', async () => {
  const { address, agent } = newcomer()
  expect((await agent.get(`${server.url}/setup?token=${TYPED}`)).status).toBe(403)
  await expect.poll(async () => timesOf('user.link_refused', address)).toBe(1)
  const { action, fields } = await SETUP.open(server, agent)
  expect((await agent.post(action, { ...fields, token: TYPED })).status).toBe(400)
  await expect.poll(async () => timesOf('user.link_refused', address)).toBe(2)
  const [refused] = await find('user.link_refused', address)
  expect(refused).toMatchObject({ actor: STRANGER, details: { link: 'setup' } })
  await agent.post(action, { ...fields, password: 'short' })
  expect((await agent.post(action, fields)).status).toBe(200)
  expect(await timesOf('user.link_refused', address)).toBe(2)
})

test('a link for a password that is wrong or was used, whatever password comes with it', async () => {
  const { address, agent } = newcomer()
  expect((await agent.get(`${server.url}/set-password?token=${TYPED}`)).status).toBe(410)
  await expect.poll(async () => timesOf('user.link_refused', address)).toBe(1)
  const { action, fields } = await SET_PASSWORD.open(server, agent)
  expect((await agent.post(action, { ...fields, password: 'short' })).status).toBe(400)
  expect((await agent.post(action, fields)).status).toBe(200)
  // The same form once more is told that it is done, and refused nothing.
  expect((await agent.post(action, fields)).status).toBe(200)
  expect(await timesOf('user.link_refused', address)).toBe(1)
  for (const password of ['another of their own', 'short'])
    expect((await agent.post(action, { ...fields, password })).status).toBe(410)
  await expect.poll(async () => timesOf('user.link_refused', address)).toBe(3)
  const refused = await find('user.link_refused', address)
  expect(new Set(refused.map(({ details }) => details.link))).toEqual(new Set(['password']))
})

test.runIf(isThere('latchkey-device-code'))('a code of a device that is wrong, and the limit of those', async () => {
  const { address, agent } = newcomer()
  const page = await agent.get(`${server.url}/device`)
  const enter = async (user_code: string) => (await agent.submit(page, 'device', { user_code })).status
  const checked = await exhaust(async () => enter('BCDF-GHJK'))
  expect((await reachedFrom(address)).map(({ details }) => details)).toEqual([{ kind: 'device', limit: 'network' }])
  await expect.poll(async () => timesOf('device.code_refused', address)).toBe(checked)
  const elsewhere = newcomer()
  const { user_code } = await ask(server)
  const own = await elsewhere.agent.get(`${server.url}/device`)
  expect((await elsewhere.agent.submit(own, 'device', { user_code })).status).toBe(200)
  expect(await timesOf('device.code_refused', elsewhere.address)).toBe(0)
}) // prettier-ignore

test('nothing that was typed is in the audit log', async () => {
  const told = JSON.stringify(await server.database.query('select * from audit_events'))
  for (const typed of [TYPED, WRONG_SECRET, 'BCDF', 'sprayed-']) expect(told).not.toContain(typed)
})
