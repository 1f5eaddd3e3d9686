/** Whatever comes as a DPoP header: refused in words, and never a failure of ours. In the process, so that there can be many. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createClient } from '../../support/clients.ts'
import { createDpopKey, prove } from '../../support/dpop.ts'
import { startServer } from '../../support/server.ts'
import { spoiltOf } from '../../support/spoilt.ts'

const server = await startServer(
  { LOG_LEVEL: 'warn' },
  {
    extend(app) {
      app.get('/books', { config: { scope: 'read' } }, async ({ token }) => ({ reader: token.subject }))
    },
  },
)
const { server: app, url } = server
const client = await createClient(server, { scope: ['read'] })
const key = await createDpopKey()
const TOKEN = `${url}/token`
const payload = 'grant_type=client_credentials'
const form = { ...client.basic, 'content-type': 'application/x-www-form-urlencoded' }

const ask = async (dpop: string) =>
  app.inject({ method: 'POST', url: '/token', payload, headers: { ...form, dpop } })
const good = await prove(key, { method: 'POST', url: TOKEN })
const granted = await ask(await prove(key, { method: 'POST', url: TOKEN }))
const { access_token: token } = granted.json<{ access_token: string }>()

/** What a header may hold: printable characters, so that Node itself would take it. */
const anyHeader = fc.string({
  unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
  maxLength: 400,
})
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? '').toString('base64url')
const anyMember = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(null, [], {}, Number.MAX_VALUE, -1, 1e21, '\ud800', '__proto__', 'x'.repeat(3000)),
)
const anyJwk = fc.oneof(
  anyMember,
  fc.record(
    {
      kty: fc.oneof(fc.constantFrom('EC', 'OKP', 'RSA', 'oct', 'AKP'), anyMember),
      crv: fc.oneof(fc.constantFrom('P-256', 'Ed25519', 'X25519', 'secp256k1'), anyMember),
      x: fc.oneof(fc.constantFrom(key.jwk.x, '', 'A'), fc.base64String(), anyMember),
      y: fc.oneof(fc.constantFrom(key.jwk.y, ''), fc.base64String(), anyMember),
      n: fc.oneof(fc.base64String({ minLength: 300 }), anyMember),
      e: fc.oneof(fc.constantFrom('AQAB', 'AA', ''), anyMember),
      key_ops: anyMember,
      use: anyMember,
      alg: anyMember,
    },
    { requiredKeys: [] },
  ),
)
const anyJwt = fc
  .tuple(
    fc.record(
      {
        alg: fc.oneof(fc.constantFrom('ES256', 'EdDSA', 'PS256', 'none', 'HS256'), anyMember),
        typ: fc.oneof(fc.constant('dpop+jwt'), anyMember),
        jwk: anyJwk,
        crit: anyMember,
      },
      { requiredKeys: ['alg', 'jwk'] },
    ),
    fc.record(
      { htm: anyMember, htu: anyMember, iat: anyMember, jti: anyMember, ath: anyMember, nonce: anyMember },
      { requiredKeys: [] },
    ),
    fc.oneof(
      fc.base64String().map((text) => text.replace(/[^\w-]/g, '_')),
      fc.constant(good.split('.')[2]!),
    ),
  )
  .map(([header, claims, signature]) => `${encode(header)}.${encode(claims)}.${signature}`)
const spoilt = spoiltOf(good)
/** Signed by its key, so that all behind the signature is reached. */
const anySigned = fc.record(
  {
    htm: anyMember,
    htu: anyMember,
    iat: anyMember,
    jti: anyMember,
    nonce: anyMember,
    exp: anyMember,
    nbf: anyMember,
  },
  { requiredKeys: [] },
)

const RUNS = 3000

test('at the token endpoint', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyHeader, anyJwt, spoilt), async (dpop) => {
      const { statusCode, body } = await ask(dpop)
      expect([statusCode, JSON.parse(body)]).toMatchObject([400, { error: 'invalid_dpop_proof' }])
    }),
    { numRuns: 2 * RUNS },
  )
})

test('with a token', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyHeader, anyJwt, spoilt), async (dpop) => {
      const headers = { authorization: `DPoP ${token}`, dpop }
      const { statusCode, body } = await app.inject({ url: '/books', headers })
      expect([statusCode, JSON.parse(body)]).toMatchObject([401, { error: 'invalid_dpop_proof' }])
    }),
    { numRuns: RUNS },
  )
})

test('signed, whatever it says', async () => {
  await fc.assert(
    fc.asyncProperty(anySigned, async (claims) => {
      const { statusCode, body } = await ask(await prove(key, { method: 'POST', url: TOKEN, claims }))
      const { error = 'none' } = JSON.parse(body) as { error?: string }
      const isWhole = !('htm' in claims || 'htu' in claims)
      const answers = isWhole
        ? /^(?:200 none|400 invalid_dpop_proof|400 use_dpop_nonce)$/
        : /^400 invalid_dpop_proof$/
      expect(`${statusCode} ${error}`).toMatch(answers)
    }),
    { numRuns: RUNS / 3 },
  )
})

test('nothing of it was a failure of ours', () => {
  expect(server.output()).not.toMatch(/"level":"(?:error|fatal)"/)
})
