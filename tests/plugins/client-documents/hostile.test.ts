/**
 * What strangers put at an address and name as a client_id: judged right, bounded in every way, and never a 5xx.
 * @needs latchkey-client-documents
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { gzipSync } from 'node:zlib'
import { ClientMetadata } from '../../../src/protocol/client-metadata.ts'
import { redirectUriProblem } from '../../../src/protocol/redirect-uri.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { assertionOf, createAssertionKey } from '../../support/client-assertions.ts'
import { startDocumentHost } from '../../support/document-host.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import { authorizationUrl, REDIRECT_URI, SEED } from '../../support/sign-in.ts'

const host = await startDocumentHost()
/** What nobody named as safe: nothing may come here. */
const inner = await startReceiver((_request, response) => response.end('secret'))
const server = await startServer(
  {
    OIDC_CLIENT_METADATA_DOCUMENTS: 'any',
    OIDC_REGISTRATION_SCOPES: 'read_books',
    UNSAFE_OUTBOUND_ORIGINS: host.origin,
    LOG_LEVEL: 'info',
  },
  { seed: SEED },
)
const { directory } = kernelOf(server.server)
let made = 0
const nextName = () => `${++made}.json`

/** The request of nobody in particular: strangers would be throttled before they had shown half of this. */
let network = 0
const nextAddress = () => `10.${(++network >> 16) & 255}.${(network >> 8) & 255}.${network & 255}`

interface Answer {
  status: number
  told: string
}

async function authorize(clientId: string, redirectUri = REDIRECT_URI): Promise<Answer> {
  const url = authorizationUrl(server, { client_id: clientId, redirect_uri: redirectUri, code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }) // prettier-ignore
  const response = await server.server.inject({
    url: url.slice(server.url.length),
    headers: { accept: 'text/html' },
    remoteAddress: nextAddress(),
  })
  const told = /<bdi>(the metadata document[^<]*|no app[^<]*)<\/bdi>/.exec(response.body)?.[1] ?? ''
  return { status: response.statusCode, told }
}

async function token(clientId: string, more: Record<string, string> = {}) {
  const form = { grant_type: 'refresh_token', refresh_token: 'lkt', client_id: clientId, ...more }
  const response = await server.server.inject({
    method: 'POST',
    url: '/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString(),
    remoteAddress: nextAddress(),
  })
  return { status: response.statusCode, body: response.json<{ error: string }>() }
}

