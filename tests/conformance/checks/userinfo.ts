/** The UserInfo endpoint: how it is asked, and which claims come for which scope. */
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { bearer } from '../../support/requests.ts'
import type { Check, Checks } from '../plan.ts'
import { accessTokensOf, authenticate, type Authenticated } from '../relying-party.ts'
import { CLAIMS, FIRST, PERSON, type Suite } from '../suite.ts'

type Claims = Readonly<Record<string, unknown>>

const { username } = PERSON
const { email, email_verified, address, phone_number, phone_number_verified, ...person } = CLAIMS
/** What userinfo says for each scope beside `sub`: all of OpenID Connect Core §5.4, in its types. */
const CLAIMS_OF = {
  profile: { ...person, preferred_username: username, updated_at: expect.any(Number) as unknown },
  email: { email, email_verified },
  address: { address },
  phone: { phone_number, phone_number_verified },
}

/** Userinfo as a strict client reads it, with the last of its access tokens; undefined where it has none. */
async function userinfoOf({ metadata, server }: Suite, signedIn: Authenticated): Promise<Claims | undefined> {
  const token = accessTokensOf(signedIn).at(-1)
  if (token === undefined) return undefined
  const response = await server.get('/userinfo', bearer(token))
  return oauth.processUserInfoResponse(metadata, FIRST, signedIn.claims.sub, response)
}

/** Exactly the claims of these scopes, and none of them in the ID token, unless nothing else tells them. */
function releases(scopes: readonly (keyof typeof CLAIMS_OF)[]): Check {
  return async (suite) => {
    const authenticated = await authenticate(suite, { scope: ['openid', ...scopes].join(' ') })
    const expected = Object.assign({}, ...scopes.map((scope) => CLAIMS_OF[scope])) as Claims
    const told = Object.entries(authenticated.claims).filter(([name]) => Object.hasOwn(expected, name))
    const userinfo = await userinfoOf(suite, authenticated)
    const { sub, ...claims } = userinfo ?? { sub: authenticated.claims.sub, ...Object.fromEntries(told) }
    expect(claims).toEqual(expected)
    expect(sub).toBe(authenticated.claims.sub)
    if (userinfo !== undefined) expect(told).toEqual([])
    if (claims['updated_at'] !== undefined) {
      // Seconds, not milliseconds.
      expect(claims['updated_at']).toSatisfy(Number.isInteger)
      expect(claims['updated_at']).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000))
    }
    for (const scope of scopes) expect(suite.metadata.scopes_supported).toContain(scope)
    for (const name of Object.keys(expected)) expect(suite.metadata.claims_supported).toContain(name)
  }
}

/** That this way of asking works, that the answer is JSON about the same person, and that a spoilt token gets nothing. */
function asks(way: (suite: Suite, token: string) => Promise<Response>): Check {
  return async (suite) => {
    const signedIn = await authenticate(suite)
    const { tokens, claims } = signedIn
    for (const token of accessTokensOf(signedIn)) {
      const response = await way(suite, token)
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(await response.json()).toEqual({ sub: claims.sub })
    }
    const [head, body, signature] = tokens.access_token.split('.')
    const spoilt = await way(suite, `${head}.${body}.${signature!.split('').toReversed().join('')}`)
    expect(spoilt.status).toBe(401)
    expect(spoilt.headers.get('www-authenticate')).toContain('error="invalid_token"')
    const idToken = await way(suite, tokens.id_token)
    expect(idToken.status).toBe(401)
  }
}

const form = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }

export const userinfo = {
  'oidcc-userinfo-get': asks(async ({ server }, token) => server.get('/userinfo', bearer(token))),

  'oidcc-userinfo-post-header': async (suite) => {
    await asks(async ({ server }, token) =>
      server.request('/userinfo', { method: 'POST', headers: { ...bearer(token), ...form } }),
    )(suite)
    // Without a body there need be no content type either.
    await asks(async ({ server }, token) =>
      server.request('/userinfo', { method: 'POST', headers: bearer(token) }),
    )(suite)
  },

  'oidcc-userinfo-post-body': async (suite) => {
    await asks(async ({ server }, token) => server.post('/userinfo', { access_token: token }, form))(suite)
    // RFC 6750 §2: one way at a time.
    const { tokens } = await authenticate(suite)
    const token = tokens.access_token
    const both = await suite.server.post('/userinfo', { access_token: token }, bearer(token))
    expect([both.status, await both.json()]).toMatchObject([400, { error: 'invalid_request' }])
  },

  'oidcc-scope-profile': releases(['profile']),
  'oidcc-scope-email': releases(['email']),
  'oidcc-scope-address': releases(['address']),
  'oidcc-scope-phone': releases(['phone']),
  'oidcc-scope-all': releases(['email', 'phone', 'address', 'profile']),

  'oidcc-claims-essential': async (suite) => {
    expect(suite.metadata['claims_parameter_supported']).toBe(true)
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } })
    const authenticated = await authenticate(suite, { claims })
    const { sub } = authenticated.claims
    const none = suite.responseType === 'id_token'
    expect(await userinfoOf(suite, authenticated)).toEqual(none ? undefined : { sub, name: PERSON.name })
    expect(authenticated.claims).not.toHaveProperty('name')

    const elsewhere = JSON.stringify({ id_token: { name: { essential: true } } })
    const asked = await authenticate(suite, { claims: elsewhere }, { agent: authenticated.agent })
    expect(asked.claims['name']).toBe(PERSON.name)
    expect(await userinfoOf(suite, asked)).toEqual(none ? undefined : { sub })
  },
} satisfies Checks
