/** Clients that behave: what the metadata promises them, and the flows that must succeed, also where little is odd about them. */
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import { expect } from 'vitest'
import { createUserAgent } from '../../../support/user-agent.ts'
import { CLAIMS, PERSON } from '../../suite.ts'
import { use } from '../back-channel.ts'
import type { FapiChecks } from '../plan.ts'
import {
  addressOf,
  ask,
  authenticate,
  callbackIn,
  errorIn,
  getToken,
  push,
  referenceIn,
  visit,
} from '../relying-party.ts'
import { ALGORITHMS, type FapiSuite } from '../suite.ts'

const containing = (...values: readonly string[]): unknown => expect.arrayContaining([...values])

/** Of its claims, `name` in the ID token of a request with these parameters. */
async function claimIn(suite: FapiSuite, name: string, parameters: Record<string, string | undefined>) {
  const { tokens } = await authenticate(suite, ask(suite, parameters))
  return oauth.getValidatedIdTokenClaims(tokens)![name]
}

async function expectOwnToken(suite: FapiSuite): Promise<void> {
  for (const client of [suite.first, suite.second]) {
    const token = await getToken(suite, client)
    expect(decodeJwt(token)).toMatchObject({ sub: client.client_id, client_id: client.client_id })
    expect((await use(suite, token, { client })).status).toBe(200)
    expect((await use(suite, token, { client, proof: null, certificate: null })).status).toBe(401)
  }
}

