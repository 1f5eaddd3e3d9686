/**
 * JARM, the hybrid flow and JWT introspection as people write them who know nothing of this checkout: one file each, loaded
 * together by one server that leaves out its own, and judged by `openid-client` and `oauth4webapi`.
 */
import { generateKeyPairSync } from 'node:crypto'
import { cp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as client from 'openid-client'
import { beforeAll, describe, expect, test } from 'vitest'
import { compile, installStranger, pack } from '../support/packages.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { basic } from '../support/requests.ts'
import { ALICE, authorizationUrl, getTokens, goThrough, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../support/user-agent.ts'

const HYBRID = { ...WEB, client_id: 'hybrid', response_types: ['code', 'code id_token'] }
const PADDED = { ...WEB, client_id: 'padded', authorization_signed_response_alg: 'PS256' }
const API = { client_id: 'api', client_secret: WEB.client_secret, scope: ['token_introspection', 'web'] }
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const SECRETIVE = {
  ...API,
  client_id: 'secretive',
  introspection_signed_response_alg: 'ES256',
  introspection_encrypted_response_alg: 'ECDH-ES',
  jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), use: 'enc', kid: 'one' }] },
}

const STRANGERS = ['jarm', 'hybrid', 'jwt-introspection']
const folder = await installStranger('jarm', 'latchkey', await pack('latchkey'), ['@types/node', 'jose'])
for (const name of STRANGERS)
  await cp(resolve(import.meta.dirname, '../strangers', name), folder, { recursive: true })
const compiling = compile(folder)
compiling.catch(() => {})
const server = await spawnServer(
  {
    PLUGINS: STRANGERS.map((name) => join(folder, `${name}.ts`)).join(),
    WITHOUT: 'latchkey-jarm,latchkey-jwt-introspection',
  },
  { seed: { ...SEED, clients: [WEB, HYBRID, PADDED, API, SECRETIVE] } },
)
const issuer = new URL(server.url)
const insecure = { [oauth4webapi.allowInsecureRequests]: true }
let as: oauth4webapi.AuthorizationServer

beforeAll(async () => {
  as = await oauth4webapi.processDiscoveryResponse(issuer, await oauth4webapi.discoveryRequest(issuer, insecure)) // prettier-ignore
})

const configOf = async (
  id: string,
  execute: ((config: client.Configuration) => void)[],
  metadata: Partial<client.ClientMetadata> = {},
) =>
  client.discovery(issuer, id, metadata, client.ClientSecretBasic(WEB.client_secret), {
    execute: [client.allowInsecureRequests, ...execute],
  })

/** A whole code flow as `openid-client` has it; returns where the answer went, and the tokens. */
async function signIn(config: client.Configuration, more: Record<string, string> = {}) {
  const [state, nonce] = [client.randomState(), client.randomNonce()]
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid email',
    state,
    nonce,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...more,
  })
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(url))
  const callback = new URL(page.headers.get('location')!)
  const checks = { pkceCodeVerifier, expectedState: state, expectedNonce: nonce }
  return { callback, tokens: await client.authorizationCodeGrant(config, callback, checks) }
}

/** What an answer says, wherever it stands. */
function saidOn(page: Page): { place: string; said: URLSearchParams } {
  const form = findForm(page, 'form-post')
  if (form !== undefined) return { place: 'form', said: new URLSearchParams(form.fields) }
  const { search, hash } = new URL(page.headers.get('location')!)
  return hash === ''
    ? { place: 'query', said: new URLSearchParams(search) }
    : { place: 'fragment', said: new URLSearchParams(hash.slice(1)) }
}

test('the strangers compile against the package', async () => {
  await compiling
})

test('who registers an algorithm finds its key published before anything is signed', async () => {
  const { keys } = (await (await server.get('/jwks')).json()) as { keys: { alg: string }[] }
  expect(keys.map(({ alg }) => alg)).toContain('PS256')
})

