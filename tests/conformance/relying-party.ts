/** The relying party that the certification suite is: sends people to /authorize and judges every answer strictly. */
import { hash, randomBytes } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { goThrough } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { CALLBACK, FIRST, insecure, PERSON, type Suite, type SuiteClient } from './suite.ts'

const WORDS = {
  code: ['code'],
  id_token: ['id_token'],
  token: ['access_token', 'expires_in', 'scope', 'token_type'],
}

/** An authentication request, as it goes into the query. */
export type AuthenticationRequest = Readonly<Record<string, string>>
export type Parameters = Readonly<Record<string, string | undefined>>

export interface Authenticated {
  readonly agent: UserAgent
  readonly request: AuthenticationRequest
  /** What came to the callback: a code, or tokens, or both. */
  readonly callback: URLSearchParams
  /** Of the token endpoint; of the callback, where that has no code. */
  readonly tokens: oauth.TokenEndpointResponse & { id_token: string; refresh_token: string }
  /** Of the ID token among them. */
  readonly claims: oauth.IDToken & { sid: string; auth_time: number; acr: string }
}

export interface Options {
  client?: SuiteClient
  agent?: UserAgent
  user?: Pick<typeof PERSON, 'username' | 'password'>
  /** By the token endpoint; by Basic unless given. */
  authentication?: (secret: string) => oauth.ClientAuth
  codeVerifier?: string
}

const random = (): string => randomBytes(16).toString('base64url')

/** What the suite sends in all its modules; parameters that are undefined are left out. */
export function authenticationRequest(
  { responseMode, responseType }: Suite,
  parameters: Parameters = {},
  { client_id }: Pick<SuiteClient, 'client_id'> = FIRST,
): AuthenticationRequest {
  const all = {
    client_id,
    redirect_uri: CALLBACK,
    scope: 'openid',
    state: random(),
    nonce: random(),
    response_type: responseType,
    ...(responseMode === 'form_post' ? { response_mode: responseMode } : {}),
    ...parameters,
  }
  return Object.fromEntries(
    Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
}

export function addressOf({ metadata }: Suite, request: AuthenticationRequest): string {
  return `${metadata.authorization_endpoint}?${new URLSearchParams(request).toString()}`
}

/** What came to the callback, and came there in the way that was asked for. */
export function answerIn({ responseMode }: Suite, page: Page): URLSearchParams {
  if (responseMode !== 'form_post') {
    const [start, other] = responseMode === 'query' ? ['?', '#'] : ['#', '?']
    const [address, said = '', ...more] = (page.headers.get('location') ?? '').split(start)
    expect([page.status, address, more]).toEqual([303, CALLBACK, []])
    expect(said).not.toContain(other)
    return new URLSearchParams(said)
  }
  expect([page.status, page.headers.get('location')]).toEqual([200, null])
  expect(page.headers.get('cache-control')).toContain('no-store')
  const form = findForm(page, 'form-post')
  expect(form).toMatchObject({ action: CALLBACK, method: 'post' })
  return new URLSearchParams(form!.fields)
}

/** The error of a refused request, with all that belongs to such an answer and nothing else. */
export function errorIn(suite: Suite, page: Page, { state }: AuthenticationRequest): string {
  const { error, error_description: description, ...more } = Object.fromEntries(answerIn(suite, page))
  expect(more).toEqual({ iss: suite.metadata.issuer, ...(state === undefined ? {} : { state }) })
  // RFC 6749 §4.1.2.1.
  expect(description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  return error!
}

/** That an error page was shown and nobody was sent anywhere. */
export function expectErrorPage(page: Page, code = 'invalid_request'): void {
  expect([page.status, page.headers.get('location')]).toEqual([400, null])
  expect(page.body).toContain('id="error"')
  expect(page.body).toContain(`id="error-code">${code}<`)
  expect(findForm(page, 'form-post')).toBeUndefined()
}

/** The answer to a request that succeeded. */
export function callbackIn(suite: Suite, page: Page, request: AuthenticationRequest): URLSearchParams {
  const client = { client_id: request['client_id']! }
  const answer = answerIn(suite, page)
  const words = suite.responseType.split(' ') as (keyof typeof WORDS)[]
  const members = [...words.flatMap((word) => WORDS[word]), 'iss', 'state']
  expect([...answer.keys()].toSorted()).toEqual(members.toSorted())
  // `oauth4webapi` judges answers with an ID token by another function, and only some of them.
  const idToken = answer.get('id_token')
  answer.delete('id_token')
  const judged = oauth.validateAuthResponse(suite.metadata, client, answer, request['state'])
  if (idToken !== null) judged.set('id_token', idToken)
  return judged
}

/** The claims of the ID token that came to the callback, which names what it came with (OpenID Connect Core §3.3.2.11). */
async function claimsIn(
  { metadata }: Suite,
  callback: URLSearchParams,
  { client_id, nonce }: AuthenticationRequest,
): Promise<Authenticated['claims']> {
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri!))
  const { payload } = await jwtVerify(callback.get('id_token')!, keys, {
    issuer: metadata.issuer,
    audience: client_id!,
    algorithms: ['RS256'],
  })
  expect(payload['nonce']).toBe(nonce)
  for (const [hashed, member] of [['c_hash', 'code'], ['at_hash', 'access_token']] as const)
    expect(payload[hashed]).toBe(callback.has(member) ? leftHalfOfHash(callback.get(member)!) : undefined)
  return payload as unknown as Authenticated['claims']
} // prettier-ignore

