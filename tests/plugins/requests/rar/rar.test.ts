/** Rich authorization requests (RFC 9396): read by people, remembered by content, in tokens and answers, and less on request. */
import { decodeJwt } from 'jose'
import * as openid from 'openid-client'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ACCOUNTS, addBank, asking, BANK, BUDGET, PAYMENT } from '../../../support/bank.ts'
import { createAssertionKey } from '../../../support/client-assertions.ts'
import { addressWith, push } from '../../../support/pushed.ts'
import { addressOf, requestObject } from '../../../support/request-objects.ts'
import { basic } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../../../support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../../../support/user-agent.ts'

const key = await createAssertionKey()
const seed = {
  ...SEED,
  clients: [
    WEB,
    { ...BANK, jwks: { keys: [key.jwk] } },
    { ...BANK, client_id: 'opaque', access_token_format: 'opaque' },
    { ...BANK, client_id: 'modest', authorization_details_types: ['accounts'] },
    { client_id: 'service', client_secret: WEB.client_secret, scope: ['read_books'], authorization_details_types: ['payment'] },
  ],
} // prettier-ignore
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  { seed, extend: addBank },
)
const LESS = { ...ACCOUNTS, actions: ['balances'], accounts: ['DE1234'] }

const configOf = async (id: string) =>
  openid.discovery(new URL(server.url), id, {}, openid.ClientSecretBasic(WEB.client_secret), {
    execute: [openid.allowInsecureRequests],
  })

async function signIn(id: string, details: object[], agent: UserAgent = createUserAgent(server.url)) {
  const config = await configOf(id)
  const asked = { redirect_uri: REDIRECT_URI, scope: 'openid', ...asking(...details) }
  const page = await goThrough(agent, await agent.get(openid.buildAuthorizationUrl(config, asked)))
  const callback = new URL(page.headers.get('location')!)
  return { config, tokens: await openid.authorizationCodeGrant(config, callback) }
}
type SignedIn = Awaited<ReturnType<typeof signIn>>

/** What the answer, introspection and, where it is one, the JWT say. */
async function saidOf(config: SignedIn['config'], tokens: SignedIn['tokens']): Promise<unknown[]> {
  const { client_id: id } = config.clientMetadata()
  const introspected = await openid.tokenIntrospection(config, tokens.access_token)
  const jwt = id === 'opaque' ? [] : [decodeJwt(tokens.access_token)['authorization_details']]
  return [tokens.authorization_details, introspected['authorization_details'], ...jwt]
}

/** What the app is told at once, without a page. */
async function silently(agent: UserAgent, ...details: object[]): Promise<string | null> {
  const url = authorizationUrl(server, { client_id: 'bank', prompt: 'none', ...asking(...details) })
  const answer = answerOf(await agent.get(url))
  return answer.get('error') ?? (answer.has('code') ? 'code' : null)
}

test('the metadata names the types, where there are any', async () => {
  const typesAt = async (at: typeof server) =>
    ((await (await at.get('/.well-known/openid-configuration')).json()) as Record<string, unknown>)['authorization_details_types_supported']
  expect(await typesAt(server)).toEqual(['payment', 'accounts', 'budget'])
  const none = await startServer({}, { seed })
  expect(await typesAt(none)).toBeUndefined()
  const asked = await none.get(authorizationUrl(none, { client_id: 'bank', ...asking(PAYMENT) }))
  expect(asked.headers.get('location')).toContain('error=invalid_authorization_details')
}) // prettier-ignore

