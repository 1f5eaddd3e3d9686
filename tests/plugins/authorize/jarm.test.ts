/** Authorization responses as JWTs: every mode with answers and errors, signed and encrypted, read by `openid-client` and `oauth4webapi`. */
import {
  compactDecrypt,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
  type JWK,
} from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as client from 'openid-client'
import { describe, expect, test } from 'vitest'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, goThrough, REDIRECT_URI, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { extractable: true })
const jwk: JWK = { ...(await exportJWK(publicKey)), use: 'enc', kid: 'sealed' }
let hosted: JWK[] = []
const host = await startReceiver((_request, response) => response.end(JSON.stringify({ keys: hosted })))

const PADDED = { ...WEB, client_id: 'padded', authorization_signed_response_alg: 'PS256' }
const SEALED = {
  ...WEB,
  client_id: 'sealed',
  authorization_signed_response_alg: 'ES256',
  authorization_encrypted_response_alg: 'ECDH-ES',
  authorization_encrypted_response_enc: 'A256GCM',
  jwks: { keys: [jwk] },
}
const KEYLESS = {
  ...SEALED,
  client_id: 'keyless',
  jwks: undefined,
  jwks_uri: `http://127.0.0.1:${host.port}/jwks`,
}
const OLD = { ...WEB, client_id: 'old', response_types: ['code', 'code id_token'] }
const settings = { OIDC_IMPLICIT: 'true', UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${host.port}` }
const server = await startServer(settings, {
  seed: { ...SEED, clients: [WEB, PADDED, SEALED, KEYLESS, OLD] },
})
const issuer = new URL(server.url)
const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const as = await oauth4webapi.processDiscoveryResponse(
  issuer,
  await oauth4webapi.discoveryRequest(issuer, insecure),
)
const keys = createRemoteJWKSet(new URL(as.jwks_uri!))

/** What an answer says, wherever it stands. */
function saidOn(page: Page): { place: string; said: URLSearchParams } {
  const form = findForm(page, 'form-post')
  if (form !== undefined) return { place: 'form', said: new URLSearchParams(form.fields) }
  const { search, hash } = new URL(page.headers.get('location')!)
  return hash === ''
    ? { place: 'query', said: new URLSearchParams(search) }
    : { place: 'fragment', said: new URLSearchParams(hash.slice(1)) }
}

async function visit(
  asked: Record<string, string | undefined>,
  agent: UserAgent = createUserAgent(server.url),
) {
  return saidOn(await goThrough(agent, await agent.get(authorizationUrl(server, asked))))
}

test.each([
  ['web', 'RS256', {}],
  ['padded', 'PS256', PADDED],
  ['sealed', 'ES256', SEALED],
])(
  'openid-client as %s gets its code in a JWT that is signed with %s',
  async (id, algorithm, { client_secret: _secret, ...metadata }: Partial<typeof SEALED>) => {
    const config = await client.discovery(issuer, id, metadata, client.ClientSecretBasic(WEB.client_secret), {
      execute: [client.allowInsecureRequests, client.useJwtResponseMode],
    })
    if (id === 'sealed')
      client.enableDecryptingResponses(config, ['A256GCM'], {
        key: privateKey,
        alg: 'ECDH-ES',
        kid: 'sealed',
      })
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT_URI,
      scope: 'openid email',
      state: 's',
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    const agent = createUserAgent(server.url)
    const callback = new URL((await goThrough(agent, await agent.get(url.href))).headers.get('location')!)
    expect([...callback.searchParams.keys()]).toEqual(['response'])
    const response = callback.searchParams.get('response')!
    const jwt =
      id === 'sealed'
        ? Buffer.from((await compactDecrypt(response, privateKey)).plaintext).toString()
        : response
    expect(decodeProtectedHeader(jwt)).toMatchObject({ alg: algorithm, typ: 'authorization-response+jwt' })
    const { exp, ...claims } = decodeJwt(jwt)
    expect(claims).toEqual({ iss: server.url, aud: id, state: 's', code: expect.any(String) as string })
    expect(exp! - Date.now() / 1000).toBeLessThanOrEqual(600)
    const tokens = await client.authorizationCodeGrant(config, callback, {
      pkceCodeVerifier,
      expectedState: 's',
    })
    expect(tokens.claims()!['email']).toBe(ALICE.email)
  },
)

test.each([
  ['query.jwt', 'query'],
  ['fragment.jwt', 'fragment'],
  ['form_post.jwt', 'form'],
  ['jwt', 'query'],
])('%s carries answers and errors in the %s', async (response_mode, place) => {
  const agent = createUserAgent(server.url)
  const silent = await visit({ response_mode, prompt: 'none' }, agent)
  expect([silent.place, [...silent.said.keys()]]).toEqual([place, ['response']])
  const refusal = oauth4webapi.validateJwtAuthResponse(as, { client_id: 'web' }, silent.said, 'a state', insecure)
  await expect(refusal).rejects.toMatchObject({ error: 'login_required' })
  const { said } = await visit({ response_mode }, agent)
  const answer = await oauth4webapi.validateJwtAuthResponse(as, { client_id: 'web' }, said, 'a state', insecure)
  expect(answer.get('code')).toMatch(/^[\w-]{64}$/)
  // It is for one app, and for one request.
  for (const [client_id, state] of [['padded', 'a state'], ['web', 'another']] as const) {
    const taken = oauth4webapi.validateJwtAuthResponse(as, { client_id }, said, state, insecure)
    await expect(taken).rejects.toThrow(/unexpected/)
  }
}) // prettier-ignore

describe('with an ID token', () => {
  const asked = { client_id: 'old', nonce: 'n', response_type: 'code id_token' }

  test('jwt goes behind #, for errors too', async () => {
    const agent = createUserAgent(server.url)
    for (const [prompt, members] of [['none', ['error', 'state']], ['login', ['code', 'id_token', 'state']]] as const) {
      const { place, said } = await visit({ ...asked, response_mode: 'jwt', prompt }, agent)
      const { payload } = await jwtVerify(said.get('response')!, keys, { issuer: server.url, audience: 'old' })
      expect([place, Object.keys(payload)]).toEqual(['fragment', expect.arrayContaining([...members])])
    }
  }) // prettier-ignore

  test('a query takes none, signed or not', async () => {
    for (const response_mode of ['query', 'query.jwt']) {
      const { place, said } = await visit({ ...asked, response_mode })
      expect([place, said.get('error')]).toEqual(['fragment', 'invalid_request'])
    }
  })
})

test('errors are encrypted as answers are', async () => {
  const { said } = await visit({ client_id: 'sealed', response_mode: 'jwt', prompt: 'none' })
  const { plaintext } = await compactDecrypt(said.get('response')!, privateKey)
  const { payload } = await jwtVerify(Buffer.from(plaintext).toString(), keys, {
    issuer: server.url,
    audience: 'sealed',
  })
  expect(payload).toMatchObject({ error: 'login_required', state: 'a state' })
})

test('who has no key to be told by is told nothing, and the person is not asked to sign in for it', async () => {
  hosted = []
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { client_id: 'keyless', response_mode: 'jwt' }))
  expect([page.status, page.headers.get('location')]).toEqual([400, null])
  expect(page.body).toContain('the client has no key for ECDH-ES')
  // In the clear it may ask still.
  const plain = await agent.get(authorizationUrl(server, { client_id: 'keyless' }))
  expect(findForm(plain, 'login')).toBeDefined()
})

test('whose key goes while they decide: no code is made', async () => {
  const { clients, findClient } = server.server.oauth
  const agent = createUserAgent(server.url)
  const asked = { client_id: 'sealed', response_mode: 'jwt', prompt: 'consent' }
  const login = await agent.get(authorizationUrl(server, asked))
  const consent = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  const { jwks: _jwks, jwks_uri } = { ...KEYLESS }
  await clients.update('sealed', { jwks: null, jwks_uri })
  await expect.poll(async () => (await findClient('sealed'))!.metadata['jwks']).toBeUndefined()
  const before = await server.database.query(`select from authorization_codes where client_id = 'sealed'`)
  const page = await agent.submit(consent, 'consent', { decision: 'allow' })
  expect([page.status, page.body]).toEqual([
    400,
    expect.stringContaining('the client has no key for ECDH-ES'),
  ])
  expect(
    await server.database.query(`select from authorization_codes where client_id = 'sealed'`),
  ).toHaveLength(before.length)
})

test('what could not be served is not registered', async () => {
  const { clients } = server.server.oauth
  for (const metadata of [
    { authorization_signed_response_alg: 'none' },
    { authorization_signed_response_alg: 'HS256' },
    { authorization_encrypted_response_alg: 'dir' },
    { authorization_encrypted_response_alg: 'ECDH-ES' },
    { authorization_encrypted_response_enc: 'A256GCM' },
  ])
    await expect(clients.create({ redirect_uris: [REDIRECT_URI], ...metadata })).rejects.toMatchObject({
      code: 'invalid_client_metadata',
    })
})

test('without the plugin there is none of it', async () => {
  await server.server.close()
  const plain = await startServer(
    { ...server.settings, WITHOUT: 'latchkey-jarm' },
    { database: server.database },
  )
  const metadata = (await (await plain.get('/.well-known/openid-configuration')).json()) as Record<
    string,
    unknown
  >
  expect(metadata['response_modes_supported']).toEqual(['query', 'fragment', 'form_post'])
  expect(Object.keys(metadata).filter((name) => /^authorization_(signing|encryption)_/.test(name))).toEqual(
    [],
  )
  const page = await plain.get(authorizationUrl(plain, { response_mode: 'jwt' }))
  expect(page.headers.get('location')).toContain('error=invalid_request')
})
