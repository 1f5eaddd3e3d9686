/** examples/mcp, by the client of the MCP SDK: discovery, both ways of being known, code, refresh, and step-up by scope. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { UnauthorizedError, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { createCertificate } from '../support/deployed.ts'
import { startDocumentHost } from '../support/document-host.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { answerOf, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'

const host = await startDocumentHost(await createCertificate('localhost'))
const REDIRECT = 'http://localhost:53682/callback'
/** As Claude Code has it: this machine, without a port, and no application_type. */
const DOCUMENT = {
  client_name: 'An MCP client',
  redirect_uris: ['http://localhost/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}
const server = await startServer(
  {
    OIDC_PROFILE: 'mcp',
    OIDC_REGISTRATION: 'open',
    OIDC_REGISTRATION_SCOPES: 'notes:read,notes:write',
    PLUGINS: resolve(import.meta.dirname, '../../examples/mcp/index.ts'),
    UNSAFE_OUTBOUND_ORIGINS: host.origin,
  },
  { seed: SEED },
)

type Known = Record<string, unknown>

/** What an app keeps, and the browser that it sends its user to; `asked` are the addresses so far. */
function createProvider(agent: UserAgent, clientMetadataUrl?: string) {
  const kept: { client?: Known; tokens?: Known; verifier?: string; code?: string } = {}
  const asked: URL[] = []
  const provider = {
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    redirectUrl: REDIRECT,
    clientMetadata: { ...DOCUMENT, redirect_uris: [REDIRECT] },
    clientInformation: () => kept.client,
    saveClientInformation: (client: Known) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens: Known) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier ?? '',
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    async redirectToAuthorization(url: URL) {
      asked.push(url)
      const answer = answerOf(await goThrough(agent, await agent.get(url)))
      expect(answer.get('iss')).toBe(server.url)
      kept.code = answer.get('code')!
    },
  }
  return { provider: provider as unknown as OAuthClientProvider, kept, asked }
}

/** Connected, once its user has been where they were sent. */
async function connect({ provider, kept }: ReturnType<typeof createProvider>): Promise<Client> {
  const begin = async () => {
    const client = new Client({ name: 'test', version: '1.0.0' })
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      authProvider: provider,
    })
    await client.connect(transport)
    return client
  }
  try {
    return await begin()
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
    await finish({ provider, kept })
    return begin()
  }
}

async function finish({
  provider,
  kept,
}: Pick<ReturnType<typeof createProvider>, 'provider' | 'kept'>): Promise<void> {
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    authProvider: provider,
  })
  await transport.finishAuth(kept.code!)
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text
const claimsOf = (token: unknown) =>
  JSON.parse(Buffer.from(String(token).split('.')[1]!, 'base64url').toString()) as Known

test.each(['a document', 'registration'])('a client that is known by %s signs in, steps up and refreshes', async (way) => {
  const known = way === 'a document' ? host.publish('client.json', DOCUMENT) : undefined
  const app = createProvider(createUserAgent(server.url), known)
  const client = await connect(app)
  const [first] = app.asked
  expect(first!.searchParams.get('resource')).toBe(`${server.url}/mcp`)
  expect(first!.searchParams.get('scope')).toBe('notes:read')
  expect(app.kept.client!['client_id'] === known).toBe(way === 'a document')
  expect(claimsOf(app.kept.tokens!['access_token'])).toMatchObject({ aud: `${server.url}/mcp`, scope: 'notes:read' })
  expect(textOf(await client.callTool({ name: 'list_notes' }))).toBe(way === 'a document' ? '' : 'Buy milk')

  // A tool that needs more: the client is told all of it, and asks its user.
  const write = { name: 'add_note', arguments: { text: 'Buy milk' } }
  // This SDK refreshes where it can, also when that brings no scope: one that steps up does without.
  app.kept.tokens = { ...app.kept.tokens, refresh_token: undefined }
  // It registers with the scope that it was asked for first, and can have no other: it registers anew.
  if (known === undefined) delete app.kept.client
  await expect(client.callTool(write)).rejects.toThrow(UnauthorizedError)
  expect(app.asked.at(-1)!.searchParams.get('scope')).toBe('notes:read notes:write')
  await finish(app)
  const writer = await connect(app)
  expect(textOf(await writer.callTool(write))).toBe('Added.')
  expect(textOf(await writer.callTool({ name: 'list_notes' }))).toContain('Buy milk')

  // A token that has ended is renewed behind the call, and nobody is asked.
  const before = app.kept.tokens
  const times = app.asked.length
  expect((await server.post('/revoke', { token: String(before['access_token']), client_id: String(app.kept.client!['client_id']) })).status).toBe(200)
  app.kept.tokens = { ...before, access_token: 'ended' }
  const renewed = await connect(app)
  expect(textOf(await renewed.callTool({ name: 'list_notes' }))).toContain('Buy milk')
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
  const app = createProvider(createUserAgent(server.url))
  await connect(app)
  const call = (name: string, id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { text: 'x' } } })
  const many = await server.request('/mcp', {
    method: 'POST',
    headers: { ...bearer(String(app.kept.tokens!['access_token'])), 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify([call('list_notes', 1), call('add_note', 2)]),
  })
  expect([many.status, many.headers.get('www-authenticate')]).toEqual([403, expect.stringContaining('scope="notes:read notes:write"') as string])
}) // prettier-ignore
