/**
 * examples/mcp, by clients of the MCP SDKs that send nobody anywhere: by their own key, for somebody whom another server vouches for, and with bound tokens.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import * as sdk1 from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import * as sdk2 from '@modelcontextprotocol/client'
import { decodeJwt, exportJWK, generateKeyPair } from 'jose'
import { beforeAll, expect, test } from 'vitest'
import { startDocumentHost } from '../support/document-host.ts'
import { connect, createApp, DOCUMENT, EXAMPLE, type Known, SDKS, textOf } from '../support/mcp.ts'
import { bearer } from '../support/requests.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { getTokens, SEED, WEB } from '../support/sign-in.ts'
import { GRANT } from '../support/trusted-issuer.ts'
import { isThere } from '../support/left-out.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const port = await freePort()
const there = `http://127.0.0.1:${port}`
const MCP = `${there}/mcp`
const host = await startDocumentHost()
const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
const AT_NOTES = { client_id: 'web-at-notes', client_secret: `lks_${'n'.repeat(43)}` }
const rule = {
  subject_clients: ['web'],
  audiences: [there],
  resources: [MCP],
  scopes: ['notes:read'],
  client_id: AT_NOTES.client_id,
}
/** Where people of the enterprise sign in. */
const home = await startServer({}, {
  seed: { ...SEED, clients: [{ ...WEB, grant_types: ['authorization_code', 'refresh_token', EXCHANGE], token_exchange: [rule] }] },
}) // prettier-ignore
let server: TestServer

beforeAll(async () => {
  const clients = [
    { client_id: 'reports', grant_types: ['client_credentials'], token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }, scope: 'notes:read' },
    { ...AT_NOTES, grant_types: [GRANT], scope: 'notes:read' },
  ]
  const trusted = { issuer: home.url, jwks_uri: `${home.url}/jwks`, subject: 'email', scopes: ['notes:read'], clients: [AT_NOTES.client_id] }
  server = await startServer(
    { PORT: port, OIDC_ISSUER: there, OIDC_PROFILE: 'mcp', OIDC_REGISTRATION_SCOPES: 'notes:read,notes:write', PLUGINS: EXAMPLE, UNSAFE_OUTBOUND_ORIGINS: `${home.url},${host.origin}` },
    { seed: { ...SEED, clients, trusted_issuers: [trusted] } },
  )
}) // prettier-ignore

/** A provider of an SDK keeps its tokens where `tokens()` finds them. */
const claimsOf = (provider: { tokens(): unknown }) =>
  decodeJwt(String((provider.tokens() as Known)['access_token']))

test.each(['1', '2'] as const)('a service with a key of its own is in by SDK %s.x', async (major) => {
  const given = { clientId: 'reports', privateKey: await exportJWK(privateKey), algorithm: 'ES256', expectedIssuer: there }
  const provider = major === '1' ? new sdk1.PrivateKeyJwtProvider(given) : new sdk2.PrivateKeyJwtProvider(given)
  const client = await SDKS[major].connect(new URL(MCP), provider)
  expect(textOf(await client.callTool({ name: 'list_notes' }))).toBe('')
  expect(claimsOf(provider)).toMatchObject({ aud: MCP, client_id: 'reports', scope: 'notes:read' })
}) // prettier-ignore

test.runIf(isThere('latchkey-token-exchange', 'latchkey-jwt-bearer'))('an app gets in for somebody who signed in elsewhere, as both servers have it registered (cross-app access)', async () => {
  const { id_token } = await getTokens(home, { scope: 'openid email' })
  const asked: sdk2.CrossAppAccessContext[] = []
  const provider = new sdk2.CrossAppAccessProvider({
    clientId: AT_NOTES.client_id,
    clientSecret: AT_NOTES.client_secret,
    expectedIssuer: there,
    async assertion(context) {
      asked.push(context)
      const { jwtAuthGrant } = await sdk2.discoverAndRequestJwtAuthGrant({
        idpUrl: home.url,
        audience: context.authorizationServerUrl,
        resource: context.resourceUrl,
        idToken: id_token,
        clientId: WEB.client_id,
        clientSecret: WEB.client_secret,
        ...(context.scope === undefined ? {} : { scope: context.scope }),
        fetchFn: context.fetchFn,
      })
      return jwtAuthGrant
    },
  })
  const client = await SDKS['2'].connect(new URL(MCP), provider)
  expect(textOf(await client.callTool({ name: 'list_notes' }))).toBe('')
  expect(asked).toMatchObject([{ authorizationServerUrl: there, resourceUrl: MCP, scope: 'notes:read' }])
  expect(claimsOf(provider)).toMatchObject({ iss: there, aud: MCP, client_id: AT_NOTES.client_id, scope: 'notes:read' })
}) // prettier-ignore

test('tokens of an app with a key are bound to it, through refresh and for calls, and good for nobody else', async () => {
  const session = await sdk2.DpopSession.create()
  const app = createApp(there, SDKS['2'], {
    clientInformation: () => ({ client_id: host.publish('bound.json', DOCUMENT), issuer: there }),
    dpop: () => session,
  })
  const client = await connect(app)
  expect(textOf(await client.callTool({ name: 'list_notes' }))).toBe('')
  const token = String(app.kept.tokens!['access_token'])
  expect(app.kept.tokens).toMatchObject({ token_type: 'DPoP' })
  expect(decodeJwt(token)).toMatchObject({ aud: MCP, cnf: { jkt: session.thumbprint } })

  for (const scheme of ['Bearer', 'DPoP']) {
    const stolen = await server.request('/mcp', { method: 'POST', headers: { ...bearer(token), authorization: `${scheme} ${token}` } })
    expect(stolen.status).toBe(401)
  }
  app.kept.tokens = { ...app.kept.tokens, access_token: 'ended' }
  const times = app.asked.length
  const renewed = await connect(app)
  expect(textOf(await renewed.callTool({ name: 'list_notes' }))).toBe('')
  expect(app.asked).toHaveLength(times)
  expect(decodeJwt(String(app.kept.tokens['access_token']))).toMatchObject({ cnf: { jkt: session.thumbprint } })
}) // prettier-ignore