describe.each(['bank', 'opaque'])('%s', (id) => {
  test('what was approved is in answer, token and introspection, and less of it after a refresh that asks so', async () => {
    const { config, tokens } = await signIn(id, [PAYMENT, ACCOUNTS, BUDGET])
    for (const said of await saidOf(config, tokens)) expect(said).toEqual([PAYMENT, ACCOUNTS, BUDGET])
    const asked = [LESS, { ...BUDGET, most: 7 }]
    const less = await openid.refreshTokenGrant(config, tokens.refresh_token!, asking(...asked))
    for (const said of await saidOf(config, less)) expect(said).toEqual(asked)
    const all = await openid.refreshTokenGrant(config, less.refresh_token!)
    for (const said of await saidOf(config, all)) expect(said).toEqual([PAYMENT, ACCOUNTS, BUDGET])
  })

  test.each([
    ['another payment', [{ ...PAYMENT, amount: '1000.00' }]],
    ['another account', [{ ...ACCOUNTS, accounts: ['DE9999'] }]],
    ['a member less, which would be all', [{ type: 'accounts', actions: ['balances'] }]],
    ['what is no list', [{ ...ACCOUNTS, accounts: [] }]],
    ['more by the rule of its type', [{ ...BUDGET, most: 101 }]],
    ['a type that was not approved', [{ type: 'gone' }]],
    ['one that is within it and one that is not', [LESS, { ...BUDGET, most: 101 }]],
    ['nothing', []],
  ])('%s is not within it: refused, and nothing is spent', async (_name, details) => {
    const { config, tokens } = await signIn(id, [PAYMENT, ACCOUNTS, BUDGET])
    await expect(
      openid.refreshTokenGrant(config, tokens.refresh_token!, asking(...details)),
    ).rejects.toMatchObject({ error: 'invalid_authorization_details' })
    await openid.refreshTokenGrant(config, tokens.refresh_token!, asking(PAYMENT))
  })

  test('what was approved without any gets none', async () => {
    const config = await configOf(id)
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(authorizationUrl(server, { client_id: id })))
    const expectedState = 'a state'
    const back = new URL(page.headers.get('location')!)
    const tokens = await openid.authorizationCodeGrant(config, back, { expectedState })
    expect(await saidOf(config, tokens)).toEqual(Array.from({ length: id === 'opaque' ? 2 : 3 }, () => undefined))
    await expect(
      openid.refreshTokenGrant(config, tokens.refresh_token!, asking(PAYMENT)),
    ).rejects.toMatchObject({ error: 'invalid_authorization_details' })
  }) // prettier-ignore
})

describe('each that was approved is there for one of those that are asked for (section 6)', () => {
  const most = (value: number) => ({ ...BUDGET, most: value })
  const part = (...accounts: string[]) => ({ ...ACCOUNTS, accounts })
  const LOOK = part('DE1111', 'DE2222')

  test.each([
    ['a budget is not two', [BUDGET], [BUDGET, most(99)]],
    ['nor twenty', [BUDGET], Array.from({ length: 20 }, (_, less) => most(100 - less))],
    ['a look is not three', [LOOK], [part('DE1111'), part('DE2222'), LOOK]],
    ['two are not three', [most(10), most(20)], [most(1), most(2), most(3)]],
    ['what fits only the greater is there once', [most(10), most(20)], [most(11), most(12)]],
  ])('%s', async (_name, approved, asked) => {
    const { config, tokens } = await signIn('bank', approved)
    await expect(
      openid.refreshTokenGrant(config, tokens.refresh_token!, asking(...asked)),
    ).rejects.toMatchObject({ error: 'invalid_authorization_details' })
    const all = await openid.refreshTokenGrant(config, tokens.refresh_token!)
    expect(all.authorization_details).toEqual(approved)
  })

  test.each([
    ['in their order', [most(10), most(20)], [most(10), most(15)]],
    ['in another', [most(10), most(20), most(30)], [most(5), most(25), most(10)]],
    ['where the first leaves its place to others', [most(30), most(20), most(10)], [most(1), most(2), most(30)]],
    ['lists', [LOOK, part('DE1111')], [part('DE1111'), LOOK]],
  ])('as many as were approved are found, %s', async (_name, approved, asked) => {
    const { config, tokens } = await signIn('bank', approved)
    const less = await openid.refreshTokenGrant(config, tokens.refresh_token!, asking(...asked))
    expect(less.authorization_details).toEqual(asked)
  }) // prettier-ignore
})

