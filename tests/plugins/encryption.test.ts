/** ID tokens and userinfo that are encrypted to an app: read by `openid-client`, by every algorithm, and what happens where there is no key. */
import {
  compactDecrypt,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type CryptoKey,
  type JWK,
} from 'jose'
import * as client from 'openid-client'
import { describe, expect, test } from 'vitest'
import { CONTENT_ENCRYPTIONS, KEY_ENCRYPTIONS } from '../../src/protocol/encryption.ts'
import { startReceiver } from '../support/receiver.ts'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import {
  ALICE,
  authorizationUrl,
  authorize,
  goThrough,
  REDIRECT_URI,
  SEED,
  type Tokens,
} from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

let hosted: JWK[] | null = []
const host = await startReceiver((_request, response) =>
  hosted === null ? response.writeHead(500).end() : response.end(JSON.stringify({ keys: hosted })),
)
const settings = { OIDC_IMPLICIT: 'true', UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${host.port}` }
const server = await startServer(settings, { seed: SEED })
const { clients } = server.server.oauth

interface Key {
  privateKey: CryptoKey
  jwk: JWK
}

async function createKey(alg: string, kid: string, crv = 'P-256'): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, crv })
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), use: 'enc', kid } }
}

const rsa = await createKey('RSA-OAEP-256', 'rsa')
const ec = await createKey('ECDH-ES', 'ec')
const x25519 = await createKey('ECDH-ES', 'x25519', 'X25519')
const signing = { ...(await exportJWK((await generateKeyPair('ES256')).publicKey)), use: 'sig', kid: 'signs' }
const jwks = { keys: [signing, rsa.jwk, ec.jwk] }
const keyFor = (alg: string): Key => (alg.startsWith('RSA') ? rsa : ec)

async function register(metadata: object) {
  const { client_id, client_secret } = await clients.create({ redirect_uris: [REDIRECT_URI], ...metadata })
  return { client_id: client_id!, client_secret: client_secret! }
}
type Registered = Awaited<ReturnType<typeof register>>

const codeFor = async ({ client_id }: Registered): Promise<string> =>
  (await authorize(server, { client_id, scope: 'openid email' })).get('code')!

async function present({ client_id, client_secret }: Registered, code: string): Promise<Response> {
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  return server.post('/token', form, basic(client_id, client_secret))
}

const getTokens = async (registered: Registered): Promise<Tokens> =>
  (await (await present(registered, await codeFor(registered))).json()) as Tokens

const combinations = KEY_ENCRYPTIONS.flatMap((alg) => CONTENT_ENCRYPTIONS.map((enc) => [alg, enc] as const))

test.each(combinations)('openid-client reads ID tokens and userinfo, by %s and %s', async (alg, enc) => {
  const members = {
    id_token_encrypted_response_alg: alg,
    id_token_encrypted_response_enc: enc,
    userinfo_signed_response_alg: 'ES256',
    userinfo_encrypted_response_alg: alg,
    userinfo_encrypted_response_enc: enc,
  }
  const { client_id, client_secret } = await register({ ...members, jwks })
  const config = await client.discovery(
    new URL(server.url),
    client_id,
    members,
    client.ClientSecretBasic(client_secret),
    {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    },
  )
  const { privateKey: key, jwk } = keyFor(alg)
  client.enableDecryptingResponses(config, [enc], { key, alg, kid: jwk.kid! })
  const agent = createUserAgent(server.url)
  const parameters = { redirect_uri: REDIRECT_URI, scope: 'openid email', nonce: 'n' }
  const page = await goThrough(agent, await agent.get(client.buildAuthorizationUrl(config, parameters).href))
  const tokens = await client.authorizationCodeGrant(config, new URL(page.headers.get('location')!), {
    expectedNonce: 'n',
  })
  expect(decodeProtectedHeader(tokens.id_token!)).toMatchObject({ alg, enc, kid: jwk.kid, cty: 'JWT' })
  const { sub } = tokens.claims()!
  expect(await client.fetchUserInfo(config, tokens.access_token, sub)).toMatchObject({ email: ALICE.email })
})

test('the default content encryption is that of the specification; X25519 agrees on keys too', async () => {
  const registered = await register({
    id_token_encrypted_response_alg: 'ECDH-ES+A256KW',
    jwks: { keys: [x25519.jwk] },
  })
  const { id_token: jwe } = await getTokens(registered)
  expect(decodeProtectedHeader(jwe)).toMatchObject({ enc: 'A128CBC-HS256', epk: { crv: 'X25519' } })
  const { plaintext } = await compactDecrypt(jwe, x25519.privateKey)
  expect(decodeJwt(Buffer.from(plaintext).toString())).toMatchObject({ aud: registered.client_id })
})

test('userinfo that is not signed is encrypted as it is, and says so', async () => {
  const registered = await register({ userinfo_encrypted_response_alg: 'RSA-OAEP-256', jwks })
  const { access_token: token, id_token: idToken } = await getTokens(registered)
  const response = await server.get('/userinfo', bearer(token))
  const { plaintext, protectedHeader } = await compactDecrypt(await response.text(), rsa.privateKey)
  expect([response.headers.get('content-type'), protectedHeader.cty]).toEqual(['application/jwt', undefined])
  expect(JSON.parse(Buffer.from(plaintext).toString())).toEqual({
    sub: decodeJwt(idToken).sub,
    email: ALICE.email,
    email_verified: true,
  })
  const refused = await server.get('/userinfo', bearer('nonsense'))
  expect([refused.status, refused.headers.get('content-type')]).toEqual([401, 'application/json'])
})

test('an ID token of the authorization endpoint is encrypted as well', async () => {
  const registered = await register({
    response_types: ['code id_token'],
    id_token_encrypted_response_alg: 'ECDH-ES',
    jwks,
  })
  const asked = { client_id: registered.client_id, response_type: 'code id_token', nonce: 'n' }
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, asked)))
  const answer = new URLSearchParams(new URL(page.headers.get('location')!).hash.slice(1))
  const { plaintext } = await compactDecrypt(answer.get('id_token')!, ec.privateKey)
  expect(decodeJwt(Buffer.from(plaintext).toString())).toMatchObject({
    nonce: 'n',
    c_hash: expect.any(String) as string,
  })
})

test('as a hint, it is the signed one inside that counts', async () => {
  const registered = await register({
    id_token_encrypted_response_alg: 'ECDH-ES',
    jwks,
    post_logout_redirect_uris: [REDIRECT_URI],
  })
  const agent = createUserAgent(server.url)
  const code = (await authorize(server, { client_id: registered.client_id }, agent)).get('code')!
  const { id_token: jwe } = (await (await present(registered, code)).json()) as Tokens
  const { plaintext } = await compactDecrypt(jwe, ec.privateKey)
  const hinted = async (id_token_hint: string) => {
    const page = await agent.get(
      authorizationUrl(server, { client_id: registered.client_id, prompt: 'none', id_token_hint }),
    )
    return new URL(page.headers.get('location')!).searchParams
  }
  expect((await hinted(jwe)).get('error_description')).toContain('id_token_hint is encrypted')
  expect((await hinted(Buffer.from(plaintext).toString())).has('code')).toBe(true)
  const sealed = await agent.get(`${server.url}/end-session?id_token_hint=${jwe}`)
  expect([sealed.status, sealed.body]).toEqual([400, expect.stringContaining('id_token_hint is encrypted')])
})

describe('keys at an address', () => {
  const members = { id_token_encrypted_response_alg: 'ECDH-ES' }
  const at = (path: string) => `http://127.0.0.1:${host.port}/${path}`

  test('are read when something is encrypted', async () => {
    hosted = [signing, ec.jwk]
    const { id_token: jwe } = await getTokens(await register({ ...members, jwks_uri: at('keys') }))
    expect((await compactDecrypt(jwe, ec.privateKey)).protectedHeader.kid).toBe('ec')
  })

  test.each([
    ['are gone', [signing], 400, 'invalid_request', 'the client has no key for ECDH-ES'],
    ['cannot be read', null, 503, 'temporarily_unavailable', 'the keys of the client cannot be read now'],
  ])(
    '%s: it is told so, and the code is good still',
    async (path, keys, status, error, error_description) => {
      hosted = keys
      const registered = await register({ ...members, jwks_uri: at(encodeURIComponent(path)) })
      const code = await codeFor(registered)
      for (let tries = 0; tries < 2; tries++) {
        const refused = await present(registered, code)
        expect([refused.status, await refused.json()]).toEqual([status, { error, error_description }])
      }
      await clients.update(registered.client_id, { jwks_uri: null, jwks })
      const { id_token: jwe } = (await (await present(registered, code)).json()) as Tokens
      expect((await compactDecrypt(jwe, ec.privateKey)).protectedHeader.kid).toBe('ec')
    },
  )

  test('are gone: no code is made for an answer of the authorization endpoint', async () => {
    hosted = [signing]
    const registered = await register({ ...members, response_types: ['code id_token'], jwks_uri: at('none') })
    const asked = { client_id: registered.client_id, response_type: 'code id_token', nonce: 'n' }
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(authorizationUrl(server, asked)))
    expect(new URLSearchParams(new URL(page.headers.get('location')!).hash.slice(1)).get('error')).toBe(
      'invalid_request',
    )
    const codes = await server.database.query('select from authorization_codes where client_id = $1', [
      registered.client_id,
    ])
    expect(codes).toEqual([])
  })
})

