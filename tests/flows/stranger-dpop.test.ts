/**
 * DPoP (RFC 9449) as one file of people who know nothing of this checkout: loaded by two processes of a server, and by an API
 * of its own beside them; judged by `oauth4webapi` and `openid-client`, and by whoever steals tokens and proofs.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { introspect } from '../support/clients.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { startApi } from '../support/foreign-api.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { sendRaw } from '../support/raw-http.ts'
import { signInBound } from '../support/relying-party.ts'
import type { Requests } from '../support/requests.ts'
import { GUARDED, OPAQUE, SIGNED, toClient } from '../support/service.ts'
import { freePort } from '../support/settings.ts'
import { REDIRECT_URI, SEED } from '../support/sign-in.ts'

const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const scope = ['read_shelf', 'read_books', 'token_introspection']
const strict = { ...SIGNED, client_id: 'strict', dpop_bound_access_tokens: true }
const app = {
  client_id: 'app',
  token_endpoint_auth_method: 'none',
  redirect_uri: REDIRECT_URI,
  scope: ['read_books'],
}
const seed = { ...SEED, clients: [{ ...SIGNED, scope }, { ...OPAQUE, scope }, strict, app] }

const others = ['@latchkey/require-scope', 'fastify', 'jose', '@types/node']
const folder = await installStranger('dpop', 'latchkey', await pack('latchkey'), others)
const compiling = compile(folder)
compiling.catch(() => {})
const settings = {
  WITHOUT: 'latchkey-dpop',
  PLUGINS: [join(folder, 'dpop.ts'), GUARDED].join(','),
  OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
}
const one = await spawnServer(settings, { seed })
const two = await spawnBeside(one.settings, one.database)
const withNonces = await spawnServer({ ...settings, DPOP_NONCES: 'required' }, { seed })
const [asSigned, asOpaque] = [SIGNED, OPAQUE].map(toClient)

interface Key {
  readonly privateKey: CryptoKey
  readonly jwk: JWK
  readonly thumbprint: string
}

async function createKey(): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(publicKey)
  return { privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) }
}
const [mine, thiefs] = [await createKey(), await createKey()]

interface Made {
  readonly key?: Key
  readonly header?: Record<string, unknown>
  readonly claims?: Record<string, unknown>
}

/** A proof for a request of this method and address; what is undefined is left out. */
async function prove(htm: string, path: string, { key = mine, header, claims }: Made = {}): Promise<string> {
  const given = { htm, htu: one.url + path, jti: randomUUID(), iat: Math.floor(Date.now() / 1000), ...claims }
  return new SignJWT(JSON.parse(JSON.stringify(given)) as Record<string, unknown>)
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: key.jwk, ...header })
    .sign(key.privateKey)
}

type Answer = Readonly<Record<string, unknown>> & { status: number }

async function answer(responding: Promise<Response>): Promise<Answer> {
  const response = await responding
  const challenge = response.headers.get('www-authenticate')
  return { ...((await response.json()) as object), status: response.status, challenge }
}

const ask = async (dpop: string, server: Requests = one, client = asSigned!): Promise<Answer> =>
  answer(server.post('/token', { grant_type: 'client_credentials' }, { ...client.basic, dpop }))

const hashOf = async (token: string): Promise<string> =>
  Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(token))).toString('base64url')

async function getToken(client = asSigned!): Promise<string> {
  return String((await ask(await prove('POST', '/token'), one, client))['access_token'])
}

/** What a route of the server answers to a token with a proof. */
async function present(token: string, made: Made = {}, scheme = 'DPoP'): Promise<Answer> {
  const claims = { ath: await hashOf(token), ...made.claims }
  const dpop = await prove('GET', '/shelf', { ...made, claims })
  return answer(one.get('/shelf', { authorization: `${scheme} ${token}`, dpop }))
}

test('it compiles with the types of both packages', async () => {
  await compiling
})

test('discovery says which algorithms', async () => {
  for (const document of ['openid-configuration', 'oauth-protected-resource'])
    expect(await answer(one.get(`/.well-known/${document}`))).toMatchObject({
      dpop_signing_alg_values_supported: expect.arrayContaining(['ES256', 'Ed25519', 'PS256']),
    })
})

