/**
 * private_key_jwt as people write it who know nothing of this checkout, judged by `oauth4webapi` and `openid-client` at two
 * processes of one server: each assertion is good once, and keys that were changed a moment ago are good at once.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Requests } from '../support/requests.ts'

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const insecure = { [oauth4webapi.allowInsecureRequests]: true }

async function createKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { kid, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}
type Key = Awaited<ReturnType<typeof createKey>>

const key = await createKey('first')
const service = {
  client_id: 'service',
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  scope: ['read'],
  jwks: { keys: [key.jwk] },
}
const withSecret = { client_id: 'plain', client_secret: `lks_${'p'.repeat(43)}`, scope: ['read'] }
const turning = { ...service, client_id: 'turning' }
const receiver = await startReceiver(({ url }, response) =>
  response.end(url === '/jwks' ? JSON.stringify({ keys: [key.jwk] }) : '<!doctype html>'),
)
const { jwks: _theirs, ...published } = {
  ...service,
  client_id: 'published',
  jwks_uri: `http://127.0.0.1:${receiver.port}/jwks`,
}
const [html, closed] = ['html', 'closed'].map((client_id) => {
  const { jwks: _jwks, ...registered } = { ...service, client_id }
  const port = client_id === 'html' ? receiver.port : 9
  return { ...registered, jwks_uri: `http://127.0.0.1:${port}/keys` }
})

const packed = await pack('latchkey')
const folder = await installStranger('private-key-jwt', 'latchkey', packed, ['@types/node', 'jose'])
const one = await spawnServer(
  {
    WITHOUT: 'latchkey-private-key-jwt',
    PLUGINS: join(folder, 'private-key-jwt.ts'),
    UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${receiver.port},http://127.0.0.1:9`,
  },
  { seed: { clients: [service, withSecret, turning, published, html, closed] } },
)
const two = await spawnBeside(one.settings, one.database)
const compiling = compile(folder)
compiling.catch(() => {})
const issuer = new URL(one.url)
const as = await oauth4webapi.processDiscoveryResponse(
  issuer,
  await oauth4webapi.discoveryRequest(issuer, insecure),
)

/** An assertion as RFC 7523 §3 has it; `claims` are laid over it. */
async function assertionOf({ kid, key: by }: Key, claims: Record<string, unknown> = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const usual = { iss: 'service', sub: 'service', aud: one.url, jti: randomUUID(), iat: now, exp: now + 60 }
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: 'ES256', kid }).sign(by)
}

async function ask(
  assertion: string,
  at: Requests = one,
  more: Record<string, string> = {},
): Promise<string> {
  const form = { client_assertion: assertion, client_assertion_type: TYPE, ...more }
  const response = await at.post('/token', { grant_type: 'client_credentials', ...form })
  const { error = '' } = (await response.json()) as { error?: string }
  return `${response.status} ${error}`.trim()
}

test('it compiles as a strict project of its own', async () => {
  await compiling
})

test('oauth4webapi gets, introspects and gives back a token by it', async () => {
  const client = { client_id: 'service' }
  const auth = oauth4webapi.PrivateKeyJwt({ key: key.key, kid: key.kid })
  const answer = await oauth4webapi.clientCredentialsGrantRequest(as, client, auth, {}, insecure)
  const { access_token } = await oauth4webapi.processClientCredentialsResponse(as, client, answer)
  const asked = await oauth4webapi.introspectionRequest(as, client, auth, access_token, insecure)
  expect(await oauth4webapi.processIntrospectionResponse(as, client, asked)).toHaveProperty('active')
  const revoked = await oauth4webapi.revocationRequest(as, client, auth, access_token, insecure)
  await oauth4webapi.processRevocationResponse(revoked)
})

test('openid-client does so from the metadata alone', async () => {
  const auth = openidClient.PrivateKeyJwt({ key: key.key, kid: key.kid })
  const execute = [openidClient.allowInsecureRequests]
  const config = await openidClient.discovery(issuer, 'service', undefined, auth, { execute })
  expect(await openidClient.clientCredentialsGrant(config)).toMatchObject({ scope: 'read' })
})

