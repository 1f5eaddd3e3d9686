/** The public keys: what is in the document, what never is, and that they are the ones that sign. */
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { createClient, getToken } from '../support/clients.ts'
import { startServer, type TestServer } from '../support/server.ts'

const server = await startServer({}, { makesKeys: true })
const client = await createClient(server, { scope: ['a'] })

async function keys(of: TestServer = server): Promise<Record<string, string>[]> {
  const response = await of.get('/jwks')
  return ((await response.json()) as { keys: Record<string, string>[] }).keys
}

test('the document holds public members and nothing else', async () => {
  for (const algorithm of server.server.oauth.keys.algorithms)
    await server.server.oauth.keys.provide(algorithm)
  const published = await keys()
  const base64url = (length: number) => expect.stringMatching(`^[\\w-]{${length}}$`) as string
  const forms: Record<string, object> = {
    ES256: { kty: 'EC', crv: 'P-256', x: base64url(43), y: base64url(43) },
    ES384: { kty: 'EC', crv: 'P-384', x: base64url(64), y: base64url(64) },
    ES512: { kty: 'EC', crv: 'P-521', x: base64url(88), y: base64url(88) },
    'ML-DSA-44': { kty: 'AKP', pub: base64url(1750) },
    'ML-DSA-65': { kty: 'AKP', pub: base64url(2603) },
    RS256: { kty: 'RSA', n: base64url(342), e: 'AQAB' },
    PS256: { kty: 'RSA', n: base64url(342), e: 'AQAB' },
    EdDSA: { kty: 'OKP', crv: 'Ed25519', x: base64url(43) },
  }
  for (const { alg = '', ...key } of published)
    expect(key).toEqual({ ...forms[alg], kid: base64url(43), use: 'sig' })
  expect(new Set(published.map(({ alg }) => alg))).toEqual(new Set(Object.keys(forms)))
  expect(new Set(published.map(({ kid }) => kid)).size).toBe(published.length)
})

test('a stranger verifies a token with it', async () => {
  const { access_token } = await getToken(server, client)
  const remote = createRemoteJWKSet(new URL(`${server.url}/jwks`))
  const { payload } = await jwtVerify(access_token, remote, {
    issuer: server.url,
    audience: server.url,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    requiredClaims: ['exp', 'iat', 'jti', 'sub', 'client_id'],
  })
  expect(payload['client_id']).toBe(client.clientId)
})

test.each(['/jwks', '/jwks/'])('%s may be kept for a while, and is read-only', async (path) => {
  const response = await server.get(path)
  expect(response.headers.get('content-type')).toBe('application/jwk-set+json')
  expect(response.headers.get('cache-control')).toBe('public, max-age=30')
  expect((await server.request(path, { method: 'HEAD' })).status).toBe(200)
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const refused = await server.request(path, { method })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

test('a second server on the same database publishes the same keys and signs with one of them', async () => {
  const second = await startServer(
    { SECRET_KEY: server.settings['SECRET_KEY'] },
    { database: server.database },
  )
  expect(await keys(second)).toEqual(await keys())
  const { kid } = decodeProtectedHeader((await getToken(second, client)).access_token)
  expect((await keys()).map((key) => key['kid'])).toContain(kid)
  await second.close()
})