test.each([
  [{ id_token_encrypted_response_alg: 'RSA1_5' }, /must be one of RSA-OAEP-256, ECDH-ES/],
  [{ id_token_encrypted_response_alg: 'dir' }, /must be one of/],
  [{ id_token_encrypted_response_alg: 'PBES2-HS256+A128KW' }, /must be one of/],
  [
    { id_token_encrypted_response_alg: 'ECDH-ES', id_token_encrypted_response_enc: 'A128KW' },
    /must be one of A128CBC-HS256/,
  ],
  [{ userinfo_encrypted_response_enc: 'A128GCM', jwks }, /needs userinfo_encrypted_response_alg/],
  [{ userinfo_encrypted_response_alg: 'ECDH-ES' }, /needs a key for it in jwks, or jwks_uri/],
  [
    { userinfo_encrypted_response_alg: 'ECDH-ES', jwks: { keys: [rsa.jwk, signing] } },
    /needs a key for it in jwks/,
  ],
  [
    { id_token_encrypted_response_alg: 'RSA-OAEP-256', jwks: { keys: [ec.jwk] } },
    /needs a key for it in jwks/,
  ],
])('what could not be served is not registered: %j', async (metadata, sentence) => {
  await expect(register(metadata)).rejects.toMatchObject({
    code: 'invalid_client_metadata',
    message: expect.stringMatching(sentence) as string,
  })
})

