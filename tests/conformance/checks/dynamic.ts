/** Clients that the suite registers itself, proven by `private_key_jwt` (OpenID Connect Dynamic Client Registration). */
import { randomUUID } from 'node:crypto'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify, SignJWT, UnsecuredJWT, type JWK } from 'jose'
import * as oauth from 'oauth4webapi'
import { expect, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { passTime } from '../../support/clocks.ts'
import { bearer } from '../../support/requests.ts'
import { createUserAgent, type Page } from '../../support/user-agent.ts'
import type { Checks } from '../plan.ts'
import {
  askToRegister,
  createKey,
  expectRefused,
  register,
  type Registered,
  type SuiteKey,
} from '../registered.ts'
import {
  addressOf,
  authenticate,
  authenticationRequest,
  expectErrorPage,
  finish,
  visit,
  type Authenticated,
  type AuthenticationRequest,
} from '../relying-party.ts'
import { CALLBACK, insecure, type Suite } from '../suite.ts'
import { discover } from './discovery.ts'
import { refusals } from './refusals.ts'

const QUERY = `${CALLBACK}?dummy1=lorem&dummy2=ipsum`
const REFRESHING = { grant_types: ['authorization_code', 'refresh_token'] }
const OFFLINE = { scope: 'openid offline_access', prompt: 'consent' }
const key = await createKey()

const signIn = async (suite: Suite, registered: Registered, parameters = {}): Promise<Authenticated> =>
  authenticate(suite, parameters, registered)

/** An address of the suite's, with what it answers from now on. */
function publish({ host, documents }: Suite, document: string): string {
  const address = `http://127.0.0.1:${host.port}/${randomUUID()}`
  documents.set(address, document)
  return address
}

const setOf = ({ jwk }: SuiteKey): string => JSON.stringify({ keys: [jwk] })

async function keysOf({ server }: Suite): Promise<JWK[]> {
  return ((await (await server.get('/jwks')).json()) as { keys: JWK[] }).keys
}

async function loginPage(suite: Suite, { client }: Registered): Promise<Page> {
  return createUserAgent(suite.server.url).get(addressOf(suite, authenticationRequest(suite, {}, client)))
}

async function refresh(
  suite: Suite,
  { client, authentication }: Registered,
  { tokens }: Authenticated,
): Promise<oauth.TokenEndpointResponse> {
  const { metadata } = suite
  const proof = authentication('')
  const response = await oauth.refreshTokenGrantRequest(
    metadata,
    client,
    proof,
    tokens.refresh_token,
    insecure,
  )
  return oauth.processRefreshTokenResponse(metadata, client, response)
}

/** That a request at this address is answered to the client, with what stands in its object. */
async function expectAnswered(
  suite: Suite,
  registered: Registered,
  request: AuthenticationRequest,
  request_uri: string,
) {
  const { client_id, response_type, scope } = request as Record<
    'client_id' | 'response_type' | 'scope',
    string
  >
  const agent = createUserAgent(suite.server.url)
  const page = await visit(suite, { client_id, response_type, scope, request_uri }, { agent })
  const { claims } = await finish(suite, page, request, { ...registered, agent })
  expect(claims.nonce).toBe(request['nonce'])
}

export const dynamic = {
  'oidcc-idtoken-rs256': async (suite) => {
    const { tokens } = await signIn(
      suite,
      await register(suite, key, { id_token_signed_response_alg: 'RS256' }),
    )
    expect(decodeProtectedHeader(tokens.id_token)).toMatchObject({
      alg: 'RS256',
      kid: expect.any(String) as string,
    })
  },

  'oidcc-idtoken-unsigned': async (suite) => {
    expect(suite.metadata['id_token_signing_alg_values_supported']).not.toContain('none')
    const unsigned = await askToRegister(suite, { id_token_signed_response_alg: 'none' })
    await expectRefused(unsigned, 'invalid_client_metadata')
  },

  'oidcc-userinfo-rs256': async (suite) => {
    const registered = await register(suite, key, { userinfo_signed_response_alg: 'RS256' })
    const { tokens, claims } = await signIn(suite, registered)
    const response = await suite.server.get('/userinfo', bearer(tokens.access_token))
    expect(response.headers.get('content-type')).toBe('application/jwt')
    const keys = createRemoteJWKSet(new URL(suite.metadata.jwks_uri!))
    const { payload } = await jwtVerify(await response.text(), keys, {
      issuer: suite.metadata.issuer,
      audience: registered.client.client_id,
      algorithms: ['RS256'],
    })
    expect(payload.sub).toBe(claims.sub)
  },

  'oidcc-ensure-redirect-uri-in-authorization-request': async (suite) => {
    const { client } = await register(suite, key, { redirect_uris: [CALLBACK, QUERY] })
    const request = authenticationRequest(suite, { redirect_uri: undefined }, client)
    expectErrorPage(await createUserAgent(suite.server.url).get(addressOf(suite, request)))
  },

  'oidcc-redirect-uri-query-OK': async (suite) => {
    const { client } = await register(suite, key, { redirect_uris: [QUERY] })
    const request = authenticationRequest(suite, { redirect_uri: QUERY }, client)
    const { status, headers } = await visit(suite, request)
    const address = new URL(headers.get('location')!)
    expect([status, `${address.origin}${address.pathname}`]).toEqual([303, CALLBACK])
    expect(Object.fromEntries(address.searchParams)).toEqual({
      dummy1: 'lorem',
      dummy2: 'ipsum',
      code: expect.any(String) as string,
      state: request['state'],
      iss: suite.metadata.issuer,
    })
  },

  'oidcc-redirect-uri-query-mismatch': async (suite) => {
    const { client } = await register(suite, key, { redirect_uris: [QUERY] })
    for (const redirect_uri of [QUERY.replace('ipsum', 'other'), CALLBACK, `${QUERY}&more=x`]) {
      const request = authenticationRequest(suite, { redirect_uri }, client)
      expectErrorPage(await createUserAgent(suite.server.url).get(addressOf(suite, request)))
    }
  },

  'oidcc-redirect-uri-query-added': async (suite) => {
    const { client } = await register(suite, key)
    const request = authenticationRequest(suite, { redirect_uri: QUERY }, client)
    expectErrorPage(await createUserAgent(suite.server.url).get(addressOf(suite, request)))
  },

  'oidcc-redirect-uri-regfrag': async (suite) => {
    for (const uri of [`${CALLBACK}#foobar`, `${CALLBACK}#`])
      await expectRefused(await askToRegister(suite, { redirect_uris: [uri] }), 'invalid_redirect_uri')
  },

  'oidcc-discovery-endpoint-verification': async ({ server }) => {
    const containing = (...values: readonly string[]) => expect.arrayContaining([...values]) as unknown
    expect(await discover(server)).toMatchObject({
      registration_endpoint: `${server.url}/register`,
      response_types_supported: containing('code', 'id_token', 'id_token token'),
      grant_types_supported: containing('authorization_code', 'implicit'),
      subject_types_supported: containing('public', 'pairwise'),
      token_endpoint_auth_methods_supported: containing('private_key_jwt'),
      token_endpoint_auth_signing_alg_values_supported: containing('RS256'),
      request_uri_parameter_supported: true,
      request_object_signing_alg_values_supported: containing('RS256'),
    })
  },

  'oidcc-server': async (suite) => {
    const registered = await register(suite, key)
    const tokenEndpoint = (_header: object, payload: Record<string, oauth.JsonValue | undefined>) => {
      payload['aud'] = suite.metadata.token_endpoint
    }
    const authentication = () =>
      oauth.PrivateKeyJwt({ key: key.privateKey, kid: key.kid }, { [oauth.modifyAssertion]: tokenEndpoint })
    const { tokens, claims } = await signIn(suite, { ...registered, authentication })
    expect([claims.aud, tokens.scope]).toEqual([registered.client.client_id, 'openid'])
    expect((await suite.server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
  },

  'oidcc-registration-logo-uri': async (suite) => {
    const logo = 'https://suite.example/logo.png'
    const registered = await register(suite, key, { logo_uri: logo })
    expect(registered.told['logo_uri']).toBe(logo)
    // Of an app that nobody has looked at, it is shown once an administrator has.
    expect((await loginPage(suite, registered)).body).not.toContain(logo)
    await suite.server.server.oauth.clients.update(registered.client.client_id, { show_logo: true })
    expect((await loginPage(suite, registered)).body).toMatch(
      /id="client-logo"[^>]* src="https:\/\/suite\.example\/logo\.png"/,
    )
  },

  'oidcc-registration-policy-uri': async (suite) => {
    const registered = await register(suite, key, { policy_uri: 'https://suite.example/privacy' })
    expect((await loginPage(suite, registered)).body).toContain(
      'id="client-policy" href="https://suite.example/privacy"',
    )
  },

  'oidcc-registration-tos-uri': async (suite) => {
    const registered = await register(suite, key, { tos_uri: 'https://suite.example/terms' })
    expect((await loginPage(suite, registered)).body).toContain(
      'id="client-tos" href="https://suite.example/terms"',
    )
  },

  'oidcc-registration-jwks-uri': async (suite) => {
    const registered = await register(suite, key, { jwks_uri: publish(suite, setOf(key)) })
    const { claims } = await signIn(suite, registered)
    expect(claims.aud).toBe(registered.client.client_id)
  },

  'oidcc-registration-sector-uri': async (suite) => {
    const pairwise = {
      subject_type: 'pairwise',
      sector_identifier_uri: publish(suite, JSON.stringify([CALLBACK])),
    }
    const registered = await register(suite, key, pairwise)
    expect(registered.told).toMatchObject(pairwise)
    expect((await signIn(suite, registered)).claims.sub).not.toBe(
      (await signIn(suite, await register(suite, key))).claims.sub,
    )
  },

  'oidcc-registration-sector-bad': async (suite) => {
    const sector_identifier_uri = publish(suite, JSON.stringify([`${CALLBACK}/other`]))
    for (const subject_type of ['pairwise', 'public'])
      await expectRefused(
        await askToRegister(suite, { subject_type, sector_identifier_uri }),
        'invalid_client_metadata',
      )
  },

  'oidcc-server-rotate-keys': async (suite) => {
    const before = (await keysOf(suite)).map(({ kid }) => kid)
    const { kid } = await kernelOf(suite.server.server).keys.rotate('RS256')
    const after = (await keysOf(suite)).map((one) => one.kid)
    expect(before).not.toContain(kid)
    expect(new Set(after)).toEqual(new Set([...before, kid]))
  },

  'oidcc-refresh-token-rp-key-rotation': async (suite) => {
    const address = publish(suite, setOf(key))
    const registered = await register(suite, key, { ...REFRESHING, jwks_uri: address })
    const signedIn = await signIn(suite, registered, OFFLINE)
    const next = await createKey('second')
    suite.documents.set(address, setOf(next))
    const authentication = () => oauth.PrivateKeyJwt({ key: next.privateKey, kid: next.kid })
    // The suite waits for a minute; by then our own caches would be too old, which nobody fills by this clock.
    passTime(45_000)
    try {
      const tokens = await refresh(suite, { ...registered, authentication }, signedIn)
      expect(tokens.access_token).not.toBe(signedIn.tokens.access_token)
    } finally {
      vi.useRealTimers()
    }
  },

  'oidcc-request-uri-unsigned': async (suite) => {
    // The suite leaves it out where `none` is not among them; an app that asks for it may have it.
    expect(suite.metadata['request_object_signing_alg_values_supported']).not.toContain('none')
    const address = publish(suite, '')
    const registered = await register(suite, key, {
      request_uris: [address],
      request_object_signing_alg: 'none',
    })
    const request = authenticationRequest(suite, {}, registered.client)
    suite.documents.set(address, new UnsecuredJWT({ ...request }).encode())
    await expectAnswered(suite, registered, request, address)
  },

  'oidcc-request-uri-signed-rs256': async (suite) => {
    const address = publish(suite, '')
    const registered = await register(suite, key, {
      request_uris: [address],
      request_object_signing_alg: 'RS256',
    })
    const request = authenticationRequest(suite, {}, registered.client)
    const { issuer } = suite.metadata
    const object = new SignJWT({ ...request, iss: registered.client.client_id, aud: issuer })
    suite.documents.set(
      address,
      await object.setProtectedHeader({ alg: 'RS256', kid: key.kid }).sign(key.privateKey),
    )
    await expectAnswered(suite, registered, request, address)
  },

  'oidcc-ensure-request-object-with-redirect-uri': refusals['oidcc-ensure-request-object-with-redirect-uri'],

  'oidcc-refresh-token': async (suite) => {
    const [first, second] = [await register(suite, key, REFRESHING), await register(suite, key, REFRESHING)]
    const signedIn = await signIn(suite, first, OFFLINE)
    expect(signedIn.tokens.refresh_token).toMatch(/^[\x21-\x7e]+$/)
    await expect(refresh(suite, second, signedIn)).rejects.toMatchObject({ error: 'invalid_grant' })
    const tokens = await refresh(suite, first, signedIn)
    expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe(signedIn.claims.sub)
  },

  'oidcc-ensure-client-assertion-with-iss-aud-succeeds': async (suite) => {
    const issuer = (_header: object, payload: Record<string, oauth.JsonValue | undefined>) => {
      payload['aud'] = suite.metadata.issuer
    }
    const authentication = () =>
      oauth.PrivateKeyJwt({ key: key.privateKey, kid: key.kid }, { [oauth.modifyAssertion]: issuer })
    const { claims } = await signIn(suite, { ...(await register(suite, key)), authentication })
    expect(claims.nonce).toEqual(expect.any(String))
  },
} satisfies Checks
