/**
 * The device authorization grant (RFC 8628) of `examples/device-grant`, loaded by PLUGINS into two processes of one
 * database: a device by `openid-client`, a person with a browser.
 */
import { decodeJwt } from 'jose'
import { resolve } from 'node:path'
import * as device from 'openid-client'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { basic, type Requests } from '../support/requests.ts'
import { ALICE, BOB, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'
const TV = {
  client_id: 'tv',
  client_name: 'Living room TV',
  token_endpoint_auth_method: 'none',
  grant_types: [GRANT_TYPE, 'refresh_token'],
  scope: ['read_books'],
}
const PRINTER = {
  client_id: 'printer',
  client_secret: `lks_${'p'.repeat(43)}`,
  grant_types: [GRANT_TYPE],
  scope: ['read_books'],
}
const seed = { ...SEED, clients: [...SEED.clients, TV, PRINTER] }
const settings = { PLUGINS: resolve('examples/device-grant/index.ts'), TRUSTED_PROXIES: '127.0.0.1' }
const server = await spawnServer(settings, { seed })
const beside = await spawnBeside(server.settings, server.database)

interface Asked {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}
type Answer = Readonly<Record<string, unknown>> & { status: number }

async function answer(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  return { ...((await response.json()) as object), status: response.status }
}

async function ask(form: Record<string, string> = {}): Promise<Asked> {
  const asked = await answer(
    server.post('/device_authorization', { client_id: 'tv', scope: 'openid read_books', ...form }),
  )
  expect(asked).toMatchObject({ status: 200 })
  return asked as unknown as Asked
}

const poll = (
  deviceCode: string,
  at: Requests = server,
  form: Record<string, string> = {},
): Promise<Answer> =>
  answer(at.post('/token', { client_id: 'tv', grant_type: GRANT_TYPE, device_code: deviceCode, ...form }))

const credentials = ({ username, password }: typeof BOB) => ({ username, password })

let lastNetwork = 0
/** A person elsewhere: nobody else's tries count for them. */
function newPerson(): UserAgent {
  return createUserAgent(server.url, { 'x-forwarded-for': `192.0.2.${++lastNetwork}` })
}

async function enter(person: UserAgent, userCode: string): Promise<Page> {
  return person.submit(await person.get(`${server.url}/device`), 'device', { user_code: userCode })
}

async function allow(asked: Asked, person = newPerson()): Promise<Page> {
  return goThrough(person, await enter(person, asked.user_code))
}

/** As if a stored time lay so many seconds further back. */
async function age(kind: string, member: string, seconds: number): Promise<void> {
  await server.database.query(
    `update artifacts set value = jsonb_set(value::jsonb, array[$2], to_jsonb((value->>$2)::bigint - $3 * 1000))
     where kind = $1`,
    [kind, member, seconds],
  )
}

test('openid-client: a device asks, a person allows, the device gets its tokens and refreshes them', async () => {
  const config = await device.discovery(new URL(server.url), 'tv', undefined, device.None(), {
    execute: [device.allowInsecureRequests],
  })
  const asked = await device.initiateDeviceAuthorization(config, { scope: 'openid email read_books' })
  expect(asked).toMatchObject({ verification_uri: `${server.url}/device`, expires_in: 600, interval: 5 })
  expect(asked.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  expect(Buffer.from(asked.device_code, 'base64url')).toHaveLength(32)
  const polling = device.pollDeviceAuthorizationGrant(config, asked)

  const person = newPerson()
  const prefilled = await person.get(asked.verification_uri_complete!)
  expect(prefilled.body).toContain('this very code')
  const login = await person.submit(prefilled, 'device')
  expect(login.body).toContain('Living room TV')
  const consent = await person.submit(login, 'login', credentials(ALICE))
  expect(consent.body).toContain('Did you start this yourself? A device at 127.0.0.1 asked on')
  expect(consent.body).not.toContain('You will be sent to')
  const end = await person.submit(consent, 'consent', { decision: 'allow' })
  expect(end).toMatchObject({ status: 200, url: `${server.url}/device/allowed` })
  expect(end.body).toContain('id="device-allowed"')

  const tokens = await polling
  expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'openid email read_books' })
  expect(tokens.claims()).toMatchObject({ aud: 'tv', email: ALICE.email, amr: ['pwd'] })
  const refreshed = await device.refreshTokenGrant(config, tokens.refresh_token!)
  expect(decodeJwt(refreshed.access_token).sub).toBe(tokens.claims()!.sub)
})

