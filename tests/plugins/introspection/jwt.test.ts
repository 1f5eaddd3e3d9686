/** Introspection responses as JWTs (RFC 9701): for who accepts them, signed and encrypted, and read by `openid-client`. */
import {
  compactDecrypt,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
} from 'jose'
import * as client from 'openid-client'
import { expect, test } from 'vitest'
import { basic, bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, SEED, WEB } from '../../support/sign-in.ts'

const JWT = 'application/token-introspection+jwt'
const { publicKey, privateKey } = await generateKeyPair('RSA-OAEP-256', { extractable: true })
const jwks = { keys: [{ ...(await exportJWK(publicKey)), use: 'enc', kid: 'one' }] }
const API = { client_id: 'api', client_secret: WEB.client_secret, scope: ['token_introspection', 'web'] }
const SECRETIVE = {
  ...API,
  client_id: 'secretive',
  introspection_signed_response_alg: 'ES256',
  introspection_encrypted_response_alg: 'RSA-OAEP-256',
  introspection_encrypted_response_enc: 'A256GCM',
  jwks,
}
const server = await startServer({}, { seed: { ...SEED, clients: [WEB, API, SECRETIVE] } })
const { access_token: token } = await getTokens(server)
const keys = createRemoteJWKSet(new URL(`${server.url}/jwks`))

const ask = async (id: string, accept: string, asked = token, secret = WEB.client_secret) =>
  server.post('/introspect', { token: asked }, { ...basic(id, secret), accept })

async function configOf({ client_id, client_secret: _secret, scope: _scope, ...metadata }: typeof API) {
  return client.discovery(
    new URL(server.url),
    client_id,
    metadata,
    client.ClientSecretBasic(WEB.client_secret),
    {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    },
  )
}

test('openid-client reads one that is signed, of a token that is good and of one that is not', async () => {
  const config = await configOf({ ...API, introspection_signed_response_alg: 'RS256' } as typeof API)
  expect(await client.tokenIntrospection(config, token)).toMatchObject({
    active: true,
    client_id: 'web',
    username: ALICE.username,
  })
  expect(await client.tokenIntrospection(config, 'nonsense')).toEqual({ active: false })
})

test('and one that is encrypted to it, under its signature', async () => {
  const config = await configOf(SECRETIVE)
  client.enableDecryptingResponses(config, ['A256GCM'], { key: privateKey, alg: 'RSA-OAEP-256', kid: 'one' })
  expect(await client.tokenIntrospection(config, token)).toMatchObject({ active: true, client_id: 'web' })
  const jwe = await (await ask('secretive', JWT)).text()
  const typ = 'token-introspection+jwt'
  expect(decodeProtectedHeader(jwe)).toMatchObject({ cty: 'JWT', typ, kid: 'one' })
  const { plaintext } = await compactDecrypt(jwe, privateKey)
  expect(decodeProtectedHeader(Buffer.from(plaintext).toString())).toMatchObject({ alg: 'ES256', typ })
})

test('it says who made it, when and for whom, and is no access token', async () => {
  const response = await ask('api', JWT)
  expect(response.headers.get('content-type')).toBe(JWT)
  const jwt = await response.text()
  const { payload } = await jwtVerify(jwt, keys, {
    issuer: server.url,
    audience: 'api',
    typ: 'token-introspection+jwt',
  })
  expect(payload).toEqual({
    iss: server.url,
    aud: 'api',
    iat: expect.any(Number) as number,
    token_introspection: expect.objectContaining({
      active: true,
      client_id: 'web',
      sub: decodeJwt(token).sub,
    }) as object,
  })
  expect((await server.get('/userinfo', bearer(jwt))).status).toBe(401)
  expect(await (await ask('api', 'application/json', jwt)).json()).toEqual({ active: false })
})

test.each([
  [JWT, JWT],
  [`application/json;q=0.5, ${JWT.toUpperCase()};q=0.1`, JWT],
  [`${JWT}; q=0`, 'application/json'],
  ['application/*', 'application/json'],
  ['*/*', 'application/json'],
  ['application/jwt', 'application/json'],
  ['', 'application/json'],
  [',;,;q=,', 'application/json'],
])('who accepts %j gets %s', async (accept, type) => {
  expect((await ask('api', accept)).headers.get('content-type')).toBe(type)
})

test('errors are JSON', async () => {
  const refused = await ask('api', JWT, token, 'wrong')
  expect([refused.status, refused.headers.get('content-type')]).toEqual([401, 'application/json'])
})

test('what could not be served is not registered', async () => {
  const { clients } = server.server.oauth
  for (const metadata of [
    { introspection_signed_response_alg: 'none' },
    { introspection_encrypted_response_alg: 'RSA1_5', jwks },
    { introspection_encrypted_response_alg: 'ECDH-ES', jwks },
  ])
    await expect(clients.create({ scope: ['a'], ...metadata })).rejects.toMatchObject({
      code: 'invalid_client_metadata',
    })
})

test('without the plugin, or without introspection, there is none of it', async () => {
  for (const WITHOUT of ['latchkey-jwt-introspection', 'latchkey-introspection']) {
    const plain = await startServer({ WITHOUT }, { seed: { ...SEED, clients: [WEB, API] } })
    const metadata = (await (await plain.get('/.well-known/openid-configuration')).json()) as object
    expect(
      Object.keys(metadata).filter((name) => /^introspection_(?:signing|encryption)/.test(name)),
    ).toEqual([])
    const answer = await plain.post(
      '/introspect',
      { token },
      { ...basic('api', WEB.client_secret), accept: JWT },
    )
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  }
})
