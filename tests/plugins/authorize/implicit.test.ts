/** Tokens in the answer of the authorization endpoint, for old apps: each response type, judged by `openid-client` and `jose`. */
import { createRemoteJWKSet, decodeJwt, jwtVerify, type JWTPayload } from 'jose'
import * as client from 'openid-client'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Artifacts } from '../../../src/doors/artifacts.ts'
import { tokenHash } from '../../../src/protocol/token-hash.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import type { Wire } from '../../../src/protocol/wire.ts'
import { basic, bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import {
  ALICE,
  authorizationUrl,
  createPkce,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
  type Tokens,
} from '../../support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../../support/user-agent.ts'

const RESPONSE_TYPES = ['id_token', 'id_token token', 'code id_token', 'code token', 'code id_token token']
const OLD = { ...WEB, client_id: 'old', response_types: ['code', ...RESPONSE_TYPES] }
const SPA = {
  client_id: 'spa',
  token_endpoint_auth_method: 'none',
  redirect_uris: [REDIRECT_URI],
  response_types: RESPONSE_TYPES,
}
const CODE_ALONE = { ...OLD, client_id: 'code-alone', grant_types: ['authorization_code'] }
const NO_CODE = { ...OLD, client_id: 'no-code', grant_types: ['implicit'] }
const BOUND = { ...OLD, client_id: 'bound', dpop_bound_access_tokens: true, scope: [] }
const READER = { ...OLD, client_id: 'reader', scope: ['read_vault'] }
const seed = {
  ...SEED,
  clients: [WEB, OLD, SPA, CODE_ALONE, NO_CODE, BOUND, READER],
  scopes: [...SEED.scopes, { name: 'read_vault', description: 'Read the vault', resource: 'https://vault.example' }],
  resources: [{ resource: 'https://vault.example', name: 'Vault', dpop_bound_access_tokens: true }],
} // prettier-ignore

let kept!: Artifacts<Wire>
/** What happens while an access token is made. */
let meanwhile: (() => Promise<unknown>) | undefined
/** Whether a policy grants anything. */
let isGranted = true
const server = await startServer({ OIDC_IMPLICIT: 'true' }, {
  seed,
  extend({ oauth }) {
    kept = oauth.artifacts<Wire>('given', { lifetime: 60 })
    oauth.register('requestSource', 'given', {
      recognizes: ({ request_uri: uri }) => uri !== undefined,
      async resolve({ request_uri: uri }) {
        const handle = String(uri)
        return { wire: (await kept.get(handle))!, spends: [{ kind: 'given', handle }] }
      },
    })
    oauth.add('policy', async () => {
      if (!isGranted) throw new OAuthError('invalid_grant', 'the user has left')
    })
    oauth.extend('access_token', ['extra'], async () => {
      await meanwhile?.()
      return {}
    })
  },
}) // prettier-ignore
const { oauth } = server.server
const keys = createRemoteJWKSet(new URL(`${server.url}/jwks`))
const { id: alice } = (await oauth.users.find(ALICE.username))!

type Parameters = Record<string, string | undefined>
const asking = (more: Parameters = {}) =>
  authorizationUrl(server, { client_id: 'old', scope: 'openid email', nonce: 'n', ...more })

/** What the client is told, behind `#`. */
async function told(more: Parameters = {}, agent: UserAgent = createUserAgent(server.url)) {
  const page = await goThrough(agent, await agent.get(asking(more)))
  const { search, hash, origin, pathname } = new URL(page.headers.get('location')!)
  expect([origin + pathname, search]).toEqual([REDIRECT_URI, ''])
  return Object.fromEntries(new URLSearchParams(hash.slice(1))) as Record<string, string>
}

async function verified(idToken: string): Promise<JWTPayload> {
  return (await jwtVerify(idToken, keys, { issuer: server.url, audience: 'old' })).payload
}

async function redeem(code: string): Promise<Tokens> {
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const response = await server.post('/token', form, basic('old', WEB.client_secret))
  expect(response.status).toBe(200)
  return (await response.json()) as Tokens
}

const authorizations = async () =>
  server.database.query<{ id: string; revoked_at: Date | null }>(
    `select id, revoked_at from authorizations where client_id = 'old' order by created_at`,
  )

test('the metadata says what is served', async () => {
  const metadata = await (await server.get('/.well-known/openid-configuration')).json()
  expect(metadata).toMatchObject({
    response_types_supported: ['code', ...RESPONSE_TYPES],
    grant_types_supported: expect.arrayContaining(['authorization_code', 'implicit']) as string[],
  })
  expect(server.output()).not.toContain('nothing serves it')
})

describe.each(RESPONSE_TYPES)('%s', (response_type) => {
  const words = response_type.split(' ')
  const has = (word: string) => words.includes(word)

  test('gives what its words say', async () => {
    const answer = await told({ response_type: words.toReversed().join(' ') })
    const members = [
      ...(has('code') ? ['code'] : []),
      ...(has('id_token') ? ['id_token'] : []),
      ...(has('token') ? ['access_token', 'token_type', 'expires_in', 'scope'] : []),
    ]
    expect(Object.keys(answer).toSorted()).toEqual([...members, 'iss', 'state'].toSorted())
    expect(answer).toMatchObject({ iss: server.url, state: 'a state' })
  })

  test('gives nothing that policies do not grant', async () => {
    const agent = createUserAgent(server.url)
    await told({ response_type }, agent)
    onTestFinished(() => void (isGranted = true))
    isGranted = false
    const answer = await told({ response_type, prompt: 'none' }, agent)
    expect(answer).toMatchObject({ error: 'login_required' })
    expect(Object.keys(answer)).not.toEqual(expect.arrayContaining(['id_token']))
  })

  test('goes by a form that sends itself, and never in a query', async () => {
    const agent = createUserAgent(server.url)
    const page = await goThrough(
      agent,
      await agent.get(asking({ response_type, response_mode: 'form_post' })),
    )
    const { fields, action } = findForm(page, 'form-post')!
    expect([action, Object.keys(fields)]).toEqual([
      REDIRECT_URI,
      expect.arrayContaining([
        ...words.map((one) => (one === 'token' ? 'access_token' : one)),
        'state',
        'iss',
      ]),
    ])
    expect(await told({ response_type, response_mode: 'query' }, agent)).toMatchObject({
      error: 'invalid_request',
    })
  })

  test('keeps tokens past the sign-out by offline_access where it gives a code, and asks nobody else for that', async () => {
    const agent = createUserAgent(server.url)
    const parameters = { response_type, scope: 'openid offline_access', prompt: 'consent' }
    const { username, password } = ALICE
    const consent = await agent.submit(await agent.get(asking(parameters)), 'login', { username, password })
    expect(consent.body.includes('Stay connected when you are away')).toBe(has('code'))
    const answer = await told(parameters, agent)
    expect((answer['scope'] ?? '').includes('offline_access')).toBe(has('token') && has('code'))
    const token = has('code') ? (await redeem(answer['code']!)).access_token : answer['access_token']
    await agent.submit(await agent.get(`${server.url}/account`), 'sign-out-form')
    expect((await server.get('/userinfo', bearer(token ?? 'none'))).status).toBe(has('code') ? 200 : 401)
  })

  test('tells errors behind # too', async () => {
    expect(await told({ response_type, prompt: 'none' })).toMatchObject({
      error: 'login_required',
      state: 'a state',
    })
  })

  test('is for clients that are registered for it', async () => {
    expect(await told({ response_type, client_id: 'web' })).toMatchObject({ error: 'unauthorized_client' })
    expect(await told({ response_type, client_id: 'code-alone' })).toMatchObject({
      error: 'unauthorized_client',
    })
    const withoutCode = await told({ response_type, client_id: 'no-code', prompt: 'none' })
    expect(withoutCode['error']).toBe(has('code') ? 'unauthorized_client' : 'login_required')
  })

  test('needs a nonce, and the scope openid, where it has an ID token', async () => {
    for (const more of [{ nonce: undefined }, { scope: 'read_books' }]) {
      const { error } = await told({ response_type, prompt: 'none', ...more })
      expect(error).toBe(has('id_token') ? 'invalid_request' : 'login_required')
    }
  })

  test('needs a code_challenge of a public client, where it has a code', async () => {
    const asked = { response_type, client_id: 'spa', prompt: 'none' }
    expect((await told(asked))['error']).toBe(has('code') ? 'invalid_request' : 'login_required')
    const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' }
    expect((await told({ ...asked, ...pkce }))['error']).toBe('login_required')
  })

  test('has no token where tokens are bound to keys', async () => {
    const jkt = 'k'.repeat(43)
    for (const more of [{ client_id: 'bound' }, { dpop_jkt: jkt }]) {
      const { error } = await told({ response_type, prompt: 'none', ...more })
      expect(error).toBe(has('token') ? 'invalid_request' : 'login_required')
    }
    const answer = await told({ response_type, client_id: 'reader', scope: 'openid read_vault' })
    expect(answer['error']).toBe(has('token') ? 'invalid_request' : undefined)
  })

  test('is answered once, where the request is', async () => {
    const agent = createUserAgent(server.url)
    await told({ response_type }, agent)
    const wire = {
      client_id: 'old',
      redirect_uri: REDIRECT_URI,
      response_type,
      scope: 'openid',
      nonce: 'n',
      prompt: 'consent',
    }
    const url = `${server.url}/authorize?${new URLSearchParams({ client_id: 'old', request_uri: await kept.put(wire) }).toString()}`
    const [first, second] = [await agent.get(url), await agent.get(url)]
    const answers = [await goThrough(agent, first), await goThrough(agent, second)].map((page) =>
      page.headers.get('location'),
    )
    expect(answers[0]).toContain(has('code') ? 'code=' : 'id_token=')
    expect(answers[1]).toContain('error=invalid_request_uri')
  })
})

const withWord = (word: string) => RESPONSE_TYPES.filter((type) => type.split(' ').includes(word))

test.each(withWord('token'))('%s: the access token is as good as any', async (response_type) => {
  const answer = await told({ response_type })
  expect(answer).toMatchObject({ token_type: 'bearer', expires_in: '3600', scope: 'openid email' })
  const userinfo = await server.get('/userinfo', bearer(answer['access_token']!))
  expect(await userinfo.json()).toMatchObject({ sub: alice, email: ALICE.email })
})

test.each(withWord('id_token'))('%s: the ID token names what it comes with', async (response_type) => {
  const { code, id_token: idToken, access_token: token } = await told({ response_type })
  const claims = await verified(idToken!)
  const hashed = (text: string | undefined) => text && tokenHash(text, 'RS256')
  const signIn = { acr: '1', auth_time: expect.any(Number) as number, sid: expect.any(String) as string }
  expect(claims).toMatchObject({ sub: alice, nonce: 'n', ...signIn })
  const hashes = [claims['c_hash'], claims['at_hash'], claims['s_hash']]
  expect(hashes).toEqual([hashed(code), hashed(token), hashed('a state')])
  // Where the code gives an ID token of its own, that one says it.
  expect(claims['email']).toBe(code === undefined ? ALICE.email : undefined)
})

test.each(withWord('code'))('%s: the code gives tokens of the same sign-in', async (response_type) => {
  const answer = await told({ response_type })
  const claims = decodeJwt((await redeem(answer['code']!)).id_token)
  expect(claims).toMatchObject({ sub: alice, nonce: 'n', email: ALICE.email })
  const beside = answer['id_token'] === undefined ? {} : decodeJwt(answer['id_token'])
  const { iss, sub, aud, auth_time, sid } = { ...claims, ...beside }
  expect(claims).toMatchObject({ iss, sub, aud, auth_time, sid })
})

test('token alone, and what else is no response type, is not served', async () => {
  for (const response_type of ['token', 'none', 'code code', 'id_token code token token']) {
    const page = await createUserAgent(server.url).get(asking({ response_type }))
    expect(new URL(page.headers.get('location')!).searchParams.get('error')).toBe('unsupported_response_type')
  }
})

test('openid-client signs people in with the ID token alone, and with the code that comes with it', async () => {
  const execute = [client.allowInsecureRequests]
  const secret = client.ClientSecretBasic(WEB.client_secret)
  const issuer = new URL(server.url)
  const parameters = { redirect_uri: REDIRECT_URI, scope: 'openid email', state: 's', nonce: 'n' }
  const callbackOf = async (config: client.Configuration, more = {}) => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(client.buildAuthorizationUrl(config, { ...parameters, ...more }).href)
    return new URL((await goThrough(agent, page)).headers.get('location')!)
  }
  const alone = await client.discovery(issuer, 'old', {}, secret, { execute: [...execute, client.useIdTokenResponseType] }) // prettier-ignore
  const claims = await client.implicitAuthentication(alone, await callbackOf(alone), 'n', {
    expectedState: 's',
  })
  expect(claims).toMatchObject({ sub: alice, email: ALICE.email })

  for (const use of [[], [client.enableDetachedSignatureResponseChecks]]) {
    const hybrid = await client.discovery(issuer, 'old', {}, secret, { execute: [...execute, client.useCodeIdTokenResponseType, ...use] }) // prettier-ignore
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier)
    const callback = await callbackOf(hybrid, { code_challenge, code_challenge_method: 'S256' })
    const checks = { expectedState: 's', expectedNonce: 'n', pkceCodeVerifier }
    const tokens = await client.authorizationCodeGrant(hybrid, callback, checks)
    expect(tokens.claims()).toMatchObject({ sub: alice, email: ALICE.email })
  }
})

