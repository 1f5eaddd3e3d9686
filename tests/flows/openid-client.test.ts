/** client_credentials, introspection and revocation as `openid-client`, unmodified, does them. */
import * as client from 'openid-client'
import { expect, test } from 'vitest'
import { createClient } from '../support/clients.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'

const settings = { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }
const seed = { resources: [{ resource: 'https://books.example', scopes: ['read'] }] }
const server = await startServer(settings, { seed })

const METHODS = {
  'its default': undefined,
  client_secret_basic: client.ClientSecretBasic,
  client_secret_post: client.ClientSecretPost,
}

async function discover(url: string, id: string, secret: string, method?: keyof typeof METHODS) {
  const authentication = method === undefined ? undefined : METHODS[method]?.(secret)
  return client.discovery(new URL(url), id, secret, authentication, {
    execute: [client.allowInsecureRequests],
  })
}

test.each(Object.keys(METHODS) as (keyof typeof METHODS)[])(
  'with %s: a token comes, is introspected and given back',
  async (method) => {
    const service = await createClient(server, { scope: ['read', 'plain'] })
    const config = await discover(server.url, service.clientId, service.clientSecret, method)
    const parameters = { scope: 'read', resource: 'https://books.example' }
    const token = await client.clientCredentialsGrant(config, parameters)
    expect(token).toMatchObject({ token_type: 'bearer', scope: 'read' })
    expect(token.expiresIn()).toBeGreaterThan(3590)

    const told = await client.tokenIntrospection(config, token.access_token)
    expect(told).toMatchObject({ active: true, client_id: service.clientId, aud: 'https://books.example' })
    await client.tokenRevocation(config, token.access_token)
    expect(await client.tokenIntrospection(config, token.access_token)).toEqual({ active: false })
  },
)

test('an issuer with a path is discovered, by either document', async () => {
  const port = await freePort()
  const below = await startServer({ ...settings, PORT: port, OIDC_ISSUER: `http://127.0.0.1:${port}/auth` })
  const { clientId, clientSecret } = await createClient(below, { scope: ['read'] })
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const config = await client.discovery(new URL(below.url), clientId, clientSecret, undefined, {
      execute: [client.allowInsecureRequests],
      algorithm,
    })
    expect(config.serverMetadata().issuer).toBe(below.url)
    expect((await client.clientCredentialsGrant(config)).scope).toBe('read')
  }
})

test('a wrong secret is a challenge with status 401', async () => {
  const { clientId } = await createClient(server, { scope: ['read'] })
  const config = await discover(server.url, clientId, 'wrong', 'client_secret_post')
  const refused = client.clientCredentialsGrant(config)
  await expect(refused).rejects.toBeInstanceOf(client.WWWAuthenticateChallengeError)
})
