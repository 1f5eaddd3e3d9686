/** The server whose things are handed in where they do not belong: with everything that gives some out, or takes some. */
import { exportJWK, generateKeyPair } from 'jose'
import { assertionOf, createAssertionKey } from '../../support/client-assertions.ts'
import { GRANT_TYPE } from '../../support/ciba.ts'
import type { TestClient } from '../../support/clients.ts'
import { startReceiver } from '../../support/receiver.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { app } from '../../support/shared-signals.ts'
import { SEED, WEB } from '../../support/sign-in.ts'

const DIRECTORY = 'https://directory.example'
/** Its people are linked with accounts, and it may have all that they have ended. */
export const PROVIDER = 'https://provider.example'

export const web: TestClient = {
  clientId: 'web',
  clientSecret: WEB.client_secret,
  basic: basic('web', WEB.client_secret),
}
export const key = await createAssertionKey()
const encryption = await generateKeyPair('ECDH-ES', { extractable: true })
const encryptionJwk = { ...(await exportJWK(encryption.publicKey)), kid: 'sealed', use: 'enc' }

/** A directory, whose software statements are taken, and the app of somebody who is told of sign-outs. */
export const host = await startReceiver((_request, response) =>
  response
    .writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify({ keys: [key.jwk] })),
)
const origin = `http://127.0.0.1:${host.port}`

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
/** What the web app may do besides: ask for people who are not at it, and be vouched for at another server. */
const asksToo = {
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials', GRANT_TYPE, EXCHANGE],
  token_exchange: [
    { subject_clients: ['web'], audiences: ['https://other.example'], resources: ['urn:other'] },
  ],
}
const { redirect_uri: callback, client_secret: _secret, ...keyless } = WEB
const SIGNED = {
  ...WEB,
  client_id: 'signed',
  userinfo_signed_response_alg: 'RS256',
  backchannel_logout_uri: `${origin}/logout`,
}
const OPAQUE = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const SEALED = {
  ...WEB,
  client_id: 'sealed',
  jwks: { keys: [encryptionJwk] },
  id_token_encrypted_response_alg: 'ECDH-ES',
  id_token_encrypted_response_enc: 'A256GCM',
}
/** Proves itself by a key, and signs its requests. */
export const KEYED = {
  ...keyless,
  client_id: 'keyed',
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'client_credentials'],
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [key.jwk] },
}
/** Asks for people who are not at it, unsigned and signed, and names them by a token of its own. */
export const ASKING = {
  client_id: 'asking',
  grant_types: [GRANT_TYPE],
  token_endpoint_auth_method: 'client_secret_basic',
  client_secret: WEB.client_secret,
  jwks: { keys: [key.jwk] },
}
export const ASKING_SIGNED = {
  ...ASKING,
  client_id: 'asking-signed',
  backchannel_authentication_request_signing_alg: 'ES256',
}
/** Its proofs need a nonce. */
export const NONCES = { ...WEB, client_id: 'nonces', require_dpop_nonce: true }

/** Hears of security events, when it asks. */
export const HEARING = app('hearing')

/** Exchanges what others got. */
export const EXCHANGER = {
  client_id: 'exchanger',
  client_secret: WEB.client_secret,
  grant_types: [EXCHANGE, 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
  scope: ['read_all'],
  token_exchange: [
    {
      subject_clients: ['web', 'opaque', 'signed', 'sealed', 'exchanger'],
      resources: ['urn:all'],
      scopes: ['read_all'],
    },
  ],
}

export const server = await startServer(
  {
    OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false,
    OIDC_SIGNED_METADATA: true,
    OIDC_CIBA: true,
    OIDC_REQUEST_OBJECT_ENCRYPTION: true,
    OIDC_REGISTRATION: 'token',
    OIDC_SHARED_SIGNALS: 'on',
    GLOBAL_TOKEN_REVOCATION: 'on',
    OIDC_SOFTWARE_STATEMENT_ISSUERS: `${DIRECTORY} ${origin}/jwks`,
    UNSAFE_OUTBOUND_ORIGINS: origin,
    TRUSTED_PROXIES: '127.0.0.1',
  },
  {
    seed: {
      ...SEED,
      resources: [{ resource: 'urn:all', scopes: ['read_all'] }],
      trusted_issuers: [{ issuer: PROVIDER, jwks: { keys: [key.jwk] } }],
      clients: [
        { ...WEB, ...asksToo },
        SIGNED,
        OPAQUE,
        SEALED,
        KEYED,
        NONCES,
        EXCHANGER,
        ASKING,
        ASKING_SIGNED,
        HEARING,
      ],
    },
    extend: (app) => app.get('/read', { config: { scope: 'read_books' } }, async () => ({})),
  },
)

export async function softwareStatement(): Promise<string> {
  const unbound = { sub: undefined, aud: undefined, exp: undefined, jti: undefined }
  const said = { client_name: 'Payments', redirect_uris: ['https://app.example/callback'] }
  return assertionOf(key, DIRECTORY, server.url, { ...unbound, ...said })
}