test('an ID token that comes alone tells the claims of scopes whatever the setting; beside an access token, as it says', async () => {
  await oauth.clients.update('old', { id_token_include_claims: false })
  const alone = await told({ response_type: 'id_token' })
  const beside = await told({ response_type: 'id_token token' })
  expect([decodeJwt(alone['id_token']!)['email'], decodeJwt(beside['id_token']!)['email']]).toEqual([ALICE.email, undefined]) // prettier-ignore
  await oauth.clients.update('old', { id_token_include_claims: null })
})

test('an access token of an answer ends with the sign-in, and stands among what was allowed until then', async () => {
  const agent = createUserAgent(server.url)
  const { access_token: token } = await told({ response_type: 'id_token token' }, agent)
  const before = (await authorizations()).at(-1)!
  expect(decodeJwt(token!)['authorization_id']).toBe(before.id)
  const [session] = await oauth.sessions.list(alice)
  await oauth.sessions.endOne(alice, session!.sid)
  expect((await server.get('/userinfo', bearer(token!))).status).toBe(401)
})

test('who signs out in the very moment in which a token is made leaves none behind, and nothing is taken for stolen', async () => {
  for (const response_type of ['id_token token', 'code token']) {
    const before = await authorizations()
    meanwhile = async () => {
      for (const { sid } of await oauth.sessions.list(alice)) await oauth.sessions.endOne(alice, sid)
    }
    const answer = await told({ response_type })
    meanwhile = undefined
    expect(answer).toMatchObject({ error: 'login_required', state: 'a state' })
    expect(await authorizations()).toHaveLength(before.length)
  }
  const { events } = await oauth.audit.list({ type: 'authorization.replayed' })
  expect(events).toEqual([])
})

