/** The code flow itself: what it gives, and what it does not depend on. */
import { createHash, randomBytes } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { asksFor } from '../../../src/protocol/response-type.ts'
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
import { CALLBACK, PERSON, SECOND, type Suite } from '../suite.ts'

/** Of the parameters, and of the scopes. */
async function succeedsInAnyOrder(suite: Suite): Promise<void> {
  const request = authenticationRequest(suite, { scope: 'email openid' })
  const backwards = Object.fromEntries(Object.entries(request).toSorted(([a], [b]) => (a < b ? 1 : -1)))
  const agent = createUserAgent(suite.server.url)
  const page = await visit(suite, backwards, { agent })
  const { tokens, claims } = await finish(suite, page, request, { agent })
  if (suite.responseType === 'id_token') expect(claims['email']).toBe(PERSON.email)
  else expect(new Set(tokens.scope!.split(' '))).toEqual(new Set(['openid', 'email']))
}

export const flow = {
  'oidcc-server': async (suite) => {
    const { callback, claims, tokens, agent } = await authenticate(suite)
    const isCode = asksFor('code', suite.responseType)
    // 256 bits after what says which Authorization it is.
    if (isCode) expect(callback.get('code')!.length).toBeGreaterThanOrEqual(43)
    const known = ['acr', 'amr', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'nonce', 'sid', 'sub']
    const hashes = isCode ? ['at_hash'] : [...(callback.has('access_token') ? ['at_hash'] : []), 's_hash']
    expect(Object.keys(claims).toSorted()).toEqual([...known, ...hashes].toSorted())
    expect(tokens.scope).toBe(suite.responseType === 'id_token' ? undefined : 'openid')

    const second = await authenticate(suite, {}, { client: SECOND, agent })
    expect(second.claims).toMatchObject({ aud: SECOND.client_id, sub: claims.sub })
    for (const member of ['code', 'id_token', 'access_token'])
      if (callback.has(member)) expect(second.callback.get(member)).not.toBe(callback.get(member))
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

  'oidcc-alternate-happy-flow': succeedsInAnyOrder,

  'oidcc-ensure-other-scope-order-succeeds': succeedsInAnyOrder,

  'oidcc-response-type-missing': async (suite) => {
    const request = authenticationRequest(suite, { response_type: undefined })
    const page = await createUserAgent(suite.server.url).get(addressOf(suite, request))
    // Of a type that nobody knows, nothing says that its errors belong behind `#`.
    const told = suite.responseMode === 'fragment' ? ({ ...suite, responseMode: 'query' } as const) : suite
    expect(errorIn(told, page, request)).toBe('invalid_request')
    const hybrid = suite.metadata.response_types_supported!.includes('code id_token') ? [] : ['code id_token']
    for (const response_type of ['token', 'none', 'CODE', '__proto__', ...hybrid]) {
      const other = authenticationRequest(suite, { response_type })
      const refused = await createUserAgent(suite.server.url).get(addressOf(suite, other))
      expect(errorIn(told, refused, other)).toBe('unsupported_response_type')
    }
  },

  'oidcc-ensure-request-with-unknown-parameter-succeeds': async (suite) => {
    const { callback } = await authenticate(suite, { extra: 'foobar', 'extra[]': '1', constructor: 'x' })
    expect(callback.has('error')).toBe(false)
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

  'oidcc-ensure-request-without-nonce-fails': async (suite) => {
    const { agent } = await authenticate(suite)
    for (const nonce of [undefined, '']) {
      const request = authenticationRequest(suite, { nonce })
      expect(errorIn(suite, await agent.get(addressOf(suite, request)), request)).toBe('invalid_request')
    }
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
