/** The first lines of code that an app is given: by the method that it is registered for. */
import { decodeJwt, exportJWK } from 'jose'
import { expect, test } from 'vitest'
import { appSettings } from '../../../plugins/admin/clients/app-settings.ts'
import { assertionOf, createAssertionKey, serviceWith } from '../../support/client-assertions.ts'
import { startServer } from '../../support/server.ts'
import { runSnippet } from '../../support/snippets.ts'
import { CIBA, DEVICE_CODE } from '../../../src/services/clients/client-kinds.ts'
import { isThere } from '../../support/left-out.ts'

test.each([
  [undefined, 'client.ClientSecretBasic(env.OIDC_CLIENT_SECRET)'],
  ['client_secret_basic', 'client.ClientSecretBasic(env.OIDC_CLIENT_SECRET)'],
  ['client_secret_post', 'client.ClientSecretPost(env.OIDC_CLIENT_SECRET)'],
  ['client_secret_jwt', 'client.ClientSecretJwt(env.OIDC_CLIENT_SECRET)'],
  ['none', 'client.None()'],
  ['private_key_jwt', 'client.PrivateKeyJwt({ key, kid })'],
  ['tls_client_auth', 'client.TlsClientAuth()'],
  ['self_signed_tls_client_auth', 'client.TlsClientAuth()'],
])('%s: %s', (method, authentication) => {
  const metadata = method === undefined ? {} : { token_endpoint_auth_method: method }
  const { snippet, env } = appSettings('https://login.example.com', { client_id: 'app', ...metadata })
  expect(snippet).toContain(authentication)
  expect(env.includes('OIDC_CLIENT_SECRET=')).toBe(method === undefined || method.startsWith('client_secret'))
})

test.each([
  ['the code', ['authorization_code', 'refresh_token', DEVICE_CODE], ['code'], ['buildAuthorizationUrl']],
  [
    'a device',
    [DEVICE_CODE, 'refresh_token'],
    [],
    ['initiateDeviceAuthorization', 'pollDeviceAuthorizationGrant'],
  ],
  ['CIBA', [CIBA], [], ['initiateBackchannelAuthentication', 'pollBackchannelAuthenticationGrant']],
  ['a service', ['client_credentials'], [], ['clientCredentialsGrant']],
  ['what another gave it', ['urn:ietf:params:oauth:grant-type:token-exchange'], [], []],
])('%s: only by a grant that it may use', (_what, grant_types, response_types, calls) => {
  const app = { client_id: 'app', scope: ['openid', 'read'], grant_types, response_types }
  const { snippet } = appSettings('https://login.example.com', app)
  const [, use = ''] = snippet.split('\n)\n')
  const called = [...use.matchAll(/client\.(initiate\w+|poll\w+|\w+Grant|build\w+)\(config/g)]
  expect(called.map(([, name]) => name).filter((name) => name !== 'authorizationCodeGrant')).toEqual(calls)
  expect(use.includes("'openid read'")).toBe(!response_types.includes('code') && /initiate/.test(use))
})

test.each([undefined, 'none', 'private_key_jwt', 'tls_client_auth', 'federated_jwt'])(
  '%s: no line is longer than the box that it stands in',
  (token_endpoint_auth_method) => {
    const kinds = [['authorization_code'], [DEVICE_CODE], [CIBA], ['client_credentials']]
    const lines = kinds.flatMap((grant_types) => {
      const response_types = grant_types.includes('authorization_code') ? ['code'] : []
      const app = { client_id: 'app', grant_types, response_types, token_endpoint_auth_method }
      return appSettings('http://localhost:3000', app as never).snippet.split('\n')
    })
    expect(lines.filter((line) => line.length > 78)).toEqual([])
  },
)

test.runIf(isThere('latchkey-federated-jwt'))(
  'a service goes on by its key, or by what its platform says, with the code as it stands there',
  async () => {
    const [own, platform] = [await createAssertionKey(), await createAssertionKey('platform')]
    const issuer = 'https://platform.example'
    const service = { grant_types: ['client_credentials'], scope: ['read'] }
    const clients = [
    serviceWith('by-key', own.jwk),
    { ...service, client_id: 'by-platform', token_endpoint_auth_method: 'federated_jwt', federated_identity: { issuer, subject: 'job' } },
  ] // prettier-ignore
    const server = await startServer(
      {},
      { seed: { clients, trusted_issuers: [{ issuer, jwks: { keys: [platform.jwk] }, reusable: true }] } },
    )
    const settingsOf = async (id: string) =>
      appSettings(server.url, (await server.server.oauth.clients.find(id))!)
    const privateJwk = JSON.stringify({ ...(await exportJWK(own.privateKey)), kid: own.kid })
    const token = await assertionOf(platform, 'job', server.url, { iss: issuer, jti: undefined })
    const got = [
      await runSnippet(await settingsOf('by-key'), { 'private.json': privateJwk }),
      await runSnippet(await settingsOf('by-platform'), { token }, { OIDC_WORKLOAD_TOKEN: 'token' }),
    ]
    expect(got.map((one) => decodeJwt(one)['client_id'])).toEqual(['by-key', 'by-platform'])
  },
)