export async function presentCode(
  { metadata }: Suite,
  callback: URLSearchParams,
  { client = FIRST, authentication = oauth.ClientSecretBasic, codeVerifier }: Options = {},
): Promise<Response> {
  const proof = authentication(client.client_secret)
  const verifier = codeVerifier ?? oauth.nopkce
  return oauth.authorizationCodeGrantRequest(metadata, client, proof, callback, CALLBACK, verifier, insecure)
}

/** Judges a token response, the ID token's signature, claims and `at_hash` included. */
export async function tokensIn(
  suite: Suite,
  response: Response,
  request: AuthenticationRequest,
): Promise<Pick<Authenticated, 'tokens' | 'claims'>> {
  expectNeverStored(response)
  const { metadata } = suite
  const { client_id, nonce, max_age: maxAge } = request
  const client = { client_id: client_id!, id_token_signed_response_alg: 'RS256' }
  const tokens = await oauth.processAuthorizationCodeResponse(metadata, client, response, {
    expectedNonce: nonce ?? oauth.expectNoNonce,
    maxAge: maxAge === undefined ? oauth.skipAuthTimeCheck : Number(maxAge),
    requireIdToken: true,
  })
  await oauth.validateApplicationLevelSignature(metadata, response, insecure)
  const claims = oauth.getValidatedIdTokenClaims(tokens)!
  expect(claims['at_hash']).toBe(leftHalfOfHash(tokens.access_token))
  expect(tokens.token_type).toBe('bearer')
  expect(tokens.expires_in).toBe(3600)
  return { tokens, claims } as Pick<Authenticated, 'tokens' | 'claims'>
}

/** RFC 6749 §5.1. */
export function expectNeverStored({ headers }: Response): void {
  expect(headers.get('content-type')).toBe('application/json')
  expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache'])
}

/** OpenID Connect Core §3.1.3.6, for RS256. */
function leftHalfOfHash(token: string): string {
  return hash('sha256', token, 'buffer').subarray(0, 16).toString('base64url')
}

/** Goes to /authorize and through the pages that come. */
export async function visit(
  suite: Suite,
  request: AuthenticationRequest,
  { agent = createUserAgent(suite.server.url), user = PERSON }: Pick<Options, 'agent' | 'user'> = {},
): Promise<Page> {
  return goThrough(agent, await agent.get(addressOf(suite, request)), user)
}

/** From the request to tokens: signs in and allows where it is asked. */
export async function authenticate(
  suite: Suite,
  parameters: Parameters = {},
  options: Options = {},
): Promise<Authenticated> {
  const { client = FIRST, agent = createUserAgent(suite.server.url) } = options
  const request = authenticationRequest(suite, parameters, client)
  return finish(suite, await visit(suite, request, { ...options, agent }), request, { ...options, agent })
}

/** The same sign-in, whichever ID token tells of it. */
function expectSame(front: Authenticated['claims'], back: Authenticated['claims']): void {
  const { iss, sub, aud, nonce, auth_time, sid, acr } = front
  expect(back).toMatchObject({ iss, sub, aud, nonce, auth_time, sid, acr })
}

/** From the answer of /authorize to tokens. */
export async function finish(
  suite: Suite,
  page: Page,
  request: AuthenticationRequest,
  options: Options & { agent: UserAgent },
): Promise<Authenticated> {
  const { agent } = options
  const callback = callbackIn(suite, page, request)
  const front = callback.has('id_token') ? await claimsIn(suite, callback, request) : undefined
  if (!callback.has('code')) {
    const tokens = Object.fromEntries(callback) as unknown as Authenticated['tokens']
    return { agent, request, callback, tokens, claims: front! }
  }
  const back = await tokensIn(suite, await presentCode(suite, callback, options), request)
  if (front !== undefined) expectSame(front, back.claims)
  return { agent, request, callback, ...back }
}

/** All access tokens of a sign-in. */
export function accessTokensOf({ callback, tokens }: Authenticated): readonly string[] {
  const all = [callback.get('access_token'), tokens.access_token as string | undefined]
  return [...new Set(all.flatMap((one) => one ?? []))]
}

/** As if the user had signed in so many seconds earlier. */
export async function ageSession(
  { server }: Suite,
  { claims }: Authenticated,
  seconds: number,
): Promise<void> {
  await server.database.query(
    `update sessions set authenticated_at = authenticated_at - make_interval(secs => $2) where sid = $1`,
    [claims.sid, seconds],
  )
}