test('a code is exchanged for less of it, and refreshed for all', async () => {
  const config = await configOf('bank')
  const agent = createUserAgent(server.url)
  const url = authorizationUrl(server, { client_id: 'bank', ...asking(PAYMENT, ACCOUNTS) })
  const back = new URL((await goThrough(agent, await agent.get(url))).headers.get('location')!)
  const tokens = await openid.authorizationCodeGrant(config, back, { expectedState: 'a state' }, asking(PAYMENT))
  expect(tokens.authorization_details).toEqual([PAYMENT])
  const all = await openid.refreshTokenGrant(config, tokens.refresh_token!)
  expect(all.authorization_details).toEqual([PAYMENT, ACCOUNTS])
}) // prettier-ignore

test('people read what it is: a look is remembered by its content, in whatever order that comes, a payment never', async () => {
  const agent = createUserAgent(server.url)
  const payment = { ...PAYMENT, amount: '7.77', creditor: '<b>Shop</b>' }
  const url = authorizationUrl(server, { client_id: 'bank', ...asking(payment, ACCOUNTS) })
  const credentials = { username: ALICE.username, password: ALICE.password }
  const consent = await agent.submit(await agent.get(url), 'login', credentials)
  expect(findForm(consent, 'consent')).toBeDefined()
  expect(consent.body).toMatch(/Pay .*7\.77.* .*EUR.* to .*&lt;b&gt;Shop/)
  expect(consent.body).toContain('See balances and transactions of DE1234 and DE5678')
  await agent.submit(consent, 'consent', { decision: 'allow' })

  const { type, actions, accounts } = ACCOUNTS
  expect(await silently(agent, ACCOUNTS)).toBe('code')
  expect(await silently(agent, { accounts, actions: actions.toReversed(), type })).toBe('code')
  expect(await silently(agent, { ...ACCOUNTS, accounts: ['DE1234'] })).toBe('consent_required')
  expect(await silently(agent, payment)).toBe('consent_required')
  const again = await agent.get(authorizationUrl(server, { client_id: 'bank', ...asking(payment) }))
  expect(findForm(again, 'consent')).toBeDefined()
  const allowed = await agent.submit(again, 'consent', { decision: 'allow' })
  expect(answerOf(allowed).has('code')).toBe(true)
  const apps = await agent.get(`${server.url}/account/apps`)
  expect(apps.body).toContain('See balances and transactions of DE1234 and DE5678')
  expect(apps.body).not.toContain('7.77')
  const refused = await agent.get(authorizationUrl(server, { client_id: 'bank', ...asking(payment) }))
  const denied = await agent.submit(refused, 'consent', { decision: 'deny' })
  expect(answerOf(denied).get('error')).toBe('access_denied')
})

