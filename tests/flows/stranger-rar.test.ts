/**
 * Rich authorization requests (RFC 9396) as people write them who know nothing of this checkout, judged by `openid-client` and
 * `oauth4webapi`: read by people, remembered by content, in tokens and answers, and less on request.
 */
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as client from 'openid-client'
import { beforeAll, describe, expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { ALICE, answerOf, authorizationUrl, goThrough, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../support/user-agent.ts'

const BANK = { ...WEB, client_id: 'bank', authorization_details_types: ['payment', 'accounts'] }
const OPAQUE = { ...BANK, client_id: 'opaque', access_token_format: 'opaque' }
const MODEST = { ...BANK, client_id: 'modest', authorization_details_types: ['accounts'] }
const SERVICE = { client_id: 'service', client_secret: WEB.client_secret, scope: ['read_books'] }
const insecure = { [oauth4webapi.allowInsecureRequests]: true }

const folder = await installStranger('rar', 'latchkey', await pack('latchkey'), ['@types/node'])
const compiling = compile(folder)
compiling.catch(() => {})
const one = await spawnServer(
  {
    WITHOUT: 'latchkey-rar',
    PLUGINS: join(folder, 'rar.ts'),
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
  },
  { seed: { ...SEED, clients: [WEB, BANK, OPAQUE, MODEST, SERVICE] } },
)
const two = await spawnBeside(one.settings, one.database)

const PAYMENT = { type: 'payment', amount: '100.00', currency: 'EUR', creditor: 'Book Shop' }
const ACCOUNTS = { type: 'accounts', actions: ['balances', 'transactions'], accounts: ['DE1234', 'DE5678'] }
const LESS = { ...ACCOUNTS, actions: ['balances'], accounts: ['DE1234'] }
const asking = (...details: object[]) => ({ authorization_details: JSON.stringify(details) })
let as: oauth4webapi.AuthorizationServer

beforeAll(async () => {
  const issuer = new URL(one.url)
  as = await oauth4webapi.processDiscoveryResponse(
    issuer,
    await oauth4webapi.discoveryRequest(issuer, insecure),
  )
})

const configOf = async (id: string) =>
  client.discovery(new URL(one.url), id, {}, client.ClientSecretBasic(WEB.client_secret), {
    execute: [client.allowInsecureRequests],
  })

async function signIn(id: string, details: object[], agent: UserAgent = createUserAgent(one.url)) {
  const config = await configOf(id)
  const asked = { redirect_uri: REDIRECT_URI, scope: 'openid', ...asking(...details) }
  const page = await goThrough(agent, await agent.get(client.buildAuthorizationUrl(config, asked)))
  const callback = new URL(page.headers.get('location')!)
  return { config, tokens: await client.authorizationCodeGrant(config, callback) }
}

type Tokens = Awaited<ReturnType<typeof signIn>>['tokens']

/** What the answer, introspection at both processes and, where it is one, the JWT say. */
async function saidOf(config: client.Configuration, tokens: Tokens): Promise<unknown[]> {
  const { client_id: id } = config.clientMetadata()
  const introspected = await Promise.all(
    [one, two].map(async (server) => {
      const credentials = { authorization: `Basic ${btoa(`${id}:${WEB.client_secret}`)}` }
      const response = await server.post('/introspect', { token: tokens.access_token }, credentials)
      return ((await response.json()) as { authorization_details?: unknown }).authorization_details
    }),
  )
  const jwt = id === 'opaque' ? [] : [decodeJwt(tokens.access_token)['authorization_details']]
  return [tokens.authorization_details, ...introspected, ...jwt]
}

/** What the app is told at once, without a page; undefined where there is one. */
async function silently(agent: UserAgent, ...details: object[]): Promise<string | null> {
  const url = authorizationUrl(one, { client_id: 'bank', prompt: 'none', ...asking(...details) })
  const answer = answerOf(await agent.get(url))
  return answer.get('error') ?? (answer.has('code') ? 'code' : null)
}

test('the stranger compiles against the package', async () => {
  await compiling
})

test('the metadata names the types', () => {
  expect(as.authorization_details_types_supported).toEqual(['payment', 'accounts'])
})

describe.each(['bank', 'opaque'])('%s', (id) => {
  test('what was approved is in answer, token and introspection, and less of it after a refresh that asks so', async () => {
    const { config, tokens } = await signIn(id, [PAYMENT, ACCOUNTS])
    for (const said of await saidOf(config, tokens)) expect(said).toEqual([PAYMENT, ACCOUNTS])
    const less = await client.refreshTokenGrant(config, tokens.refresh_token!, asking(LESS))
    for (const said of await saidOf(config, less)) expect(said).toEqual([LESS])
    const all = await client.refreshTokenGrant(config, less.refresh_token!)
    for (const said of await saidOf(config, all)) expect(said).toEqual([PAYMENT, ACCOUNTS])
  })

  test.each([
    ['another payment', [{ ...PAYMENT, amount: '1000.00' }]],
    ['another account', [{ ...ACCOUNTS, accounts: ['DE9999'] }]],
    ['a member less', [{ type: 'accounts', actions: ['balances'] }]],
    ['what is no list', [{ ...ACCOUNTS, accounts: [] }]],
    ['what was approved once, asked for twice', [PAYMENT, PAYMENT]],
  ])('%s is not within it: refused, and nothing is spent', async (_name, details) => {
    const { config, tokens } = await signIn(id, [PAYMENT, ACCOUNTS])
    await expect(
      client.refreshTokenGrant(config, tokens.refresh_token!, asking(...details)),
    ).rejects.toMatchObject({ error: 'invalid_authorization_details' })
    await client.refreshTokenGrant(config, tokens.refresh_token!, asking(PAYMENT))
  })
})

test('oauth4webapi: a code that is exchanged for less of it, and refreshed for all', async () => {
  const agent = createUserAgent(one.url)
  const url = authorizationUrl(one, { client_id: 'bank', ...asking(PAYMENT, ACCOUNTS) })
  const app = { client_id: 'bank' }
  const auth = oauth4webapi.ClientSecretBasic(WEB.client_secret)
  const callback = new URL((await goThrough(agent, await agent.get(url))).headers.get('location')!)
  const answer = oauth4webapi.validateAuthResponse(as, app, callback, 'a state')
  const response = await oauth4webapi.authorizationCodeGrantRequest(
    as, app, auth, answer, REDIRECT_URI, oauth4webapi.nopkce,
    { ...insecure, additionalParameters: asking(PAYMENT) },
  ) // prettier-ignore
  const tokens = await oauth4webapi.processAuthorizationCodeResponse(as, app, response)
  expect(tokens.authorization_details).toEqual([PAYMENT])
  const again = await oauth4webapi.refreshTokenGrantRequest(as, app, auth, tokens.refresh_token!, insecure)
  const all = await oauth4webapi.processRefreshTokenResponse(as, app, again)
  expect(all.authorization_details).toEqual([PAYMENT, ACCOUNTS])
})

test('people read what it is: a look is remembered by its content, in whatever order that comes, a payment never', async () => {
  const agent = createUserAgent(one.url)
  const payment = { ...PAYMENT, amount: '7.77' }
  const url = authorizationUrl(one, { client_id: 'bank', ...asking(payment, ACCOUNTS) })
  const credentials = { username: ALICE.username, password: ALICE.password }
  const consent = await agent.submit(await agent.get(url), 'login', credentials)
  expect(findForm(consent, 'consent')).toBeDefined()
  expect(consent.body).toContain('Pay 7.77 EUR to Book Shop')
  expect(consent.body).toContain('See balances and transactions of DE1234 and DE5678')
  await agent.submit(consent, 'consent', { decision: 'allow' })

  const { type, actions, accounts } = ACCOUNTS
  expect(await silently(agent, ACCOUNTS)).toBe('code')
  expect(await silently(agent, { accounts, actions: actions.toReversed(), type })).toBe('code')
  expect(await silently(agent, { ...ACCOUNTS, accounts: ['DE1234'] })).toBe('consent_required')
  expect(await silently(agent, payment)).toBe('consent_required')
  const again = await agent.get(authorizationUrl(one, { client_id: 'bank', ...asking(payment) }))
  expect(findForm(again, 'consent')).toBeDefined()
  expect(again.body).toContain('Pay 7.77 EUR to Book Shop')
  const allowed = await agent.submit(again, 'consent', { decision: 'allow' })
  expect(answerOf(allowed).has('code')).toBe(true)
  const apps = await agent.get(`${one.url}/account/apps`)
  expect(apps.body).toContain('See balances and transactions of DE1234 and DE5678')
  expect(apps.body).not.toContain('Pay 7.77 EUR')
})

test.each([
  ['no JSON', '{'],
  ['no list', JSON.stringify(PAYMENT)],
  ['an empty one', '[]'],
  ['an unknown type', JSON.stringify([{ type: 'everything' }])],
  ['no type', JSON.stringify([{ amount: '1.00' }])],
  ['null', '[null]'],
  ['a member too many', JSON.stringify([{ ...PAYMENT, urgent: true }])],
  ['a member less', JSON.stringify([{ type: 'payment' }])],
  ['an amount that is none', JSON.stringify([{ ...PAYMENT, amount: '-1' }])],
])('%s is refused where it is asked for', async (_name, value) => {
  const url = authorizationUrl(one, { client_id: 'bank', authorization_details: value })
  const answer = answerOf(await createUserAgent(one.url).get(url))
  expect(answer.get('error')).toBe('invalid_authorization_details')
})

test('a client asks for its own types alone, and none without people', async () => {
  for (const id of ['web', 'modest']) {
    const url = authorizationUrl(one, { client_id: id, ...asking(PAYMENT) })
    const answer = answerOf(await createUserAgent(one.url).get(url))
    expect(answer.get('error')).toBe('invalid_authorization_details')
  }
  const config = await configOf('service')
  await expect(client.clientCredentialsGrant(config, asking(PAYMENT))).rejects.toMatchObject({
    error: 'invalid_authorization_details',
  })
})
