/** Pushed authorization requests as clients of others speak them, unmodified: `openid-client` and `oauth4webapi`. */
import { exportJWK, generateKeyPair } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { describe, expect, test } from 'vitest'
import { PUBLIC } from '../support/pushed.ts'
import { startServer } from '../support/server.ts'
import { goThrough, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
const { client_secret: _none, ...keyless } = WEB
const SIGNING = {
  ...keyless,
  client_id: 'signing',
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] },
  require_pushed_authorization_requests: true,
}
const server = await startServer({}, { seed: { ...SEED, clients: [WEB, PUBLIC, SIGNING] } })
const issuer = new URL(server.url)
const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const as = await oauth4webapi.processDiscoveryResponse(
  issuer,
  await oauth4webapi.discoveryRequest(issuer, insecure),
)

async function discover(id: string, authentication: openid.ClientAuth): Promise<openid.Configuration> {
  const execute = [openid.allowInsecureRequests, openid.enableNonRepudiationChecks]
  return openid.discovery(issuer, id, undefined, authentication, { execute })
}

/** Signs in with what was pushed; returns where the browser comes back to. */
async function cameBack(url: URL): Promise<URL> {
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(url))
  return new URL(page.headers.get('location')!)
}

const AUDIENCES: [string, string][] = [
  ['the issuer', server.url],
  ['the token endpoint', `${server.url}/token`],
  ['where it pushes (RFC 9126 section 2)', `${server.url}/par`],
]

describe.each<[string, string, openid.ClientAuth]>([
  ['Basic', 'web', openid.ClientSecretBasic(WEB.client_secret)],
  ['a secret in the form', 'web', openid.ClientSecretPost(WEB.client_secret)],
  ['nothing', 'public', openid.None()],
  ...AUDIENCES.map(([what, aud]): [string, string, openid.ClientAuth] => [
    `an assertion for ${what}`,
    'signing',
    openid.PrivateKeyJwt(
      { key: privateKey, kid: 'one' },
      { [openid.modifyAssertion]: (_header, claims) => void (claims['aud'] = aud) },
    ),
  ]),
])('openid-client with %s', (_how, id, authentication) => {
  test('pushes, sends its user with a reference alone, and gets tokens', async () => {
    const config = await discover(id, authentication)
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()]
    const url = await openid.buildAuthorizationUrlWithPAR(config, {
      redirect_uri: REDIRECT_URI,
      scope: 'openid email',
      state: expectedState,
      nonce: expectedNonce,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    expect([...url.searchParams.keys()].toSorted()).toEqual(['client_id', 'request_uri'])
    const checks = { pkceCodeVerifier, expectedState, expectedNonce }
    const tokens = await openid.authorizationCodeGrant(config, await cameBack(url), checks)
    expect(tokens.scope).toBe('openid email')
  })
})

test('an assertion for somebody else is not good', async () => {
  const elsewhere = openid.PrivateKeyJwt(
    { key: privateKey, kid: 'one' },
    { [openid.modifyAssertion]: (_header, claims) => void (claims['aud'] = `${server.url}/userinfo`) },
  )
  const asked = { redirect_uri: REDIRECT_URI, scope: 'openid' }
  const pushing = openid.buildAuthorizationUrlWithPAR(await discover('signing', elsewhere), asked)
  await expect(pushing).rejects.toMatchObject({ status: 401 })
})

test('openid-client: a key that is shown with it binds the code, with nonces and without', async () => {
  const strict = await startServer({ OIDC_REQUIRE_DPOP_NONCE: true }, { seed: SEED })
  for (const { url: at } of [server, strict]) {
    const config = await openid.discovery(
      new URL(at), 'web', undefined, openid.ClientSecretBasic(WEB.client_secret), { execute: [openid.allowInsecureRequests] },
    ) // prettier-ignore
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
    const asked = { redirect_uri: REDIRECT_URI, scope: 'openid' }
    const url = await openid.buildAuthorizationUrlWithPAR(config, asked, { DPoP })
    const agent = createUserAgent(at)
    const page = await goThrough(agent, await agent.get(url))
    const back = new URL(page.headers.get('location')!)
    await expect(openid.authorizationCodeGrant(config, back)).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    const tokens = await openid.authorizationCodeGrant(config, back, {}, undefined, { DPoP })
    expect(tokens.token_type).toBe('dpop')
  }
})

test('oauth4webapi pushes by what the metadata says, and reads the errors', async () => {
  expect(as.pushed_authorization_request_endpoint).toBe(`${server.url}/par`)
  const client = { client_id: 'signing' }
  const auth = oauth4webapi.PrivateKeyJwt({ key: privateKey, kid: 'one' })
  const verifier = oauth4webapi.generateRandomCodeVerifier()
  const form = {
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'openid',
    code_challenge: await oauth4webapi.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  const asked = await oauth4webapi.pushedAuthorizationRequest(as, client, auth, form, insecure)
  const told = await oauth4webapi.processPushedAuthorizationResponse(as, client, asked)
  const query = new URLSearchParams({ client_id: 'signing', request_uri: told.request_uri })
  const back = await cameBack(new URL(`${as.authorization_endpoint!}?${query.toString()}`))
  const parameters = oauth4webapi.validateAuthResponse(as, client, back, oauth4webapi.expectNoState)
  const exchanged = await oauth4webapi.authorizationCodeGrantRequest(
    as, client, auth, parameters, REDIRECT_URI, verifier, insecure,
  ) // prettier-ignore
  const tokens = await oauth4webapi.processAuthorizationCodeResponse(as, client, exchanged, {
    requireIdToken: true,
  })
  expect(tokens.id_token).toMatch(/./)

  const wrong = { ...form, redirect_uri: 'https://evil.example/' }
  const refused = await oauth4webapi.pushedAuthorizationRequest(as, client, auth, wrong, insecure)
  await expect(oauth4webapi.processPushedAuthorizationResponse(as, client, refused)).rejects.toMatchObject({
    status: 400,
    error: 'invalid_request',
  })
})
