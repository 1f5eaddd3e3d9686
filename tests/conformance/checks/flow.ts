/** The code flow itself: what it gives, and what it does not depend on. */
import { createHash, randomBytes } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { goThrough } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import type { Checks } from '../plan.ts'
import {
  addressOf,
  authenticate,
  authenticationRequest,
  callbackIn,
  errorIn,
  finish,
  presentCode,
  visit,
} from '../relying-party.ts'
import { CALLBACK, PERSON, SECOND } from '../suite.ts'

export const flow = {
  'oidcc-server': async (suite) => {
    const { callback, claims, tokens, agent } = await authenticate(suite)
    // 256 bits after what says which Authorization it is.
    expect(callback.get('code')!.length).toBeGreaterThanOrEqual(43)
    const known = ['acr', 'amr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sid', 'sub']
    expect(Object.keys(claims).toSorted()).toEqual(known)
    expect(tokens.scope).toBe('openid')

    const second = await authenticate(suite, {}, { client: SECOND, agent })
    expect(second.claims).toMatchObject({ aud: SECOND.client_id, sub: claims.sub })
    expect(second.callback.get('code')).not.toBe(callback.get('code'))
  },

  'oidcc-server-client-secret-post': async (suite) => {
    expect(suite.metadata.token_endpoint_auth_methods_supported).toContain('client_secret_post')
    const { tokens } = await authenticate(suite, {}, { authentication: oauth.ClientSecretPost })
    expect(tokens.access_token).not.toBe('')
    const request = authenticationRequest(suite)
    const callback = callbackIn(suite, await visit(suite, request), request)
    const guessed = await presentCode(suite, callback, {
      authentication: () => oauth.ClientSecretPost('wrong'),
    })
    expect([guessed.status, await guessed.json()]).toMatchObject([401, { error: 'invalid_client' }])
  },

  'oidcc-alternate-happy-flow': async (suite) => {
    const request = authenticationRequest(suite, { scope: 'email openid' })
    const backwards = Object.fromEntries(Object.entries(request).toSorted(([a], [b]) => (a < b ? 1 : -1)))
    const agent = createUserAgent(suite.server.url)
    const page = await visit(suite, backwards, { agent })
    const { tokens } = await finish(suite, page, request, { agent })
    expect(new Set(tokens.scope!.split(' '))).toEqual(new Set(['openid', 'email']))
  },

  'oidcc-response-type-missing': async (suite) => {
    const request = authenticationRequest(suite, { response_type: undefined })
    const page = await createUserAgent(suite.server.url).get(addressOf(suite, request))
    expect(errorIn(suite, page, request)).toBe('invalid_request')
    for (const response_type of ['token', 'none', 'code id_token', 'CODE', '__proto__']) {
      const other = authenticationRequest(suite, { response_type })
      const refused = await createUserAgent(suite.server.url).get(addressOf(suite, other))
      expect(errorIn(suite, refused, other)).toBe('unsupported_response_type')
    }
  },

  'oidcc-ensure-request-with-unknown-parameter-succeeds': async (suite) => {
    const { tokens } = await authenticate(suite, { extra: 'foobar', 'extra[]': '1', constructor: 'x' })
    expect(tokens.scope).toBe('openid')
  },

  'oidcc-ensure-post-request-succeeds': async (suite) => {
    const { metadata, server } = suite
    const { origin } = new URL(CALLBACK)
    const stranger = createUserAgent(server.url)
    const first = authenticationRequest(suite)
    const page = await stranger.post(metadata.authorization_endpoint!, first, { origin })
    await finish(suite, await goThrough(stranger, page, PERSON), first, { agent: stranger })

    // A browser keeps the session's cookie back from a form of another site, and sends it after a redirect of ours.
    const second = authenticationRequest(suite)
    const sent = await server.post('/authorize', second, { origin, 'sec-fetch-site': 'cross-site' })
    expect(sent.status).toBe(303)
    const answer = await stranger.get(new URL(sent.headers.get('location')!, server.url))
    await finish(suite, answer, second, { agent: stranger })
  },

  'oidcc-ensure-request-without-nonce-succeeds-for-code-flow': async (suite) => {
    const { claims } = await authenticate(suite, { nonce: undefined })
    expect(claims).not.toHaveProperty('nonce')
  },

  'oidcc-ensure-request-with-valid-pkce-succeeds': async (suite) => {
    expect(suite.metadata.code_challenge_methods_supported).toEqual(['S256'])
    const codeVerifier = randomBytes(32).toString('base64url')
    const challenge = createHash('sha256').update(codeVerifier).digest('base64url')
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
    const { agent } = await authenticate(suite, pkce, { codeVerifier })
    for (const verifier of [undefined, codeVerifier.replace(/.$/, '-'), challenge]) {
      const request = authenticationRequest(suite, pkce)
      const callback = callbackIn(suite, await visit(suite, request, { agent }), request)
      const refused = await presentCode(
        suite,
        callback,
        verifier === undefined ? {} : { codeVerifier: verifier },
      )
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    }
  },
} satisfies Checks