describe('refused where it is asked for, pushed or not', () => {
  test.each([
    ['no JSON', '{'],
    ['no list', JSON.stringify(PAYMENT)],
    ['an empty one', '[]'],
    ['two lists', '[],[]'],
    ['a list and something beside it', `${JSON.stringify([PAYMENT])},"more":1`],
    ['an unknown type', JSON.stringify([{ type: 'everything' }])],
    ['an inherited one', JSON.stringify([{ type: 'constructor' }])],
    ['a type that its client names and nobody serves', JSON.stringify([{ type: 'gone' }])],
    ['no type', JSON.stringify([{ amount: '1.00' }])],
    ['a type that is a list', JSON.stringify([{ type: ['payment'] }])],
    ['null', '[null]'],
    ['a member too many', JSON.stringify([{ ...PAYMENT, urgent: true }])],
    ['an inherited member', JSON.stringify([{ ...PAYMENT, toString: 1 }])],
    ['a member less', JSON.stringify([{ type: 'payment' }])],
    ['a member twice', `[{"type":"payment","amount":"1.00","amount":"9.00","currency":"EUR","creditor":"x"}]`],
    ['a type twice', `[{"type":"payment","type":"accounts","actions":["balances"]}]`],
    ['the same twice', JSON.stringify([PAYMENT, PAYMENT])],
    ['more than anybody reads', JSON.stringify(Array.from({ length: 21 }, (_, most) => ({ type: 'budget', most: most + 1 })))],
    ['an amount that is none', JSON.stringify([{ ...PAYMENT, amount: '-1' }])],
    ['an amount that is a number', JSON.stringify([{ ...PAYMENT, amount: 1 }])],
    ['broken Unicode', `[{"type":"payment","amount":"1.00","currency":"EUR","creditor":"\\ud800"}]`],
    ['what is nested deeply', `[${'['.repeat(50)}${']'.repeat(50)}]`],
  ])('%s', async (_name, value) => {
    const url = authorizationUrl(server, { client_id: 'bank', authorization_details: value })
    expect(answerOf(await createUserAgent(server.url).get(url)).get('error')).toBe('invalid_authorization_details')
    expect(await push(server, { authorization_details: value }, 'bank')).toMatchObject({
      status: 400,
      error: 'invalid_authorization_details',
    })
  }) // prettier-ignore

  test('whatever is sent', async () => {
    const anyDetails = fc.oneof(
      fc.json({ maxDepth: 3 }),
      fc.array(fc.record({ type: fc.constantFrom('payment', 'accounts', 'budget'), amount: fc.jsonValue(), actions: fc.jsonValue(), most: fc.jsonValue() }, { requiredKeys: ['type'] })).map((list) => JSON.stringify(list)),
      fc.string({ minLength: 1 }),
    )
    const headers = { ...basic('bank', WEB.client_secret), 'content-type': 'application/x-www-form-urlencoded' }
    await fc.assert(
      fc.asyncProperty(anyDetails, async (authorization_details) => {
        const payload = new URLSearchParams({ redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid', authorization_details }).toString()
        const { statusCode, body } = await server.server.inject({ method: 'POST', url: '/par', payload, headers })
        expect(`${statusCode} ${body}`).toMatch(/^(?:201 |400 \{"error":"(?:invalid_authorization_details|invalid_request)")/)
      }),
      { numRuns: 2000 },
    )
  }) // prettier-ignore
})

test('a client asks for its own types alone, and none without people', async () => {
  for (const id of ['web', 'modest']) {
    const url = authorizationUrl(server, { client_id: id, ...asking(PAYMENT) })
    expect(answerOf(await createUserAgent(server.url).get(url)).get('error')).toBe('invalid_authorization_details')
  }
  const config = await configOf('service')
  await expect(openid.clientCredentialsGrant(config, asking(PAYMENT))).rejects.toMatchObject({
    error: 'invalid_authorization_details',
  })
}) // prettier-ignore

test('apps that register themselves name none', async () => {
  const open = await startServer({ OIDC_REGISTRATION: 'open' }, { seed, extend: addBank })
  const response = await open.request('/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [REDIRECT_URI], authorization_details_types: ['payment'] }),
  })
  expect(await response.json()).not.toHaveProperty('authorization_details_types')
})

test('pushed, and as a list in a signed request (RFC 9396 section 3)', async () => {
  const agent = createUserAgent(server.url)
  const pushed = addressWith(await push(server, asking(BUDGET), 'bank'), 'bank')
  const request = await requestObject(key, 'bank', server.url, { authorization_details: [BUDGET] })
  for (const path of [pushed, addressOf('bank', { request })]) {
    const page = await goThrough(agent, await agent.get(server.url + path))
    const code = answerOf(page).get('code')!
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const response = await server.post('/token', form, basic('bank', WEB.client_secret))
    expect(await response.json()).toMatchObject({ authorization_details: [BUDGET] })
  }
})

test('what is gone from the server is said as it was, and left out of it nothing is asked', async () => {
  const agent = createUserAgent(server.url)
  await signIn('bank', [{ ...ACCOUNTS, accounts: ['DE4711'] }], agent)
  const less = await startServer({ ...server.settings, PORT: 0 }, { database: server.database })
  const there = createUserAgent(less.server.listeningOrigin)
  for (const [name, value] of agent.cookies) there.cookies.set(name, value)
  const apps = await there.get(`${less.server.listeningOrigin}/account/apps`)
  expect(apps.body).toContain('See balances and transactions of DE4711')
  const without = await startServer({ WITHOUT: 'latchkey-rar' }, { seed: SEED })
  const asked = await without.get(authorizationUrl(without, asking(PAYMENT)))
  expect(asked.headers.get('location')).toMatch(/^\/interaction\//)
})