const REFUSED: readonly (readonly [why: string, members: Record<string, unknown>, told: RegExp])[] = [
  ['names another', { client_id: 'https://bank.example/client.json' }, /client_id must be the address/],
  ['names itself otherwise', { client_id: 'HTTP://127.0.0.1/x.json' }, /client_id must be the address/],
  ['names nobody', { client_id: undefined }, /client_id must be the address/],
  ['names a list', { client_id: [] }, /client_id must be the address/],
  ['has a secret', { client_secret: 'secret' }, /client_secret must not stand/],
  ['has an empty secret', { client_secret: '' }, /client_secret must not stand/],
  ['has an end of a secret', { client_secret_expires_at: 0 }, /client_secret_expires_at must not stand/],
  ...['client_secret_basic', 'client_secret_post', 'client_secret_jwt'].map(
    (method) => [`proves itself by ${method}`, { token_endpoint_auth_method: method }, /must not be by a secret/] as const,
  ),
  ['proves itself by what nobody serves', { token_endpoint_auth_method: 'magic' }, /is not served here/],
  ['proves itself by a number', { token_endpoint_auth_method: 7 }, /token_endpoint_auth_method/],
  ['proves itself by keys that it has not', { token_endpoint_auth_method: 'private_key_jwt' }, /needs jwks or jwks_uri/],
  ['has private keys', { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }, /jwks/],
  ['has keys in two places', { jwks: { keys: [] }, jwks_uri: 'https://app.example/keys' }, /jwks/],
  ['has no redirect URI', { redirect_uris: undefined }, /redirect_uris must name/],
  ['has an empty list of them', { redirect_uris: [] }, /redirect_uris must name/],
  ['has too many', { redirect_uris: Array.from({ length: 101 }, (_, n) => `https://a.example/${n}`) }, /redirect_uris/],
  ...[
    'javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'vbscript:x', 'blob:https://a.example/1', 'about:blank',
    'http://app.example/callback', 'https://app.example/#fragment', 'https://user:pass@app.example/', 'https://*.example/',
    'https://app.example/ space', 'https://app.example/\u0000', '/callback', '', 'app.example', 'myapp:/callback', 'intent://x', 'https:///x',
    'https://app.example/"><script>', 'https://äpp.example/', 'http://127.0.0.1.evil.example/', 'http://localhost.evil.example/',
    'ws://app.example/', 'mailto:me@app.example', 'https://app.example\\@evil.example/', 'urn:ietf:wg:oauth:2.0:oob',
  ].map((uri) => [`takes people to ${uri}`, { redirect_uris: [REDIRECT_URI, uri] }, /redirect_uris|must not hold NUL/] as const),
  ['has other grants alone', { grant_types: ['client_credentials'] }, /grant_types must have authorization_code/],
  ['has no grants', { grant_types: [] }, /grant_types must have authorization_code/],
  ['has grants that are none', { grant_types: 'authorization_code' }, /grant_types/],
  ['wants tokens in the front', { response_types: ['token'] }, /response_types|redirect_uris|grant/],
  ['has a name that is too long', { client_name: 'x'.repeat(201) }, /client_name/],
  ['has a name that is none', { client_name: 7 }, /client_name/],
  ['has a name with a NUL', { client_name: 'a\u0000b' }, /must not hold NUL/],
  ...['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'jwks_uri', 'sector_identifier_uri', 'backchannel_logout_uri'].flatMap((member) => [
    [`${member} is a script`, { [member]: 'javascript:alert(1)' }, new RegExp(member)] as const,
    [`${member} is plain http`, { [member]: 'http://app.example/' }, new RegExp(member)] as const,
    [`${member} is an object`, { [member]: {} }, new RegExp(member)] as const,
  ]),
  ['signs by what nobody can', { id_token_signed_response_alg: 'none' }, /id_token_signed_response_alg/],
  ['is known by what nobody serves', { subject_type: 'secret' }, /subject_type/],
  ['has a profile that there is not', { profile: 'mine' }, /profile/],
] // prettier-ignore

test.each(REFUSED)('a document that %s is refused', async (_why, members, told) => {
  const name = nextName()
  const clientId = host.publish(name, members)
  const answer = await authorize(clientId)
  expect(answer.status).toBe(400)
  expect(answer.told).toMatch(told)
  expect(await token(clientId)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  expect(await directory.findClient(clientId)).toMatchObject({ grantTypes: new Set() })
})

const json = (body: string | Buffer, headers: Record<string, string> = {}) => ({
  status: 200,
  body,
  headers: { 'content-type': 'application/json', ...headers },
})
const WHOLE = (name: string) =>
  JSON.stringify({ client_id: host.at(name), redirect_uris: [REDIRECT_URI], client_name: 'Notes' })

type Made = { status: number; body?: string | Buffer; headers?: Record<string, string> }
const ANSWERS: readonly (readonly [what: string, make: (name: string) => Made])[] = [
  ...[201, 204, 206, 400, 401, 403, 404, 410, 418, 429, 500, 502, 503].map((status) => [`the status ${status}`, (name: string) => ({ ...json(WHOLE(name)), status })] as const),
  ...[301, 302, 303, 307, 308].map((status) => [`a redirect (${status}) to a good one`, () => ({ status, headers: { location: host.at('good.json') } })] as const),
  ...['text/html', 'text/plain', 'application/javascript', 'text/json', 'image/png', '', 'application/jsonx', 'multipart/json'].map(
    (type) => [`the type ${type}`, (name: string) => json(WHOLE(name), { 'content-type': type })] as const,
  ),
  ['nothing', () => json('')],
  ['what is no JSON', () => json('{')],
  ['a list', (name) => json(`[${WHOLE(name)}]`)],
  ['a text', () => json('"https://app.example"')],
  ['null', () => json('null')],
  ['a member twice', (name) => json(WHOLE(name).replace('{', `{"redirect_uris":["https://evil.example/"],`))],
  ['a member called __proto__', (name) => json(WHOLE(name).replace('{', '{"__proto__":{"require_consent":false},'))],
  ['depth', (name) => json(WHOLE(name).replace('{', `{"x":${'['.repeat(100)}${']'.repeat(100)},`))],
  ['another encoding', (name) => json(Buffer.from(WHOLE(name), 'utf16le'))],
  ['broken UTF-8', (name) => json(Buffer.concat([Buffer.from(WHOLE(name).slice(0, -1)), Buffer.from(',"x":"\u00ff"}', 'latin1')]))],
  ['a number that is none', (name) => json(WHOLE(name).replace('{', '{"x":1e999,'))],
  ['more than 5 KB', (name) => json(WHOLE(name).replace('{', `{"x":"${'x'.repeat(5120)}",`))],
  ['a gzip bomb', () => json(gzipSync(Buffer.alloc(50_000_000, 32)), { 'content-encoding': 'gzip' })],
  ['what is no gzip', (name) => json(WHOLE(name), { 'content-encoding': 'gzip' })],
  ['fewer bytes than it says', (name) => json(WHOLE(name), { 'content-length': '4000' })],
] // prettier-ignore

test.each(ANSWERS)('an address that answers with %s is no client', async (_what, make) => {
  const name = nextName()
  host.publish('good.json')
  const clientId = host.answer(name, (response) => {
    const { status, body = '', headers = {} } = make(name)
    response.writeHead(status, headers)
    response.write(body)
    // One that promised more breaks off.
    if (headers['content-length'] === '4000') response.destroy()
    else response.end()
  })
  const answer = await authorize(clientId)
  expect([answer.status, answer.told]).toEqual([
    400,
    expect.stringContaining('the metadata document of the app'),
  ])
  expect((await token(clientId)).status).toBe(401)
  expect(host.asked('good.json')).toBe(0)
})

test('a body that never ends is given up, and what it had sent is not kept', async () => {
  const clientId = host.answer('endless.json', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => response.write(' '.repeat(1000)) && setImmediate(more)
    response.on('drain', more)
    more()
  })
  expect(await authorize(clientId)).toMatchObject({ status: 400 })
})

