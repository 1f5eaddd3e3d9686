/** The relying party that the certification suite is: sends people to /authorize and judges every answer strictly. */
import { hash, randomBytes } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { goThrough } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { CALLBACK, FIRST, insecure, PERSON, type Suite, type SuiteClient } from './suite.ts'

/** An authentication request, as it goes into the query. */
export type AuthenticationRequest = Readonly<Record<string, string>>
export type Parameters = Readonly<Record<string, string | undefined>>

export interface Authenticated {
  readonly agent: UserAgent
  readonly request: AuthenticationRequest
  /** The code, with what came beside it. */
  readonly callback: URLSearchParams
  readonly tokens: oauth.TokenEndpointResponse & { id_token: string; refresh_token: string }
  /** Of the ID token. */
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
  { responseMode }: Suite,
  parameters: Parameters = {},
  { client_id }: Pick<SuiteClient, 'client_id'> = FIRST,
): AuthenticationRequest {
  const all = {
    client_id,
    redirect_uri: CALLBACK,
    scope: 'openid',
    state: random(),
    nonce: random(),
    response_type: 'code',
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
  if (responseMode === 'query') {
    const location = page.headers.get('location') ?? ''
    expect([page.status, location.split('?')[0]]).toEqual([303, CALLBACK])
    expect(location).not.toContain('#')
    return new URL(location).searchParams
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
  expect([...answer.keys()].toSorted()).toEqual(['code', 'iss', 'state'])
  return oauth.validateAuthResponse(suite.metadata, client, answer, request['state'])
}

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

/** From the answer of /authorize to tokens. */
export async function finish(
  suite: Suite,
  page: Page,
  request: AuthenticationRequest,
  options: Options & { agent: UserAgent },
): Promise<Authenticated> {
  const callback = callbackIn(suite, page, request)
  const response = await presentCode(suite, callback, options)
  return { agent: options.agent, request, callback, ...(await tokensIn(suite, response, request)) }
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
