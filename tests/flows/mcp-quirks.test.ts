/**
 * What clients and servers of MCP are known to stumble over, each with where it was reported, and the behaviour that answers it. Whoever
 * wonders why something here is so finds the row that breaks without it.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import Fastify from 'fastify'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import requireScope from '../../plugins/require-scope/index.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startDocumentHost } from '../support/document-host.ts'
import { DOCUMENT, EXAMPLE } from '../support/mcp.ts'
import { bearer } from '../support/requests.ts'
import { startBeside, startServer, type TestServer } from '../support/server.ts'
import { authorizationUrl, authorize, createPkce, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const host = await startDocumentHost()
const LOOPBACK = 'http://localhost:49152/callback'
const OTHER = 'https://other.example/api'
const settings = {
  OIDC_PROFILE: 'mcp',
  OIDC_REGISTRATION: 'open',
  OIDC_REGISTRATION_SCOPES: 'notes:read,notes:write,read_other',
  PLUGINS: EXAMPLE,
  UNSAFE_OUTBOUND_ORIGINS: host.origin,
}
const server = await startServer(settings, {
  seed: { ...SEED, scopes: [...SEED.scopes, { name: 'read_other', description: 'Other', resource: OTHER }], resources: [{ resource: OTHER, name: 'Other' }] },
}) // prettier-ignore
const beside = await startBeside(server)
const MCP = `${server.url}/mcp`
const document = host.publish('client.json', DOCUMENT)
/** One browser, whose user has signed in. */
const agent = createUserAgent(server.url)

type Parameters = Record<string, string | undefined>
interface Told {
  status: number
  access_token: string
  refresh_token: string
  error?: string
}

async function tokenRequest(at: TestServer, form: Record<string, string>): Promise<Told> {
  const response = await at.post('/token', { client_id: document, ...form })
  return { ...((await response.json()) as Told), status: response.status }
}

async function getTokens(parameters: Parameters = {}, more: Record<string, string> = {}): Promise<Told> {
  const { challenge, verifier } = createPkce()
  const request = { client_id: document, redirect_uri: LOOPBACK, scope: 'notes:read', code_challenge: challenge, code_challenge_method: 'S256' }
  const answer = await authorize(server, { ...request, ...parameters }, agent)
  const redirect_uri = parameters['redirect_uri'] ?? LOOPBACK
  return tokenRequest(server, { grant_type: 'authorization_code', code: answer.get('code') ?? '', redirect_uri, code_verifier: verifier, ...more })
} // prettier-ignore

const audienceOf = ({ access_token }: Told): unknown => decodeJwt(access_token).aud
const call = async (token: string): Promise<number> =>
  (await server.request('/mcp', { method: 'DELETE', headers: bearer(token) })).status
/** The example answers a DELETE so, whoever may call it. */
const PASSED = 405