test.each([
  ['jwt', SIGNED, asSigned!],
  ['opaque', OPAQUE, asOpaque!],
])('oauth4webapi: a service gets and uses a token of its own (%s)', async (_format, registered, asClient) => {
  const issuer = new URL(one.url)
  const as = await oauth4webapi.processDiscoveryResponse(
    issuer,
    await oauth4webapi.discoveryRequest(issuer, insecure),
  )
  const client = { client_id: registered.client_id }
  const DPoP = oauth4webapi.DPoP({}, await oauth4webapi.generateKeyPair('ES256'))
  const authentication = oauth4webapi.ClientSecretBasic(registered.client_secret)
  const sent = [as, client, authentication, new URLSearchParams(), { DPoP, ...insecure }] as const
  const response = await oauth4webapi.clientCredentialsGrantRequest(...sent)
  const tokens = await oauth4webapi.processClientCredentialsResponse(as, client, response)
  expect(tokens.token_type).toBe('dpop')
  expect(await introspect(one, asClient, tokens.access_token)).toMatchObject({
    active: true,
    token_type: 'DPoP',
    cnf: { jkt: await DPoP.calculateThumbprint() },
  })
  const shelf = new URL(`${one.url}/shelf`)
  const use = async (options: oauth4webapi.ProtectedResourceRequestOptions): Promise<number> =>
    oauth4webapi
      .protectedResourceRequest(tokens.access_token, 'GET', shelf, undefined, undefined, {
        ...options,
        ...insecure,
      })
      .then(
        ({ status }) => status,
        (error: oauth4webapi.WWWAuthenticateChallengeError) => error.status,
      )
  expect(await use({ DPoP })).toBe(200)
  expect(await use({})).toBe(401)
  const another = oauth4webapi.DPoP({}, await oauth4webapi.generateKeyPair('ES256'))
  expect(await use({ DPoP: another })).toBe(401)
})

test('openid-client: an app without a secret binds its code, asks who it is, and refreshes with one refresh token', async () => {
  const config = await openid.discovery(new URL(one.url), app.client_id, {}, openid.None(), {
    execute: [openid.allowInsecureRequests],
  })
  const { DPoP, thief, exchange } = await signInBound(config)
  for (const options of [undefined, { DPoP: thief }])
    await expect(exchange(options)).rejects.toMatchObject({ error: 'invalid_grant' })
  const tokens = await exchange({ DPoP })
  expect(tokens.token_type).toBe('dpop')

  const { sub } = tokens.claims()!
  expect(await openid.fetchUserInfo(config, tokens.access_token, sub, { DPoP })).toMatchObject({ sub })
  await expect(openid.fetchUserInfo(config, tokens.access_token, sub)).rejects.toMatchObject({ status: 401 })

  const refresh = async (options?: openid.DPoPOptions) =>
    openid.refreshTokenGrant(config, tokens.refresh_token!, undefined, options)
  for (let times = 0; times < 3; times++) {
    const renewed = await refresh({ DPoP })
    expect(renewed).toMatchObject({ token_type: 'dpop', refresh_token: tokens.refresh_token })
    expect(await openid.fetchUserInfo(config, renewed.access_token, sub, { DPoP })).toMatchObject({ sub })
  }
  for (const options of [undefined, { DPoP: thief }])
    await expect(refresh(options)).rejects.toMatchObject({ error: 'invalid_grant' })
  expect(await refresh({ DPoP })).toMatchObject({ token_type: 'dpop' })
})

