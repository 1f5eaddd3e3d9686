/** Sign-out that a client asks for (OpenID Connect RP-Initiated Logout 1.0): when it leads back, and when it must not. */
import { UnsecuredJWT, SignJWT, generateKeyPair, decodeJwt } from 'jose'
import { expect } from 'vitest'
import { findForm, type Page } from '../../support/user-agent.ts'
import type { Check, Checks } from '../plan.ts'
import {
  addressOf,
  authenticate,
  authenticationRequest,
  errorIn,
  expectErrorPage,
  type Authenticated,
  type Parameters,
} from '../relying-party.ts'
import { FIRST, LOGGED_OUT, SECOND, SOMEBODY_ELSE, type Suite } from '../suite.ts'
import { discover, expectAddresses } from './discovery.ts'

const STATE = 'sT~'.repeat(42)

/** Goes to end_session_endpoint with what the suite sends; parameters that are undefined are left out. */
export async function leave(
  suite: Suite,
  { agent, tokens }: Authenticated,
  parameters: Parameters = {},
): Promise<Page> {
  const all = {
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: LOGGED_OUT,
    state: STATE,
    ...parameters,
  }
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return agent.get(`${suite.metadata.end_session_endpoint}?${new URLSearchParams(given).toString()}`)
}

/** Whether a silent request still gets an answer. */
export async function isSignedIn(suite: Suite, { agent }: Authenticated): Promise<boolean> {
  const request = authenticationRequest(suite, { prompt: 'none' })
  const page = await agent.get(addressOf(suite, request))
  if (page.headers.get('location')?.includes('code=')) return true
  expect(errorIn(suite, page, request)).toBe('login_required')
  return false
}

/** It leads back, with exactly this query, and nobody is signed in any more, whatever cookie comes. */
function leadsBack(parameters: Parameters, query: string): Check {
  return async (suite) => {
    const signedIn = await authenticate(suite)
    const thief = { ...signedIn, agent: signedIn.agent.clone() }
    const page = await leave(suite, signedIn, parameters)
    expect([page.status, page.headers.get('location')]).toEqual([303, `${LOGGED_OUT}${query}`])
    expect(await isSignedIn(suite, signedIn)).toBe(false)
    expect(await isSignedIn(suite, thief)).toBe(false)
  }
}

/** A hint that is not one of ours is refused, also where a `client_id` says whose address it is. */
async function expectNoHints(suite: Suite, signedIn: Authenticated, hints: readonly string[]): Promise<void> {
  const clientIds = [undefined, FIRST.client_id]
  for (const hint of hints)
    for (const client_id of clientIds)
      await expectNoWayBack(suite, signedIn, { id_token_hint: hint, client_id })
}

/** An error page; nobody is sent anywhere, and nobody is signed out by what anybody may send. */
async function expectNoWayBack(suite: Suite, signedIn: Authenticated, parameters: Parameters): Promise<void> {
  expectErrorPage(await leave(suite, signedIn, parameters))
  expect(await isSignedIn(suite, signedIn)).toBe(true)
}

/** A page that asks, then one that says it is done. Without the question's answer, nothing has happened. */
function asksThenSaysSo(parameters: Parameters): Check {
  return async (suite) => {
    const signedIn = await authenticate(suite)
    const { agent } = signedIn
    const page = await leave(suite, signedIn, parameters)
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('id="sign-out"')])
    expect(await isSignedIn(suite, signedIn)).toBe(true)
    const form = findForm({ ...page, body: page.body.replace('<form ', '<form id="leaving" ') }, 'leaving')!
    const forged = await agent.post(form.action, { ...form.fields, csrf_token: 'forged' })
    expect(forged.status).toBe(403)
    expect(await isSignedIn(suite, signedIn)).toBe(true)
    const done = await agent.post(form.action, form.fields)
    expect([done.status, done.headers.get('location')]).toEqual([200, null])
    expect(done.body).toContain('id="signed-out"')
    expect(await isSignedIn(suite, signedIn)).toBe(false)
  }
}

const nothing = { id_token_hint: undefined, post_logout_redirect_uri: undefined, state: undefined }

