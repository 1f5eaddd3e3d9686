/** The server of the specification's examples: its client, its scope `read_books` and a GET-only resource. */
import { type BuildOptions } from '../../src/server.ts'
import type { TestDatabase } from '../support/database.ts'
import type { Settings } from '../support/settings.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { ALICE, authorize, type Tokens } from '../support/sign-in.ts'
import type { UserAgent } from '../support/user-agent.ts'

/** A client as section 2 lists its fields, all five. */
export const client = {
  client_id: 'books-service',
  client_secret: 'a-secret-that-was-chosen',
  response_types: ['code'],
  redirect_uri: 'https://rp.example/callback',
  scope: ['read_books', 'write_books'],
}

export async function startSeedServer(
  settings: Settings = {},
  build: BuildOptions = {},
  database?: TestDatabase,
): Promise<TestServer> {
  return startServer(settings, {
    build,
    ...(database === undefined ? {} : { database }),
    seed: { clients: [client], users: [ALICE], scopes: [{ name: 'read_books' }] },
    extend: (server) => {
      server.get('/books', { config: { scope: 'read_books' } }, async () => ({ books: [] }))
      server.get('/who', { config: { scope: 'openid' } }, async ({ token }) => ({
        person: token.subject,
        app: token.clientId,
      }))
      server.get('/ledger', { onRequest: server.requireScope('read_books', 'read_ledger') }, async () => ({}))
    },
  })
}

/** The request of section 5, item 2, to the letter. */
export function tokenRequest(clientId = client.client_id, clientSecret = client.client_secret): RequestInit {
  const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  return {
    method: 'POST',
    headers: {
      Authorization: `Basic ${credentials}`,
      'Content-Type': 'application/x-www-form-urlencoded',
      'Cache-Control': 'no-cache',
    },
    body: 'grant_type=client_credentials',
  }
}

/** The access token of the specification's request. */
export async function seedToken(server: TestServer): Promise<string> {
  const response = await server.request('/token/', tokenRequest())
  return ((await response.json()) as { access_token: string }).access_token
}

/** The parameters of section 4.1, by their names. */
export const request = {
  client_id: client.client_id,
  redirect_uri: client.redirect_uri,
  response_type: 'code',
  scope: 'openid email profile',
  state: 'af0ifjsldkj',
}

/** What the client gets at its redirect address once Alice has signed in and accepted. */
export async function seedAnswer(
  server: TestServer,
  parameters: Record<string, string | undefined> = {},
  agent?: UserAgent,
): Promise<URLSearchParams> {
  return authorize(server, { ...request, ...parameters }, agent)
}

/** A request of section 4.2: the client by its two form parameters, and `Cache-Control: no-cache`. */
export async function requestTokens(
  server: TestServer,
  form: Record<string, string>,
  path = '/token/',
): Promise<Response> {
  const { client_id, client_secret } = client
  return server.post(path, { client_id, client_secret, ...form }, { 'cache-control': 'no-cache' })
}

/** What a code is exchanged with, as section 4.2 has it. */
export function exchangeOf(code: string): Record<string, string> {
  return { grant_type: 'authorization_code', code, redirect_uri: client.redirect_uri }
}

/** The token response for Alice. */
export async function userTokens(
  server: TestServer,
  parameters?: Record<string, string | undefined>,
): Promise<Tokens> {
  const answer = await seedAnswer(server, parameters)
  const response = await requestTokens(server, exchangeOf(answer.get('code') ?? ''))
  if (response.status !== 200) throw new Error(`no tokens: ${response.status} ${await response.text()}`)
  return (await response.json()) as Tokens
}