test('the metadata says what they serve', async () => {
  expect(as).toMatchObject({
    response_types_supported: ['code', 'code id_token'],
    response_modes_supported: ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'],
    authorization_signing_alg_values_supported: expect.arrayContaining(['RS256', 'ES256']) as string[],
    introspection_signing_alg_values_supported: expect.arrayContaining(['RS256', 'ES256']) as string[],
  }) // prettier-ignore
})

describe('JARM', () => {
  test.each([
    ['web', 'RS256'],
    ['padded', 'PS256'],
  ])('openid-client as %s gets its code in a JWT, signed with %s', async (id, algorithm) => {
    const metadata = { authorization_signed_response_alg: algorithm }
    const { callback, tokens } = await signIn(await configOf(id, [client.useJwtResponseMode], metadata))
    expect([...callback.searchParams.keys()]).toEqual(['response'])
    const { iss, aud, exp } = decodeJwt(callback.searchParams.get('response')!)
    expect([iss, aud]).toEqual([server.url, id])
    expect(exp! - Date.now() / 1000).toBeLessThanOrEqual(600)
    expect(tokens.claims()!['email']).toBe(ALICE.email)
  })

  test.each([
    ['query.jwt', 'query'],
    ['fragment.jwt', 'fragment'],
    ['form_post.jwt', 'form'],
    ['jwt', 'query'],
  ])('%s carries answers and errors in the %s', async (response_mode, place) => {
    const app = { client_id: 'hybrid' }
    const agent = createUserAgent(server.url)
    const asked = { client_id: 'hybrid', response_mode }
    const silent = saidOn(await agent.get(authorizationUrl(server, { ...asked, prompt: 'none' })))
    expect([silent.place, [...silent.said.keys()]]).toEqual([place, ['response']])
    const refusal = oauth4webapi.validateJwtAuthResponse(as, app, silent.said, 'a state', insecure)
    await expect(refusal).rejects.toMatchObject({ error: 'login_required' })

    const { said } = saidOn(await goThrough(agent, await agent.get(authorizationUrl(server, asked))))
    const answer = await oauth4webapi.validateJwtAuthResponse(as, app, said, 'a state', insecure)
    expect(answer.get('code')).toMatch(/^[\w-]{64}$/)
  })

  test('jwt goes where the response type goes by itself: with an ID token behind #, for errors too', async () => {
    const asked = { client_id: 'hybrid', nonce: 'n', response_mode: 'jwt', response_type: 'code id_token' }
    const agent = createUserAgent(server.url)
    const keys = createRemoteJWKSet(new URL(as.jwks_uri!))
    for (const [prompt, members] of [
      ['none', ['error', 'state']],
      ['login', ['code', 'id_token', 'state']],
    ] as const) {
      // prettier-ignore
      const page = await goThrough(agent, await agent.get(authorizationUrl(server, { ...asked, prompt })))
      const { place, said } = saidOn(page)
      const { payload } = await jwtVerify(said.get('response')!, keys, { issuer: server.url, audience: 'hybrid' }) // prettier-ignore
      expect([place, Object.keys(payload)]).toEqual(['fragment', expect.arrayContaining([...members])])
    }
  })

  test('a query takes no ID token, signed or not', async () => {
    const asked = { client_id: 'hybrid', nonce: 'n', response_type: 'code id_token' }
    for (const response_mode of ['query', 'query.jwt']) {
      const page = await createUserAgent(server.url).get(
        authorizationUrl(server, { ...asked, response_mode }),
      )
      const { place, said } = saidOn(page)
      expect([place, said.get('error')]).toEqual(['fragment', 'invalid_request'])
    }
  })
})