const ACCEPTED: [what: string, members: Record<string, unknown>, redirectUri?: string][] = [
  ['of Claude Code, without a port', { redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' }, 'http://localhost:53682/callback'],
  ['of an editor, with a grant that it has elsewhere', { application_type: 'native', redirect_uris: ['http://127.0.0.1:33418/', 'https://app.example/redirect'], grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'] }, 'http://127.0.0.1:33419/'],
  ['that says more than anybody knows', { unknown_member: { any: ['thing'] }, 'x-more': null, registration_endpoint: 'nothing' }],
  ['that says null where it has nothing', { logo_uri: null, client_uri: null, scope: null, contacts: null }],
  ['that asks for scopes of other servers', { scope: 'files:read mcp:tools openid' }],
  ['that would like to be trusted', { require_consent: false, show_logo: true, default_scope: 'openid', access_token_format: 'opaque' }],
  ['with one redirect URI as a text', { redirect_uris: REDIRECT_URI }],
  ['with response types of other servers', { response_types: ['code', 'code id_token'] }],
] // prettier-ignore

test.each(ACCEPTED)('a document %s is taken', async (_what, members, redirectUri) => {
  const clientId = host.publish(nextName(), members)
  expect((await authorize(clientId, redirectUri)).status).toBe(303)
  const client = await directory.admitClient(clientId)
  expect([...client!.grantTypes]).toEqual(['authorization_code', 'refresh_token'])
  expect(client!.scope).toEqual(['read_books'])
  for (const closed of ['require_consent', 'show_logo', 'default_scope', 'access_token_format'])
    expect(client!.metadata[closed]).toBeUndefined()
})

const ADDRESSES = [
  'https://app.example', 'https://app.example/', 'https://app.example/../client.json', 'https://app.example/a/%2e%2e/client.json',
  'https://app.example/client.json#fragment', 'https://user@app.example/client.json', 'https://user:pass@app.example/client.json',
  'https://APP.example/client.json', 'https://app.example:443/client.json', 'HTTPS://app.example/client.json',
  'http://app.example/client.json', 'ftp://app.example/client.json', 'https:app.example/client.json', 'https:///client.json',
  'https://app.example\\client.json', ' https://app.example/client.json', 'https://app.example/client json', `https://app.example/${'x'.repeat(240)}`,
  'https://2130706433/client.json', 'https://0x7f000001/client.json', 'https://0177.0.0.1/client.json', 'https://127.1/client.json',
  'https://[::ffff:127.0.0.1]/client.json', 'https://[0:0:0:0:0:0:0:1]/client.json', 'https://äpp.example/client.json', 'https://ⓔxample.com/client.json',
] // prettier-ignore

test.each(ADDRESSES)('%s is not the address of a client', async (clientId) => {
  const { status, told } = await authorize(clientId)
  expect(status).toBe(400)
  expect(told).toMatch(/^no app is registered|^$/)
  expect((await token(clientId)).status).toBeLessThan(500)
})

/** Written as browsers write them, so that they are asked for unless somebody looks at where they lead. */
const INSIDE = [
  '127.0.0.1', '127.8.8.8', '0.0.0.0', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.169.254', '168.63.129.16',
  '224.0.0.1', '255.255.255.255', '192.0.2.1', '198.18.0.1', '240.0.0.1', '[::1]', '[::]', '[fe80::1]', '[fc00::1]', '[fd00:ec2::254]',
  '[::ffff:7f00:1]', '[::ffff:a9fe:a9fe]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001:db8::1]', 'localhost', 'metadata.google.internal',
] // prettier-ignore
const key = await createAssertionKey()

test.each(INSIDE)('%s is asked for nothing, by whichever way it is named', async (name) => {
  const address = `https://${name}:${inner.port}/it.json`
  expect(await authorize(address)).toMatchObject({
    status: 400,
    told: expect.stringMatching('cannot be read') as string,
  })
  expect((await token(address)).status).toBe(401)

  const byKeys = host.publish(nextName(), {
    jwks_uri: address,
    token_endpoint_auth_method: 'private_key_jwt',
  })
  const assertion = await assertionOf(key, byKeys, server.url)
  const shown = { client_assertion: assertion, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' } // prettier-ignore
  expect(await token(byKeys, shown)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })

  const sector = host.publish(nextName(), { sector_identifier_uri: address, subject_type: 'pairwise' })
  expect(await authorize(sector)).toMatchObject({ status: 400, told: expect.stringMatching('sector_identifier_uri') as string }) // prettier-ignore
  expect(inner.connections()).toBe(0)
})

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.constantFrom('', 'code', 'none', 'authorization_code', 'client_credentials', 'openid', 'token_introspection', 'private_key_jwt', REDIRECT_URI, 'javascript:alert(1)', 'https://[', 'http://127.0.0.1/', 'com.example.app:/', '\0', '\ud800'), // prettier-ignore
)
const value = fc.oneof(text, fc.array(text, { maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }))
const members = fc.dictionary(
  fc.constantFrom(
    ...Object.keys(ClientMetadata.properties),
    'require_consent',
    'registrar',
    'constructor',
    'toString',
  ),
  value,
  { maxKeys: 4 },
)

test('whatever a document says, it is refused, or is a client that a stranger may be', async () => {
  await fc.assert(
    fc.asyncProperty(members, fc.boolean(), async (said, named) => {
      const name = nextName()
      const clientId = host.publish(name, named ? { ...said, client_id: host.at(name) } : said)
      const { status } = await authorize(clientId)
      expect(status).toBeLessThan(500)
      const client = await directory.admitClient(clientId).catch(() => null)
      if (client === null) return
      const { client_id: id, redirect_uris: uris } = client.metadata as { client_id: string; redirect_uris: string[] }
      expect(id).toBe(clientId)
      expect(uris.filter((uri) => redirectUriProblem(uri) !== undefined)).toEqual([])
      expect(client.authenticationMethod).toMatch(/^(?:none|private_key_jwt|tls_client_auth|self_signed_tls_client_auth)$/)
      expect([...client.grantTypes].filter((type) => !['authorization_code', 'refresh_token'].includes(type))).toEqual([])
      expect(client.scope).toEqual(['read_books'])
      expect(client.unregistered).toBeDefined()
      expect(Object.keys(client.metadata).filter((one) => /^(?:require_consent|show_logo|brand_color|client_secret|registrar)$/.test(one))).toEqual([])
    }),
    { numRuns: 200 },
  )
}) // prettier-ignore

test('nothing that was refused is kept, and nobody was told of our network', async () => {
  const kept = `select client_id from client_documents where document->>'client_id' is distinct from client_id`
  expect(await server.database.query(kept)).toEqual([])
  expect(
    await server.database.query(`select from client_documents where client_id like '%endless%'`),
  ).toEqual([])
  expect(server.output()).not.toMatch(/"level":(?:50|60)/)
})
