/** The relying party of the FAPI plans: pushes requests, sends people on, and judges every answer strictly. */
import { createHash, randomBytes } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import type { AssertionKey } from '../../support/client-assertions.ts'
import { INSIDE, requestObject } from '../../support/request-objects.ts'
import { goThrough } from '../../support/sign-in.ts'
import type { Page, UserAgent } from '../../support/user-agent.ts'
import { CALLBACK, insecure, PERSON } from '../suite.ts'
import { send, type How } from './back-channel.ts'
import { ALGORITHMS, SCOPE, type FapiClient, type FapiSuite } from './suite.ts'

type Members = Readonly<Record<string, string | undefined>>

export interface Asked {
  readonly client: FapiClient
  readonly request: Readonly<Record<string, string>>
  readonly codeVerifier: string
}

export interface Authenticated {
  readonly asked: Asked
  readonly callback: URLSearchParams
  readonly tokens: oauth.TokenEndpointResponse
}

const random = (): string => randomBytes(32).toString('base64url')

/** Those that are given, without those that are undefined. */
function given(members: Members): Record<string, string> {
  const pairs = Object.entries(members).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return Object.fromEntries(pairs)
}

/** What the suite asks for in all its modules; parameters that are undefined are left out. */
export function ask(suite: FapiSuite, parameters: Members = {}, client = suite.first): Asked {
  const codeVerifier = random()
  const all = {
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: suite.isOpenid ? `openid ${SCOPE}` : SCOPE,
    state: random(),
    nonce: suite.isOpenid ? random() : undefined,
    response_mode: suite.isAnsweredInJwt ? 'jwt' : undefined,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...parameters,
  }
  return { client, request: given(all), codeVerifier }
}

/** The request as an object that its client has signed. */
export async function signedRequest(
  { metadata }: FapiSuite,
  { client, request }: Asked,
  claims: object = {},
  by: AssertionKey = client.key,
): Promise<string> {
  const nothing = Object.fromEntries(Object.keys(INSIDE).map((name) => [name, undefined]))
  return requestObject(by, client.client_id, metadata.issuer, { ...nothing, ...request, ...claims })
}

/** As what it travels: signed, where the plan has it so; `form` goes beside it. */
export async function push(
  suite: FapiSuite,
  asked: Asked,
  how: How & { form?: Record<string, string>; claims?: object } = {},
): Promise<Response> {
  const { client } = asked
  const { client_id, ...plain } = asked.request
  const form = suite.signs ? { request: await signedRequest(suite, asked, how.claims) } : plain
  return send(suite, '/par', { client_id: client_id!, ...form, ...how.form }, { client, ...how })
}

/** RFC 9126 §2.2, within the limits of §5.3.2.2 */
export async function referenceIn(
  { metadata }: FapiSuite,
  { client }: Asked,
  response: Response,
): Promise<string> {
  expect(response.headers.get('cache-control')).toContain('no-store')
  const { client_id } = client
  const told = await oauth.processPushedAuthorizationResponse(metadata, { client_id }, response)
  expect(told.expires_in).toBeGreaterThanOrEqual(5)
  expect(told.expires_in).toBeLessThan(600)
  return told.request_uri
}

export function addressOf(
  { metadata }: FapiSuite,
  { client }: Asked,
  request_uri: string,
  more: Members = {},
): string {
  const query = new URLSearchParams({ client_id: client.client_id, request_uri, ...given(more) })
  return `${metadata.authorization_endpoint!}?${query.toString()}`
}

/** Goes there, and through the pages that come. */
export async function visit(
  suite: FapiSuite,
  address: string,
  agent: UserAgent = suite.agent,
): Promise<Page> {
  return goThrough(agent, await agent.get(address), PERSON)
}

/** From the request to where the browser comes back. */
export async function comeBack(
  suite: FapiSuite,
  asked: Asked,
  how: How & { more?: Members } = {},
): Promise<Page> {
  const request_uri = await referenceIn(suite, asked, await push(suite, asked, how))
  return visit(suite, addressOf(suite, asked, request_uri, how.more))
}

