// Owns the peer: npm oidc-provider as its documentation configures it, with clients and the one user from memory,
// ES256 unless a client asks for RS256, and no request log. Some clients get JWT access tokens, others opaque ones.
// Its development pages sign anybody in: they serve only to get codes outside the measurement.

import { exportJWK, generateKeyPair } from 'jose'
import { Provider } from 'oidc-provider'
import { Pool } from 'pg'
import { createTable, postgresAdapter } from './postgres-adapter.ts'

const { PORT, DATABASE_URL, CLIENT_SECRET, CLIENT_JWKS, SCOPE, USER_SCOPE, REDIRECT_URI, CLAIMS } =
  process.env
const resource = 'https://api.example.com/'
const pool = new Pool({ connectionString: DATABASE_URL, max: 10 })
await createTable(pool)

const signingKey = async (alg: string) => {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  return { ...(await exportJWK(privateKey)), kid: alg, alg, use: 'sig' }
}

const machineClient = (client_id: string) => ({
  client_id,
  client_secret: CLIENT_SECRET,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  token_endpoint_auth_method: 'client_secret_post',
  id_token_signed_response_alg: 'ES256',
  scope: SCOPE,
})

const { client_secret: _secret, ...machine } = machineClient('signing')
const signingClient = {
  ...machine,
  token_endpoint_auth_method: 'private_key_jwt' as const,
  jwks: JSON.parse(CLIENT_JWKS ?? '{"keys":[]}') as { keys: object[] },
}

const webClient = (client_id: string, id_token_signed_response_alg: string) => ({
  client_id,
  client_secret: CLIENT_SECRET,
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: [REDIRECT_URI],
  response_types: ['code'],
  token_endpoint_auth_method: 'client_secret_post',
  id_token_signed_response_alg,
  scope: USER_SCOPE,
})

const claims = JSON.parse(CLAIMS ?? '{}') as Record<string, unknown>
const jwtClients = new Set(['jwt', 'signing', 'web-jwt', 'web-jwt-RS256'])

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  adapter: (model: string) => postgresAdapter(pool, model),
  clients: [
    machineClient('jwt'),
    machineClient('opaque'),
    signingClient,
    webClient('web-jwt', 'ES256'),
    webClient('web-jwt-RS256', 'RS256'),
    webClient('web-opaque', 'ES256'),
  ],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
  findAccount: (_: unknown, accountId: string) => ({
    accountId,
    claims: () => ({ sub: accountId, ...claims }),
  }),
  // Without `offline_access` as Latchkey does, and not bound to a session, which would be read each time.
  issueRefreshToken: () => true,
  expiresWithSession: () => false,
  rotateRefreshToken: true,
  cookies: { keys: [crypto.randomUUID()] },
  jwks: { keys: [await signingKey('ES256'), await signingKey('RS256')] },
  scopes: [...new Set([...(SCOPE ?? '').split(' '), ...(USER_SCOPE ?? '').split(' ')])],
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 300,
    ClientCredentials: 3600,
    Grant: 86_400,
    IdToken: 3600,
    Interaction: 3600,
    RefreshToken: 86_400,
    Session: 86_400,
  },
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_: unknown, client: { clientId: string }) =>
        jwtClients.has(client.clientId) ? resource : undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: `${SCOPE} ${USER_SCOPE}`,
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 3600,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
})

provider.listen(Number(PORT), '127.0.0.1', () => undefined)
process.on('SIGTERM', () => process.exit())
