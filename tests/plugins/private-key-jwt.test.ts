/** private_key_jwt (RFC 7523 §2.2, OpenID Connect Core §9): judged by `oauth4webapi` and `openid-client`, at two processes. */
import { createPrivateKey, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { expect, test } from 'vitest'
import { forgeriesOf } from '../support/forged-jwts.ts'
import { requestsTo, type Requests } from '../support/requests.ts'
import { startServer } from '../support/server.ts'

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
const publicJwk = { ...(await exportJWK(publicKey)), kid: 'one' }
const service = {
  client_id: 'service',
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  scope: ['read'],
  jwks: { keys: [publicJwk] },
}
const one = await startServer({}, { seed: { clients: [service] } })
const two = await startServer({ ...one.settings, PORT: 0 }, { database: one.database })
const beside = requestsTo(two.server.listeningOrigin)
const issuer = new URL(one.url)
const as = await oauth4webapi.processDiscoveryResponse(
  issuer,
  await oauth4webapi.discoveryRequest(issuer, insecure),
)

const seconds = (ahead: number): number => Math.floor(Date.now() / 1000) + ahead

async function assertionOf(claims: object = {}, header: object = {}): Promise<string> {
  const usual = { iss: 'service', sub: 'service', aud: one.url, jti: randomUUID(), exp: seconds(60) }
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
    .sign(privateKey)
}

async function ask(client_assertion: string, at: Requests = one, more: object = {}): Promise<string> {
  const form = { client_assertion, client_assertion_type: TYPE, ...more }
  const response = await at.post('/token', { grant_type: 'client_credentials', ...form })
  const { error = '' } = (await response.json()) as { error?: string }
  return `${response.status} ${error}`.trim()
}

test('oauth4webapi gets, introspects and gives back a token by it', async () => {
  const client = { client_id: 'service' }
  const auth = oauth4webapi.PrivateKeyJwt({ key: privateKey, kid: 'one' })
  const got = await oauth4webapi.clientCredentialsGrantRequest(as, client, auth, {}, insecure)
  const { access_token } = await oauth4webapi.processClientCredentialsResponse(as, client, got)
  const asked = await oauth4webapi.introspectionRequest(as, client, auth, access_token, insecure)
  expect(await oauth4webapi.processIntrospectionResponse(as, client, asked)).toHaveProperty('active')
  const revoked = await oauth4webapi.revocationRequest(as, client, auth, access_token, insecure)
  await oauth4webapi.processRevocationResponse(revoked)
})

test('openid-client does so from the metadata alone', async () => {
  const auth = openidClient.PrivateKeyJwt({ key: privateKey, kid: 'one' })
  const execute = [openidClient.allowInsecureRequests]
  const config = await openidClient.discovery(issuer, 'service', undefined, auth, { execute })
  expect(await openidClient.clientCredentialsGrant(config)).toMatchObject({ scope: 'read' })
})

/** One is good that says which of the keys it is signed by, and one that does not. */
const NO_FORGERY = new Set(['no kid'])

test('no forgery of one is taken', async () => {
  const jwk = (await exportJWK(privateKey)) as { kty: string }
  const key = { privateKey: createPrivateKey({ key: jwk, format: 'jwk' }), publicJwk }
  const required = ['iss', 'sub', 'aud', 'exp', 'jti']
  const registered = { ...service, jwks: { keys: [publicJwk] } }
  for (const what of Object.keys(await forgeriesOf(await assertionOf(), key, required))) {
    if (NO_FORGERY.has(what)) continue
    // Each as a client of its own: who fails too often is asked to wait.
    const client_id = `forged ${what.replaceAll(/[^a-zA-Z0-9 ]/g, '')}`
    await one.server.oauth.clients.create({ ...registered, client_id })
    const forgeries = await forgeriesOf(await assertionOf({ iss: client_id, sub: client_id }), key, required)
    const response = await one.server.inject({
      method: 'POST',
      url: '/token',
      remoteAddress: `192.0.2.${Object.keys(forgeries).indexOf(what) + 1}`,
      payload: new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion: forgeries[what]!,
        client_assertion_type: TYPE,
      }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect([what, response.statusCode]).toEqual([what, 401])
  }
})

test('the token endpoint is an audience too, and the client_id may stand beside it', async () => {
  expect(await ask(await assertionOf({ aud: `${one.url}/token` }), beside, { client_id: 'service' })).toBe(
    '200',
  )
})

test('why it was refused is in the log, with the client and the method', async () => {
  expect(await ask(await assertionOf({ exp: seconds(-300) }))).toBe('401 invalid_client')
  expect(one.output()).toContain('"reason":"it has expired"')
})

test('a registration needs its keys', async () => {
  const { jwks: _jwks, ...keyless } = { ...service, client_id: 'keyless' }
  await expect(one.server.oauth.clients.create(keyless)).rejects.toThrow('needs jwks or jwks_uri')
})

test('of 50 requests with one assertion at two processes, one succeeds', async () => {
  const assertion = await assertionOf()
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => ask(assertion, at % 2 === 0 ? one : beside)),
  )
  expect(answers.filter((answer) => answer === '200')).toHaveLength(1)
  expect(answers).toContain('401 invalid_client')
})
