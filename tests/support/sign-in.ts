/** People at work: a user who signs in and allows what a client asks for, up to the answer that the client gets. */
import { createHash, randomBytes } from 'node:crypto'
import { basic, type Requests } from './requests.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from './user-agent.ts'

export const ALICE = {
  username: 'alice',
  password: 'correct horse battery staple',
  name: 'Alice Example',
  given_name: 'Alice',
  family_name: 'Example',
  email: 'alice@example.com',
  email_verified: true,
  address: { street_address: '1 Main Street', locality: 'Springfield', country: 'US' },
  phone_number: '+1 555 0100',
  phone_number_verified: false,
}
export const BOB = { username: 'bob', password: 'another long password', email: 'bob@example.com' }

export const REDIRECT_URI = 'https://app.example/callback'
/** As the seed specification's client: five fields. */
export const WEB = {
  client_id: 'web',
  client_secret: `lks_${'w'.repeat(43)}`,
  response_types: ['code'],
  redirect_uri: REDIRECT_URI,
  scope: ['read_books'],
}
export const SEED = {
  users: [ALICE, BOB],
  clients: [WEB],
  scopes: [{ name: 'read_books', description: 'Read your books' }],
}

export interface Pkce {
  verifier: string
  challenge: string
}

export function createPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** The address of an authorization request; parameters that are undefined are left out. */
export function authorizationUrl(
  server: Pick<Requests, 'get'> & { url: string },
  parameters: Record<string, string | undefined> = {},
): string {
  const all = {
    client_id: WEB.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'openid',
    state: 'a state',
    ...parameters,
  }
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return `${server.url}/authorize?${new URLSearchParams(given).toString()}`
}

/** Goes through the pages that come, as `user`, who allows everything; returns what is there at the end. */
export async function goThrough(
  agent: UserAgent,
  page: Page,
  user: Pick<typeof ALICE, 'username' | 'password'> = ALICE,
): Promise<Page> {
  let at = page
  for (let steps = 0; steps < 5; steps++) {
    if (findForm(at, 'login') !== undefined)
      at = await agent.submit(at, 'login', { username: user.username, password: user.password })
    else if (findForm(at, 'consent') !== undefined)
      at = await agent.submit(at, 'consent', { decision: 'allow' })
    else return at
  }
  throw new Error(`the pages do not end: ${at.url}`)
}

/** What the client is told at its redirect URI. */
export function answerOf(page: Page): URLSearchParams {
  const location = page.headers.get('location')
  if (location === null) throw new Error(`no redirect: ${page.status} ${page.body}`)
  return new URL(location).searchParams
}

/** Signs in and allows; returns the answer. */
export async function authorize(
  server: Pick<Requests, 'get'> & { url: string },
  parameters: Record<string, string | undefined> = {},
  agent: UserAgent = createUserAgent(server.url),
  user: Pick<typeof ALICE, 'username' | 'password'> = ALICE,
): Promise<URLSearchParams> {
  return answerOf(await goThrough(agent, await agent.get(authorizationUrl(server, parameters)), user))
}

export interface Tokens {
  access_token: string
  refresh_token: string
  id_token: string
  scope: string
  expires_in: number
  token_type: string
}

/** Exchanges a code as the client `WEB`. */
export async function exchange(
  server: Requests,
  code: string,
  more: Record<string, string> = {},
): Promise<Response> {
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...more }
  return server.post('/token', form, basic(WEB.client_id, WEB.client_secret))
}

/** Refreshes as the client `WEB`. */
export async function refresh(
  server: Requests,
  token: string,
  more: Record<string, string> = {},
): Promise<Response> {
  const form = { grant_type: 'refresh_token', refresh_token: token, ...more }
  return server.post('/token', form, basic(WEB.client_id, WEB.client_secret))
}

/** Signs in, allows, exchanges the code. */
export async function getTokens(
  server: Requests & { url: string },
  parameters: Record<string, string | undefined> = {},
  agent?: UserAgent,
  user?: Pick<typeof ALICE, 'username' | 'password'>,
): Promise<Tokens> {
  const answer = await authorize(server, parameters, agent, user)
  const response = await exchange(server, answer.get('code') ?? '')
  if (response.status !== 200) throw new Error(`no tokens: ${response.status} ${await response.text()}`)
  return (await response.json()) as Tokens
}
