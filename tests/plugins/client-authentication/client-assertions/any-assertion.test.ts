/** Whatever comes as a client assertion: refused in words, and never a failure of ours. In the process, so that there can be many. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  ASSERTION_TYPE,
  assertionOf,
  createAssertionKey,
  inSeconds,
  serviceWith,
} from '../../../support/client-assertions.ts'
import { encode } from '../../../support/forged-jwts.ts'
import { runs } from '../../../support/runs.ts'
import { startServer } from '../../../support/server.ts'
import { spoiltOf } from '../../../support/spoilt.ts'

const key = await createAssertionKey()
const server = await startServer(
  { LOG_LEVEL: 'warn' },
  { seed: { clients: [serviceWith('service', key.jwk)] } },
)
const good = await assertionOf(key, 'service', server.url)
let address = 0

/** Each from an address of its own, so that none is asked to wait. */
async function ask(client_assertion: string): Promise<string> {
  address += 1
  const { statusCode, body } = await server.server.inject({
    method: 'POST',
    url: '/token',
    remoteAddress: `198.${18 + (address >> 16)}.${(address >> 8) & 255}.${address & 255}`,
    payload: new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion,
      client_assertion_type: ASSERTION_TYPE,
    }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  const { error = '' } = JSON.parse(body) as { error?: string }
  return `${statusCode} ${error}`.trim()
}

const anyMember = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(null, [], {}, Number.MAX_VALUE, -1, 1e21, '\ud800', '__proto__', 'x'.repeat(3000)),
)
const anyHeader = fc.record(
  {
    alg: fc.oneof(fc.constantFrom('ES256', 'EdDSA', 'PS256', 'none', 'HS256'), anyMember),
    kid: fc.oneof(fc.constantFrom('one', '__proto__'), anyMember),
    typ: fc.oneof(fc.constantFrom('jwt', 'client-authentication+jwt'), anyMember),
    crit: anyMember,
    jwk: anyMember,
  },
  { requiredKeys: ['alg'] },
)
/** As many are near a good one as are not. */
const anyClaims = fc.record(
  {
    iss: fc.oneof(fc.constantFrom('service', 'nobody'), anyMember),
    sub: fc.oneof(fc.constantFrom('service', 'nobody'), anyMember),
    aud: fc.oneof(fc.constantFrom(server.url, `${server.url}/token`), anyMember),
    exp: fc.oneof(fc.constant(inSeconds(600)), anyMember),
    iat: anyMember,
    nbf: anyMember,
    jti: fc.oneof(fc.uuid(), anyMember),
  },
  { requiredKeys: [] },
)
const anyJwt = fc
  .tuple(anyHeader, anyClaims, fc.oneof(fc.base64String(), fc.constant(good.split('.')[2]!)))
  .map(([header, claims, signature]) => `${encode(header)}.${encode(claims)}.${signature}`)
const spoilt = spoiltOf(good)

test('any that nobody has signed', async () => {
  const refused = /^(?:401 invalid_client|400 invalid_request)$/
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.string({ unit: 'binary', maxLength: 400 }), anyJwt, spoilt),
      async (assertion) => {
        expect(await ask(assertion)).toMatch(refused)
      },
    ),
    { numRuns: runs(1600) },
  )
})

test('any that are signed, whatever they say', async () => {
  await fc.assert(
    fc.asyncProperty(anyClaims, async (claims) => {
      const answer = await ask(await assertionOf(key, 'service', server.url, claims))
      expect(answer).toMatch(/^(?:200|401 invalid_client)$/)
    }),
    { numRuns: runs(400) },
  )
})

test('nothing of it was a failure of ours', () => {
  expect(server.output()).not.toMatch(/"level":"(?:error|fatal)"/)
})