test('without the setting, and without the plugin, none of it is there', async () => {
  for (const settings of [{}, { OIDC_IMPLICIT: 'true', WITHOUT: 'latchkey-implicit' }]) {
    const plain = await startServer(settings, { seed })
    const metadata = (await (await plain.get('/.well-known/openid-configuration')).json()) as Record<string, unknown>
    expect(metadata['response_types_supported']).toEqual(['code'])
    expect(metadata['grant_types_supported']).not.toContain('implicit')
    const page = await plain.get(authorizationUrl(plain, { client_id: 'old', response_type: 'id_token', nonce: 'n' }))
    expect(page.headers.get('location')).toContain('error=unsupported_response_type')
    expect(plain.output()).toContain('nothing serves it')
  }
}) // prettier-ignore

describe('the addresses of a web app of the implicit grant (OpenID Connect Registration §2)', async () => {
  const settings = { OIDC_IMPLICIT: 'true', OIDC_REGISTRATION: 'open' }
  const production = await startServer(
    { ...settings, NODE_ENV: 'production', OIDC_ISSUER: 'https://id.example' },
    { seed: {} },
  )
  const development = await startServer(settings, { seed: {} })

  async function register(on: typeof production, redirectUri: string, more: object = {}) {
    const metadata = { redirect_uris: [REDIRECT_URI, redirectUri], response_types: ['id_token token'], ...more }
    const { statusCode, body } = await on.server.inject({ method: 'POST', url: '/register', payload: metadata })
    const { error } = JSON.parse(body) as { error?: string }
    return error ?? statusCode
  }

  test.each([
    'http://localhost/cb',
    'http://127.0.0.1:8080/cb',
    'https://localhost/cb',
    'https://localhost./cb',
    'https://app.localhost/cb',
    'https://127.0.0.1/cb',
    'https://[::1]/cb',
    'com.example.app:/cb',
  ])(
    '%s is none in production',
    async (uri) => {
      expect(await register(production, uri)).toBe('invalid_redirect_uri')
      expect(await register(production, uri, { application_type: 'web', response_types: ['code id_token'] })).toBe('invalid_redirect_uri')
      await expect(production.server.oauth.clients.create({ redirect_uris: [uri], response_types: ['id_token'] })).rejects.toThrow('redirect_uris')
    },
  )

  test('of apps on a device, of those that ask for a code alone, and in development, as ever', async () => {
    const uri = 'http://localhost/cb'
    expect(await register(production, 'https://intranet.example/cb')).toBe(201)
    expect(await register(production, uri, { application_type: 'native' })).toBe(201)
    expect(await register(production, uri, { response_types: ['code'] })).toBe(201)
    expect(await register(development, uri)).toBe(201)
  })
}) // prettier-ignore
