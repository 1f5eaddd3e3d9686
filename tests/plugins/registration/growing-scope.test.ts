/**
 * Apps that register with the scope of their first challenge: under the profile of MCP it is what they begin with, and else a bound.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import { expect, test } from 'vitest'
import { assertionOf, createAssertionKey } from '../../support/client-assertions.ts'
import { startReceiver } from '../../support/receiver.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { REDIRECT_URI, SEED } from '../../support/sign-in.ts'

const ISSUER = 'https://directory.example'
const key = await createAssertionKey()
const directory = await startReceiver((_request, response) =>
  response
    .writeHead(200, { 'content-type': 'application/jwk-set+json' })
    .end(JSON.stringify({ keys: [key.jwk] })),
)
const origin = `http://127.0.0.1:${directory.port}`
const settings = {
  OIDC_REGISTRATION: 'open',
  OIDC_REGISTRATION_SCOPES: 'read_books,write_books',
  OIDC_SOFTWARE_STATEMENT_ISSUERS: `${ISSUER} ${origin}/jwks`,
  UNSAFE_OUTBOUND_ORIGINS: origin,
}
const scopes = ['write_books', 'burn_books'].map((name) => ({ name, description: name }))
const seed = { ...SEED, scopes: [...SEED.scopes, ...scopes] }
const mcp = await startServer({ ...settings, OIDC_PROFILE: 'mcp' }, { seed })
const plain = await startServer(settings, { seed })

interface Told {
  client_id: string
  scope?: string
  error?: string
  registration_access_token: string
}

async function send(server: typeof mcp, method: string, path: string, body: object, token?: string) {
  const headers = { 'content-type': 'application/json', ...(token === undefined ? {} : bearer(token)) }
  const response = await server.request(path, { method, headers, body: JSON.stringify(body) })
  return (await response.json()) as Told
}

const register = async (server: typeof mcp, more: object) =>
  send(server, 'POST', '/register', { redirect_uris: [REDIRECT_URI], ...more })

test('under the profile it may ask for the others too, and for no more than an app may have', async () => {
  expect((await register(mcp, { scope: 'read_books' })).scope).toBe('read_books write_books')
  expect((await register(mcp, { scope: 'openid read_books' })).scope).toBe('openid read_books write_books')
  expect((await register(mcp, {})).scope).toBe('read_books write_books')
  expect((await register(mcp, { scope: 'read_books burn_books' })).error).toBe('invalid_client_metadata')
  expect((await register(plain, { scope: 'read_books' })).scope).toBe('read_books')
})

test('a change of its registration is judged alike', async () => {
  for (const [server, scope] of [
    [mcp, 'read_books write_books'],
    [plain, 'read_books'],
  ] as const) {
    const { client_id, registration_access_token: token } = await register(server, { scope: 'read_books' })
    const body = { client_id, redirect_uris: [REDIRECT_URI], scope: 'read_books' }
    expect((await send(server, 'PUT', `/register/${client_id}`, body, token)).scope).toBe(scope)
  }
})

test('what a software statement says stays a bound', async () => {
  const unbound = { sub: undefined, aud: undefined, exp: undefined, jti: undefined }
  const software_statement = await assertionOf(key, ISSUER, mcp.url, {
    ...unbound,
    redirect_uris: [REDIRECT_URI],
    scope: 'read_books',
  })
  expect((await register(mcp, { software_statement })).scope).toBe('read_books')
})