export const flow = {
  'discovery-end-point-verification': async ({ server, metadata, isOpenid, isAnsweredInJwt }) => {
    const { url } = server
    const documents = ['openid-configuration', 'oauth-authorization-server'].map(
      async (name) => (await server.get(`/.well-known/${name}`)).json() as Promise<Record<string, unknown>>,
    )
    const [document, other] = await Promise.all(documents)
    expect(other).toEqual(document)
    expect(document).toMatchObject({
      issuer: url,
      pushed_authorization_request_endpoint: `${url}/par`,
      require_pushed_authorization_requests: true,
      authorization_response_iss_parameter_supported: true,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: containing(
        'private_key_jwt',
        'tls_client_auth',
        'self_signed_tls_client_auth',
      ),
      tls_client_certificate_bound_access_tokens: true,
      mtls_endpoint_aliases: {
        token_endpoint: 'https://mtls.suite.example/token',
        pushed_authorization_request_endpoint: 'https://mtls.suite.example/par',
        userinfo_endpoint: 'https://mtls.suite.example/userinfo',
      },
      grant_types_supported: containing('authorization_code', 'refresh_token', 'client_credentials'),
      claims_parameter_supported: true,
    })
    for (const member of [
      'token_endpoint_auth',
      'id_token',
      'request_object',
      'authorization',
      'userinfo',
      'dpop',
    ]) {
      const algorithms = document![`${member}_signing_alg_values_supported`] as string[]
      expect([member, algorithms]).toEqual([member, containing('ES256')])
      expect([member, algorithms.filter((one) => !ALGORITHMS.includes(one))]).toEqual([member, []])
    }
    expect(metadata.dpop_signing_alg_values_supported).toEqual(containing('ES256', 'PS256', 'EdDSA'))
    expect(metadata.dpop_signing_alg_values_supported).not.toContain('RS256')
    if (isOpenid) expect(metadata.scopes_supported).toContain('openid')
    if (isAnsweredInJwt) expect(metadata.response_modes_supported).toContain('jwt')
  },

  'happy-flow': async (suite) => {
    if (suite.isOwn) return expectOwnToken(suite)
    for (const client of [suite.first, suite.second]) {
      const asked = ask(suite, {}, client)
      const { tokens } = await authenticate(suite, asked)
      const { access_token: token } = tokens
      const owner = { client }
      const other = client === suite.first ? suite.second : suite.first
      expect((await use(suite, token, owner)).status).toBe(200)
      if (suite.isOpenid) expect((await use(suite, token, { ...owner, path: '/userinfo' })).status).toBe(200)
      // Stolen, it is good for nobody: not with what another holds, and not with nothing.
      expect((await use(suite, token, { client: other })).status).toBe(401)
      expect((await use(suite, token, { ...owner, proof: null, certificate: null })).status).toBe(401)
      expect((await suite.server.get(`/accounts?access_token=${token}`)).status).toBe(401)
    }
  },

  'user-rejects-authentication': async (suite) => {
    for (const client of [suite.first, suite.second]) {
      const asked = ask(suite, { prompt: 'consent' }, client)
      const request_uri = await referenceIn(suite, asked, await push(suite, asked))
      await authenticate(suite, ask(suite, {}, client))
      const page = await suite.agent.get(addressOf(suite, asked, request_uri))
      const denied = await suite.agent.submit(page, 'consent', { decision: 'deny' })
      expect(await errorIn(suite, asked, denied)).toBe('access_denied')
    }
  },

  'ensure-authorization-request-without-state-success': async (suite) => {
    const { callback, tokens } = await authenticate(suite, ask(suite, { state: undefined }))
    expect(callback.has('state')).toBe(false)
    if (suite.isOpenid) expect(oauth.getValidatedIdTokenClaims(tokens)).not.toHaveProperty('s_hash')
  },

  'ensure-authorization-request-without-nonce-success': async (suite) => {
    expect(await claimIn(suite, 'nonce', { nonce: undefined })).toBeUndefined()
  },

  'ensure-authorization-request-with-64-char-nonce-success': async (suite) => {
    const nonce = 'n0-'.repeat(22).slice(0, 64)
    expect(await claimIn(suite, 'nonce', { nonce })).toBe(nonce)
  },

  'ensure-authorization-request-with-long-nonce': async (suite) => {
    const nonce = 'long'.repeat(96)
    expect(await claimIn(suite, 'nonce', { nonce })).toBe(nonce)
  },

  'ensure-authorization-request-with-long-state': async (suite) => {
    const state = 'long'.repeat(96)
    const { callback } = await authenticate(suite, ask(suite, { state }))
    expect(callback.get('state')).toBe(state)
  },

  'ensure-other-scope-order-succeeds': async (suite) => {
    const { tokens } = await authenticate(suite, ask(suite, { scope: 'accounts openid' }))
    expect((await use(suite, tokens.access_token)).status).toBe(200)
  },

  'test-claims-parameter-identity-claims': async (suite) => {
    const essential = { essential: true }
    const name = { name: essential, email: null, unknown: essential }
    const claims = JSON.stringify({
      id_token: name,
      userinfo: { ...name, birthdate: { value: '1900-01-01' } },
    })
    const { tokens } = await authenticate(suite, ask(suite, { claims }))
    const told = oauth.getValidatedIdTokenClaims(tokens)!
    expect(told).toMatchObject({ name: CLAIMS.name, email: CLAIMS.email })
    const userinfo = (await (await use(suite, tokens.access_token, { path: '/userinfo' })).json()) as object
    expect(userinfo).toMatchObject({ sub: told.sub, name: PERSON.name, email: PERSON.email })
    for (const document of [told, userinfo]) expect(document).not.toHaveProperty('unknown')
  },

  'access-token-type-header-case-sensitivity': async (suite) => {
    const token = await getToken(suite)
    const schemes =
      suite.constraint === 'dpop' ? ['DPoP', 'dpop', 'DPOP', 'dPoP'] : ['Bearer', 'bearer', 'BEARER']
    for (const scheme of schemes)
      expect([scheme, (await use(suite, token, { scheme })).status]).toEqual([scheme, 200])
  },

  'par-without-duplicate-parameters': async (suite) => {
    const asked = ask(suite)
    const request_uri = await referenceIn(suite, asked, await push(suite, asked))
    const address = addressOf(suite, asked, request_uri)
    expect([...new URL(address).searchParams.keys()]).toEqual(['client_id', 'request_uri'])
    expect((await callbackIn(suite, asked, await visit(suite, address))).get('code')).not.toBeNull()
  },

  'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds': async (suite) => {
    const asked = ask(suite)
    const address = addressOf(suite, asked, await referenceIn(suite, asked, await push(suite, asked)))
    // Somebody looks at the page and goes away, as a crawler does; the person then comes with another browser.
    for (let times = 0; times < 2; times++)
      expect((await createUserAgent(suite.server.url).get(address)).body).toContain('id="login"')
    const page = await visit(suite, address)
    expect((await callbackIn(suite, asked, page)).get('code')).not.toBeNull()
  },
} satisfies FapiChecks
