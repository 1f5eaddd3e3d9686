// Owns the peer: npm oidc-provider as its documentation configures it for machine clients, with clients from
// memory, ES256 everywhere and no request log. One client gets JWT access tokens, the other opaque ones.

import { exportJWK, generateKeyPair } from 'jose'
import { Provider } from 'oidc-provider'
import { Pool } from 'pg'
import { createTable, postgresAdapter } from './postgres-adapter.ts'

const { PORT, DATABASE_URL, CLIENT_SECRET, SCOPE } = process.env
const resource = 'https://api.example.com/'
const pool = new Pool({ connectionString: DATABASE_URL, max: 10 })
await createTable(pool)

const { privateKey } = await generateKeyPair('ES256', { extractable: true })
const signingKey = { ...(await exportJWK(privateKey)), kid: 'bench', alg: 'ES256', use: 'sig' }

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

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  adapter: (model: string) => postgresAdapter(pool, model),
  clients: [machineClient('jwt'), machineClient('opaque')],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: [crypto.randomUUID()] },
  jwks: { keys: [signingKey] },
  scopes: SCOPE?.split(' '),
  ttl: { ClientCredentials: 3600 },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_: unknown, client: { clientId: string }) =>
        client.clientId === 'jwt' ? resource : undefined,
      getResourceServerInfo: () => ({
        scope: SCOPE,
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