test('nonces: a client is told to take one, takes it, and goes on', async () => {
  const told = await withNonces.post(
    '/token',
    { grant_type: 'client_credentials' },
    {
      ...asSigned!.basic,
      dpop: await prove('POST', '/token', {
        claims: { htu: `${withNonces.url}/token`, nonce: 'ü'.repeat(43) },
      }),
    },
  )
  expect([told.status, await told.json()]).toMatchObject([400, { error: 'use_dpop_nonce' }])
  expect(told.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/)

  const config = await openid.discovery(
    new URL(withNonces.url),
    SIGNED.client_id,
    {},
    openid.ClientSecretBasic(SIGNED.client_secret),
    { execute: [openid.allowInsecureRequests] },
  )
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
  const { access_token: token } = await openid.clientCredentialsGrant(config, {}, { DPoP })
  const shelf = new URL(`${withNonces.url}/shelf`)
  const used = async (by: openid.DPoPHandle): Promise<Response> =>
    openid.fetchProtectedResource(config, token, shelf, 'GET', undefined, undefined, { DPoP: by })
  const response = await used(DPoP)
  expect([response.status, response.headers.get('dpop-nonce')]).toEqual([
    200,
    expect.stringMatching(/^[\w-]{43}$/),
  ])
  const bare = await prove('GET', '/shelf', { claims: { htu: shelf.href, ath: await hashOf(token) } })
  const refused = await answer(withNonces.get('/shelf', { authorization: `DPoP ${token}`, dpop: bare }))
  expect(refused).toMatchObject({ status: 401, error: 'use_dpop_nonce' })
  expect(refused['challenge']).toMatch(/^DPoP .*error="use_dpop_nonce"/)
})

test('an API of its own takes such tokens from their holder, with nonces of its own', async () => {
  const config = await openid.discovery(
    new URL(one.url),
    SIGNED.client_id,
    {},
    openid.ClientSecretBasic(SIGNED.client_secret),
    { execute: [openid.allowInsecureRequests] },
  )
  const PORT = String(await freePort())
  const api = new URL('/books', await startApi(folder, 'api.ts', { ISSUER: one.url, PORT }))
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
  const thief = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
  const { access_token: token } = await openid.clientCredentialsGrant(config, {}, { DPoP })
  const status = async (options?: openid.DPoPOptions): Promise<number> =>
    openid.fetchProtectedResource(config, token, api, 'GET', undefined, undefined, options).then(
      (response) => response.status,
      (error: openid.WWWAuthenticateChallengeError) => error.status,
    )
  expect(await status({ DPoP })).toBe(200)
  expect(await status({ DPoP: thief })).toBe(401)
  expect(await status()).toBe(401)
  const plain = await openid.clientCredentialsGrant(config, {})
  const asBearer = await fetch(api, { headers: { authorization: `Bearer ${plain.access_token}` } })
  expect(asBearer.status).toBe(200)
})

test('a client that must send proofs gets nothing without one', async () => {
  const form = { grant_type: 'client_credentials' }
  const refused = await answer(one.post('/token', form, toClient(strict).basic))
  expect(refused).toMatchObject({ status: 400, error: 'invalid_dpop_proof' })
  const proof = await prove('POST', '/token')
  expect(await ask(proof, one, toClient(strict))).toMatchObject({ status: 200, token_type: 'DPoP' })
})

const now = (seconds: number): { iat: number } => ({ iat: Math.floor(Date.now() / 1000) + seconds })
const BAD: [string, Made | (() => Promise<Made>)][] = [
  ['of another method', { claims: { htm: 'PUT' } }],
  ['of no method', { claims: { htm: undefined } }],
  ['for another address', { claims: { htu: 'http://elsewhere.example/token' } }],
  ['for no address', { claims: { htu: 'nonsense' } }],
  ['that is old', { claims: now(-80) }],
  ['that is of tomorrow', { claims: now(30) }],
  ['without a time', { claims: { iat: undefined } }],
  ['without a jti', { claims: { jti: undefined } }],
  ['with a jti that is no text', { claims: { jti: 5 } }],
  ['with a jti that is too long', { claims: { jti: 'x'.repeat(201) } }],
  ['that is an ID token', { header: { typ: 'JWT' } }],
  ['without a key', { header: { jwk: undefined } }],
  ['signed by another key', async () => ({ key: { ...mine, jwk: (await createKey()).jwk } })],
  ['with a key off its curve', { header: { jwk: { ...mine.jwk, x: mine.jwk.y, y: mine.jwk.x } } }],
  ['with a secret for a key', { header: { jwk: { kty: 'oct', k: 'c2VjcmV0' } } }],
  ['with its private key in it', async () => ({ header: { jwk: await exportJWK(mine.privateKey) } })],
]

