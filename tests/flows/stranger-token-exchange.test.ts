/**
 * Token exchange (RFC 8693) as people write it who know nothing of this checkout, judged by `oauth4webapi` and by an API of
 * another process: what is exchanged is less, says who acts, and ends with what it was exchanged for.
 */
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { requestToken, statusWith } from '../support/clients.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import type { Requests } from '../support/requests.ts'
import { getAccessToken, GUARDED, isActive, revoke, statusOfRoute, toClient } from '../support/service.ts'
import { getTokens, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const BRIEF = 'https://brief.example/'
const insecure = { [oauth4webapi.allowInsecureRequests]: true }

const secret = (name: string) => `lks_${name.repeat(43).slice(0, 43)}`
const desk = {
  client_id: 'desk',
  client_secret: secret('d'),
  grant_types: [GRANT],
  scope: ['read_shelf'],
  exchanges_tokens_of: ['web', 'service', 'rival', 'bound'],
}
const back = {
  ...desk,
  client_id: 'back',
  client_secret: secret('b'),
  access_token_format: 'opaque',
  exchanges_tokens_of: ['desk'],
}
const rival = {
  ...desk,
  client_id: 'rival',
  client_secret: secret('r'),
  grant_types: [GRANT, 'client_credentials'],
  exchanges_tokens_of: ['desk'],
}
/** Acts for itself, and may ask about every token. */
const service = {
  client_id: 'service',
  client_secret: secret('s'),
  scope: ['read_shelf', 'token_introspection'],
}
const bound = { ...service, client_id: 'bound', access_token_format: 'opaque' }
const seed = {
  ...SEED,
  clients: [{ ...WEB, scope: ['read_books', 'read_shelf', 'read_brief'] }, desk, back, rival, service, bound],
  resources: [{ resource: BRIEF, access_token_lifetime: 3 }],
  scopes: [
    ...SEED.scopes,
    { name: 'read_shelf', description: 'See the shelf' },
    { name: 'read_brief', description: 'Read the brief', resource: BRIEF },
  ],
}

const packed = await pack('latchkey')
const folder = await installStranger('token-exchange', 'latchkey', packed, ['@types/node'])
const one = await spawnServer(
  {
    // Theirs instead of ours.
    WITHOUT: 'latchkey-token-exchange',
    PLUGINS: [join(folder, 'token-exchange.ts'), GUARDED].join(','),
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
  },
  { seed },
)
const two = await spawnBeside(one.settings, one.database)
const compiling = compile(folder)
compiling.catch(() => {})
const issuer = new URL(one.url)
const as = await oauth4webapi.processDiscoveryResponse(
  issuer,
  await oauth4webapi.discoveryRequest(issuer, insecure),
)
const [asBack, asRival, asService, asWeb] = [back, rival, service, WEB].map(toClient)
const often = { interval: 50 }

type Registered = typeof desk
type Sent = Record<string, string>

/** As the library sends it and reads the answer. */
async function exchange(
  by: Registered,
  token: string,
  more: Sent = {},
): Promise<oauth4webapi.TokenEndpointResponse> {
  const client = { client_id: by.client_id }
  const sent = { subject_token: token, subject_token_type: ACCESS_TOKEN, ...more }
  const auth = oauth4webapi.ClientSecretBasic(by.client_secret)
  const response = await oauth4webapi.genericTokenEndpointRequest(as, client, auth, GRANT, sent, insecure)
  return oauth4webapi.processGenericTokenEndpointResponse(as, client, response)
}

/** The error that the library reads. */
async function refusal(by: Registered, token: string, more: Sent = {}): Promise<string> {
  return exchange(by, token, more).then(
    () => 'none',
    (error: unknown) => (error as oauth4webapi.ResponseBodyError).error,
  )
}

const signIn = async (scope = 'openid read_books read_shelf', agent = createUserAgent(one.url)) => ({
  agent,
  tokens: await getTokens(one, { scope }, agent),
})

/** What is good at either process, at the API and by introspection. */
async function livesOf(tokens: readonly string[]): Promise<unknown[]> {
  const lives = async (server: Requests, token: string) => [
    await statusOfRoute(server, token),
    await isActive(server, asService!, token),
  ]
  return Promise.all([one, two].flatMap((server) => tokens.map(async (token) => lives(server, token))))
}

test('the stranger compiles against the package', async () => {
  await compiling
})

test('what a client was sent gives it a token of its own: for the same user, for less, and it says who acts', async () => {
  const { tokens } = await signIn()
  const exchanged = await exchange(desk, tokens.access_token)
  expect(exchanged).toMatchObject({
    issued_token_type: ACCESS_TOKEN,
    scope: 'read_shelf',
    token_type: 'bearer',
  })
  expect(exchanged).not.toHaveProperty('refresh_token')
  const [had, has] = [decodeJwt(tokens.access_token), decodeJwt(exchanged.access_token)]
  expect(has).toMatchObject({ sub: had.sub, client_id: 'desk', act: { sub: 'desk' } })
  expect(await statusOfRoute(two, exchanged.access_token)).toBe(200)

  const again = await exchange(back, exchanged.access_token)
  const told = await two.post('/introspect', { token: again.access_token }, asBack!.basic)
  expect(await told.json()).toMatchObject({
    active: true,
    sub: had.sub,
    act: { sub: 'back', act: { sub: 'desk' } },
  })
  expect(await statusOfRoute(two, again.access_token)).toBe(200)
})

test('another may act, who is named by a token of its own', async () => {
  const { tokens } = await signIn()
  const acting = await getAccessToken(one, asRival!)
  const actor = { actor_token: acting, actor_token_type: ACCESS_TOKEN }
  const own = { ...rival, exchanges_tokens_of: ['web'] }
  expect(await refusal(desk, tokens.access_token, actor)).toBe('invalid_request')
  expect(await refusal(own, tokens.access_token, actor)).toBe('invalid_request')
  const exchanged = await exchange(desk, tokens.access_token)
  const acted = await exchange(rival, exchanged.access_token, actor)
  expect(decodeJwt(acted.access_token)['act']).toEqual({ sub: 'rival', act: { sub: 'desk' } })
})

test('no scope is got that it had not', async () => {
  const { tokens } = await signIn('openid read_books')
  expect(await refusal(desk, tokens.access_token)).toBe('invalid_scope')
  expect(await refusal(desk, tokens.access_token, { scope: 'read_shelf' })).toBe('invalid_scope')
  expect(await refusal(desk, tokens.access_token, { scope: 'read_books' })).toBe('invalid_scope')
})

test('tokens of others, tokens that are none and other kinds of tokens are refused', async () => {
  const { tokens } = await signIn()
  expect(await refusal(back, tokens.access_token)).toBe('invalid_request')
  expect(await refusal(desk, tokens.refresh_token)).toBe('invalid_request')
  expect(await refusal(desk, `${tokens.access_token}x`)).toBe('invalid_request')
  for (const type of ['subject_token_type', 'requested_token_type'])
    expect(
      await refusal(desk, tokens.access_token, { [type]: 'urn:ietf:params:oauth:token-type:id_token' }),
    ).toBe('invalid_request')
  expect(await refusal(desk, tokens.access_token, { actor_token: tokens.access_token })).toBe(
    'invalid_request',
  )
  expect(await refusal(desk, tokens.access_token, { resource: 'https://elsewhere.example' })).toBe(
    'invalid_target',
  )
  const unregistered = {
    grant_type: GRANT,
    subject_token: tokens.access_token,
    subject_token_type: ACCESS_TOKEN,
  }
  expect(await (await requestToken(one, asService!, unregistered)).json()).toMatchObject({
    error: 'unauthorized_client',
  })
})

const ENDINGS: Readonly<Record<string, (had: Awaited<ReturnType<typeof signIn>>) => Promise<unknown>>> = {
  'is given back': async ({ tokens }) => revoke(two, asWeb!, tokens.access_token),
  'ends with its refresh token': async ({ tokens }) => revoke(two, asWeb!, tokens.refresh_token),
  'ends with its sign-in': async ({ agent, tokens }) =>
    agent.get(`${one.url}/end-session?id_token_hint=${tokens.id_token}`),
}

test.each(Object.entries(ENDINGS))(
  'once the token %s, all that it was exchanged for is dead at both processes',
  async (_name, end) => {
    const had = await signIn()
    const first = await exchange(desk, had.tokens.access_token)
    const second = await exchange(back, first.access_token)
    const exchanged = [first.access_token, second.access_token]
    expect(await livesOf(exchanged)).toEqual(Array.from({ length: 4 }, () => [200, true]))
    await end(had)
    await expect
      .poll(async () => livesOf(exchanged), often)
      .toEqual(Array.from({ length: 4 }, () => [401, false]))
    expect(await refusal(desk, had.tokens.access_token)).toBe('invalid_request')
  },
)

test('it expires with the token that it was exchanged for, though its own API allows an hour', async () => {
  const agent = createUserAgent(one.url)
  const scope = 'openid read_shelf read_brief'
  const { access_token: token, expires_in: left } = await getTokens(one, { scope }, agent)
  expect(left).toBeLessThanOrEqual(3)
  const exchanged = await exchange(desk, token, { scope: 'read_shelf' })
  const [had, has] = [decodeJwt(token), decodeJwt(exchanged.access_token)]
  expect(has.exp).toBeLessThanOrEqual(had.exp!)
  expect(await statusOfRoute(two, exchanged.access_token)).toBe(200)
  await expect.poll(async () => statusOfRoute(two, exchanged.access_token), often).toBe(401)
})

test('what a client got for itself is exchanged for that client, of which no user is made', async () => {
  const authorizations = async () => (await one.database.query('select id from authorizations')).length
  const before = await authorizations()
  const token = await getAccessToken(one, asService!)
  const exchanged = await exchange(desk, token)
  expect(decodeJwt(exchanged.access_token)).toMatchObject({
    sub: 'service',
    client_id: 'desk',
    act: { sub: 'desk' },
  })
  expect(await authorizations()).toBe(before)
  expect(await livesOf([exchanged.access_token])).toEqual([
    [200, true],
    [200, true],
  ])
  await revoke(two, asService!, token)
  await expect
    .poll(async () => livesOf([exchanged.access_token]), often)
    .toEqual([
      [401, false],
      [401, false],
    ])
})

test('a token that is bound to a key gives nobody one that is not', async () => {
  const token = await getAccessToken(one, toClient(bound))
  expect(await refusal(desk, token)).toBe('none')
  await one.database.query(
    `update access_tokens set claims = claims || '{"cnf":{"jkt":"thumbprint"}}' where claims->>'client_id' = 'bound'`,
  )
  expect(await refusal(desk, token)).toBe('invalid_request')
})

test('a token that is given back while it is exchanged leaves nothing alive', async () => {
  const { tokens } = await signIn()
  const exchanges = Array.from({ length: 12 }, async () =>
    exchange(desk, tokens.access_token).then(
      ({ access_token: token }) => [token],
      () => [],
    ),
  )
  await Promise.all([...exchanges, revoke(two, asWeb!, tokens.refresh_token)])
  const got = (await Promise.all(exchanges)).flat()
  await expect
    .poll(async () => Promise.all(got.map(async (token) => statusWith(two, '/shelf', token))), often)
    .toEqual(got.map(() => 401))
})