test('a confidential client, with Basic and client_id in the body at once: one method', async () => {
  const credentials = basic(PRINTER.client_id, PRINTER.client_secret)
  const form = { client_id: PRINTER.client_id, scope: 'read_books' }
  const asked = await answer(server.post('/device_authorization', form, credentials))
  expect(asked).toMatchObject({ status: 200 })
  await allow(asked as unknown as Asked)
  const exchange = { grant_type: GRANT_TYPE, device_code: String(asked['device_code']) }
  expect(await answer(server.post('/token', exchange))).toMatchObject({
    status: 401,
    error: 'invalid_client',
  })
  const tokens = await answer(server.post('/token', exchange, credentials))
  expect(tokens).toMatchObject({ status: 200, scope: 'read_books' })
  // It is not registered for refresh_token.
  expect(tokens).not.toHaveProperty('refresh_token')
})

test('what a device may not ask is refused at once', async () => {
  const refusal = async (form: Record<string, string>) => {
    const { status, error } = await answer(server.post('/device_authorization', form))
    return { status, error }
  }
  const invalid = (error: string) => ({ status: 400, error })
  expect(await refusal({ scope: 'openid' })).toEqual({ status: 401, error: 'invalid_client' })
  expect(await refusal({ client_id: 'nobody', scope: 'openid' })).toMatchObject({ status: 401 })
  expect(await refusal({ client_id: 'tv' })).toEqual(invalid('invalid_scope'))
  expect(await refusal({ client_id: 'tv', scope: 'write_books' })).toEqual(invalid('invalid_scope'))
  const resource = 'https://elsewhere.example'
  expect(await refusal({ client_id: 'tv', scope: 'openid', resource })).toEqual(invalid('invalid_target'))
  expect(
    await answer(
      server.post('/device_authorization', { scope: 'openid' }, basic('web', `lks_${'w'.repeat(43)}`)),
    ),
  ).toMatchObject(invalid('unauthorized_client'))
})

test('the metadata names the endpoint and the grant', async () => {
  const metadata = await answer(beside.get('/.well-known/openid-configuration'))
  expect(metadata).toMatchObject({ device_authorization_endpoint: `${server.url}/device_authorization` })
  expect(metadata['grant_types_supported']).toContain(GRANT_TYPE)
})

test('a poll that comes too early slows the device down, and the interval stays longer', async () => {
  const asked = await ask()
  const pending = { status: 400, error: 'authorization_pending' }
  const slowDown = { status: 400, error: 'slow_down' }
  expect(await poll(asked.device_code)).toMatchObject(pending)
  expect(await poll(asked.device_code, beside)).toMatchObject(slowDown)
  await age('device-polls', 'lastAt', 7)
  expect(await poll(asked.device_code)).toMatchObject(slowDown)
  await age('device-polls', 'lastAt', 15)
  expect(await poll(asked.device_code, beside)).toMatchObject(pending)
})

test('codes are good as people type them', async () => {
  const variants = [
    (code: string) => code.toLowerCase(),
    (code: string) => code.replace('-', ''),
    (code: string) => `  ${code.slice(0, 2)} ${code.slice(2, 4)}\u2013${code.slice(5)} `,
    (code: string) => code.replaceAll('S', '5').replaceAll('Z', '2').replaceAll('B', '8'),
  ]
  for (const typed of variants) {
    const page = await enter(newPerson(), typed((await ask()).user_code))
    expect(findForm(page, 'login')).toBeDefined()
  }
})

test('a code is good for one device once: whoever comes second gets nothing', async () => {
  const asked = await ask()
  await allow(asked)
  expect(await poll(asked.device_code, server, { client_id: 'web' })).toMatchObject({ status: 401 })
  const polls = Array.from({ length: 20 }, (_, at) => poll(asked.device_code, at % 2 === 0 ? server : beside))
  const answers = await Promise.all(polls)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const losers = answers.filter(({ status }) => status !== 200)
  expect(new Set(losers.map(({ status, error }) => `${status} ${String(error)}`))).toEqual(
    new Set(['400 invalid_grant']),
  )
  const refused = await enter(newPerson(), asked.user_code)
  expect(refused).toMatchObject({ status: 400 })
  expect(refused.body).toContain('id="user-code-error"')
})

test('a device_code is of no use to another client, and scope in the poll is not read', async () => {
  const asked = await ask()
  await allow(asked)
  const theirs = { grant_type: GRANT_TYPE, device_code: asked.device_code }
  const credentials = basic(PRINTER.client_id, PRINTER.client_secret)
  expect(await answer(server.post('/token', theirs, credentials))).toMatchObject({
    status: 400,
    error: 'invalid_grant',
  })
  expect(await poll(asked.device_code, server, { scope: 'everything' })).toMatchObject({
    status: 200,
    scope: 'openid read_books',
  })
})

