/**
 * examples/mcp, by the clients of the MCP SDKs: discovery, both ways of being known, code, refresh, and step-up by scope.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { createCertificate } from '../support/deployed.ts'
import { startDocumentHost } from '../support/document-host.ts'
import { connect, createApp, DOCUMENT, EXAMPLE, finish, SDKS, textOf } from '../support/mcp.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'

const host = await startDocumentHost(await createCertificate('localhost'))
const server = await startServer(
  {
    OIDC_PROFILE: 'mcp',
    OIDC_REGISTRATION: 'open',
    OIDC_REGISTRATION_SCOPES: 'notes:read,notes:write',
    PLUGINS: EXAMPLE,
    UNSAFE_OUTBOUND_ORIGINS: host.origin,
  },
  { seed: SEED },
)

/** The second SDK asks for what makes refresh tokens wherever the metadata has it (SEP-2207). */
const ASKED = { '1': (scope: string) => scope, '2': (scope: string) => `${scope} offline_access` }

test.each([
  ['1', 'a document'],
  ['1', 'registration'],
  ['2', 'a document'],
  ['2', 'registration'],
] as const)('a client of SDK %s.x that is known by %s signs in, steps up and refreshes', async (major, way) => {
  const known = way === 'a document' ? { clientMetadataUrl: host.publish('client.json', DOCUMENT) } : {}
  const app = createApp(server.url, SDKS[major], known)
  const client = await connect(app)
  const [first] = app.asked
  expect(app.kept.answer!.get('iss')).toBe(server.url)
  expect(first!.searchParams.get('resource')).toBe(`${server.url}/mcp`)
  expect(first!.searchParams.get('scope')).toBe(ASKED[major]('notes:read'))
  expect(app.kept.client!['client_id'] === host.at('client.json')).toBe(way === 'a document')
  expect(decodeJwt(String(app.kept.tokens!['access_token']))).toMatchObject({ aud: `${server.url}/mcp`, scope: ASKED[major]('notes:read') })
  expect(textOf(await client.callTool({ name: 'list_notes' }))).not.toContain(`by ${major}, ${way}`)

  // A tool that needs more: the client is told all of it, and asks its user.
  const write = { name: 'add_note', arguments: { text: `by ${major}, ${way}` } }
  // The first SDK refreshes where it can, also when that brings no scope: one that steps up does without.
  if (major === '1') app.kept.tokens = { ...app.kept.tokens, refresh_token: undefined }
  await expect(client.callTool(write)).rejects.toThrow(app.sdk.UnauthorizedError)
  expect(app.asked.at(-1)!.searchParams.get('scope')!.split(' ').toSorted()).toEqual(ASKED[major]('notes:read notes:write').split(' '))
  await finish(app)
  const writer = await connect(app)
  expect(textOf(await writer.callTool(write))).toBe('Added.')
  expect(textOf(await writer.callTool({ name: 'list_notes' }))).toContain(`by ${major}, ${way}`)

  // A token that has ended is renewed behind the call, and nobody is asked.
  const before = app.kept.tokens!
  const times = app.asked.length
  expect((await server.post('/revoke', { token: String(before['access_token']), client_id: String(app.kept.client!['client_id']) })).status).toBe(200)
  app.kept.tokens = { ...before, access_token: 'ended' }
  const renewed = await connect(app)
  expect(textOf(await renewed.callTool({ name: 'list_notes' }))).toContain(`by ${major}, ${way}`)
  expect(app.asked).toHaveLength(times)
  expect(app.kept.tokens['refresh_token']).not.toBe(before['refresh_token'])
}) // prettier-ignore

test('the guard names where tokens come from, at both addresses, and all that a tool needs; many calls in one body need all', async () => {
  const nothing = await server.post('/mcp', {})
  expect([nothing.status, nothing.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringMatching(/scope="notes:read", resource_metadata="[^"]*\/\.well-known\/oauth-protected-resource\/mcp"/) as string,
  ])
  const metadata = await server.get('/.well-known/oauth-protected-resource/mcp')
  expect(await metadata.json()).toMatchObject({
    resource: `${server.url}/mcp`,
    authorization_servers: [server.url],
    scopes_supported: expect.arrayContaining(['notes:read', 'notes:write']) as string[],
  })
  const app = createApp(server.url, SDKS['1'])
  await connect(app)
  const call = (name: string, id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { text: 'x' } } })
  const many = await server.request('/mcp', {
    method: 'POST',
    headers: { ...bearer(String(app.kept.tokens!['access_token'])), 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify([call('list_notes', 1), call('add_note', 2)]),
  })
  expect([many.status, many.headers.get('www-authenticate')]).toEqual([403, expect.stringContaining('scope="notes:read notes:write"') as string])
}) // prettier-ignore