test.each(BAD)('a proof %s is refused, at the token endpoint and with a token', async (_what, given) => {
  const made = typeof given === 'function' ? await given() : given
  expect(await ask(await prove('POST', '/token', made))).toMatchObject({
    status: 400,
    error: 'invalid_dpop_proof',
  })
  const refused = await present(await getToken(), made)
  expect(refused).toMatchObject({ status: 401, error: 'invalid_dpop_proof' })
  expect(refused['challenge']).toMatch(/^DPoP .*algs="[^"]*ES256[^"]*".*error="invalid_dpop_proof"/)
})

test('a request line with an address of its own is of another address than the proof', async () => {
  const form = 'grant_type=client_credentials'
  const headers = {
    host: new URL(one.url).host,
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': String(form.length),
    dpop: await prove('POST', '/token'),
    ...asSigned!.basic,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `POST http://elsewhere.example/token HTTP/1.1\r\n${lines.join('')}\r\n${form}`
  const { status, body } = await sendRaw(one.url, request)
  expect([status, body]).toEqual([400, expect.stringContaining('invalid_dpop_proof')])
})

test('two proofs, none, and what is no JWT are refused', async () => {
  const proof = await prove('POST', '/token')
  for (const dpop of [`${proof}, ${await prove('POST', '/token')}`, 'x', 'a.b.c', ''])
    expect([dpop, await ask(dpop)]).toMatchObject([dpop, { status: 400, error: 'invalid_dpop_proof' }])
})

test('a proof is of one token: ath', async () => {
  const [token, another] = [await getToken(), await getToken()]
  expect(await present(token)).toMatchObject({ status: 200 })
  for (const ath of [await hashOf(another), undefined, 5])
    expect(await present(token, { claims: { ath } })).toMatchObject({
      status: 401,
      error: 'invalid_dpop_proof',
    })
})

test.each([
  ['jwt', asSigned!],
  ['opaque', asOpaque!],
])('stolen, a token is good for nobody (%s)', async (_format, client) => {
  const token = await getToken(client)
  expect(await present(token, { key: thiefs })).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(await present(token, {}, 'Bearer')).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(await answer(one.get('/shelf', { authorization: `DPoP ${token}` }))).toMatchObject({
    status: 401,
    error: 'invalid_dpop_proof',
  })
  const form = { grant_type: 'client_credentials' }
  const plain = String((await answer(one.post('/token', form, client.basic)))['access_token'])
  expect(await present(plain)).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(await present(plain, {}, 'Bearer')).toMatchObject({ status: 200 })
})

test('of 30 requests at two processes with one proof, one succeeds', async () => {
  const proof = await prove('POST', '/token')
  const answers = await Promise.all(
    Array.from({ length: 30 }, async (_, at) => ask(proof, at % 2 === 0 ? one : two)),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  const refusals = answers.filter(({ status }) => status !== 200).map(({ error }) => error)
  expect(new Set(refusals)).toEqual(new Set(['invalid_dpop_proof']))
})

test('with the database away, a proof is neither taken nor refused', async () => {
  const proxy = await startDatabaseProxy(one.database.url)
  const cut = await spawnBeside({ ...one.settings, DATABASE_URL: proxy.url }, one.database)
  const token = await getToken()
  await proxy.cut()
  const presented = async (): Promise<Answer> => {
    const dpop = await prove('GET', '/shelf', { claims: { ath: await hashOf(token) } })
    return answer(cut.get('/shelf', { authorization: `DPoP ${token}`, dpop }))
  }
  expect(await presented()).toMatchObject({ status: 503, error: 'temporarily_unavailable' })
  expect(await ask(await prove('POST', '/token'), cut)).toMatchObject({ status: 503 })
  await proxy.restore()
  await expect.poll(async () => (await presented()).status).toBe(200)
  expect(await ask(await prove('POST', '/token'), cut)).toMatchObject({ status: 200, token_type: 'DPoP' })
})