async function register(body: object): Promise<Record<string, unknown>> {
  const response = await server.request('/register', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  expect(response.status).toBe(201)
  return (await response.json()) as Record<string, unknown>
} // prettier-ignore

const QUIRKS: Record<string, () => Promise<void>> = {
  'a slash at the end of the resource (claude-code#52871, vercel/ai#13988, python-sdk#1919, n8n#30054)': async () => {
    for (const resource of [MCP, `${MCP}/`]) {
      const tokens = await getTokens({ resource }, { resource: `${MCP}/` })
      expect(audienceOf(tokens)).toBe(MCP)
      expect(await call(tokens.access_token)).toBe(PASSED)
    }
  },
  'no resource at all (claude-code#90497, the conformance suite)': async () => {
    const tokens = await getTokens({ resource: undefined })
    expect(audienceOf(tokens)).toBe(MCP)
    expect(await call(tokens.access_token)).toBe(PASSED)
  },
  'no scope either (the conformance suite)': async () => {
    const tokens = await getTokens({ scope: undefined, resource: MCP })
    expect(await call(tokens.access_token)).toBe(PASSED)
  },
  'an audience that was not consented to (better-auth GHSA-p2fr-6hmx-4528)': async () => {
    const tokens = await getTokens({ resource: MCP, scope: 'notes:read read_other' })
    expect(audienceOf(tokens)).toBe(MCP)
    const wider = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, resource: OTHER }
    expect(await tokenRequest(server, wider)).toMatchObject({ status: 400, error: 'invalid_target' })
    expect(await getTokens({ resource: MCP }, { resource: OTHER })).toMatchObject({ status: 400, error: 'invalid_target' })
  },
  'a token that names us and a stranger, or nobody (formbricks#8829, agentserver#267)': async () => {
    const { access_token } = await getTokens({ scope: 'openid' })
    expect(audienceOf({ access_token } as Told)).toBe(server.url)
    expect(await call(access_token)).toBe(401)
  },
  'renamed options that are ignored (objectstack#16530, reactive-resume#3421)': async () => {
    const app = Fastify()
    const renamed = { issuer: server.url, validAudiences: [MCP] } as never
    const begin = async () => {
      await app.register(requireScope, renamed)
    }
    await expect(begin()).rejects.toThrow('there is no option validAudiences')
    await expect(startBeside(server, { OIDC_PROFILE: 'mpc' })).rejects.toThrow('OIDC_PROFILE names mpc, which no plugin serves')
  },
  'any port of this machine, without application_type (fastmcp#3598, claude-code#37767, better-auth#10937)': async () => {
    for (const redirect_uri of [LOOPBACK, 'http://localhost:1/callback', 'http://localhost/callback'])
      expect(await getTokens({ redirect_uri })).toMatchObject({ status: 200 })
    for (const redirect_uri of ['http://127.0.0.1:1/callback', 'http://localhost:1/callback/', 'http://localhost.example:1/callback']) {
      const page = await createUserAgent(server.url).get(authorizationUrl(server, { client_id: document, redirect_uri }))
      expect([redirect_uri, page.status, page.headers.get('location')]).toEqual([redirect_uri, 400, null])
    }
  },
  'members of a document that nobody knows (keycloak#51235)': async () => {
    const known = { client_id: 'https://x.example', scope: 'everything', grant_types: ['authorization_code', 'urn:odd'], contacts: [], 'x-odd': { a: [1] }, logo_uri: 'https://app.example/logo.svg' }
    const client_id = host.publish('odd.json', { ...DOCUMENT, ...known, client_id: host.at('odd.json') })
    expect((await authorize(server, { ...pkceOf(), client_id, redirect_uri: LOOPBACK, scope: 'notes:read' }, agent)).get('code')).not.toBeNull()
  },
  'a sector_identifier_uri that leads inside (keycloak#50529)': async () => {
    const client_id = host.publish('sector.json', { ...DOCUMENT, subject_type: 'pairwise', sector_identifier_uri: 'https://169.254.169.254/latest' })
    const page = await createUserAgent(server.url).get(authorizationUrl(server, { ...pkceOf(), client_id, redirect_uri: LOOPBACK }))
    expect([page.status, page.body.includes('169.254')]).toEqual([400, false])
  },
  'an address that is not the document’s own (keycloak#50748)': async () => {
    const client_id = host.publish('borrowed.json', { ...DOCUMENT, client_id: document })
    const page = await createUserAgent(server.url).get(authorizationUrl(server, { ...pkceOf(), client_id, redirect_uri: LOOPBACK }))
    expect(page.status).toBe(400)
  },
  'an app that only one process knows (toolhive#6505)': async () => {
    const tokens = await getTokens()
    expect(await tokenRequest(beside, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token })).toMatchObject({ status: 200 })
    const { client_id } = await register({ ...DOCUMENT, 'x-odd': 1 })
    expect(await tokenRequest(beside, { grant_type: 'refresh_token', client_id: String(client_id), refresh_token: 'x' })).toMatchObject({ error: 'invalid_grant' })
  },
  'registration: members that nobody knows, and what Claude.ai wants back (turnstone#1082, twenty#19858)': async () => {
    const told = await register({ ...DOCUMENT, 'x-odd': { a: null }, software_id: 'x', application_type: 'native' })
    expect(told).toMatchObject({ registration_client_uri: `${server.url}/register/${String(told['client_id'])}`, registration_access_token: expect.any(String) as string })
    expect(told).not.toHaveProperty('x-odd')
    expect(Object.values(told)).not.toContain(null)
  },
  'a metadata member that is null (claude-code#38102)': async () => {
    const off = await startBeside(server, { OIDC_REGISTRATION: 'off' })
    for (const at of [server, off])
      for (const path of ['oauth-authorization-server', 'openid-configuration', 'oauth-protected-resource/mcp']) {
        const metadata = (await (await at.get(`/.well-known/${path}`)).json()) as object
        expect(Object.values(metadata)).not.toContain(null)
        expect(Object.hasOwn(metadata, 'registration_endpoint')).toBe(at === server && !path.includes('protected'))
      }
    await off.close()
  },
  'rows of apps that nobody uses (Flagsmith#8141, uploads#556)': async () => {
    const { client_id } = await register(DOCUMENT)
    const known = [client_id, document]
    const rows = async () => server.database.query('select client_id from clients where client_id = any($1)', [known])
    expect(await rows()).toEqual([{ client_id }])
    await server.database.query(`update registrations set used_at = now() - interval '31 days' where client_id = $1`, [client_id])
    await kernelOf(server.server).endUnusedRegistrations()
    expect(await rows()).toEqual([])
  },
  'processes that share one refresh token (fastmcp#4265, claude-code#91641, hqbase#41, flowfuse#8270)': async () => {
    const { refresh_token } = await getTokens()
    const both = await Promise.all([server, beside, server].map(async (at) => tokenRequest(at, { grant_type: 'refresh_token', refresh_token })))
    expect(both.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(both.map((one) => one.refresh_token)).size).toBe(1)
    expect(await tokenRequest(beside, { grant_type: 'refresh_token', refresh_token: both[0]!.refresh_token })).toMatchObject({ status: 200 })
  },
  'inspectors in a browser (keycloak#43514, sentry-mcp#999)': async () => {
    const asked = { origin: 'https://inspector.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type,dpop,mcp-protocol-version' }
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration', '/.well-known/oauth-protected-resource/mcp', '/jwks', '/token', '/register', '/revoke']) {
      const { headers } = await server.request(path, { method: 'OPTIONS', headers: asked })
      expect([path, headers.get('access-control-allow-origin')]).toEqual([path, '*'])
      expect(headers.get('access-control-allow-headers')?.toLowerCase()).toContain('mcp-protocol-version')
    }
    const { headers } = await server.request('/authorize', { method: 'OPTIONS', headers: asked })
    expect(headers.get('access-control-allow-origin')).toBeNull()
  },
  'an issuer that follows the proxy (openwork#2641, worldmonitor#2426, copilot-cli#4606)': async () => {
    const forged = { host: 'evil.example', forwarded: 'host=evil.example;proto=https', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
    const { body, statusCode } = await server.server.inject({ url: '/.well-known/oauth-authorization-server', headers: forged })
    expect(statusCode === 421 || (JSON.parse(body) as { issuer: string }).issuer === server.url).toBe(true)
    expect(body).not.toContain('evil.example')
    const challenge = await server.server.inject({ url: '/mcp', method: 'POST', headers: { ...forged, host: new URL(server.url).host } })
    expect(challenge.headers['www-authenticate']).toContain(`resource_metadata="${server.url}/`)
  },
} // prettier-ignore

function pkceOf(): Parameters {
  return { code_challenge: createPkce().challenge, code_challenge_method: 'S256' }
}

test.each(Object.entries(QUIRKS))('%s', async (_quirk, answer) => {
  await answer()
})