test('the key that it needs cannot be taken away from a client', async () => {
  const { client_id } = await register({ id_token_encrypted_response_alg: 'ECDH-ES', jwks })
  await expect(clients.update(client_id, { jwks: { keys: [rsa.jwk] } })).rejects.toThrow(
    'needs a key for it in jwks',
  )
})

test('the metadata says what is served', async () => {
  const metadata = await (await server.get('/.well-known/openid-configuration')).json()
  expect(metadata).toMatchObject({
    id_token_encryption_alg_values_supported: KEY_ENCRYPTIONS,
    id_token_encryption_enc_values_supported: CONTENT_ENCRYPTIONS,
    userinfo_encryption_alg_values_supported: KEY_ENCRYPTIONS,
    userinfo_encryption_enc_values_supported: CONTENT_ENCRYPTIONS,
  })
})

test('without the plugin, who is registered for it gets nothing instead', async () => {
  const members = { id_token_encrypted_response_alg: 'ECDH-ES', userinfo_encrypted_response_alg: 'ECDH-ES' }
  const registered = await register({ ...members, jwks })
  const code = await codeFor(registered)
  const userinfoAlone = await register({ userinfo_encrypted_response_alg: 'ECDH-ES', jwks })
  const { access_token: token } = await getTokens(userinfoAlone)
  await server.server.close()
  const without = { ...server.settings, WITHOUT: 'latchkey-encryption' }
  const plain = await startServer(without, { database: server.database })
  const metadata = (await (await plain.get('/.well-known/openid-configuration')).json()) as object
  expect(Object.keys(metadata).filter((name) => /^(?:id_token|userinfo)_encryption_/.test(name))).toEqual([])
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const refused = await plain.post('/token', form, basic(registered.client_id, registered.client_secret))
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'unauthorized_client' }])
  const userinfo = await plain.get('/userinfo', bearer(token))
  expect([userinfo.status, await userinfo.json()]).toMatchObject([400, { error: 'unauthorized_client' }])
  await plain.server.close()
  const again = await startServer(server.settings, { database: server.database })
  const answered = await again.post('/token', form, basic(registered.client_id, registered.client_secret))
  expect(answered.status).toBe(200)
})
