/**
 * `doctor --client`: the first thing that is wrong on the way of a client, and what to do; each in one line.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import type { ServerResponse } from 'node:http'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { exportJWK, generateKeyPair } from 'jose'
import { expect, test } from 'vitest'
import { CLIENT_CHECKS, type ClientFinding } from '../../src/doctor/client/step.ts'
import { runCommandHere } from '../support/command-here.ts'
import { startDocumentHost } from '../support/document-host.ts'
import { EXAMPLE } from '../support/mcp.ts'
import { startReceiver } from '../support/receiver.ts'
import { startServer } from '../support/server.ts'
import { authorizationUrl, REDIRECT_URI } from '../support/sign-in.ts'

const host = await startDocumentHost()
const server = await startServer({
  OIDC_PROFILE: 'mcp',
  PLUGINS: EXAMPLE,
  UNSAFE_OUTBOUND_ORIGINS: host.origin,
})
const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
const [jwk, secretJwk] = [await exportJWK(publicKey), await exportJWK(privateKey)]
const SETTINGS = { ...server.settings, LOG_LEVEL: 'error' }

async function walk(url: string, settings: object = SETTINGS): Promise<string[]> {
  const { status, stdout, stderr } = await runCommandHere(['doctor', '--client', url, '--json'], settings as typeof SETTINGS)
  expect(stderr).toBe('')
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: ClientFinding[] }
  expect(ok).toBe(status === 0)
  // The first thing that is wrong is the last that is said.
  expect(findings.slice(0, -1).filter((one) => one.status === 'fail')).toEqual([])
  for (const { says } of findings) expect(says).toMatch(/^\S[^\n]*[^.:]\.$/)
  return findings.map((one) => `${one.status} ${one.check}: ${one.says}`)
} // prettier-ignore

const json = (body: unknown, headers: Record<string, string> = {}, status = 200) =>
  (response: ServerResponse) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body)) // prettier-ignore

test('a document that is well, by its keys too', async () => {
  host.answer('jwks', json({ keys: [jwk] }))
  const members = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: host.at('jwks') }
  const found = await walk(host.publish('good.json', members))
  expect(found.map((one) => one.split(':')[0])).toEqual(['ok client', 'ok document', 'ok keys', 'ok members'])
}) // prettier-ignore

const doc = (members: object) => () => host.publish('bad.json', members as Record<string, unknown>)
const answers = (answer: (response: ServerResponse) => unknown) => () => host.answer('bad.json', answer)

test.each([
  ['nothing that is an address', () => 'client.json', {}, 'client', 'is no web address'],
  ['plain http', () => 'http://app.example/client.json', {}, 'client', 'is not https: serve it by https, or name http://app.example in UNSAFE_OUTBOUND_ORIGINS'],
  ['no path', () => 'https://app.example/', {}, 'client', 'has no path'],
  ['a fragment', () => 'https://app.example/c.json#x', {}, 'client', 'has a fragment'],
  ['credentials', () => 'https://a:b@app.example/c.json', {}, 'client', 'holds credentials'],
  ['dots', () => 'https://app.example/a/../c.json', {}, 'client', 'use https://app.example/c.json'],
  ['a long address', () => `https://app.example/${'x'.repeat(200)}`, {}, 'client', 'more than 200 characters'],
  ['documents that are off', () => host.at('good.json'), { OIDC_CLIENT_METADATA_DOCUMENTS: 'off' }, 'client', 'set it to any or to'],
  ['a host that is not named', () => host.at('good.json'), { OIDC_CLIENT_METADATA_DOCUMENTS: 'other.example' }, 'client', `does not name ${host.host}`],
  ['a private address', () => 'https://10.0.0.1/c.json', {}, 'document', 'name https://10.0.0.1 in UNSAFE_OUTBOUND_ORIGINS'],
  ['nothing there', () => host.at('none.json'), {}, 'document', 'answers 404: publish the document there'],
  ['a redirect', answers((response) => response.writeHead(302, { location: host.at('good.json') }).end()), {}, 'document', 'redirects, which nobody follows'],
  ['a page', answers((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')), {}, 'document', 'send it as application/json'],
  ['no JSON', answers(json('{"client_id":')), {}, 'document', 'make it one JSON object'],
  ['a member twice', answers(json('{"client_name":"a","client_name":"b"}')), {}, 'document', 'with each member once'],
  ['too much', doc({ client_name: 'x'.repeat(6000) }), {}, 'document', 'more than 5120 bytes'],
  ['another client_id', doc({ client_id: `${host.at('bad.json')}/` }), {}, 'members', `make it ${host.at('bad.json')}, letter by letter`],
  ['a secret', doc({ client_secret: 'hush' }), {}, 'members', 'client_secret, which everybody reads'],
  ['a secret as its method', doc({ token_endpoint_auth_method: 'client_secret_basic' }), {}, 'members', 'make it none, or private_key_jwt'],
  ['no redirect URIs', doc({ redirect_uris: [] }), {}, 'members', 'redirect_uris'],
  ['a redirect URI that is none', doc({ redirect_uris: ['javascript:alert(1)'] }), {}, 'members', 'redirect_uris'],
  ['a logo in plain http', doc({ logo_uri: 'http://app.example/logo.png' }), {}, 'members', 'logo_uri must use https'],
  ['another grant', doc({ grant_types: ['client_credentials'] }), {}, 'members', 'grant_types must have authorization_code'],
  ['keys that are missing', doc({ token_endpoint_auth_method: 'private_key_jwt' }), {}, 'keys', 'add jwks or jwks_uri'],
  ['keys in both ways', doc({ jwks: { keys: [jwk] }, jwks_uri: host.at('jwks') }), {}, 'keys', 'leave one of them out'],
  ['keys that are away', doc({ jwks_uri: host.at('nowhere') }), {}, 'keys', 'publish the keys there'],
  ['keys that are none', doc({ jwks: { keys: [{ kty: 'oct', k: 'x' }] } }), {}, 'keys', 'public'],
  ['a private key', doc({ jwks: { keys: [secretJwk] } }), {}, 'keys', 'public'],
])('of a document: %s', async (_what, address, settings, check, says) => {
  const last = (await walk(address(), { ...SETTINGS, ...settings })).at(-1)!
  expect(last).toMatch(new RegExp(`^fail ${check}: `))
  expect(last).toContain(says)
}) // prettier-ignore

test.each([
  ['plain http elsewhere', { redirect_uris: ['http://app.example/cb'] }],
  ['a method that nobody serves', { token_endpoint_auth_method: 'magic' }],
  ['certificates, where nobody asks for any', { token_endpoint_auth_method: 'tls_client_auth' }],
  ['another kind of answer', { response_types: ['token'] }],
  ['pairwise names for two hosts', { subject_type: 'pairwise', redirect_uris: ['https://a.example/cb', 'https://b.example/cb'] }],
  ['an algorithm that nobody has', { id_token_signed_response_alg: 'HS999' }],
  ['a proof without a signature', { token_endpoint_auth_signing_alg: 'none' }],
  ['requests that cannot be signed', { request_object_signing_alg: 'XX' }],
  ['what is not for everybody', { access_token_format: 'weird', scope: 12, show_logo: 'yes', 'x-odd': 1 }],
  ['answers that are signed', { authorization_signed_response_alg: 'ES256' }],
])('it judges as the server does: %s', async (what, members) => {
  const { redirect_uris: [redirect_uri] = [REDIRECT_URI] } = members as { redirect_uris?: string[] }
  const client_id = host.publish(`${what.replaceAll(/\W/g, '')}.json`, members)
  const pkce = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
  const { pathname, search } = new URL(authorizationUrl(server, { client_id, redirect_uri, ...pkce }))
  const page = await server.get(pathname + search)
  const isTaken = page.status < 400 && !(page.headers.get('location') ?? '').includes('error=')
  const found = await walk(client_id)
  expect([found.join('\n'), !found.some((one) => one.startsWith('fail'))]).toEqual([expect.any(String), isTaken])
}) // prettier-ignore

test('the example is well, from the challenge to what its clients need', async () => {
  const found = await walk(`${server.url}/mcp`)
  expect(found.map((one) => one.split(':')[0])).toEqual([
    'ok challenge',
    'ok resource metadata',
    'ok server metadata',
  ])
  expect(found.join()).toContain('apps by address')
})

/** An MCP server and its authorization server, which answer as each row has it. */
const stage: { answer: Record<string, (response: ServerResponse) => unknown> } = { answer: {} }
const elsewhere = await startReceiver(({ url }, response) =>
  (stage.answer[url] ?? ((missing: ServerResponse) => missing.writeHead(404).end()))(response),
)
const at = `http://127.0.0.1:${elsewhere.port}`
const AS = '/.well-known/oauth-authorization-server'
const PRM = '/.well-known/oauth-protected-resource/api'
const METADATA = {
  issuer: at,
  authorization_endpoint: `${at}/authorize`,
  token_endpoint: `${at}/token`,
  jwks_uri: `${at}/jwks`,
  code_challenge_methods_supported: ['S256'],
  client_id_metadata_document_supported: true,
}
const challenged = (header?: string) =>
  json({}, header === undefined ? {} : { 'www-authenticate': header }, 401)
