/**
 * FAPI 2.0 with Message Signing as clients of others speak it, unmodified, with all of it at once: private_key_jwt, a signed request that is
 * pushed, with details of what is asked for (RFC 9396), an answer in a JWT, DPoP with nonces, and an ID token that is encrypted.
 */
import { decodeJwt, exportJWK, generateKeyPair } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { expect, test } from 'vitest'
import { addBank, PAYMENT } from '../support/bank.ts'
import { createAssertionKey } from '../support/client-assertions.ts'
import { startServer } from '../support/server.ts'
import { ALICE, goThrough, REDIRECT_URI } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const SCOPES = [{ name: 'read_books' }]
const insecure = { [oauth.allowInsecureRequests]: true }
const { privateKey, jwk } = await createAssertionKey('one', 'ES256')
const encryption = await generateKeyPair('ECDH-ES', { extractable: true })
const encryptionJwk = { ...(await exportJWK(encryption.publicKey)), kid: 'sealed', use: 'enc' }
const key = { key: privateKey, kid: 'one' }
const BANK = {
  client_id: 'bank',
  token_endpoint_auth_method: 'private_key_jwt',
  redirect_uris: [REDIRECT_URI],
  scope: ['read_books'],
  jwks: { keys: [jwk, encryptionJwk] },
  require_signed_request_object: true,
  dpop_bound_access_tokens: true,
  authorization_details_types: ['payment'],
}
const SEALED = {
  ...BANK,
  client_id: 'sealed',
  id_token_encrypted_response_alg: 'ECDH-ES',
  id_token_encrypted_response_enc: 'A256GCM',
}

const server = await startServer(
  { OIDC_PROFILE: 'fapi-2.0', OIDC_REQUIRE_DPOP_NONCE: true },
  { seed: { users: [ALICE], scopes: SCOPES, clients: [BANK, SEALED] }, extend: addBank },
)
const issuer = new URL(server.url)
const DETAILS = JSON.stringify([PAYMENT])

async function cameBack(address: URL): Promise<URL> {
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(address))
  return new URL(page.headers.get('location')!)
}

test('oauth4webapi', async () => {
  const found = await oauth.discoveryRequest(issuer, insecure)
  const as = await oauth.processDiscoveryResponse(issuer, found)
  const client = {
    client_id: 'bank',
    id_token_signed_response_alg: 'ES256',
    authorization_signed_response_alg: 'ES256',
    use_mtls_endpoint_aliases: false,
  }
  const authentication = oauth.PrivateKeyJwt(key)
  const DPoP = oauth.DPoP({}, await oauth.generateKeyPair('ES256'))
  /** As its documentation has it: once more where a nonce is wanted. */
  const withNonce = async <T>(work: () => Promise<T>): Promise<T> =>
    work().catch(async (error: unknown) => {
      if (!oauth.isDPoPNonceError(error)) throw error
      return work()
    })
  const verifier = oauth.generateRandomCodeVerifier()
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
  const asked = {
    response_type: 'code',
    response_mode: 'jwt',
    redirect_uri: REDIRECT_URI,
    scope: 'openid read_books',
    authorization_details: DETAILS,
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  const { request_uri } = await withNonce(async () => {
    const form = { request: await oauth.issueRequestObject(as, client, asked, key) }
    const response = await oauth.pushedAuthorizationRequest(as, client, authentication, form, {
      DPoP,
      ...insecure,
    })
    return oauth.processPushedAuthorizationResponse(as, client, response)
  })
  const query = new URLSearchParams({ client_id: 'bank', request_uri })
  const back = await cameBack(new URL(`${as.authorization_endpoint!}?${query.toString()}`))
  expect([...back.searchParams.keys()]).toEqual(['response'])
  const callback = await oauth.validateJwtAuthResponse(as, client, back, state, insecure)
  const options = { DPoP, ...insecure }
  const tokens = await withNonce(async () => {
    const response = await oauth.authorizationCodeGrantRequest(
      as, client, authentication, callback, REDIRECT_URI, verifier, options,
    ) // prettier-ignore
    const read = { expectedNonce: nonce, requireIdToken: true }
    const judged = await oauth.processAuthorizationCodeResponse(as, client, response, read)
    await oauth.validateApplicationLevelSignature(as, response, insecure)
    return judged
  })
  expect(tokens).toMatchObject({ token_type: 'dpop', authorization_details: [PAYMENT] })
  expect(decodeJwt(tokens.access_token)['authorization_details']).toEqual([PAYMENT])
  const { sub } = oauth.getValidatedIdTokenClaims(tokens)!
  await withNonce(async () => {
    const response = await oauth.userInfoRequest(as, client, tokens.access_token, options)
    return oauth.processUserInfoResponse(as, client, sub, response)
  })
  const renewed = await withNonce(async () => {
    const response = await oauth.refreshTokenGrantRequest(
      as,
      client,
      authentication,
      tokens.refresh_token!,
      options,
    )
    return oauth.processRefreshTokenResponse(as, client, response)
  })
  expect(renewed.token_type).toBe('dpop')
})

test.each(['bank', 'sealed'])('openid-client: %s', async (client_id) => {
  const isSealed = client_id === 'sealed'
  const execute = [openid.allowInsecureRequests, openid.enableNonRepudiationChecks, openid.useJwtResponseMode]
  const metadata = { id_token_signed_response_alg: 'ES256', authorization_signed_response_alg: 'ES256' }
  const config = await openid.discovery(issuer, client_id, metadata, openid.PrivateKeyJwt(key), { execute })
  if (isSealed)
    openid.enableDecryptingResponses(config, ['A256GCM'], {
      key: encryption.privateKey,
      kid: 'sealed',
      alg: 'ECDH-ES',
    })
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()]
  const signed = await openid.buildAuthorizationUrlWithJAR(
    config,
    {
      redirect_uri: REDIRECT_URI,
      scope: 'openid read_books',
      authorization_details: DETAILS,
      state: expectedState,
      nonce: expectedNonce,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    },
    key,
  )
  const request = signed.searchParams.get('request')!
  const back = await cameBack(await openid.buildAuthorizationUrlWithPAR(config, { request }, { DPoP }))
  expect([...back.searchParams.keys()]).toEqual(['response'])
  const checks = { pkceCodeVerifier, expectedState, expectedNonce }
  const tokens = await openid.authorizationCodeGrant(config, back, checks, undefined, { DPoP })
  expect(tokens).toMatchObject({ token_type: 'dpop', authorization_details: [PAYMENT] })
  expect(tokens.id_token!.split('.')).toHaveLength(isSealed ? 5 : 3)
  const { sub } = tokens.claims()!
  expect(await openid.fetchUserInfo(config, tokens.access_token, sub, { DPoP })).toMatchObject({ sub })
})
