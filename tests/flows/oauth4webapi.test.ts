/** client_credentials, introspection and revocation as `oauth4webapi`, unmodified, does them and checks them. */
import * as oauth from 'oauth4webapi'
import { beforeAll, describe, expect, test } from 'vitest'
import { createClient, statusWith, type TestClient } from '../support/clients.ts'
import { startServer } from '../support/server.ts'

/** The server of a test has no TLS. */
const insecure = { [oauth.allowInsecureRequests]: true }
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  { extend: (one) => one.get('/books', { config: { scope: 'read' } }, async () => ({ books: [] })) },
)
let as: oauth.AuthorizationServer

beforeAll(async () => {
  const issuer = new URL(server.url)
  const discovered = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' })
  as = await oauth.processDiscoveryResponse(issuer, discovered)
})

async function getToken(
  client: oauth.Client,
  auth: oauth.ClientAuth,
  parameters: Record<string, string> = {},
): Promise<oauth.TokenEndpointResponse> {
  const response = await oauth.clientCredentialsGrantRequest(as, client, auth, parameters, insecure)
  return oauth.processClientCredentialsResponse(as, client, response)
}

test('both documents are found and name this issuer', async () => {
  const issuer = new URL(server.url)
  const response = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oidc' })
  expect(await oauth.processDiscoveryResponse(issuer, response)).toEqual(as)
})

describe.each([
  ['client_secret_basic', undefined],
  ['client_secret_post', undefined],
  ['client_secret_basic', 'client_secret_basic'],
  ['client_secret_post', 'client_secret_post'],
])('with %s, registered as %s', (method, registered) => {
  let service: TestClient
  let client: oauth.Client
  let auth: oauth.ClientAuth

  beforeAll(async () => {
    const metadata = { scope: ['read', 'write'], client_secret: `s:e+c r%41t/${method}&=~é` }
    service = await createClient(server, {
      ...metadata,
      ...(registered === undefined ? {} : { token_endpoint_auth_method: registered }),
    })
    client = { client_id: service.clientId }
    auth =
      method === 'client_secret_basic'
        ? oauth.ClientSecretBasic(service.clientSecret)
        : oauth.ClientSecretPost(service.clientSecret)
  })

  test('a token comes, is used, introspected and given back', async () => {
    const token = await getToken(client, auth, { scope: 'read' })
    expect(token).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'read' })

    const books = new URL(`${server.url}/books`)
    const used = await oauth.protectedResourceRequest(
      token.access_token,
      'GET',
      books,
      new Headers(),
      null,
      insecure,
    )
    expect(used.status).toBe(200)

    const asked = await oauth.introspectionRequest(as, client, auth, token.access_token, insecure)
    const told = await oauth.processIntrospectionResponse(as, client, asked)
    expect(told).toMatchObject({ active: true, client_id: service.clientId, scope: 'read' })

    const revoked = await oauth.revocationRequest(as, client, auth, token.access_token, insecure)
    await oauth.processRevocationResponse(revoked)
    expect(await statusWith(server, '/books', token.access_token)).toBe(401)
    const again = await oauth.introspectionRequest(as, client, auth, token.access_token, insecure)
    expect(await oauth.processIntrospectionResponse(as, client, again)).toEqual({ active: false })
  })

  test('its own check of our access token passes', async () => {
    const { access_token } = await getToken(client, auth)
    const request = new Request(`${server.url}/books`, {
      headers: { authorization: `Bearer ${access_token}` },
    })
    const claims = await oauth.validateJwtAccessToken(as, request, server.url, insecure)
    expect(claims).toMatchObject({ client_id: service.clientId, scope: 'read write', iss: server.url })
  })
})

test('a wrong secret reaches the caller as a challenge it can read', async () => {
  const { clientId } = await createClient(server, { scope: ['read'] })
  const refused = getToken({ client_id: clientId }, oauth.ClientSecretBasic('wrong'))
  const error = await refused.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(oauth.WWWAuthenticateChallengeError)
  expect((error as oauth.WWWAuthenticateChallengeError).cause[0]?.scheme).toBe('basic')
})

test('a refused scope reaches the caller as the error of the protocol', async () => {
  const { clientId, clientSecret } = await createClient(server, { scope: ['read'] })
  const refused = getToken({ client_id: clientId }, oauth.ClientSecretPost(clientSecret), { scope: 'write' })
  const error = await refused.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(oauth.ResponseBodyError)
  expect(error).toMatchObject({ error: 'invalid_scope', status: 400 })
})

test('a refusal by a guarded route reaches the caller with its scope', async () => {
  const { clientId, clientSecret } = await createClient(server, { scope: ['else'] })
  const { access_token } = await getToken({ client_id: clientId }, oauth.ClientSecretPost(clientSecret))
  const books = new URL(`${server.url}/books`)
  const refused = oauth.protectedResourceRequest(access_token, 'GET', books, new Headers(), null, insecure)
  const error = (await refused.catch((thrown: unknown) => thrown)) as oauth.WWWAuthenticateChallengeError
  expect(error.status).toBe(403)
  expect(error.cause[0]).toMatchObject({
    scheme: 'bearer',
    parameters: { error: 'insufficient_scope', scope: 'read' },
  })
})