export const logout = {
  'oidcc-rp-initiated-logout-discovery-endpoint-verification': async ({ server }) => {
    const document = await discover(server)
    expect(document['end_session_endpoint']).toBe(`${server.url}/end-session`)
    expectAddresses(document, server.url)
  },

  'oidcc-rp-initiated-logout': async (suite) => {
    const state = new URLSearchParams({ state: STATE }).toString()
    await leadsBack({}, `?${state}`)(suite)
    await leadsBack({ client_id: FIRST.client_id }, `?${state}`)(suite)
  },

  'oidcc-rp-initiated-logout-no-state': leadsBack({ state: undefined }, ''),

  'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri': async (suite) => {
    const signedIn = await authenticate(suite)
    for (const uri of [
      `${LOGGED_OUT}_bad`,
      `${LOGGED_OUT}/`,
      LOGGED_OUT.toUpperCase(),
      'https://evil.example/',
      'x',
    ])
      await expectNoWayBack(suite, signedIn, { post_logout_redirect_uri: uri })
    // Registered, but for answers of /authorize.
    await expectNoWayBack(suite, signedIn, { post_logout_redirect_uri: FIRST.redirect_uris[0] })
  },

  'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri': async (suite) => {
    const signedIn = await authenticate(suite)
    for (const added of ['?foo=bar', '?', '#x'])
      await expectNoWayBack(suite, signedIn, { post_logout_redirect_uri: LOGGED_OUT + added })
  },

  'oidcc-rp-initiated-logout-modified-id-token-hint': async (suite) => {
    const signedIn = await authenticate(suite)
    const claims = decodeJwt(signedIn.tokens.id_token)
    const [head, body, signature] = signedIn.tokens.id_token.split('.')
    const spelled = Buffer.from('{"alg": "none"}').toString('base64url')
    const altered = Buffer.from(JSON.stringify({ ...claims, aud: SECOND.client_id })).toString('base64url')
    const hints = [
      `${spelled}.${body}.`, `${spelled}.${body}.${signature}`, new UnsecuredJWT(claims).encode(),
      `${head}.${body}.`, `${head}.${altered}.${signature}`, `${head}.${body}`, signedIn.tokens.access_token,
    ] // prettier-ignore
    await expectNoHints(suite, signedIn, hints)
  },

  'oidcc-rp-initiated-logout-bad-id-token-hint': async (suite) => {
    const signedIn = await authenticate(suite)
    const claims = decodeJwt(signedIn.tokens.id_token)
    const { privateKey } = await generateKeyPair('RS256')
    const secret = new TextEncoder().encode(FIRST.client_secret)
    const sign = async (alg: string, key: typeof privateKey | Uint8Array, content = claims) =>
      new SignJWT(content).setProtectedHeader({ alg }).sign(key)
    const wrongWayRound = { ...claims, iss: FIRST.client_id, aud: suite.metadata.issuer, sub: 'SubjectID' }
    const hints = [
      await sign('RS256', privateKey, wrongWayRound),
      await sign('RS256', privateKey),
      await sign('HS256', secret, wrongWayRound),
      await sign('HS256', secret),
    ]
    await expectNoHints(suite, signedIn, hints)
    // A true one of another client opens no way back to this one.
    const other = await authenticate(suite, {}, { client: SECOND, agent: signedIn.agent })
    await expectNoWayBack(suite, other, { client_id: FIRST.client_id })
    // A true one of somebody else does not sign this one out unasked.
    const otto = await authenticate(suite, {}, { user: SOMEBODY_ELSE })
    const page = await leave(suite, signedIn, { id_token_hint: otto.tokens.id_token })
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('id="sign-out"')])
    expect(await isSignedIn(suite, signedIn)).toBe(true)
  },

  // The suite: an error, or a question, and no redirect.
  'oidcc-rp-initiated-logout-no-id-token-hint': async (suite) => {
    await asksThenSaysSo({ id_token_hint: undefined })(suite)
    for (const uri of [`${LOGGED_OUT}?foo=bar`, 'https://evil.example/', 'x'])
      await asksThenSaysSo({ id_token_hint: undefined, post_logout_redirect_uri: uri })(suite)
  },

  'oidcc-rp-initiated-logout-no-params': asksThenSaysSo(nothing),
  'oidcc-rp-initiated-logout-only-state': asksThenSaysSo({ ...nothing, state: STATE }),

  'oidcc-rp-initiated-logout-no-post-logout-redirect-uri': async (suite) => {
    const signedIn = await authenticate(suite)
    const page = await leave(suite, signedIn, { post_logout_redirect_uri: undefined })
    expect([page.status, page.headers.get('location')]).toEqual([200, null])
    expect(page.body).toContain('id="signed-out"')
    expect(await isSignedIn(suite, signedIn)).toBe(false)
  },
} satisfies Checks