test('the metadata says so for each endpoint', () => {
  for (const endpoint of ['token', 'introspection', 'revocation']) {
    expect(as[`${endpoint}_endpoint_auth_methods_supported`]).toContain('private_key_jwt')
    expect(as[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toEqual(
      expect.arrayContaining(['ES256', 'PS256', 'RS256', 'EdDSA']),
    )
  }
})

test('of 20 requests with one assertion at two processes, one succeeds', async () => {
  const assertion = await assertionOf(key)
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => ask(assertion, at % 2 === 0 ? one : two)),
  )
  expect(answers.filter((answer) => answer === '200')).toHaveLength(1)
  expect(new Set(answers.filter((answer) => answer !== '200'))).toEqual(new Set(['401 invalid_client']))
})

test('the token endpoint is an audience too, and the client_id may stand beside the assertion', async () => {
  expect(await ask(await assertionOf(key, { aud: `${one.url}/token` }), two, { client_id: 'service' })).toBe(
    '200',
  )
})

test.each([
  ['html', '401 invalid_client'],
  ['closed', '400 invalid_request'],
])('what a client has in the place of its keys is no failure of the server: %s', async (client, refusal) => {
  expect(await ask(await assertionOf(key, { iss: client, sub: client }))).toBe(refusal)
})

test('keys at an address are asked for once by each process, however many come', async () => {
  const asPublished = { iss: 'published', sub: 'published' }
  const answers = await Promise.all(
    Array.from({ length: 8 }, async (_, at) => ask(await assertionOf(key, asPublished), [one, two][at % 2])),
  )
  expect(new Set(answers)).toEqual(new Set(['200']))
  expect(await ask(await assertionOf(await createKey('first'), asPublished))).toBe('401 invalid_client')
  expect(receiver.received.filter(({ url }) => url === '/jwks')).toHaveLength(2)
})

test('keys that were changed by a command are good at once, at either process', async () => {
  const asTurning = { iss: 'turning', sub: 'turning' }
  for (const at of [one, two]) expect(await ask(await assertionOf(key, asTurning), at)).toBe('200')
  for (const kid of ['second', 'third']) {
    const next = await createKey(kid)
    const jwks = JSON.stringify({ keys: [next.jwk] })
    const { status } = await runCommand(['client', 'update', 'turning', '--jwks', jwks], one.settings)
    expect(status).toBe(0)
    for (const at of [one, two])
      expect([kid, await ask(await assertionOf(next, asTurning), at)]).toEqual([kid, '200'])
  }
})

const now = (): number => Math.floor(Date.now() / 1000)
test.each<[string, () => Promise<string>]>([
  ['of another key', async () => assertionOf(await createKey('first'))],
  ['for another audience', () => assertionOf(key, { aud: 'https://elsewhere.example' })],
  ['of another issuer', () => assertionOf(key, { iss: 'somebody' })],
  ['of a client that is not there', () => assertionOf(key, { iss: 'nobody', sub: 'nobody' })],
  ['of a client with another method', () => assertionOf(key, { iss: 'plain', sub: 'plain' })],
  ['that has expired', () => assertionOf(key, { exp: now() - 300 })],
  ['that is good for a day', () => assertionOf(key, { exp: now() + 86_400 })],
  ['without an end', () => assertionOf(key, { exp: undefined })],
  ['without a jti', () => assertionOf(key, { jti: undefined })],
  ['that is none', async () => 'no assertion'],
])('one %s is the same 401 as any', async (_what, create) => {
  expect(await ask(await create())).toBe('401 invalid_client')
})

test('an assertion and a secret are two at once', async () => {
  expect(await ask(await assertionOf(key), one, { client_id: 'service', client_secret: 'x' })).toBe(
    '400 invalid_request',
  )
})

test('a registration needs its keys, and no more than one place for them', async () => {
  const create = ['client', 'create', '--token-endpoint-auth-method', 'private_key_jwt']
  expect(await runCommand(create, one.settings)).toMatchObject({
    status: 1,
    stderr: 'jwks or jwks_uri is needed, and not both.\n',
  })
})
