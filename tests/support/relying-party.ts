/** A web app as `openid-client`, unmodified, makes one: registered, discovered, and with a user who signs in to it. */
import * as client from 'openid-client'
import { createClient } from './clients.ts'
import type { TestServer } from './server.ts'
import { goThrough, REDIRECT_URI } from './sign-in.ts'
import { createUserAgent, type UserAgent } from './user-agent.ts'

type Parameters = Record<string, string>

/**
 * Registers an app with this metadata and discovers the server. Signatures are checked, since a test's connection
 * vouches for nothing.
 */
export async function createApp(
  server: TestServer,
  metadata: Record<string, unknown> = {},
): Promise<client.Configuration> {
  const registered = { redirect_uri: REDIRECT_URI, scope: ['read_books'], ...metadata }
  const { clientId, clientSecret } = await createClient(server, registered)
  const isPublic = metadata['token_endpoint_auth_method'] === 'none'
  const authentication = isPublic ? client.None() : client.ClientSecretBasic(clientSecret)
  return client.discovery(
    new URL(server.url),
    clientId,
    metadata as Partial<client.ClientMetadata>,
    authentication,
    {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    },
  )
}

/** Where the app sends its user. */
export function addressOf(config: client.Configuration, parameters: Parameters = {}): URL {
  return client.buildAuthorizationUrl(config, { redirect_uri: REDIRECT_URI, scope: 'openid', ...parameters })
}

/** The user signs in and allows; returns where the browser comes back to. */
export async function signInTo(
  config: client.Configuration,
  parameters: Parameters = {},
  agent: UserAgent = createUserAgent(config.serverMetadata().issuer),
): Promise<URL> {
  const page = await goThrough(agent, await agent.get(addressOf(config, parameters)))
  const location = page.headers.get('location')
  if (location === null) throw new Error(`no redirect: ${page.status} ${page.body}`)
  return new URL(location)
}

/** The same to the end, for an app that sends neither state nor PKCE. */
export async function getTokensFor(
  config: client.Configuration,
  parameters: Parameters = {},
  agent?: UserAgent,
): ReturnType<typeof client.authorizationCodeGrant> {
  return client.authorizationCodeGrant(config, await signInTo(config, parameters, agent))
}

/** A user signs in to an app that binds its code to a key from the start; `exchange` may be tried with others. */
export async function signInBound(config: client.Configuration) {
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'))
  const thief = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'))
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const back = await signInTo(config, {
    scope: 'openid read_books',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    dpop_jkt: await DPoP.calculateThumbprint(),
  })
  const exchange = async (options?: client.DPoPOptions) =>
    client.authorizationCodeGrant(config, back, { pkceCodeVerifier }, undefined, options)
  return { DPoP, thief, exchange }
}
