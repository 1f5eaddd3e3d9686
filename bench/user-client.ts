// Owns what a web client gets on behalf of a user, outside the measurement: a signed-in session whose consent is
// remembered, as many codes from it as are wanted, and the tokens that they give.

import { createHash, randomBytes } from 'node:crypto'
import { createBrowser, type Page } from './browser.ts'
import { prove } from './dpop.ts'
import type { Flow } from './load-protocol.ts'
import { form, makeMany, postWell } from './requests.ts'

export const redirectUri = 'https://app.example.com/callback'
export const userScope = 'openid profile email read_books'
export const userClaims = { name: 'Bench Example', email: 'bench@example.com', email_verified: true }

export interface User {
  username: string
  password: string
}

export interface UserClient {
  port: number
  clientId: string
  clientSecret: string
  authorizePath: string
  /** Where codes are exchanged, and where refresh tokens are. */
  codePath: string
  /** Where requests are pushed (RFC 9126); absent where they are not. */
  pushPath?: string
  refreshPath: string
  user: User
}

export interface SignedIn {
  getCodes: (count: number) => Promise<string[]>
  /** Each with a proof of its own. */
  getFlows: (count: number) => Flow[]
  /** From codes that are exchanged, and refreshed as often as it takes: no more than 256 sign-ins stand behind them. */
  getAccessTokens: (count: number) => Promise<string[]>
  getRefreshTokens: (count: number) => Promise<string[]>
  exchange: (code: string) => Promise<Record<string, unknown>>
  refresh: (token: string) => Promise<Record<string, unknown>>
}

const codeVerifier = randomBytes(32).toString('base64url')
const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')

export async function signIn(client: UserClient): Promise<SignedIn> {
  const { port } = client
  const browser = createBrowser()
  await passPages(client, browser)
  const headers = { cookie: browser.cookie() }
  const url = authorizationUrl(client)

  const exchange = (code: string) => postWell(port, client.codePath, exchangeBody(client, code))
  const refresh = (token: string) => postWell(port, client.refreshPath, refreshBody(client, token))
  const getCode = async () => {
    const response = await fetch(url, { headers, redirect: 'manual' })
    const body = await response.text()
    return codeFrom({ url, status: response.status, body, leadsTo: leadOf(response) })
  }
  const getRefreshToken = async () => String((await exchange(await getCode()))['refresh_token'])

  return {
    getCodes: (count) => makeMany(count, getCode),
    getFlows: (count) => Array.from({ length: count }, () => flowOf(client, browser.cookie())),
    getRefreshTokens: (count) => makeMany(count, getRefreshToken),
    getAccessTokens: async (count) => {
      const refreshTokens = await makeMany(Math.min(count, 256), getRefreshToken)
      return makeMany(count, async () => {
        const answer = await refresh(refreshTokens.shift() ?? '')
        refreshTokens.push(String(answer['refresh_token']))
        return String(answer['access_token'])
      })
    },
    exchange,
    refresh,
  }
}

/** Signs in and allows, if asked; returns a code. */
export async function passPages(client: UserClient, browser = createBrowser()): Promise<string> {
  const { username, password } = client.user
  // The names of Latchkey's fields, and those of oidc-provider's development pages.
  const answers = { username, login: username, password, decision: 'allow' }
  let page = await browser.get(authorizationUrl(client))
  for (let pages = 0; pages < 3 && !page.leadsTo; pages++) page = await browser.submit(page, answers)
  return codeFrom(page)
}

/** Where Latchkey has it; what it answers must be the user's. */
export async function getUserinfo(port: number, bearer: string): Promise<void> {
  const headers = { authorization: `Bearer ${bearer}` }
  const response = await fetch(`http://127.0.0.1:${port}/userinfo`, { headers })
  const { email } = (await response.json()) as Record<string, unknown>
  if (email !== userClaims.email) throw new Error(`/userinfo answered ${response.status} without the user`)
}

export function exchangeBody(client: UserClient, code: string): string {
  const { clientId: client_id, clientSecret: client_secret } = client
  return form({
    grant_type: 'authorization_code',
    client_id,
    client_secret,
    code,
    redirect_uri: redirectUri,
    code_verifier: codeVerifier,
  })
}

export function refreshBody(client: UserClient, refresh_token: string): string {
  const { clientId: client_id, clientSecret: client_secret } = client
  return form({ grant_type: 'refresh_token', client_id, client_secret, refresh_token })
}

function requestOf({ clientId }: UserClient) {
  return {
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: userScope,
    state: 'bench',
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }
}

function authorizationUrl(client: UserClient): string {
  const { port, authorizePath } = client
  return `http://127.0.0.1:${port}${authorizePath}?${form(requestOf(client))}`
}

function flowOf(client: UserClient, cookie: string): Flow {
  const { port, clientId, clientSecret: client_secret, authorizePath, codePath, pushPath } = client
  if (pushPath === undefined) throw new Error('requests are not pushed there')
  return {
    push: { path: pushPath, body: form({ ...requestOf(client), client_secret }) },
    authorize: { path: authorizePath, clientId, cookie },
    exchange: {
      path: codePath,
      body: form({
        grant_type: 'authorization_code',
        client_id: clientId,
        client_secret,
        redirect_uri: redirectUri,
        code_verifier: codeVerifier,
      }),
      dpop: prove(`http://127.0.0.1:${port}${codePath}`),
    },
  }
}

function leadOf(response: Response): URL | undefined {
  const location = response.headers.get('location')
  return location === null ? undefined : new URL(location, response.url)
}

function codeFrom({ url, status, body, leadsTo }: Page): string {
  const code = leadsTo?.searchParams.get('code')
  if (!code)
    throw new Error(`${url} answered ${status} without a code: ${leadsTo?.href ?? body.slice(0, 500)}`)
  return code
}
