/**
 * What holds for devices as it does for every way to tokens: resources, keys, factors, details, registrations, and what ended meanwhile.
 * @needs latchkey-device-code
 */
import { decodeJwt } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import decodeQr from 'qr/decode.js'
import { describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { withClient } from '../../../../src/store/connections.ts'
import { asksForFactor, codeOf, recoveryCodesOn, secretOn } from '../../../support/authenticator.ts'
import { addBank, ACCOUNTS, PAYMENT } from '../../../support/bank.ts'
import { commandsHere } from '../../../support/command-here.ts'
import {
  allow,
  answer,
  ask,
  type Asked,
  DEVICE_SEED,
  DEVICE_SETTINGS,
  enter,
  GRANT_TYPE,
  newPerson,
  poll,
  TV,
} from '../../../support/device.ts'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import { startServer } from '../../../support/server.ts'
import { ALICE, BOB, goThrough } from '../../../support/sign-in.ts'
import { until } from '../../../support/until.ts'
import { findForm } from '../../../support/user-agent.ts'
import { isThere } from '../../../support/left-out.ts'
import { openClient, register, ROOT, signedIn } from '../../admin/administrator.ts' // prettier-ignore

const [BOOKS, MUSIC] = ['https://books.example', 'https://music.example']
const scopes = ['read_books', 'play']
const seed = {
  ...DEVICE_SEED,
  users: [...DEVICE_SEED.users, ROOT],
  resources: [
    { resource: BOOKS, aliases: ['urn:books'], scopes: ['read_books'] },
    { resource: MUSIC, scopes: ['play'] },
  ],
  clients: [
    { ...TV, scope: scopes, authorization_details_types: ['payment', 'accounts'] },
    { ...TV, client_id: 'vault', minimum_acr_value: '2' },
    { ...TV, client_id: 'sharp', dpop_bound_access_tokens: true },
  ],
}
const server = await startServer(DEVICE_SETTINGS, { seed, extend: addBank })
const { clients, audit, users } = server.server.oauth

const invalid = (error: string) => ({ status: 400, error })
const allowed = { scope: 'openid read_books play' }

describe('resources', () => {
  test('what was allowed, by whatever name, is only narrowed when the device polls', async () => {
    const asked = await ask(server, { ...allowed, resource: 'urn:books' })
    await allow(server, asked)
    expect(await poll(server, asked, { resource: MUSIC })).toMatchObject(invalid('invalid_target'))
    expect(await poll(server, asked, { resource: server.url })).toMatchObject(invalid('invalid_target'))
    const tokens = await poll(server, asked, { resource: `${BOOKS}/` })
    expect(decodeJwt(String(tokens['access_token'])).aud).toBe(BOOKS)
  })

  test('one of several for this token alone: the refresh token is for all', async () => {
    const asked = await ask(server, allowed)
    await allow(server, asked)
    const tokens = await poll(server, asked, { resource: MUSIC })
    expect(decodeJwt(String(tokens['access_token'])).aud).toBe(MUSIC)
    const form = { client_id: 'tv', grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']) }
    const next = await answer(server.post('/token', form))
    expect(decodeJwt(String(next['access_token'])).aud).toEqual([server.url, BOOKS, MUSIC])
  }) // prettier-ignore
})

describe('keys', () => {
  async function withKey(path: string, form: Record<string, string>, key = createDpopKey()) {
    const dpop = await prove(await key, { method: 'POST', url: `${server.url}${path}` })
    return answer(server.post(path, form, { dpop }))
  }

  test('a device that shows one as it asks gets tokens for that one alone', async () => {
    const [key, other] = [createDpopKey(), createDpopKey()]
    const form = { client_id: 'sharp', scope: 'read_books' }
    const asked = (await withKey('/device_authorization', form, key)) as unknown as Asked
    await allow(server, asked)
    const exchange = { client_id: 'sharp', grant_type: GRANT_TYPE, device_code: asked.device_code }
    expect(await answer(server.post('/token', exchange))).toMatchObject(invalid('invalid_grant'))
    expect(await withKey('/token', exchange, other)).toMatchObject(invalid('invalid_grant'))
    const tokens = await withKey('/token', exchange, key)
    expect(tokens).toMatchObject({ status: 200, token_type: 'DPoP' })
    const { thumbprint } = await key
    expect(decodeJwt(String(tokens['access_token']))['cnf']).toEqual({ jkt: thumbprint })
    const refresh = { client_id: 'sharp', grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']) }
    expect(await withKey('/token', refresh, other)).toMatchObject(invalid('invalid_grant'))
    expect(await withKey('/token', refresh, key)).toMatchObject({ status: 200 })
  }) // prettier-ignore

  test('one that must be bound gets nothing without a key, and its code stays good', async () => {
    const asked = await ask(server, { client_id: 'sharp' })
    await allow(server, asked)
    const exchange = { client_id: 'sharp', grant_type: GRANT_TYPE, device_code: asked.device_code }
    expect(await answer(server.post('/token', exchange))).toMatchObject({ status: 400 })
    expect(await withKey('/token', exchange)).toMatchObject({ status: 200, token_type: 'DPoP' })
  })
})

test.runIf(isThere('latchkey-second-factor'))(
  'an app whose people show a second factor has it shown in front of a device too',
  async () => {
    const asked = await ask(server, { client_id: 'vault' })
    const person = newPerson(server)
    const { username, password } = BOB
    const after = await person.submit(await enter(server, person, asked), 'login', { username, password })
    expect(findForm(after, 'consent')).toBeUndefined()
    expect(asksForFactor(after) || findForm(after, 'totp') !== undefined).toBe(true)
    const codes = await person.submit(after, 'totp', { code: codeOf(secretOn(after)) })
    expect(recoveryCodesOn(codes)).toHaveLength(10)
    expect(await poll(server, asked, { client_id: 'vault' })).toMatchObject(invalid('authorization_pending'))
    await goThrough(person, await person.submit(codes, 'recovery-codes-saved'), BOB)
    const tokens = await poll(server, asked, { client_id: 'vault' })
    expect(decodeJwt(String(tokens['id_token']))).toMatchObject({ acr: '2' })
    await users.resetFactors((await users.find('bob'))!.id)
  },
)

test('details of what is asked for (RFC 9396) are read on the page, and told with the tokens', async () => {
  const authorization_details = JSON.stringify([PAYMENT, ACCOUNTS])
  const asked = await ask(server, { authorization_details })
  const person = newPerson(server)
  const { username, password } = ALICE
  const consent = await person.submit(await enter(server, person, asked), 'login', { username, password })
  expect(consent.body.replaceAll(/<[^>]*>/g, '')).toContain('Pay 100.00 EUR to Book Shop')
  await person.submit(consent, 'consent', { decision: 'allow' })
  const less = JSON.stringify([PAYMENT])
  const tokens = await poll(server, asked, { authorization_details: less })
  expect(tokens['authorization_details']).toEqual([PAYMENT])
  const unknown = { client_id: 'tv', scope: 'openid', authorization_details: '[{"type":"gone"}]' }
  expect(await answer(server.post('/device_authorization', unknown))).toMatchObject(
    invalid('invalid_authorization_details'),
  )
})

describe('what ends meanwhile', () => {
  test('a client that is registered anew is another: neither page nor code are good', async () => {
    await clients.create({ ...TV, client_id: 'again' })
    const [asked, entered] = [await ask(server, { client_id: 'again' }), await ask(server, { client_id: 'again' })]
    await allow(server, entered)
    await clients.delete('again')
    await server.database.query(`update artifacts set value = jsonb_set(value::jsonb, '{askedAt}', to_jsonb((value->>'askedAt')::bigint - 10000)) where kind = 'device' and value->'approval'->>'client' = 'again'`)
    expect(await enter(server, newPerson(server), asked)).toMatchObject({ status: 400 })
    await clients.create({ ...TV, client_id: 'again' })
    const page = await enter(server, newPerson(server), await ask(server, { client_id: 'again' }))
    expect(findForm(page, 'login')).toBeDefined()
    expect(await poll(server, entered, { client_id: 'again' })).toMatchObject(invalid('invalid_grant'))
  }) // prettier-ignore

  test('a client that may not use the grant any more: nobody is asked, and it gets nothing', async () => {
    await clients.create({ ...TV, client_id: 'former' })
    const [asked, entered] = [await ask(server, { client_id: 'former' }), await ask(server, { client_id: 'former' })] // prettier-ignore
    await allow(server, entered)
    await clients.update('former', { grant_types: ['refresh_token'] })
    const page = await enter(server, newPerson(server), asked)
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('unauthorized_client')])
    expect(await poll(server, entered, { client_id: 'former' })).toMatchObject(invalid('unauthorized_client'))
  })

  test.each([
    ['a new password', async () => users.setPassword(BOB.username, BOB.password)],
    ['the end of everything', async () => users.revokeTokens(BOB.username)],
  ])('%s, in the very moment in which the device polls: it gets nothing', async (_what, end) => {
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const waits = async (count: number): Promise<void> => {
      await expect.poll(async () => server.database.query(waiting), { timeout: 3000 }).toHaveLength(count)
    }
    const atOnce = async (asked: Awaited<ReturnType<typeof ask>>) =>
      withClient(server.database, async (holder) => {
        await holder.query('begin')
        await holder.query('select from users where username = $1 for update', [BOB.username])
        const ending = end()
        ending.catch(() => {})
        await waits(1)
        const polling = poll(server, asked)
        await waits(2)
        await holder.query('commit')
        return Promise.all([ending, polling])
      })
    // Once more where the lock was waited for too long.
    const [asked, ended, polled] = await until(async () => {
      const one = await ask(server)
      await allow(server, one, newPerson(server), BOB)
      const both = await atOnce(one)
      if (both[1].status === 503) throw new Error('it took too long')
      return [one, ...both] as const
    })
    expect(ended).toBeTruthy()
    expect(polled).toMatchObject(invalid('invalid_grant'))
    expect(await poll(server, asked)).toMatchObject(invalid('access_denied'))
  })

  test('a type of details that the client may have no more: it gets the others', async () => {
    await clients.create({ ...TV, client_id: 'less', authorization_details_types: ['payment', 'accounts'] })
    const authorization_details = JSON.stringify([PAYMENT, ACCOUNTS])
    const entered = await ask(server, { client_id: 'less', authorization_details })
    await allow(server, entered)
    await clients.update('less', { authorization_details_types: ['payment'] })
    const tokens = await poll(server, entered, { client_id: 'less' })
    expect(tokens['authorization_details']).toEqual([PAYMENT])
  })

  test('a scope that the client may have no more, and what the person took back', async () => {
    await clients.create({ ...TV, client_id: 'narrow', scope: scopes })
    const entered = await ask(server, { client_id: 'narrow', ...allowed })
    await allow(server, entered)
    await clients.update('narrow', { scope: ['read_books'] })
    expect(await poll(server, entered, { client_id: 'narrow' })).toMatchObject(invalid('invalid_scope'))

    const taken = await ask(server)
    const person = newPerson(server)
    await allow(server, taken, person)
    await kernelOf(server.server).consents.withdraw((await users.find('alice'))!.id, 'tv')
    expect(await poll(server, taken)).toMatchObject(invalid('invalid_grant'))
  })
})

test('what is allowed, denied and refused is in the audit log and on the account', async () => {
  const person = newPerson(server)
  const asked = await ask(server)
  await allow(server, asked, person)
  const { username, password } = ALICE
  const consent = await enter(server, person, await ask(server))
  await person.submit(consent, 'consent', { username, password, decision: 'deny' })
  await enter(server, newPerson(server), { user_code: 'BBBB-BBBB' })
  const user = (await users.find('alice'))!.id
  // What is decided, with the decision.
  for (const type of ['device.allowed', 'device.denied'] as const)
    expect((await audit.list({ type })).events[0]).toMatchObject({ type, user, client: 'tv' })
  const type = 'device.code_refused'
  await expect.poll(async () => (await audit.list({ type })).events[0]).toMatchObject({ type })
  const [event] = (await audit.list({ type: 'device.allowed' })).events
  expect(event).toMatchObject({ user, client: 'tv', details: { device: '127.0.0.1' } })
  const activity = await person.get(`${server.url}/account/activity`)
  const text = activity.body.replaceAll(/<[^>]*>/g, '')
  for (const words of ['You connected a device at 127.0.0.1', 'You denied a device at 127.0.0.1'])
    expect(text).toContain(words)
})

test.each([
  ['allow', 'later'],
  ['allow', 'before'],
  ['deny', 'later'],
  ['deny', 'before'],
])('a form that is sent again, as the answer to %s was lost, leads on, and is told of once; the device asks %s', async (decision, asks) => {
  const expected = decision === 'allow' ? { status: 200 } : invalid('access_denied')
  const person = newPerson(server)
  await goThrough(person, await enter(server, person, await ask(server)))
  const asked = await ask(server)
  const consent = await enter(server, person, asked)
  const type = decision === 'allow' ? 'device.allowed' : 'device.denied'
  const count = async () => (await server.database.query('select from audit_events where type = $1', [type])).length
  const before = await count()
  const { audit: trail } = kernelOf(server.server)
  const { transaction } = trail
  const spy = vi.spyOn(trail, 'transaction').mockImplementation(async (work) => {
    const done = await transaction(work)
    if ((await count()) > before) throw new Error('the connection was lost')
    return done
  })
  expect((await person.submit(consent, 'consent', { decision })).status).toBe(500)
  spy.mockRestore()
  const told = asks === 'before' ? await poll(server, asked) : undefined
  const end = await person.submit(consent, 'consent', { decision })
  expect([end.status, end.url]).toEqual([200, `${server.url}/device/${decision === 'allow' ? 'allowed' : 'denied'}`])
  expect(await count()).toBe(before + 1)
  expect(told ?? (await poll(server, asked))).toMatchObject(expected)
  // The other button has decided nothing, and the same code is no way to it.
  const other = decision === 'allow' ? 'deny' : 'allow'
  expect((await person.submit(consent, 'consent', { decision: other })).status).toBe(400)
}) // prettier-ignore

test('the page says where a device is, when it asked, and that its network is another', async () => {
  const asked = await answer(
    server.post('/device_authorization', { client_id: 'tv', scope: 'openid' }, { 'x-forwarded-for': '198.51.100.9' }),
  ) // prettier-ignore
  const { username, password } = ALICE
  const textAt = async (address: string): Promise<string> => {
    const person = newPerson(server, address)
    const page = await enter(server, person, asked as unknown as Asked)
    const consent = findForm(page, 'login') === undefined ? page : await person.submit(page, 'login', { username, password })
    return consent.body.replaceAll(/<[^>]*>/g, '')
  } // prettier-ignore
  const elsewhere = await textAt('203.0.113.5')
  expect(elsewhere).toContain('A device at 198.51.100.9 asked a moment ago')
  expect(elsewhere).toContain('The device is in another network than this browser')
  const at = await answer(
    server.post('/device_authorization', { client_id: 'tv', scope: 'openid' }, { 'x-forwarded-for': '203.0.113.5' }),
  ) // prettier-ignore
  const person = newPerson(server, '203.0.113.5')
  const beside = await person.submit(await enter(server, person, at as unknown as Asked), 'login', { username, password }) // prettier-ignore
  expect(beside.body).not.toContain('another network')
  const six = newPerson(server, '2001:db8::7')
  const other = await ask(server)
  const page = await six.submit(await enter(server, six, other), 'login', { username, password })
  expect(page.body).not.toContain('another network')
})

test('the code as a picture leads to the page that still asks for it', async () => {
  const { user_code, verification_uri_complete } = await ask(server)
  const response = await server.get(`/device/qr.svg?user_code=${user_code}`)
  expect([response.status, response.headers.get('content-type'), response.headers.get('cross-origin-resource-policy')]).toEqual([200, 'image/svg+xml', 'cross-origin'])
  const svg = await response.text()
  const size = Number(/viewBox="0 0 (\d+)/.exec(svg)![1])
  const dark = new Set([...svg.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x, y]) => `${x} ${y}`))
  const [scale, side] = [4, size * 4]
  const data = new Uint8Array(side * side * 4)
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) {
      const light = dark.has(`${Math.floor(x / scale)} ${Math.floor(y / scale)}`) ? 0 : 255
      data.set([light, light, light, 255], (y * side + x) * 4)
    }
  expect(decodeQr({ width: side, height: side, data })).toBe(verification_uri_complete)
  for (const wrong of ['', '?user_code=<svg>', '?user_code=AAAA'])
    expect((await server.get(`/device/qr.svg${wrong}`)).status).toBe(400)
}) // prettier-ignore

