/** Codes that are used twice, and refresh tokens. */
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { basic, bearer } from '../../support/requests.ts'
import type { Checks } from '../plan.ts'
import {
  authenticate,
  authenticationRequest,
  callbackIn,
  expectNeverStored,
  presentCode,
  tokensIn,
  visit,
  type Authenticated,
} from '../relying-party.ts'
import { FIRST, insecure, SECOND, type Suite, type SuiteClient } from '../suite.ts'

/** That a token request was refused as RFC 6749 §5.2 has it. */
async function expectInvalidGrant(response: Response): Promise<void> {
  expectNeverStored(response)
  expect(response.status).toBe(400)
  const { error, error_description: description, ...more } = (await response.json()) as Record<string, string>
  expect([error, more]).toEqual(['invalid_grant', {}])
  expect(description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
}

async function refresh(
  { server }: Suite,
  { client_id, client_secret }: SuiteClient,
  token: string,
  more: Record<string, string> = {},
): Promise<Response> {
  const form = { grant_type: 'refresh_token', refresh_token: token, ...more }
  return server.post('/token', form, basic(client_id, client_secret))
}

async function statusAtUserinfo({ server }: Suite, token: string): Promise<number> {
  return (await server.get('/userinfo', bearer(token))).status
}

/** A second use is refused, whenever it comes, and takes along what the first one gave. */
async function expectNoReuse(suite: Suite, { callback, tokens }: Authenticated): Promise<void> {
  expect(await statusAtUserinfo(suite, tokens.access_token)).toBe(200)
  await expectInvalidGrant(await presentCode(suite, callback))
  expect(await statusAtUserinfo(suite, tokens.access_token)).toBe(401)
  await expectInvalidGrant(await refresh(suite, FIRST, tokens.refresh_token))
}

/** Goes on with a refresh token, judged as OpenID Connect Core §12.2 has it. */
async function refreshed(
  suite: Suite,
  first: Authenticated,
  client: SuiteClient,
  more: Record<string, string>,
): Promise<oauth.TokenEndpointResponse> {
  const response = await refresh(suite, client, first.tokens.refresh_token, more)
  expectNeverStored(response)
  const { metadata } = suite
  const tokens = await oauth.processRefreshTokenResponse(metadata, client, response)
  await oauth.validateApplicationLevelSignature(metadata, response, insecure)
  const { iss, sub, aud, auth_time, sid, iat } = first.claims
  const claims = oauth.getValidatedIdTokenClaims(tokens)!
  expect(claims).toMatchObject({ iss, sub, aud, auth_time, sid })
  expect(claims.iat).toBeGreaterThanOrEqual(iat)
  expect(claims).not.toHaveProperty('azp')
  expect(claims).not.toHaveProperty('nonce')
  expect([tokens.token_type, tokens.expires_in, tokens.scope]).toEqual(['bearer', 3600, first.tokens.scope])
  expect(tokens.access_token).not.toBe(first.tokens.access_token)
  expect(tokens.refresh_token).toMatch(/^[\x21-\x7e]{43,}$/)
  expect(await statusAtUserinfo(suite, tokens.access_token)).toBe(200)
  return tokens
}

export const tokens = {
  'oidcc-codereuse': async (suite) => {
    const request = authenticationRequest(suite)
    const callback = callbackIn(suite, await visit(suite, request), request)
    // Somebody else who has got hold of the code can neither use it nor use it up.
    await expectInvalidGrant(await presentCode(suite, callback, { client: SECOND }))
    const first = await tokensIn(suite, await presentCode(suite, callback), request)
    await expectInvalidGrant(await presentCode(suite, callback, { client: SECOND }))
    await expectNoReuse(suite, { ...first, callback } as Authenticated)
  },

  'oidcc-codereuse-30seconds': async (suite) => {
    const first = await authenticate(suite)
    const aged = await suite.server.database.query(
      `update authorizations set created_at = created_at - interval '31 seconds'
       where code_proof is not null and client_id = $1 returning id`,
      [FIRST.client_id],
    )
    expect(aged.length).toBeGreaterThan(0)
    await expectNoReuse(suite, first)
  },

  'oidcc-refresh-token': async (suite) => {
    const { grant_types_supported: grants, scopes_supported: scopes } = suite.metadata
    expect(grants).toContain('refresh_token')
    const scope = scopes!.includes('offline_access') ? 'openid offline_access' : 'openid'
    const parameters = { scope, prompt: 'consent' }
    const first = await authenticate(suite, parameters)
    await refreshed(suite, first, FIRST, { scope })
    const nonce = 'n'.repeat(43)
    const second = await authenticate(suite, { ...parameters, nonce }, { client: SECOND, agent: first.agent })
    const { refresh_token: token } = await refreshed(suite, second, SECOND, {})

    await expectInvalidGrant(await refresh(suite, FIRST, token!, { scope }))
    const spoilt = `${token!.slice(0, -1)}${token!.endsWith('A') ? 'B' : 'A'}`
    await expectInvalidGrant(await refresh(suite, SECOND, spoilt))
    // Whose it is can still use it.
    expect((await refresh(suite, SECOND, token!)).status).toBe(200)
  },
} satisfies Checks
