/** Signed requests as clients of others make them, unmodified: `openid-client` and `oauth4webapi`, pushed and by the browser. */
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { describe, expect, test } from 'vitest'
import { createAssertionKey } from '../support/client-assertions.ts'
import { signingApp } from '../support/request-objects.ts'
import { startServer } from '../support/server.ts'
import { goThrough, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const { jwk, privateKey } = await createAssertionKey()
const { client_secret: _none, ...keyless } = signingApp('fapi', { jwk })
const app = {
  ...keyless,
  token_endpoint_auth_method: 'private_key_jwt',
  require_signed_request_object: true,
  dpop_bound_access_tokens: true,
}
const server = await startServer({ OIDC_REQUIRE_DPOP_NONCE: true }, { seed: { ...SEED, clients: [app] } })
const issuer = new URL(server.url)
const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const key = { key: privateKey, kid: 'one' }

async function cameBack(url: URL): Promise<URL> {
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(url))
  return new URL(page.headers.get('location')!)
}

describe.each(['by the browser', 'pushed'])('openid-client: %s', (way) => {
  test('private_key_jwt, a signed request, PKCE, and DPoP with nonces, to tokens and their renewal', async () => {
    const execute = [openid.allowInsecureRequests, openid.enableNonRepudiationChecks]
    const config = await openid.discovery(issuer, 'fapi', undefined, openid.PrivateKeyJwt(key), { execute })
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()]
    const asked = {
      redirect_uri: REDIRECT_URI,
      scope: 'openid email',
      state: expectedState,
      nonce: expectedNonce,
      claims: JSON.stringify({ id_token: { name: { essential: true } } }),
      dpop_jkt: await DPoP.calculateThumbprint(),
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    }
    const signed = await openid.buildAuthorizationUrlWithJAR(config, asked, key)
    expect([...signed.searchParams.keys()].toSorted()).toEqual(['client_id', 'request'])
    const pushed = async () =>
      openid.buildAuthorizationUrlWithPAR(config, { request: signed.searchParams.get('request')! }, { DPoP })
    const back = await cameBack(way === 'pushed' ? await pushed() : signed)
    const checks = { pkceCodeVerifier, expectedState, expectedNonce }
    const tokens = await openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP })
    expect(tokens).toMatchObject({ token_type: 'dpop', scope: 'openid email' })
    expect(tokens.claims()).toHaveProperty('name')
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP })
    expect(renewed.token_type).toBe('dpop')
  })
})

test('oauth4webapi makes one, and its refusal comes to the app', async () => {
  const as = await oauth4webapi.processDiscoveryResponse(
    issuer,
    await oauth4webapi.discoveryRequest(issuer, insecure),
  )
  expect(as).toMatchObject({ request_parameter_supported: true, require_signed_request_object: false })
  const client = { client_id: 'fapi' }
  const issue = async (parameters: Record<string, string>): Promise<string> =>
    oauth4webapi.issueRequestObject(as, client, { response_type: 'code', ...parameters }, key)
  const at = (request: string): URL =>
    new URL(`${as.authorization_endpoint!}?${new URLSearchParams({ client_id: 'fapi', request }).toString()}`)
  const back = await cameBack(at(await issue({ redirect_uri: REDIRECT_URI, scope: 'openid', state: 'x' })))
  const parameters = oauth4webapi.validateAuthResponse(as, client, back, 'x')
  expect(parameters.get('code')).toMatch(/./)
  const refused = await cameBack(
    at(await issue({ redirect_uri: REDIRECT_URI, scope: 'nothing', state: 'x' })),
  )
  expect(() => oauth4webapi.validateAuthResponse(as, client, refused, 'x')).toThrow(
    expect.objectContaining({ error: 'invalid_scope' }) as Error,
  )
})
