/**
 * Pushed authorization requests (RFC 9126) as people write them who know nothing of this checkout, judged by `openid-client` and
 * `oauth4webapi`: two processes, one answer, a person who reloads the page.
 */
import { join } from 'node:path'
import * as oauth4webapi from 'oauth4webapi'
import * as client from 'openid-client'
import { beforeAll, describe, expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { basic, type Requests } from '../support/requests.ts'
import {
  answerOf,
  authorizationUrl,
  createPkce,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'

const PUSHING = { ...WEB, client_id: 'pushing', require_pushed_authorization_requests: true }
const PUBLIC = { client_id: 'public', token_endpoint_auth_method: 'none', redirect_uris: [REDIRECT_URI] }
const seed = { ...SEED, clients: [WEB, PUSHING, PUBLIC] }
const insecure = { [oauth4webapi.allowInsecureRequests]: true }

const folder = await installStranger('par', 'latchkey', await pack('latchkey'), ['@types/node'])
const compiling = compile(folder)
compiling.catch(() => {})
const PLUGINS = join(folder, 'par.ts')
const WITHOUT = 'latchkey-par'
const one = await spawnServer({ PLUGINS, WITHOUT, TRUSTED_PROXIES: '127.0.0.1' }, { seed })
const two = await spawnBeside(one.settings, one.database)
const form = { redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid', state: 'pushed' }
let as: oauth4webapi.AuthorizationServer

beforeAll(async () => {
  const issuer = new URL(one.url)
  as = await oauth4webapi.processDiscoveryResponse(
    issuer,
    await oauth4webapi.discoveryRequest(issuer, insecure),
  )
})

const appOf = async (id: string, authentication = client.ClientSecretBasic(WEB.client_secret)) =>
  client.discovery(new URL(one.url), id, {}, authentication, { execute: [client.allowInsecureRequests] })

interface Told {
  status: number
  request_uri: string
  error?: string
}

async function push(more: Record<string, string> = {}, server: Requests = one, id = 'web'): Promise<Told> {
  const credentials = id === 'public' ? {} : basic(id, WEB.client_secret)
  const sent = id === 'public' ? { client_id: id, ...form, ...more } : { ...form, ...more }
  const response = await server.post('/par', sent, credentials)
  return { status: response.status, ...((await response.json()) as Omit<Told, 'status'>) }
}

const pathOf = ({ request_uri }: Told, id = 'web'): string =>
  `/authorize?${new URLSearchParams({ client_id: id, request_uri }).toString()}`

test('the stranger compiles against the package', async () => {
  await compiling
})

describe.each([
  ['web', client.ClientSecretBasic(WEB.client_secret)],
  ['pushing', client.ClientSecretPost(WEB.client_secret)],
  ['public', client.None()],
])('openid-client as %s', (id, authentication) => {
  test('pushes, sends its user with a reference alone, and gets tokens', async () => {
    const config = await appOf(id, authentication)
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const url = await client.buildAuthorizationUrlWithPAR(config, {
      redirect_uri: REDIRECT_URI,
      scope: 'openid email',
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    expect([...url.searchParams.keys()].toSorted()).toEqual(['client_id', 'request_uri'])
    const agent = createUserAgent(one.url)
    const page = await goThrough(agent, await agent.get(url))
    const callback = new URL(page.headers.get('location')!)
    const checks = { pkceCodeVerifier, expectedState: state, expectedNonce: nonce }
    const tokens = await client.authorizationCodeGrant(config, callback, checks)
    expect(tokens.scope).toBe('openid email')
  })
})

test('a key that is shown with the pushed request binds the code (RFC 9449 section 10.1)', async () => {
  const config = await appOf('web')
  const [DPoP, thief] = [
    client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256')),
    client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256')),
  ]
  const asked = { redirect_uri: REDIRECT_URI, scope: 'openid' }
  const url = await client.buildAuthorizationUrlWithPAR(config, asked, { DPoP })
  const agent = createUserAgent(one.url)
  const page = await goThrough(agent, await agent.get(url))
  const callback = new URL(page.headers.get('location')!)
  const exchange = async (options?: client.DPoPOptions) =>
    client.authorizationCodeGrant(config, callback, {}, undefined, options)
  for (const options of [undefined, { DPoP: thief }])
    await expect(exchange(options)).rejects.toMatchObject({ error: 'invalid_grant' })
  expect(await exchange({ DPoP })).toMatchObject({ token_type: 'dpop' })

  const dpop_jkt = await thief.calculateThumbprint()
  await expect(
    client.buildAuthorizationUrlWithPAR(config, { ...asked, dpop_jkt }, { DPoP }),
  ).rejects.toMatchObject({ error: 'invalid_request' })
})

test('oauth4webapi reads what it is told, and the metadata', async () => {
  expect(as).toMatchObject({
    pushed_authorization_request_endpoint: `${one.url}/par`,
    require_pushed_authorization_requests: false,
  })
  const app = { client_id: 'web' }
  const auth = oauth4webapi.ClientSecretBasic(WEB.client_secret)
  const asked = await oauth4webapi.pushedAuthorizationRequest(as, app, auth, form, insecure)
  const told = await oauth4webapi.processPushedAuthorizationResponse(as, app, asked)
  expect(told).toEqual({
    request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]{43}$/) as string,
    expires_in: 60,
  })
})

test('what anybody pushes from one network is bounded, and what a client with credentials does is not', async () => {
  const sent = {
    client_id: 'public',
    ...form,
    code_challenge: createPkce().challenge,
    code_challenge_method: 'S256',
  }
  const from = async (address: string): Promise<number> =>
    (await one.post('/par', sent, { 'x-forwarded-for': address })).status
  const stored = async (owner: string): Promise<number> =>
    (await one.database.query(`select 1 from artifacts where kind = 'pushed_request' and owner = '${owner}'`))
      .length
  for (const [first, ...others] of [
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8::1', '2001:db8::2', '2001:db8::ffff:1'],
  ] as const) {
    expect(await from(first)).toBe(201)
    const rows = await one.database.query<{ owner: string }>(
      `select owner from artifacts where kind = 'pushed_request' and owner is not null order by expires_at desc limit 1`,
    )
    const { owner } = rows[0]!
    await one.database.query(`insert into artifacts (kind, hash, value, owner, expires_at)
      select 'pushed_request', 'of anybody ' || n, '{}', '${owner}', now() + interval '1 minute' from generate_series(1, 999) n`)
    for (const other of others) expect(await from(other)).toBe(201)
    expect([owner, await stored(owner)]).toEqual([owner, 1000])
    expect(await from('198.51.100.1')).toBe(201)
    expect(await stored(owner)).toBe(1000)
    await one.database.query(`delete from artifacts where hash like 'of anybody %'`)
    // None of these takes the place of another one's: all are there beside what is gone.
    expect(await stored(owner)).toBe(1 + others.length)
  }
  const ownerless = async (): Promise<number> =>
    (await one.database.query(`select 1 from artifacts where kind = 'pushed_request' and owner is null`))
      .length
  const before = await ownerless()
  await push()
  expect(await ownerless()).toBe(before + 1)
})

test('who must push is refused without, at either process; others need not', async () => {
  for (const server of [one, two]) {
    const asked = async (id: string) => {
      const { pathname, search } = new URL(authorizationUrl(one, { client_id: id }))
      return (await server.get(pathname + search)).headers.get('location')
    }
    expect(await asked('pushing')).toContain('error=invalid_request')
    expect(await asked('web')).toMatch(/^\/interaction\//)
  }
})

test('a server may ask it of everybody, and says so', async () => {
  const strict = await spawnServer({ PLUGINS, WITHOUT, REQUIRE_PAR: 'true' }, { seed })
  const metadata = (await (await strict.get('/.well-known/openid-configuration')).json()) as object
  expect(metadata).toHaveProperty('require_pushed_authorization_requests', true)
  const agent = createUserAgent(strict.url)
  expect(answerOf(await agent.get(authorizationUrl(strict))).get('error')).toBe('invalid_request')
  const page = await goThrough(agent, await agent.get(strict.url + pathOf(await push({}, strict))))
  expect(answerOf(page).get('code')).toMatch(/./)
})

test.each([
  ['a redirect URI that is not registered', { redirect_uri: 'https://evil.example/' }, 'web', 'invalid_request'],
  ['another response type', { response_type: 'token' }, 'web', 'unsupported_response_type'],
  ['no scope that it may have', { scope: 'nothing' }, 'web', 'invalid_scope'],
  ['a request_uri', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'web', 'invalid_request'],
  ['a request object', { request: 'x.y.z' }, 'web', 'invalid_request_object'],
  ['no PKCE, of a public client', {}, 'public', 'invalid_request'],
  ['a bad parameter', { max_age: 'x' }, 'web', 'invalid_request'],
])('%s is refused when it is pushed', async (_name, more, id, error) => {
  expect(await push(more as Record<string, string>, two, id)).toMatchObject({ status: 400, error })
}) // prettier-ignore

test('only its client pushes: a wrong secret is 401', async () => {
  const response = await one.post('/par', form, basic('web', 'wrong'))
  expect([response.status, await response.json()]).toMatchObject([401, { error: 'invalid_client' }])
})

test('what is pushed at one process is good at the other, for its client alone', async () => {
  const pushed = await push({}, two)
  const agent = createUserAgent(one.url)
  const stolen = await agent.get(one.url + pathOf(pushed, 'pushing'))
  expect([stolen.status, stolen.body]).toEqual([400, expect.stringContaining('invalid_request_uri')])
  expect(findForm(await agent.get(one.url + pathOf(pushed)), 'login')).toBeDefined()
})

test('a person may reload the page, and the request is answered once', async () => {
  const agent = createUserAgent(one.url)
  const url = one.url + pathOf(await push())
  await agent.get(url)
  const page = await agent.get(url)
  const { code, state } = Object.fromEntries(answerOf(await goThrough(agent, page)))
  expect([code, state]).toEqual([expect.stringMatching(/./), 'pushed'])
  const late = await agent.get(url)
  expect([late.status, late.body]).toEqual([400, expect.stringContaining('invalid_request_uri')])
})

test('of twenty browsers that come to both processes with one request, one gets a code', async () => {
  const agent = createUserAgent(one.url)
  await goThrough(agent, await agent.get(one.url + pathOf(await push())))
  const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const path = pathOf(await push())
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      const response = await (at % 2 === 0 ? one : two).get(path, { cookie })
      await response.body?.cancel()
      return { status: response.status, location: response.headers.get('location') ?? '' }
    }),
  )
  expect(answers.filter(({ location }) => location.includes('code='))).toHaveLength(1)
  expect(answers.filter(({ status }) => status >= 500)).toEqual([])
})

test('after a minute nobody may come with it any more, but who came in time may decide', async () => {
  const agent = createUserAgent(one.url)
  const url = one.url + pathOf(await push())
  const page = await agent.get(url)
  const pushed = `kind = 'pushed_request'`
  await one.database.query(
    `update artifacts set value = jsonb_set(value, '{until}', '0'), expires_at = expires_at - interval '61 s' where ${pushed}`,
  )
  const late = await createUserAgent(one.url).get(url)
  expect([late.status, late.body]).toEqual([400, expect.stringContaining('invalid_request_uri')])
  expect(answerOf(await goThrough(agent, page)).get('code')).toMatch(/./)
})

test('neither the reference nor the request is in the database in the clear', async () => {
  const { challenge } = createPkce()
  const { request_uri: uri } = await push({ code_challenge: challenge, code_challenge_method: 'S256' })
  const rows = await one.database.query(`select * from artifacts where kind = 'pushed_request'`)
  expect(JSON.stringify(rows)).not.toContain(uri.split(':').at(-1))
  expect(JSON.stringify(rows)).not.toContain(WEB.client_secret)
})
