/** Pushed requests: good for a while, for one client and one answer, under PKCE, from a client that proves who it is. */
import { expect, vi } from 'vitest'
import { inSeconds } from '../../../support/client-assertions.ts'
import { expectErrorPage } from '../../relying-party.ts'
import { expectError, send } from '../back-channel.ts'
import type { FapiChecks } from '../plan.ts'
import { addressOf, ask, callbackIn, push, referenceIn, visit } from '../relying-party.ts'
import type { FapiSuite } from '../suite.ts'

async function pushWith(suite: FapiSuite, claims: object): Promise<Response> {
  return push(suite, ask(suite), { assertion: { claims } })
}

/** As the audience of what proves the client (§5.3.2.1). */
async function expectAudienceRefused(suite: FapiSuite, aud: unknown): Promise<void> {
  await expectError(await pushWith(suite, { aud }), 401, 'invalid_client')
}

export const pushed = {
  'par-attempt-reuse-request_uri': async (suite) => {
    const asked = ask(suite)
    const address = addressOf(suite, asked, await referenceIn(suite, asked, await push(suite, asked)))
    expect((await callbackIn(suite, asked, await visit(suite, address))).has('code')).toBe(true)
    expectErrorPage(await suite.agent.get(address), 'invalid_request_uri')
  },

  'par-attempt-to-use-expired-request_uri': async (suite) => {
    const asked = ask(suite)
    const response = await push(suite, asked)
    const { expires_in: lifetime } = (await response.clone().json()) as { expires_in: number }
    const address = addressOf(suite, asked, await referenceIn(suite, asked, response))
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + lifetime * 1000 + 1000 })
    try {
      expectErrorPage(await suite.agent.get(address), 'invalid_request_uri')
    } finally {
      vi.useRealTimers()
    }
  },

  'par-attempt-to-use-request_uri-for-different-client': async (suite) => {
    const asked = ask(suite)
    const request_uri = await referenceIn(suite, asked, await push(suite, asked))
    const theirs = addressOf(suite, ask(suite, {}, suite.second), request_uri)
    expectErrorPage(await suite.agent.get(theirs), 'invalid_request_uri')
    expect(
      (await callbackIn(suite, asked, await visit(suite, addressOf(suite, asked, request_uri)))).has('code'),
    ).toBe(true)
  },

  'par-authorization-request-containing-request_uri-form-param': async (suite) => {
    const asked = ask(suite)
    for (const request_uri of [
      'urn:ietf:params:oauth:request_uri:guessed',
      'https://suite.example/request.jwt',
      await referenceIn(suite, asked, await push(suite, asked)),
    ])
      await expectError(await push(suite, ask(suite), { form: { request_uri } }), 400, 'invalid_request')
  },

  'par-attempt-invalid-http-method': async ({ server, first }) => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const response = await server.request(`/par?client_id=${first.client_id}`, { method })
      expect([method, response.status, response.headers.get('allow')]).toEqual([
        method,
        405,
        expect.stringContaining('POST'),
      ])
    }
  },

  'par-ensure-pkce-required': async (suite) => {
    const asked = ask(suite, { code_challenge: undefined, code_challenge_method: undefined })
    await expectError(await push(suite, asked), 400, 'invalid_request')
  },

  'par-plain-pkce-rejected': async (suite) => {
    for (const code_challenge_method of ['plain', undefined])
      await expectError(await push(suite, ask(suite, { code_challenge_method })), 400, 'invalid_request')
  },

  'par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted': async (suite) => {
    const times = { iat: inSeconds(8), nbf: inSeconds(8), exp: inSeconds(68) }
    expect((await pushWith(suite, times)).status).toBe(201)
  },

  'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails': async (suite) => {
    const late = inSeconds(90)
    for (const times of [{ iat: late, nbf: late }, { nbf: late }, { iat: late }])
      await expectError(await pushWith(suite, { ...times, exp: inSeconds(150) }), 401, 'invalid_client')
  },

  'par-test-array-as-audience-fails': async (suite) => {
    const { issuer, token_endpoint } = suite.metadata
    for (const aud of [[issuer], [issuer, token_endpoint], []]) await expectAudienceRefused(suite, aud)
  },

  'par-test-par-endpoint-url-as-audience-fails': async (suite) =>
    expectAudienceRefused(suite, suite.metadata.pushed_authorization_request_endpoint),

  'par-test-token-endpoint-url-as-audience-fails': async (suite) => {
    await expectAudienceRefused(suite, suite.metadata.token_endpoint)
    // Without any proof of the client, nothing is pushed either.
    const { request } = ask(suite)
    await expectError(await send(suite, '/par', request, { assertion: null }), 401, 'invalid_client')
  },
} satisfies FapiChecks
