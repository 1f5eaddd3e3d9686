/** Codes in number: one browser that is signed in gets one after another, and any client presents what it holds. */
import type { TestClient } from './clients.ts'
import type { Requests } from './requests.ts'
import { answerOf, authorizationUrl, goThrough, REDIRECT_URI, type Tokens } from './sign-in.ts'
import { createUserAgent } from './user-agent.ts'
import { bearer } from './requests.ts'

type Parameters = Record<string, string | undefined>
/** Asks for a code, as the user who is signed in. */
export type GetCode = (parameters?: Parameters) => Promise<string>

/** Signs a browser in at the server when the first code is wanted. */
export function codesOf(server: Requests & { url: string }, defaults: Parameters = {}): GetCode {
  const agent = createUserAgent(server.url)
  return async (parameters = {}) => {
    const page = await agent.get(authorizationUrl(server, { ...defaults, ...parameters }))
    const answer = answerOf(await goThrough(agent, page))
    const code = answer.get('code')
    if (code === null) throw new Error(`no code: ${answer.toString()}`)
    return code
  }
}

export interface Answer {
  status: number
  /** Undefined for a success. */
  error?: string
  tokens: Tokens
}

/** What a client is told that presents a code; a parameter that is undefined is left out. */
export async function exchangeAs(
  server: Requests,
  client: TestClient,
  code: string,
  more: Parameters = {},
): Promise<Answer> {
  return ask(server, client, { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, ...more })
}

export async function refreshAs(
  server: Requests,
  client: TestClient,
  refreshToken: string,
  more: Parameters = {},
): Promise<Answer> {
  return ask(server, client, { grant_type: 'refresh_token', refresh_token: refreshToken, ...more })
}

async function ask(server: Requests, client: TestClient, form: Parameters): Promise<Answer> {
  const given = Object.entries(form).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const isPublic = client.clientSecret === ''
  if (isPublic && form['client_id'] === undefined) given.push(['client_id', client.clientId])
  const response = await server.post('/token', given, isPublic ? {} : client.basic)
  const body = (await response.json()) as Tokens & { error?: string }
  return { status: response.status, ...(body.error === undefined ? {} : { error: body.error }), tokens: body }
}

/** What each kind of token of one Authorization is still good for: userinfo, introspection, refreshing. */
export async function lifeOf(
  server: Requests,
  client: TestClient,
  { access_token: token, refresh_token: refreshToken }: Tokens,
): Promise<{ userinfo: number; active: unknown; refresh: string | number }> {
  const userinfo = await server.get('/userinfo', bearer(token))
  await userinfo.body?.cancel()
  const introspected = await server.post('/introspect', { token }, client.basic)
  const { active } = (await introspected.json()) as { active: unknown }
  const { status, error = status } = await refreshAs(server, client, refreshToken)
  return { userinfo: userinfo.status, active, refresh: error }
}

export const DEAD = { userinfo: 401, active: false, refresh: 'invalid_grant' }
export const ALIVE = { userinfo: 200, active: true, refresh: 200 }

/** Every beginning of a text, and the text with every one of its characters changed. */
export function mutantsOf(text: string): string[] {
  return Array.from({ length: text.length }, (_, at) => {
    const changed = text[at] === 'A' ? 'B' : 'A'
    return [text.slice(0, at), text.slice(0, at) + changed + text.slice(at + 1)]
  })
    .flat()
    .filter((mutant) => mutant !== '')
}
