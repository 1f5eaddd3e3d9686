/** Devices and the people before them. */
import { expect } from 'vitest'
import type { Requests } from './requests.ts'
import { goThrough, SEED, type BOB } from './sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from './user-agent.ts'

export const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'
export const TV = {
  client_id: 'tv',
  client_name: 'Living room TV',
  token_endpoint_auth_method: 'none',
  grant_types: [GRANT_TYPE, 'refresh_token'],
  scope: ['read_books'],
}
export const PRINTER = {
  client_id: 'printer',
  client_secret: `lks_${'p'.repeat(43)}`,
  grant_types: [GRANT_TYPE],
  scope: ['read_books'],
}
export const DEVICE_SEED = { ...SEED, clients: [...SEED.clients, TV, PRINTER] }
/** A person's network is told by X-Forwarded-For. */
export const DEVICE_SETTINGS = {
  TRUSTED_PROXIES: '127.0.0.1',
}

export interface Asked {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
  interval: number
}
export type Answer = Readonly<Record<string, unknown>> & { status: number }
type Server = Requests & { url: string }

export async function answer(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  return { ...((await response.json()) as object), status: response.status }
}

/** The TV asks. */
export async function ask(server: Requests, form: Record<string, string> = {}): Promise<Asked> {
  const parameters = { client_id: TV.client_id, scope: 'openid read_books', ...form }
  const asked = await answer(server.post('/device_authorization', parameters))
  expect(asked).toMatchObject({ status: 200 })
  return asked as unknown as Asked
}

/** The TV polls. */
export async function poll(
  server: Requests,
  { device_code }: Pick<Asked, 'device_code'>,
  form: Record<string, string> = {},
): Promise<Answer> {
  const parameters = { client_id: TV.client_id, grant_type: GRANT_TYPE, device_code, ...form }
  return answer(server.post('/token', parameters))
}

let networks = 0

/** A person elsewhere: nobody else's tries count for them. */
export function newPerson(server: Server, address = `192.0.2.${++networks}`): UserAgent {
  return createUserAgent(server.url, { 'x-forwarded-for': address })
}

/** What follows when the person has entered the code. */
export async function enter(
  server: Server,
  person: UserAgent,
  { user_code }: Pick<Asked, 'user_code'>,
): Promise<Page> {
  return person.submit(await person.get(`${server.url}/device`), 'device', { user_code })
}

/** Signs in where that is asked, and allows. */
export async function allow(
  server: Server,
  asked: Pick<Asked, 'user_code'>,
  person: UserAgent = newPerson(server),
  user?: typeof BOB,
): Promise<Page> {
  return goThrough(person, await enter(server, person, asked), user)
}
