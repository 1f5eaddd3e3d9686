/**
 * Many requests with whatever stands where it is said how to answer: at /authorize, at the introspection and at the registration of
 * clients. In the process, so that there can be many: refused in words, never a failure of ours, and never a token in a query.
 */
import fc from 'fast-check'
import { exportJWK, generateKeyPair } from 'jose'
import { expect, test } from 'vitest'
import { basic } from '../../support/requests.ts'
import { runs } from '../../support/runs.ts'
import { startServer } from '../../support/server.ts'
import { getTokens, REDIRECT_URI, SEED, WEB } from '../../support/sign-in.ts'

const { publicKey } = await generateKeyPair('ECDH-ES', { extractable: true })
const jwks = { keys: [{ ...(await exportJWK(publicKey)), use: 'enc' }] }
const OLD = {
  ...WEB,
  client_id: 'old',
  response_types: [
    'code',
    'id_token',
    'id_token token',
    'code id_token',
    'code token',
    'code id_token token',
  ],
}
const SEALED = { ...OLD, client_id: 'sealed', authorization_encrypted_response_alg: 'ECDH-ES', jwks }
const API = { client_id: 'api', client_secret: WEB.client_secret, scope: ['token_introspection', 'web'] }
const server = await startServer(
  { OIDC_IMPLICIT: 'true', LOG_LEVEL: 'silent' },
  { seed: { ...SEED, clients: [WEB, OLD, SEALED, API] } },
)
const { server: app } = server
const { access_token: token } = await getTokens(server)

const RUNS = runs(2000)
const anyText = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom('', ' ', '__proto__', 'constructor', 'toString', '\\0', 'x'.repeat(5000)),
)
const words = fc.constantFrom('code', 'token', 'id_token', 'none', 'CODE', '')
const anyType = fc.oneof(
  fc.constantFrom(...OLD.response_types),
  fc.array(words, { maxLength: 5 }).map((all) => all.join(' ')),
  anyText,
)
const anyMode = fc.oneof(
  fc.constantFrom(
    'query',
    'fragment',
    'form_post',
    'jwt',
    'query.jwt',
    'fragment.jwt',
    'form_post.jwt',
    'jwt.jwt',
    'web_message',
  ),
  anyText,
)
const anyRequest = fc.record(
  {
    client_id: fc.constantFrom('old', 'sealed', 'web'),
    redirect_uri: fc.constant(REDIRECT_URI),
    response_type: anyType,
    response_mode: anyMode,
    nonce: anyText,
    scope: fc.oneof(fc.constantFrom('openid', 'openid email', 'read_books'), anyText),
    state: anyText,
    prompt: fc.constantFrom('none', 'none login', 'login', ''),
    id_token_hint: fc.oneof(fc.constantFrom('a.b.c', 'a.b.c.d.e', 'a....'), anyText),
    dpop_jkt: anyText,
  },
  { requiredKeys: ['client_id', 'redirect_uri'] },
)

test('at /authorize', async () => {
  await fc.assert(
    fc.asyncProperty(anyRequest, async (request) => {
      const response = await app.inject({
        url: `/authorize?${new URLSearchParams(request).toString()}`,
      })
      expect(response.statusCode).toBeLessThan(500)
      const { location = '' } = response.headers as { location?: string }
      const [address = '', fragment = ''] = location.split('#')
      expect(address).not.toMatch(/[?&](?:access_token|id_token)=/)
      // Nobody is signed in: all that is told is what is wrong, or a page that asks.
      expect(fragment).not.toMatch(/(?:^|&)(?:access_token|id_token|code)=/)
    }),
    { numRuns: RUNS * 0.6 },
  )
})

test('at the introspection, by what is accepted', async () => {
  const type = fc.oneof(
    fc.constantFrom('application/token-introspection+jwt', 'application/json', '*/*', ''),
    anyText,
  )
  const range = fc
    .tuple(type, fc.constantFrom('', ';q=0', ';q=1', '; q=0.5', ';q', ';q=x', ';;'))
    .map((all) => all.join(''))
  const accepted = fc
    .array(range, { maxLength: 4 })
    .map((all) => all.join(',').replaceAll(/[^\x20-\x7e]/g, '?'))
  const headers = { ...basic('api', WEB.client_secret), 'content-type': 'application/x-www-form-urlencoded' }
  await fc.assert(
    fc.asyncProperty(accepted, fc.oneof(fc.constant(token), anyText), async (accept, asked) => {
      const payload = new URLSearchParams({ token: asked }).toString()
      const response = await app.inject({
        method: 'POST',
        url: '/introspect',
        headers: { ...headers, accept },
        payload,
      })
      expect([200, 400]).toContain(response.statusCode)
      expect(response.headers['content-type']).toMatch(/^application\/(?:json|token-introspection\+jwt)$/)
    }),
    { numRuns: RUNS * 0.2 },
  )
})

test('at the registration of clients', async () => {
  const algorithm = fc.oneof(
    fc.constantFrom('RS256', 'ES384', 'none', 'HS256', 'ECDH-ES', 'RSA-OAEP-256', 'A256GCM', 'dir'),
    anyText,
    fc.jsonValue(),
  )
  const names = ['id_token', 'userinfo', 'introspection', 'authorization'].flatMap((of) => [
    `${of}_signed_response_alg`,
    `${of}_encrypted_response_alg`,
    `${of}_encrypted_response_enc`,
  ])
  const anyClient = fc
    .uniqueArray(fc.tuple(fc.constantFrom(...names), algorithm), { maxLength: 3, selector: ([name]) => name })
    .map((members) => ({ jwks, ...Object.fromEntries(members) }))
  const { clients } = server.server.oauth
  const outcomes = new Set<string>()
  await fc.assert(
    fc.asyncProperty(anyClient, async (metadata) => {
      const made = await clients.create({ redirect_uris: [REDIRECT_URI], ...metadata }).then(
        async ({ client_id }) => clients.delete(client_id!).then(() => 'stored'),
        ({ code, message }: { code?: string; message: string }) => code ?? message,
      )
      expect(['stored', 'invalid_client_metadata']).toContain(made)
      outcomes.add(made)
    }),
    { numRuns: RUNS * 0.2 },
  )
  expect(outcomes.size).toBe(2)
})