describe('the hybrid flow', () => {
  test.each([
    ['alone', client.useCodeIdTokenResponseType],
    [
      'as a detached signature',
      (config: client.Configuration) => {
        client.useCodeIdTokenResponseType(config)
        client.enableDetachedSignatureResponseChecks(config)
      },
    ],
  ])('openid-client takes the ID token %s, and then the tokens', async (_how, use) => {
    const { callback, tokens } = await signIn(await configOf('hybrid', [use]))
    const answer = new URLSearchParams(callback.hash.slice(1))
    expect([...answer.keys()].toSorted()).toEqual(['code', 'id_token', 'iss', 'state'])
    const [front, back] = [decodeJwt(answer.get('id_token')!), tokens.claims()!]
    expect([front.sub, front['email']]).toEqual([back.sub, undefined])
    expect(back['email']).toBe(ALICE.email)
  })

  test.each([
    ['a nonce', { nonce: undefined }],
    ['the scope openid', { scope: 'read_books' }],
  ])('without %s it is refused, behind #', async (_what, more) => {
    const asked = { client_id: 'hybrid', response_type: 'id_token code', nonce: 'n', ...more }
    const { place, said } = saidOn(await createUserAgent(server.url).get(authorizationUrl(server, asked)))
    expect([place, said.get('error')]).toEqual(['fragment', 'invalid_request'])
  })
})

describe('JWT introspection', () => {
  test('openid-client reads a response that is signed, of a token that is good and of one that is not', async () => {
    const metadata = { introspection_signed_response_alg: 'RS256' }
    const config = await configOf('api', [client.enableNonRepudiationChecks], metadata)
    const { access_token: token } = await getTokens(server)
    const found = await client.tokenIntrospection(config, token)
    expect(found).toMatchObject({ active: true, client_id: 'web', username: ALICE.username })
    expect(await client.tokenIntrospection(config, 'nonsense')).toEqual({ active: false })
  })

  test('and one that is encrypted to it, under its signature', async () => {
    const metadata = { introspection_signed_response_alg: 'ES256' }
    const key = await crypto.subtle.importKey(
      'pkcs8',
      privateKey.export({ type: 'pkcs8', format: 'der' }),
      { name: 'ECDH', namedCurve: 'P-256' },
      true,
      ['deriveBits'],
    )
    const config = await configOf('secretive', [client.enableNonRepudiationChecks], metadata)
    client.enableDecryptingResponses(config, ['A256GCM'], { key, alg: 'ECDH-ES', kid: 'one' })
    const { access_token: token } = await getTokens(server)
    expect(await client.tokenIntrospection(config, token)).toMatchObject({ active: true, client_id: 'web' })
  })

  test('it says whom it is for; who does not accept it gets JSON, and so do errors', async () => {
    const { access_token: token } = await getTokens(server)
    const asked = async (accept: string, secret = WEB.client_secret) =>
      server.post('/introspect', { token }, { ...basic('api', secret), accept })
    const signed = await asked('application/json;q=0.5, application/token-introspection+jwt')
    expect(signed.headers.get('content-type')).toBe('application/token-introspection+jwt')
    expect(decodeJwt(await signed.text())).toEqual({
      iss: server.url,
      aud: 'api',
      iat: expect.any(Number) as number,
      token_introspection: expect.objectContaining({ active: true, client_id: 'web' }) as object,
    })
    const plain = await asked('application/json')
    expect([plain.headers.get('content-type'), await plain.json()]).toMatchObject(['application/json', { active: true }]) // prettier-ignore
    const refused = await asked('application/token-introspection+jwt', 'wrong')
    expect([refused.status, refused.headers.get('content-type')]).toEqual([401, 'application/json'])
  })
})

test('a registration that could not be served is refused on the command line', async () => {
  const members = { introspection_encrypted_response_alg: 'ECDH-ES' }
  const args = ['client', 'update', 'api', '--metadata', JSON.stringify(members)]
  const { status, stderr } = await runCommand(args, server.settings)
  expect([status, stderr]).toEqual([1, expect.stringContaining('jwks has no key')])
})
