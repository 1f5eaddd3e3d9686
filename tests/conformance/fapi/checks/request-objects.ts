/** Signed requests (FAPI 2.0 Message Signing §5.3), as they are pushed. */
import { UnsecuredJWT } from 'jose'
import { expect } from 'vitest'
import { inSeconds, type AssertionKey } from '../../../support/client-assertions.ts'
import { expectError, send } from '../back-channel.ts'
import type { FapiChecks } from '../plan.ts'
import { ask, push, referenceIn, signedRequest } from '../relying-party.ts'
import type { FapiSuite } from '../suite.ts'

async function expectTaken(suite: FapiSuite, claims: object): Promise<void> {
  const asked = ask(suite)
  expect(await referenceIn(suite, asked, await push(suite, asked, { claims }))).toMatch(/^urn:/)
}

async function pushObject(suite: FapiSuite, request: string): Promise<Response> {
  return send(suite, '/par', { request })
}

async function expectRefused(suite: FapiSuite, claims: object, by?: AssertionKey): Promise<void> {
  const response = await pushObject(suite, await signedRequest(suite, ask(suite), claims, by))
  await expectError(response, 400, 'invalid_request_object')
}

export const requestObjects = {
  'ensure-request-object-with-multiple-aud-succeeds': async (suite) =>
    expectTaken(suite, { aud: [suite.metadata.issuer, 'https://other.example/'] }),

  'ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted': async (suite) =>
    expectTaken(suite, { nbf: inSeconds(8), iat: inSeconds(8) }),

  'ensure-request-object-without-exp-fails': async (suite) => expectRefused(suite, { exp: undefined }),

  'ensure-request-object-without-nbf-fails': async (suite) => expectRefused(suite, { nbf: undefined }),

  'ensure-expired-request-object-fails': async (suite) =>
    expectRefused(suite, { nbf: inSeconds(-600), exp: inSeconds(-300) }),

  'ensure-request-object-with-bad-aud-fails': async (suite) => {
    for (const aud of ['https://other.example/', ['https://other.example/'], undefined, ''])
      await expectRefused(suite, { aud })
  },

  'ensure-request-object-with-exp-over-60-fails': async (suite) =>
    expectRefused(suite, { exp: inSeconds(70 * 60) }),

  'ensure-request-object-with-nbf-over-60-fails': async (suite) =>
    expectRefused(suite, { nbf: inSeconds(-70 * 60) }),

  'ensure-signed-request-object-with-RS256-fails': async (suite) =>
    expectRefused(suite, {}, suite.first.weak),

  'ensure-request-object-signature-algorithm-is-not-none': async (suite) => {
    const { request, client } = ask(suite)
    const times = { nbf: inSeconds(0), exp: inSeconds(300) }
    const unsigned = new UnsecuredJWT({
      ...request,
      ...times,
      iss: client.client_id,
      aud: suite.metadata.issuer,
    })
    await expectError(await pushObject(suite, unsigned.encode()), 400, 'invalid_request_object')
  },

  'ensure-request-object-with-invalid-signature-fails': async (suite) => {
    const good = await signedRequest(suite, ask(suite))
    const another = await signedRequest(suite, ask(suite))
    const [head, body] = good.split('.')
    const spoilt = [head, body, another.split('.')[2]].join('.')
    await expectError(await pushObject(suite, spoilt), 400, 'invalid_request_object')
    expect((await pushObject(suite, good)).status).toBe(201)
  },

  'ensure-matching-key-in-authorization-request': async (suite) => {
    await expectRefused(suite, {}, suite.second.key)
    await expectRefused(suite, {}, { ...suite.second.key, kid: suite.first.key.kid })
  },

  'ensure-unsigned-request-at-par-endpoint-fails': async (suite) => {
    const response = await send(suite, '/par', ask(suite).request)
    await expectError(response, 400, 'invalid_request', 'invalid_request_object')
  },

  'par-authorization-request-containing-request_uri': async (suite) =>
    expectRefused(suite, { request_uri: 'urn:ietf:params:oauth:request_uri:guessed' }),
} satisfies FapiChecks
