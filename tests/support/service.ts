/** What a service and the APIs it calls do, against servers of any process: get, use and give back tokens. */
import { resolve } from 'node:path'
import { type TestClient, getToken, introspect, statusWith } from './clients.ts'
import { type Requests, basic } from './requests.ts'

/** For PLUGINS: a guarded route `/shelf`, and the scope that it needs. */
export const GUARDED = resolve(import.meta.dirname, 'guarded-plugin.ts')
export const GUARDED_SCOPE = 'read_shelf'

/** For a seed: a client whose tokens are JWTs, and one whose tokens are opaque. */
export const SIGNED = {
  client_id: 'signed',
  client_secret: `lks_${'s'.repeat(43)}`,
  scope: [GUARDED_SCOPE],
}
export const OPAQUE = { ...SIGNED, client_id: 'opaque', access_token_format: 'opaque' }

/** A client by what a seed or a command says of it. */
export function toClient(registered: Readonly<Record<string, unknown>>): TestClient {
  const { client_id: clientId, client_secret: clientSecret } = registered as Record<string, string>
  return { clientId: clientId!, clientSecret: clientSecret!, basic: basic(clientId!, clientSecret!) }
}

export async function getAccessToken(server: Requests, client: TestClient): Promise<string> {
  return (await getToken(server, client)).access_token
}

export async function isActive(server: Requests, caller: TestClient, token: string): Promise<boolean> {
  return (await introspect(server, caller, token))['active'] === true
}

/** Of the guarded route. */
export async function statusOfRoute(server: Requests, token: string): Promise<number> {
  return statusWith(server, '/shelf', token)
}

export async function revoke(server: Requests, client: TestClient, token: string): Promise<Response> {
  return server.post('/revoke', { token }, client.basic)
}

/** The status of an answer whose body nobody reads. */
export async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer
  await body?.cancel()
  return status
}
