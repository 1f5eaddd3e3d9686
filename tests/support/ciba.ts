/** Clients that ask for somebody's approval, and the person who is asked (CIBA). */
import { hash } from 'node:crypto'
import { expect } from 'vitest'
import { assertionOf, inSeconds, type AssertionKey } from './client-assertions.ts'
import { basic, type Requests } from './requests.ts'
import { ALICE, goThrough, SEED } from './sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from './user-agent.ts'

export const GRANT_TYPE = 'urn:openid:params:grant-type:ciba'
export const PATH = '/backchannel-authentication'
const secret = (letter: string): string => `lks_${letter.repeat(43)}`
export const CALL_CENTRE = {
  client_id: 'call-centre',
  client_name: 'Call centre',
  client_secret: secret('c'),
  grant_types: [GRANT_TYPE, 'refresh_token'],
  scope: ['read_books'],
}
export const CIBA_SEED = { ...SEED, clients: [...SEED.clients, CALL_CENTRE] }
export const CIBA_SETTINGS = { OIDC_CIBA: 'true', TRUSTED_PROXIES: '127.0.0.1' }

export interface Asked {
  auth_req_id: string
  expires_in: number
  interval: number
}
export type Answer = Readonly<Record<string, unknown>> & { status: number }
type Server = Requests & { url: string }
type Caller = Pick<typeof CALL_CENTRE, 'client_id' | 'client_secret'>

export async function answer(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  return { ...((await response.json()) as object), status: response.status }
}

/** What the endpoint says, whatever it is. */
export async function call(
  server: Requests,
  form: Record<string, string>,
  { client_id, client_secret }: Caller = CALL_CENTRE,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return answer(server.post(PATH, form, { ...basic(client_id, client_secret), ...headers }))
}

/** For Alice, unless `form` names somebody else. */
export async function ask(
  server: Requests,
  form: Record<string, string> = {},
  client: Caller = CALL_CENTRE,
): Promise<Asked> {
  const hint = 'id_token_hint' in form || 'login_hint_token' in form ? {} : { login_hint: ALICE.username }
  const asked = await call(server, { scope: 'openid read_books', ...hint, ...form }, client)
  expect(asked).toMatchObject({ status: 200 })
  return asked as unknown as Asked
}

export async function poll(
  server: Requests,
  { auth_req_id }: Pick<Asked, 'auth_req_id'>,
  { client_id, client_secret }: Caller = CALL_CENTRE,
  form: Record<string, string> = {},
): Promise<Answer> {
  const sent = { grant_type: GRANT_TYPE, auth_req_id, ...form }
  return answer(server.post('/token', sent, basic(client_id, client_secret)))
}

/** The page of a request. */
export function pageOf(server: Server, { auth_req_id }: Pick<Asked, 'auth_req_id'>): string {
  return `${server.url}/approve?id=${hash('sha256', auth_req_id, 'base64url')}`
}

/** Signs in where that is asked, and allows. */
export async function approve(
  server: Server,
  asked: Pick<Asked, 'auth_req_id'>,
  person: UserAgent = createUserAgent(server.url),
  user?: Pick<typeof ALICE, 'username' | 'password'>,
): Promise<Page> {
  return goThrough(person, await person.get(pageOf(server, asked)), user)
}

/** A JWT of the client's own that names somebody (RFC 9493); `claims` are laid over it. */
export async function loginHintToken(
  key: AssertionKey,
  clientId: string,
  issuer: string,
  claims: object = {},
): Promise<string> {
  const sub_id = { format: 'email', email: ALICE.email }
  return assertionOf(key, clientId, issuer, { sub: undefined, jti: undefined, sub_id, ...claims })
}

/** As CIBA §7.1.1 has it; `claims` are laid over it. */
export async function signedRequest(
  key: AssertionKey,
  clientId: string,
  issuer: string,
  claims: object = {},
  header: object = {},
): Promise<string> {
  const asked = { scope: 'openid', login_hint: ALICE.username }
  const times = { iat: inSeconds(0), nbf: inSeconds(0), exp: inSeconds(300) }
  return assertionOf(key, clientId, issuer, { sub: undefined, ...times, ...asked, ...claims }, header)
}
