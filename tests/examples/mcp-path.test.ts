/**
 * examples/mcp below a path of its issuer: where RFC 8414 and RFC 9728 put what is known of both, and a client of each SDK that finds it.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { connect, createApp, EXAMPLE, SDKS, textOf } from '../support/mcp.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { SEED } from '../support/sign-in.ts'

const PORT = await freePort()
const ORIGIN = `http://127.0.0.1:${PORT}`
const ISSUER = `${ORIGIN}/auth/people`
await startServer(
  {
    PORT,
    OIDC_ISSUER: ISSUER,
    OIDC_PROFILE: 'mcp',
    OIDC_REGISTRATION: 'open',
    OIDC_REGISTRATION_SCOPES: 'notes:read,notes:write',
    PLUGINS: EXAMPLE,
  },
  { seed: SEED },
)
const json = async (path: string): Promise<unknown> => {
  const response = await fetch(`${ORIGIN}${path}`)
  expect([path, response.status]).toEqual([path, 200])
  return response.json()
}

test('what is known of the resource stands where its path is inserted, and names the issuer with its path', async () => {
  const nothing = await fetch(`${ISSUER}/mcp`, { method: 'POST' })
  const inserted = '/.well-known/oauth-protected-resource/auth/people/mcp'
  expect([nothing.status, nothing.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringContaining(`resource_metadata="${ORIGIN}${inserted}"`) as string,
  ])
  expect(await json(inserted)).toMatchObject({
    resource: `${ISSUER}/mcp`,
    authorization_servers: [ISSUER],
    scopes_supported: expect.arrayContaining(['notes:read', 'notes:write']) as string[],
  })
})

test.each([
  '/.well-known/oauth-authorization-server/auth/people',
  '/.well-known/openid-configuration/auth/people',
  '/auth/people/.well-known/openid-configuration',
])('what is known of the server stands at %s, as clients look for it', async (path) => {
  expect(await json(path)).toMatchObject({
    issuer: ISSUER,
    token_endpoint: `${ISSUER}/token`,
    registration_endpoint: `${ISSUER}/register`,
  })
})

test.each(['1', '2'] as const)('a client of SDK %s.x finds both, signs in and calls a tool', async (major) => {
  const app = createApp(ISSUER, SDKS[major])
  const client = await connect(app)
  expect(app.kept.answer!.get('iss')).toBe(ISSUER)
  expect(app.asked[0]!.href.startsWith(`${ISSUER}/authorize?`)).toBe(true)
  expect(app.asked[0]!.searchParams.get('resource')).toBe(`${ISSUER}/mcp`)
  expect(decodeJwt(String(app.kept.tokens!['access_token']))).toMatchObject({ iss: ISSUER, aud: `${ISSUER}/mcp` })
  expect(textOf(await client.callTool({ name: 'list_notes' }))).toBe('')
}) // prettier-ignore