/** What came to the callback, as the client reads it: the code, or the error of `oauth4webapi`. */
export async function callbackIn(
  suite: FapiSuite,
  { client, request }: Asked,
  page: Page,
): Promise<URLSearchParams> {
  const location = page.headers.get('location') ?? ''
  expect([page.status, location.split('?')[0]]).toEqual([303, CALLBACK])
  const { metadata, isAnsweredInJwt } = suite
  const { client_id } = client
  const state = request['state'] ?? oauth.expectNoState
  const { searchParams } = new URL(location)
  if (!isAnsweredInJwt) return oauth.validateAuthResponse(metadata, { client_id }, searchParams, state)
  expect([...searchParams.keys()]).toEqual(['response'])
  const jwt = searchParams.get('response')!
  const { exp } = decodeJwt(jwt)
  expect(exp! - Date.now() / 1000).toBeGreaterThan(10)
  expect(exp! - Date.now() / 1000).toBeLessThanOrEqual(600)
  expect(ALGORITHMS).toContain(decodeProtectedHeader(jwt).alg)
  const judged = { client_id, authorization_signed_response_alg: 'ES256' }
  return oauth.validateJwtAuthResponse(metadata, judged, searchParams, state, insecure)
}

export async function errorIn(suite: FapiSuite, asked: Asked, page: Page): Promise<string> {
  const refused: unknown = await callbackIn(suite, asked, page).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(oauth.AuthorizationResponseError)
  return (refused as oauth.AuthorizationResponseError).error
}

/** From the request to a code. */
export async function getCode(
  suite: FapiSuite,
  asked: Asked = ask(suite),
  how: How & { more?: Members } = {},
) {
  return callbackIn(suite, asked, await comeBack(suite, asked, how))
}

export async function presentCode(
  suite: FapiSuite,
  { client, codeVerifier }: Asked,
  callback: URLSearchParams,
  how: How & { form?: Members } = {},
): Promise<Response> {
  const form = {
    grant_type: 'authorization_code',
    code: callback.get('code')!,
    redirect_uri: CALLBACK,
    code_verifier: codeVerifier,
    ...how.form,
  }
  return send(suite, '/token', given(form), { client, ...how })
}

/** Judges a token response, the ID token's algorithm and signature included. */
async function tokensIn(suite: FapiSuite, { client, request }: Asked, response: Response) {
  const { metadata, isOpenid, constraint } = suite
  const { client_id } = client
  expect(response.headers.get('cache-control')).toContain('no-store')
  const tokens = await oauth.processAuthorizationCodeResponse(
    metadata,
    { client_id, id_token_signed_response_alg: 'ES256' },
    response,
    isOpenid ? { expectedNonce: request['nonce'] ?? oauth.expectNoNonce, requireIdToken: true } : {},
  )
  if (isOpenid) await oauth.validateApplicationLevelSignature(metadata, response, insecure)
  else expect(tokens).not.toHaveProperty('id_token')
  expect(tokens.token_type).toBe(constraint === 'dpop' ? 'dpop' : 'bearer')
  expect(new Set(tokens.scope!.split(' '))).toEqual(new Set(request['scope']!.split(' ')))
  return tokens
}

/** From the request to tokens. */
export async function authenticate(
  suite: FapiSuite,
  asked: Asked = ask(suite),
  how: How & { more?: Members } = {},
): Promise<Authenticated> {
  const callback = await getCode(suite, asked, how)
  const tokens = await tokensIn(suite, asked, await presentCode(suite, asked, callback, how))
  return { asked, callback, tokens }
}

/** A token request that is good but for `how`: of a code, or of the client for itself. */
export async function requestToken(suite: FapiSuite, how: How = {}, codeOf = ask(suite)): Promise<Response> {
  if (suite.isOwn) return send(suite, '/token', { grant_type: 'client_credentials', scope: SCOPE }, how)
  return presentCode(suite, codeOf, await getCode(suite, codeOf), how)
}

/** An access token of the plan's kind. */
export async function getToken(suite: FapiSuite, client = suite.first): Promise<string> {
  if (!suite.isOwn) return (await authenticate(suite, ask(suite, {}, client))).tokens.access_token
  const response = await requestToken(suite, { client })
  const { client_id } = client
  const tokens = await oauth.processClientCredentialsResponse(suite.metadata, { client_id }, response)
  expect(tokens).not.toHaveProperty('refresh_token')
  return tokens.access_token
}