test('oauth4webapi: asks, waits, and gets its tokens', async () => {
  const insecure = { [oauth4webapi.allowInsecureRequests]: true }
  const issuer = new URL(server.url)
  const as = await oauth4webapi.processDiscoveryResponse(issuer, await oauth4webapi.discoveryRequest(issuer, insecure))
  const client = { client_id: 'tv' }
  const none = oauth4webapi.None()
  const form = { scope: 'openid read_books', acr_values: '1' }
  const asked = await oauth4webapi.processDeviceAuthorizationResponse(as, client, await oauth4webapi.deviceAuthorizationRequest(as, client, none, form, insecure))
  const turn = async () => {
    const response = await oauth4webapi.deviceCodeGrantRequest(as, client, none, asked.device_code, insecure)
    return oauth4webapi.processDeviceCodeResponse(as, client, response)
  }
  await expect(turn()).rejects.toMatchObject({ error: 'authorization_pending' })
  await allow(server, asked)
  const tokens = await turn()
  expect(oauth4webapi.getValidatedIdTokenClaims(tokens)).toMatchObject({ aud: 'tv' })
  await expect(turn()).rejects.toMatchObject({ error: 'invalid_grant' })
}) // prettier-ignore

describe('registration', () => {
  test('of a kind, on the command line', async () => {
    const { runJson } = commandsHere({ ...server.settings, LOG_LEVEL: 'error' }, 'client')
    const made = await runJson('create', '--kind', 'device', '--client-id', 'printer-2', '--client-name', 'Printer')
    expect(made).toMatchObject({
      client_id: 'printer-2', grant_types: [GRANT_TYPE, 'refresh_token'], token_endpoint_auth_method: 'none', response_types: [],
    })
    expect(made).not.toHaveProperty('client_secret')
    const other = await runJson('create', '--kind', 'device', '--token-endpoint-auth-method', 'client_secret_basic')
    expect(other).toHaveProperty('client_secret')
  }) // prettier-ignore

  test('of a kind, on the administration page', async () => {
    const agent = await signedIn(server)
    expect((await register(server, agent, 'device', { client_id: 'clicked', client_name: 'Screen' })).status).toBe(200)
    expect(await clients.find('clicked')).toMatchObject({ grant_types: [GRANT_TYPE, 'refresh_token'] })
    expect((await openClient(server, agent, 'clicked')).status).toBe(200)
    expect((await ask(server, { client_id: 'clicked', scope: 'openid' })).interval).toBe(5)
  }) // prettier-ignore

  test('by themselves (RFC 7591) only with an initial access token that allows it', async () => {
    const open = await startServer({ OIDC_REGISTRATION: 'open' })
    const body = JSON.stringify({ client_name: 'Frame', response_types: [], grant_types: [GRANT_TYPE], token_endpoint_auth_method: 'none' })
    const post = async (headers: Record<string, string> = {}) =>
      answer(open.request('/register', { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } }))
    expect(await post()).toMatchObject(invalid('invalid_client_metadata'))
    const { runJson } = commandsHere({ ...open.settings, LOG_LEVEL: 'error' }, 'initial-token')
    const { token } = (await runJson('create', 'frames', '--grant-types', GRANT_TYPE)) as Record<string, string>
    const made = await post({ authorization: `Bearer ${token}` })
    expect(made).toMatchObject({ status: 201, grant_types: [GRANT_TYPE] })
    expect(await ask(open, { client_id: String(made['client_id']), scope: 'openid' })).toHaveProperty('user_code')
  }) // prettier-ignore

  test('a profile for money has no devices', async () => {
    const held = clients.create({ ...TV, client_id: 'held', profile: 'fapi-2.0', token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example/jwks', dpop_bound_access_tokens: true }) // prettier-ignore
    await expect(held).rejects.toThrow('grant_types')
  })
})

test('left out, nothing advertises or serves it, and no form offers it', async () => {
  const without = { build: { without: ['latchkey-device-code'] }, seed: { ...DEVICE_SEED, users: [ROOT] } }
  const other = await startServer(DEVICE_SETTINGS, without)
  const metadata = await answer(other.get('/.well-known/openid-configuration'))
  expect(metadata).not.toHaveProperty('device_authorization_endpoint')
  expect(metadata['grant_types_supported']).not.toContain(GRANT_TYPE)
  for (const path of ['/device', '/device/qr.svg', '/device_authorization'])
    expect((await other.get(path)).status).toBe(404)
  expect(await poll(other, { device_code: 'a' })).toMatchObject(invalid('unsupported_grant_type'))
  expect((await (await signedIn(other)).get(`${other.url}/admin/clients/new`)).body).not.toContain('type=device')
}) // prettier-ignore
