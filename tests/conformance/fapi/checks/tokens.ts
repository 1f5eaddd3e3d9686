/** The token endpoint: who presents a code or a refresh token, with what proof, and when. */
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { inSeconds } from '../../../support/client-assertions.ts'
import { expectError, send, use, type How } from '../back-channel.ts'
import type { FapiChecks } from '../plan.ts'
import { ask, authenticate, getCode, presentCode, requestToken } from '../relying-party.ts'
import { API, type FapiClient, type FapiSuite } from '../suite.ts'

/** That a request which is otherwise good is refused for what proves the client. */
async function expectNoClient(suite: FapiSuite, assertion: How['assertion']): Promise<void> {
  await expectError(await requestToken(suite, { assertion: assertion ?? null }), 401, 'invalid_client')
}

async function refresh(suite: FapiSuite, token: string, how: How = {}): Promise<Response> {
  return send(suite, '/token', { grant_type: 'refresh_token', refresh_token: token }, how)
}

async function expectRefreshed(suite: FapiSuite, client: FapiClient, token: string): Promise<void> {
  const { client_id } = client
  const judged = { client_id, id_token_signed_response_alg: 'ES256' }
  const response = await refresh(suite, token, { client })
  const tokens = await oauth.processRefreshTokenResponse(suite.metadata, judged, response)
  // §5.3.2.1: not rotated, so none can be lost on its way.
  expect(tokens.refresh_token ?? token).toBe(token)
  expect((await use(suite, tokens.access_token, { client })).status).toBe(200)
}

export const tokens = {
  'ensure-client-id-in-token-endpoint': async (suite) => {
    // In the name of the second, with what the first holds.
    const { first, second, isOwn } = suite
    const client = { ...first, client_id: second.client_id }
    if (isOwn) await expectError(await requestToken(suite, { client }), 401, 'invalid_client')
    else {
      const asked = ask(suite)
      const response = await presentCode(suite, asked, await getCode(suite, asked), { client })
      await expectError(response, 401, 'invalid_client')
    }
  },

  'ensure-holder-of-key-required': async (suite) => {
    const response = await requestToken(suite, { proof: null, certificate: null })
    if (suite.authentication === 'mtls') await expectError(response, 401, 'invalid_client')
    else
      await expectError(response, 400, suite.constraint === 'dpop' ? 'invalid_dpop_proof' : 'invalid_request')
    if (suite.authentication === 'mtls' && suite.constraint === 'dpop')
      await expectError(await requestToken(suite, { proof: null }), 400, 'invalid_dpop_proof')
  },

  'ensure-authorization-code-is-bound-to-client': async (suite) => {
    const asked = ask(suite)
    const callback = await getCode(suite, asked)
    const { second: client } = suite
    await expectError(await presentCode(suite, asked, callback, { client }), 400, 'invalid_grant')
    expect((await presentCode(suite, asked, callback)).status).toBe(200)
  },

  'attempt-reuse-authorization-code-after-one-second': async (suite) => {
    const { asked, callback, tokens: first } = await authenticate(suite)
    await suite.server.database.query(
      `update authorizations set created_at = created_at - interval '1 second'
       where code_proof is not null and client_id = $1`,
      [suite.first.client_id],
    )
    await expectError(await presentCode(suite, asked, callback), 400, 'invalid_grant')
    expect((await use(suite, first.access_token)).status).toBe(401)
    await expectError(await refresh(suite, first.refresh_token!), 400, 'invalid_grant')
  },

  'ensure-token-endpoint-fails-with-expired-auth-code': async (suite) => {
    const asked = ask(suite)
    const callback = await getCode(suite, asked)
    const aged = await suite.server.database.query(
      `update authorization_codes set expires_at = expires_at - interval '62 seconds' where client_id = $1 returning 1`,
      [suite.first.client_id],
    )
    expect(aged.length).toBeGreaterThan(0)
    await expectError(await presentCode(suite, asked, callback), 400, 'invalid_grant')
  },

  'ensure-pkce-code-verifier-required': async (suite) => {
    const asked = ask(suite)
    const response = await presentCode(suite, asked, await getCode(suite, asked), {
      form: { code_verifier: undefined },
    })
    await expectError(response, 400, 'invalid_grant')
  },

  'incorrect-pkce-code-verifier-rejected': async (suite) => {
    const asked = ask(suite)
    const form = { code_verifier: ask(suite).codeVerifier }
    await expectError(
      await presentCode(suite, asked, await getCode(suite, asked), { form }),
      400,
      'invalid_grant',
    )
  },

  'ensure-signed-client-assertion-with-RS256-fails': async (suite) =>
    expectNoClient(suite, { by: suite.first.weak }),

  'ensure-client-assertion-in-token-endpoint': async (suite) => expectNoClient(suite, null),

  'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails': async (suite) =>
    expectNoClient(suite, { claims: { exp: inSeconds(-300) } }),

  'ensure-client-assertion-with-wrong-aud-fails': async (suite) =>
    expectNoClient(suite, { claims: { aud: 'https://other.example/' } }),

  'ensure-client-assertion-with-no-sub-fails': async (suite) =>
    expectNoClient(suite, { claims: { sub: undefined } }),

  'refresh-token': async (suite) => {
    const { first, second, authentication, constraint } = suite
    const of = async (client: FapiClient) =>
      (await authenticate(suite, ask(suite, {}, client))).tokens.refresh_token!
    const mine = await of(first)
    expect(mine).toMatch(/^[\x21-\x7e]{43,}$/)
    const theirs = await of(second)
    await expectRefreshed(suite, first, mine)
    await expectRefreshed(suite, second, theirs)
    await expectError(await refresh(suite, mine, { client: second }), 400, 'invalid_grant')

    const unproven = authentication === 'mtls' ? { certificate: null } : { assertion: null }
    await expectError(await refresh(suite, mine, unproven), 401, 'invalid_client')
    const unbound = constraint === 'dpop' ? { proof: null } : { certificate: null }
    if (authentication !== 'mtls' || constraint === 'dpop') {
      const error = constraint === 'dpop' ? 'invalid_dpop_proof' : 'invalid_request'
      await expectError(await refresh(suite, mine, unbound), 400, error)
    }
    // All that harmed nothing, and the token that was used before is still the one.
    await expectRefreshed(suite, first, mine)
    expect((await use(suite, mine, { path: API })).status).toBe(401)
  },
} satisfies FapiChecks
