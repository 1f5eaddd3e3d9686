/**
 * DPoP as clients of others speak it, unmodified: `oauth4webapi` and `openid-client` get, use and renew tokens, with nonces and
 * without, here and at an API of its own.
 */
import Fastify from 'fastify'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { describe, expect, test } from 'vitest'
import requireScope, { dpop } from '../../plugins/require-scope/index.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createClient } from '../support/clients.ts'
import { createApp, signInBound, signInTo } from '../support/relying-party.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { SEED } from '../support/sign-in.ts'

const insecure = { [oauth4webapi.allowInsecureRequests]: true }
const free = await startServer({}, { seed: SEED })
const strict = await startServer({ OIDC_REQUIRE_DPOP_NONCE: true }, { seed: SEED })
const SERVERS: [string, TestServer][] = [
  ['no nonces', free],
  ['nonces', strict],
]

/** An API of somebody else's that takes bound tokens of this server alone. */
async function startApi({ url }: TestServer, nonceSecret?: string): Promise<URL> {
  const api = Fastify()
  atEndOfFile(async () => api.close())
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const senderConstraints = [dpop({ origin, required: true, nonceSecret })]
  await api.register(requireScope, { issuer: url, senderConstraints })
  api.get('/books', { config: { scope: 'read_books' } }, async ({ token }) => ({ reader: token.subject }))
  await api.listen({ host: '127.0.0.1', port })
  return new URL('/books', origin)
}

describe.each(SERVERS)('%s', (what, server) => {
  const apiNonces = what === 'nonces' ? 'n'.repeat(32) : undefined

  test('openid-client: code, userinfo, refresh, and an API, by an app without a secret', async () => {
    const config = await createApp(server, { token_endpoint_auth_method: 'none' })
    const { DPoP, thief, exchange } = await signInBound(config)
    for (const options of [undefined, { DPoP: thief }])
      await expect(exchange(options)).rejects.toMatchObject({ error: 'invalid_grant' })
    const tokens = await exchange({ DPoP })
    expect(tokens.token_type).toBe('dpop')
    const { sub } = tokens.claims()!

    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP })
    expect(renewed).toMatchObject({ token_type: 'dpop', refresh_token: tokens.refresh_token })
    await expect(
      openid.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP: thief }),
    ).rejects.toMatchObject({ error: 'invalid_grant' })

    const api = await startApi(server, apiNonces)
    for (const { access_token: token } of [tokens, renewed]) {
      expect(await openid.fetchUserInfo(config, token, sub, { DPoP })).toMatchObject({ sub })
      await expect(openid.fetchUserInfo(config, token, sub)).rejects.toMatchObject({ status: 401 })
      const used = async (options?: openid.DPoPOptions): Promise<number> =>
        openid.fetchProtectedResource(config, token, api, 'GET', undefined, undefined, options).then(
          ({ status }) => status,
          ({ status }: openid.WWWAuthenticateChallengeError) => status,
        )
      expect([await used({ DPoP }), await used({ DPoP: thief }), await used()]).toEqual([200, 401, 401])
    }
  })

  test('openid-client: a web app with a secret refreshes by one token, with whichever key', async () => {
    const config = await createApp(server, { dpop_bound_access_tokens: true })
    const [DPoP, next] = [
      openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('Ed25519')),
      openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('PS256')),
    ]
    const back = await signInTo(config, { scope: 'openid read_books' })
    await expect(openid.authorizationCodeGrant(config, back)).rejects.toMatchObject({
      error: 'invalid_dpop_proof',
    })
    const tokens = await openid.authorizationCodeGrant(config, back, {}, undefined, { DPoP })
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token!, undefined, { DPoP: next })
    expect(renewed).toMatchObject({ token_type: 'dpop', refresh_token: tokens.refresh_token })
    const { sub } = tokens.claims()!
    expect(await openid.fetchUserInfo(config, renewed.access_token, sub, { DPoP: next })).toMatchObject({
      sub,
    })
    await expect(openid.fetchUserInfo(config, renewed.access_token, sub, { DPoP })).rejects.toMatchObject({
      status: 401,
    })
  })

  test('oauth4webapi: a service gets tokens of its own and uses them at an API', async () => {
    const { clientId, clientSecret } = await createClient(server, { scope: ['read_books'] })
    const issuer = new URL(server.url)
    const found = await oauth4webapi.discoveryRequest(issuer, insecure)
    const as = await oauth4webapi.processDiscoveryResponse(issuer, found)
    expect(as.dpop_signing_alg_values_supported).toContain('ES256')
    const client = { client_id: clientId }
    const DPoP = oauth4webapi.DPoP({}, await oauth4webapi.generateKeyPair('ES256'))
    const authentication = oauth4webapi.ClientSecretBasic(clientSecret)
    /** As its documentation has it: once more where a nonce is wanted. */
    const withNonce = async <T>(work: () => Promise<T>): Promise<T> =>
      work().catch(async (error: unknown) => {
        if (!oauth4webapi.isDPoPNonceError(error)) throw error
        return work()
      })
    const tokens = await withNonce(async () => {
      const sent = [as, client, authentication, new URLSearchParams(), { DPoP, ...insecure }] as const
      const response = await oauth4webapi.clientCredentialsGrantRequest(...sent)
      return oauth4webapi.processClientCredentialsResponse(as, client, response)
    })
    expect(tokens.token_type).toBe('dpop')
    const api = await startApi(server, apiNonces)
    const options = { DPoP, ...insecure }
    for (let times = 0; times < 3; times++) {
      const response = await withNonce(async () =>
        oauth4webapi.protectedResourceRequest(tokens.access_token, 'GET', api, undefined, undefined, options),
      )
      expect([response.status, await response.json()]).toEqual([200, { reader: clientId }])
    }
    const bare = oauth4webapi.protectedResourceRequest(
      tokens.access_token, 'GET', api, undefined, undefined, insecure,
    ) // prettier-ignore
    const { status, cause } = (await bare.catch((error: unknown) => error)) as InstanceType<
      typeof oauth4webapi.WWWAuthenticateChallengeError
    >
    expect([status, cause.map(({ scheme }) => scheme)]).toEqual([401, ['dpop']])
  })
})
