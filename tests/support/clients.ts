/** Clients of a test's server, registered from code, and the tokens that they get by HTTP. */
import type { FastifyInstance } from 'fastify'
import { basic, bearer, type Form, type Requests } from './requests.ts'

export interface TestClient {
  clientId: string
  clientSecret: string
  /** The header of client_secret_basic. */
  basic: { authorization: string }
}

/** The token response of client_credentials. */
export interface TokenResponse {
  token_type: string
  access_token: string
  expires_in: number
  scope: string
}

type Server = Requests & { server: FastifyInstance }

/** Registers a client by its RFC 7591 names; the secret is generated unless given. */
export async function createClient(
  { server }: Server,
  metadata: Record<string, unknown> = {},
): Promise<TestClient> {
  const client = await server.oauth.clients.create(metadata)
  const clientId = client.client_id!
  const clientSecret = client.client_secret ?? String(metadata['client_secret'])
  return { clientId, clientSecret, basic: basic(clientId, clientSecret) }
}

/** Asks for a token with Basic; client_credentials unless the form says otherwise. */
export async function requestToken(server: Requests, client: TestClient, form: Form = {}): Promise<Response> {
  const pairs = Array.isArray(form) ? form : Object.entries(form)
  const granted: Form = [['grant_type', 'client_credentials'], ...pairs]
  return server.post('/token', pairs.some(([name]) => name === 'grant_type') ? form : granted, client.basic)
}

/** A token response that must succeed. */
export async function getToken(server: Requests, client: TestClient, form?: Form): Promise<TokenResponse> {
  const response = await requestToken(server, client, form)
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${await response.text()}`)
  return (await response.json()) as TokenResponse
}

/** What introspection answers. */
export async function introspect(
  server: Requests,
  caller: TestClient,
  token: string,
): Promise<Record<string, unknown>> {
  const response = await server.post('/introspect', { token }, caller.basic)
  if (response.status !== 200)
    throw new Error(`not introspected: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}

/** The status of a guarded route for this token. */
export async function statusWith(server: Requests, path: string, token: string): Promise<number> {
  const response = await server.get(path, bearer(token))
  await response.body?.cancel()
  return response.status
}
