/** All that the app asks of the server, by openid-client: sign in, refresh, call an API, sign out. */
import * as client from 'openid-client'
import { recordingFetch, type Step } from './steps.ts'

export interface Registration {
  issuer: URL
  clientId: string
  clientSecret: string
  /** Where this app is, without a slash at the end. */
  origin: string
}

/** What the answer must fit to; kept in the session, never in the browser. */
export interface PendingSignIn {
  state: string
  nonce: string
  codeVerifier: string
}

export interface Tokens {
  accessToken: string
  /** Milliseconds since the epoch; absent where the server does not say. */
  expiresAt?: number
  refreshToken?: string
  idToken: string
  scope: string
}

/** What an API demands of the sign-in before it answers (RFC 9470 §3), as the request for it says it. */
export type StepUp = Readonly<Partial<Record<'acr_values' | 'max_age', string>>>

export interface SignedIn {
  tokens: Tokens
  /** Of the ID token of the sign-in. */
  claims: client.IDToken
  userinfo: client.UserInfoResponse
}

type TokenResponse = Awaited<ReturnType<typeof client.authorizationCodeGrant>>

const SCOPE = 'openid profile email read_books'

/** An app does this once, at its start. Here it is done for each sign-in, so that it is among the steps that are shown. */
export async function discover(to: Registration, steps: Step[]): Promise<client.Configuration> {
  // http, since it is all on this machine. Then the connection vouches for nothing, and signatures are checked.
  const execute = [client.allowInsecureRequests, client.enableNonRepudiationChecks]
  return client.discovery(to.issuer, to.clientId, undefined, client.ClientSecretBasic(to.clientSecret), {
    execute,
    [client.customFetch]: recordingFetch(steps),
  })
}

export async function beginSignIn(
  config: client.Configuration,
  { origin }: Registration,
  stepUp: StepUp = {},
): Promise<{ url: URL; pending: PendingSignIn }> {
  const pending = {
    state: client.randomState(),
    nonce: client.randomNonce(),
    codeVerifier: client.randomPKCECodeVerifier(),
  }
  const url = client.buildAuthorizationUrl(config, {
    ...stepUp,
    redirect_uri: `${origin}/callback`,
    scope: SCOPE,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(pending.codeVerifier),
    code_challenge_method: 'S256',
  })
  return { url, pending }
}

/** `answer` is the address at which the browser came back. Throws what openid-client throws. */
export async function finishSignIn(
  config: client.Configuration,
  answer: URL,
  { state, nonce, codeVerifier }: PendingSignIn,
): Promise<SignedIn> {
  const response = await client.authorizationCodeGrant(config, answer, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: codeVerifier,
    idTokenExpected: true,
  })
  const claims = response.claims()!
  const userinfo = await client.fetchUserInfo(config, response.access_token, claims.sub)
  return { tokens: tokensOf(response), claims, userinfo }
}

export async function refresh(config: client.Configuration, user: SignedIn): Promise<SignedIn> {
  const { tokens, claims } = user
  const response = await client.refreshTokenGrant(config, tokens.refreshToken ?? '')
  return { ...user, tokens: tokensOf(response, tokens), claims: response.claims() ?? claims }
}

/** Calls an API. An answer that challenges (401, 403) is thrown, as `WWWAuthenticateChallengeError`. */
export async function call(config: client.Configuration, { tokens }: SignedIn, url: URL): Promise<Response> {
  return client.fetchProtectedResource(config, tokens.accessToken, url, 'GET')
}

/** What the challenge asks for; undefined where it is another one. */
export function stepUpOf(error: unknown): StepUp | undefined {
  if (!(error instanceof client.WWWAuthenticateChallengeError)) return undefined
  const challenge = error.cause.find(
    ({ parameters }) => parameters.error === 'insufficient_user_authentication',
  )
  if (challenge === undefined) return undefined
  const { acr_values, max_age } = challenge.parameters as StepUp
  return {
    ...(acr_values === undefined ? {} : { acr_values }),
    ...(max_age === undefined ? {} : { max_age }),
  }
}

/** Where the browser goes to end the session at the server too. */
export function signOutUrl(
  config: client.Configuration,
  { tokens }: SignedIn,
  { origin }: Registration,
): URL {
  return client.buildEndSessionUrl(config, {
    id_token_hint: tokens.idToken,
    post_logout_redirect_uri: `${origin}/`,
  })
}

/** A response may leave out what stays as it was (RFC 6749 §6). */
function tokensOf(response: TokenResponse, former?: Tokens): Tokens {
  const lifetime = response.expiresIn()
  const refreshToken = response.refresh_token ?? former?.refreshToken
  return {
    accessToken: response.access_token,
    ...(lifetime === undefined ? {} : { expiresAt: Date.now() + lifetime * 1000 }),
    ...(refreshToken === undefined ? {} : { refreshToken }),
    idToken: response.id_token ?? former!.idToken,
    scope: response.scope ?? former?.scope ?? SCOPE,
  }
}
