/** Programs that administer a server, each with the scopes that stand in its name. */
import { basic, bearer, type Requests } from './requests.ts'
import { startServer, type TestServer, type TestServerOptions } from './server.ts'
import { freePort, type Settings } from './settings.ts'
import { SEED } from './sign-in.ts'

export const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
const SECRET = `lks_${'a'.repeat(43)}`

/** A client that gets tokens for itself, with these scopes of the interface. */
export function program(client_id: string, ...names: readonly string[]) {
  return {
    client_id,
    client_secret: SECRET,
    grant_types: ['client_credentials'],
    scope: names.map((name) => `latchkey:${name}`),
  }
}

export const PROGRAMS = [
  program('all', 'admin'),
  program('people', 'users:write'),
  program('reader', 'users:read', 'clients:read'),
  program('apps', 'clients:write'),
  program('auditor', 'audit:read'),
]

export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- what is in it, the tests say.
  readonly body: any
}

export type CallApi = (method: string, path: string, body?: unknown) => Promise<ApiAnswer>

/** Calls the interface with this token. */
export function callerWith(server: Requests, token: string, more: Record<string, string> = {}): CallApi {
  return async (method, path, body) => {
    const headers = {
      ...bearer(token),
      ...more,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await server.request(`/admin/api/v1${path}`, { method, headers, ...sent })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }
}

export async function tokenOf(
  server: Requests,
  client: string,
  form: Record<string, string> = {},
): Promise<string> {
  const answer = await server.post(
    '/token',
    { grant_type: 'client_credentials', ...form },
    basic(client, SECRET),
  )
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { access_token: string }).access_token
}

export async function callerAs(server: Requests, client: string): Promise<CallApi> {
  return callerWith(server, await tokenOf(server, client))
}

/** A server with the interface, the programs and an administrator. */
export async function startApi(
  settings: Settings = {},
  options: TestServerOptions = {},
): Promise<TestServer> {
  const seed = { ...SEED, users: [...SEED.users, ROOT], clients: [...SEED.clients, ...PROGRAMS] }
  const PORT = await freePort()
  // There passkeys are.
  const place = { PORT, OIDC_ISSUER: `http://localhost:${PORT}` }
  return startServer({ ADMIN_API: 'on', ...place, ...settings }, { seed, ...options })
}
