/** Whatever comes as a request object: refused in words, and never a failure of ours. In the process, so that there can be many. */
import fc from 'fast-check'
import { SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { createAssertionKey } from '../../../support/client-assertions.ts'
import { addressOf, INSIDE, requestObject, signingApp } from '../../../support/request-objects.ts'
import { startServer } from '../../../support/server.ts'
import { SEED } from '../../../support/sign-in.ts'
import { spoiltOf } from '../../../support/spoilt.ts'

const key = await createAssertionKey()
const clients = [
  signingApp('app', key),
  { ...signingApp('unsigned', key), request_object_signing_alg: 'none' },
]
const server = await startServer({ LOG_LEVEL: 'warn' }, { seed: { ...SEED, clients } })
const { server: app, url } = server
const good = await requestObject(key, 'app', url)
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 10_000)

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? '').toString('base64url')
const anyMember = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, [], {}, Number.MAX_VALUE, -1, 1e21, '\ud800', '\0', '__proto__', 'x'.repeat(3000)),
)
const anyClaims = fc.record(
  Object.fromEntries(
    [...Object.keys(INSIDE), 'client_id', 'iss', 'aud', 'exp', 'nbf', 'iat', 'jti', 'sub', 'claims', 'resource', 'prompt', 'max_age', 'request', '__proto__'].map(
      (name) => [name, anyMember],
    ),
  ),
  { requiredKeys: [] },
) // prettier-ignore
const anyHeader = fc.record(
  {
    alg: fc.oneof(fc.constantFrom('ES256', 'PS256', 'none', 'HS256'), anyMember),
    typ: fc.oneof(fc.constant('oauth-authz-req+jwt'), anyMember),
    kid: fc.oneof(fc.constant('one'), anyMember),
    crit: anyMember,
    jwk: anyMember,
  },
  { requiredKeys: ['alg'] },
)
const anySignature = fc.oneof(fc.base64String(), fc.constantFrom('', good.split('.')[2]!))
const anyJwt = fc
  .tuple(anyHeader, anyClaims, anySignature)
  .map(([header, claims, signature]) => `${encode(header)}.${encode(claims)}.${signature}`)
const spoilt = spoiltOf(good)
const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 })

async function errorOf(client: string, request: string): Promise<string> {
  const { statusCode, body, headers: sent } = await app.inject({ url: addressOf(client, { request }) })
  return sent.location === undefined
    ? `${statusCode} ${/id="error-code">([^<]*)/.exec(body)?.[1]}`
    : `${statusCode} ${sent.location}`
} // prettier-ignore

test('nothing that the client has not signed is taken', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyText, anyJwt, spoilt), async (request) => {
      expect(await errorOf('app', request)).toMatch(/^400 (?:invalid_request|invalid_request_object|request_not_supported)$/)
    }),
    { numRuns: RUNS },
  )
}) // prettier-ignore

test('signed, or in want of no signature, whatever it says', async () => {
  const sign = async (claims: object) =>
    new SignJWT(claims as Record<string, unknown>).setProtectedHeader({ alg: 'ES256' }).sign(key.privateKey)
  await fc.assert(
    fc.asyncProperty(anyClaims, fc.boolean(), async (claims, isSigned) => {
      const client = isSigned ? 'app' : 'unsigned'
      const all = { client_id: client, ...INSIDE, ...claims }
      const request = isSigned ? await sign(all) : `${encode({ alg: 'none' })}.${encode(all)}.`
      expect(await errorOf(client, request)).toMatch(/^(?:400 [a-z_]+|303 (?:\/|https:\/\/app\.example\/callback\?))/)
    }),
    { numRuns: RUNS / 5 },
  )
}) // prettier-ignore

test('nothing of it was a failure of ours', async () => {
  expect((await server.get(addressOf('app', { request: good }))).status).toBe(303)
  expect(server.output()).not.toMatch(/"level":(?:50|60)/)
})
