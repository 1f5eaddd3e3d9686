/** The server of the specification's examples: its client, its scope `read_books` and a GET-only resource. */
import { type BuildOptions } from '../../src/server.ts'
import type { Settings } from '../support/settings.ts'
import { startServer, type TestServer } from '../support/server.ts'

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
): Promise<TestServer> {
  return startServer(settings, {
    build,
    seed: { clients: [client] },
    extend: (server) => {
      server.get('/books', { config: { scope: 'read_books' } }, async () => ({ books: [] }))
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