test('who denies is told so, and so is the device', async () => {
  const asked = await ask()
  const person = newPerson()
  const consent = await person.submit(await enter(person, asked.user_code), 'login', credentials(BOB))
  const end = await person.submit(consent, 'consent', { decision: 'deny' })
  expect(end).toMatchObject({ status: 200, url: `${server.url}/device/denied` })
  expect(end.body).toContain('id="device-denied"')
  for (const at of [server, beside])
    expect(await poll(asked.device_code, at)).toMatchObject({ status: 400, error: 'access_denied' })
})

test('the page asks again of who allowed the same before', async () => {
  const person = newPerson()
  await allow(await ask(), person)
  const second = await ask()
  const page = await enter(person, second.user_code)
  expect(findForm(page, 'consent')).toBeDefined()
  expect(await poll(second.device_code)).toMatchObject({ error: 'authorization_pending' })
})

test('a link with the code in it does nothing by being opened', async () => {
  const asked = await ask()
  const person = newPerson()
  await allow(await ask(), person)
  await person.get(asked.verification_uri_complete)
  expect(await poll(asked.device_code)).toMatchObject({ error: 'authorization_pending' })
  const form = findForm(await person.get(asked.verification_uri_complete), 'device')
  expect(form?.fields['user_code']).toBe(asked.user_code)
})

test('a code belongs to the browser that entered it first, its pages too', async () => {
  const asked = await ask()
  const [person, other] = [newPerson(), newPerson()]
  const login = await enter(person, asked.user_code)
  expect(await enter(other, asked.user_code)).toMatchObject({ status: 400 })
  const stolen = await other.get(login.url)
  expect(stolen).toMatchObject({ status: 403 })
  expect(stolen.body).toContain('access_denied')
  // The same browser may begin again.
  const again = await goThrough(person, await enter(person, asked.user_code))
  expect(again.url).toBe(`${server.url}/device/allowed`)
  const late = await goThrough(person, await person.get(login.url))
  expect(late).toMatchObject({ status: 400 })
  expect(await poll(asked.device_code)).toMatchObject({ status: 200 })
})

test('a form of another site is refused', async () => {
  const asked = await ask()
  const person = newPerson()
  await person.get(`${server.url}/device`)
  const forged = await person.post(`${server.url}/device`, { user_code: asked.user_code })
  expect(forged).toMatchObject({ status: 403 })
})

test('what expired is told to the device, and refused to the person', async () => {
  const asked = await ask()
  const person = newPerson()
  const login = await enter(person, asked.user_code)
  await age('device', 'expiresAt', 601)
  expect(await poll(asked.device_code)).toMatchObject({ status: 400, error: 'expired_token' })
  expect(await enter(newPerson(), asked.user_code)).toMatchObject({ status: 400 })
  const late = await goThrough(person, login)
  expect(late).toMatchObject({ status: 400 })
  expect(late.body).toContain('id="error"')
})

test('who guesses codes is stopped, at all processes, and a right guess is refused too', async () => {
  const asked = await ask()
  const guesser = newPerson()
  const form = await guesser.get(`${server.url}/device`)
  const statuses: number[] = []
  for (let tries = 0; tries < 12; tries++)
    statuses.push((await guesser.submit(form, 'device', { user_code: 'BBBB-BBBB' })).status)
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429, 429])
  const right = await guesser.submit(form, 'device', { user_code: asked.user_code })
  expect(right).toMatchObject({ status: 429 })
  expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await allow(asked)).url).toBe(`${server.url}/device/allowed`)
})

test('who signs out, or is disabled, before the device fetches its tokens gives nothing', async () => {
  const person = newPerson()
  const [left, disabled] = [await ask(), await ask()]
  await allow(left, person)
  const asking = await person.get(`${server.url}/end-session`)
  const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(asking.body)![1]!
  const signedOut = await person.post(asking.url, { csrf_token })
  expect(signedOut.body).toContain('id="signed-out"')
  expect(await poll(left.device_code, beside)).toMatchObject({ status: 400, error: 'access_denied' })

  await goThrough(person, await enter(person, disabled.user_code), BOB)
  const { status } = await runCommand(['user', 'disable', BOB.username], server.settings)
  expect(status).toBe(0)
  expect(await poll(disabled.device_code)).toMatchObject({ status: 400, error: 'access_denied' })
})

test('no code is stored, nor in the log', async () => {
  const asked = await ask()
  await enter(newPerson(), asked.user_code)
  await poll(asked.device_code)
  const letters = asked.user_code.replace('-', '')
  const stored = JSON.stringify(await server.database.query('select * from artifacts'))
  for (const secret of [asked.device_code, asked.user_code, letters]) {
    expect(stored).not.toContain(secret)
    expect(server.output() + beside.output()).not.toContain(secret)
  }
})