const GOOD: typeof stage.answer = {
  '/api': challenged(`Bearer resource_metadata="${at}${PRM}"`),
  [PRM]: json({ resource: `${at}/api`, authorization_servers: [at] }),
  [AS]: json(METADATA),
}

test.each([
  ['a slash at the end of its name', { [PRM]: json({ resource: `${at}/api/`, authorization_servers: [at] }) }, /^warn resource metadata: It does not name http/],
  ['no challenge', { '/api': challenged() }, /^warn challenge: .* without WWW-Authenticate: Bearer: add it, with resource_metadata="[^"]+api"/],
  ['a challenge that leads nowhere', { '/api': challenged('Bearer realm="x"') }, /^warn challenge: Its WWW-Authenticate names no resource_metadata/],
  ['no answers with iss', {}, /^warn server metadata: Its answers have no iss/],
  ['registration alone', { [AS]: json({ ...METADATA, client_id_metadata_document_supported: undefined, registration_endpoint: `${at}/register` }) }, /^warn server metadata: Apps that are known by a document are not taken/],
  ['metadata of OpenID Connect alone', { [AS]: json({}, {}, 404), '/.well-known/openid-configuration': json(METADATA) }, /^ok server metadata: .*openid-configuration has what clients need/],
  ['no guard', { '/api': json({ jsonrpc: '2.0' }, { 'content-type': 'text/event-stream' }) }, /^fail challenge: .* answers 200 to a request without a token: guard it/],
  ['its metadata behind a token', { [PRM]: challenged() }, /^fail resource metadata: .* answers 401: serve the metadata there, to everybody/],
  ['metadata of another resource', { [PRM]: json({ resource: `${at}/other`, authorization_servers: [at] }) }, /^fail resource metadata: Its resource is .*other", and clients know it as /],
  ['nobody who gives tokens', { [PRM]: json({ resource: `${at}/api`, authorization_servers: [] }) }, /^fail resource metadata: Its authorization_servers are \[\]/],
  ['a server without metadata', { [AS]: json({}, {}, 404) }, /^fail server metadata: .* has no metadata at .*oauth-authorization-server or .*: let the proxy/],
  ['a server with another issuer', { [AS]: json({ ...METADATA, issuer: `${at}/` }) }, /^fail server metadata: .* says that its issuer is /],
  ['no token endpoint', { [AS]: json({ ...METADATA, token_endpoint: null }) }, /^fail server metadata: .* has no token_endpoint/],
  ['no PKCE', { [AS]: json({ ...METADATA, code_challenge_methods_supported: ['plain'] }) }, /^fail server metadata: .* PKCE by S256/],
  ['no way in for clients', { [AS]: json({ ...METADATA, client_id_metadata_document_supported: false }) }, /^fail server metadata: .*: have it started with OIDC_PROFILE=mcp/],
])('of a resource: %s', async (_what, changed, says) => {
  stage.answer = { ...GOOD, ...changed }
  const found = await walk(`${at}/api`, { ...SETTINGS, UNSAFE_OUTBOUND_ORIGINS: at })
  expect(found.filter((one) => says.test(one))).toHaveLength(1)
  const isFatal = says.source.startsWith('^fail')
  expect(found.some((one) => one.startsWith('fail'))).toBe(isFatal)
}) // prettier-ignore

test('docs/doctor.md: its commands, and of each step what it looks at', async () => {
  const page = await readFile(resolve(import.meta.dirname, '../../docs/doctor.md'), 'utf8')
  const steps = page.slice(page.indexOf('## The way of a client'))
  const [, block = ''] = /\n```sh\n([\s\S]*?)```/.exec(steps)!
  stage.answer = GOOD
  const stead: Record<string, string> = {
    'https://app.example/client.json': host.publish('page.json', {}),
    'https://mcp.example.com/mcp': `${at}/api`,
  }
  const lines = block.trim().split('\n')
  expect(lines.map((line) => line.replace('npx latchkey doctor --client ', ''))).toEqual(Object.keys(stead))
  for (const url of Object.values(stead)) {
    const found = await walk(url, { ...SETTINGS, UNSAFE_OUTBOUND_ORIGINS: `${host.origin},${at}` })
    expect(found.filter((one) => one.startsWith('fail'))).toEqual([])
  }
  expect([...steps.matchAll(/^\| _(.*?)_ +\|/gm)].map(([, name]) => name)).toEqual([...CLIENT_CHECKS])
})
