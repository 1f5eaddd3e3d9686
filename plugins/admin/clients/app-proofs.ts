/** How an app proves who it is, as lines of its `.env` file and as code for `openid-client`. */
import type { ClientInformation } from '../../../src/protocol/client-metadata.ts'

export interface Proof {
  /** Lines of `.env`, with a secret where it is known. */
  readonly env: readonly string[]
  /** Modules that it needs. */
  readonly imports: readonly string[]
  /** What comes before discovery. */
  readonly before: readonly string[]
  /** Members of the client that the library is told. */
  readonly metadata: string
  readonly authentication: string
  /** Options of discovery, line by line. */
  readonly options: readonly string[]
}

const NOTHING = { env: [], imports: [], before: [], metadata: 'undefined', options: [] } as const

const bySecret = (way: string, secret = ''): Proof => ({
  ...NOTHING,
  env: [`OIDC_CLIENT_SECRET=${secret}`],
  authentication: `client.${way}(env.OIDC_CLIENT_SECRET)`,
})

const BY_CERTIFICATE: Proof = {
  env: ['OIDC_CERTIFICATE=client.pem', 'OIDC_CERTIFICATE_KEY=client.key'],
  imports: [`import { readFileSync } from 'node:fs'`, `import { Agent, fetch } from 'undici'`],
  before: [
    'const cert = readFileSync(env.OIDC_CERTIFICATE)',
    'const key = readFileSync(env.OIDC_CERTIFICATE_KEY)',
    'const dispatcher = new Agent({ connect: { key, cert } })',
  ],
  metadata: '{ use_mtls_endpoint_aliases: true }',
  authentication: 'client.TlsClientAuth()',
  options: ['[client.customFetch]: (url, options) =>', '  fetch(url, { ...options, dispatcher }),'],
}

const BY_KEY: Proof = {
  ...NOTHING,
  env: ['OIDC_PRIVATE_JWK=private.json'],
  imports: [`import { readFileSync } from 'node:fs'`],
  before: [
    '// a key for ES256',
    `const { kid, ...jwk } = JSON.parse(readFileSync(env.OIDC_PRIVATE_JWK, 'utf8'))`,
    `const es256 = { name: 'ECDSA', namedCurve: 'P-256' }`,
    `const key = await crypto.subtle.importKey('jwk', jwk, es256, false, ['sign'])`,
  ],
  authentication: 'client.PrivateKeyJwt({ key, kid })',
}

const BY_PLATFORM: Proof = {
  ...NOTHING,
  env: ['OIDC_WORKLOAD_TOKEN=/var/run/secrets/tokens/latchkey'],
  imports: [`import { readFileSync } from 'node:fs'`],
  before: [
    'const workload = (_server, { client_id }, body) => {',
    `  body.set('client_id', client_id)`,
    `  const assertion = readFileSync(env.OIDC_WORKLOAD_TOKEN, 'utf8').trim()`,
    `  body.set('client_assertion', assertion)`,
    '  body.set(',
    `    'client_assertion_type',`,
    `    'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',`,
    '  )',
    '}',
  ],
  authentication: 'workload',
}

/** By itself the library sends the secret in the form, which a client registered for Basic may not. */
export function proofOf(
  { token_endpoint_auth_method: method }: ClientInformation,
  secret: string | undefined,
): Proof {
  if (method === 'none') return { ...NOTHING, authentication: 'client.None()' }
  if (method === 'tls_client_auth' || method === 'self_signed_tls_client_auth') return BY_CERTIFICATE
  if (method === 'private_key_jwt') return BY_KEY
  if (method === 'federated_jwt') return BY_PLATFORM
  if (method === 'client_secret_jwt') return bySecret('ClientSecretJwt', secret)
  return bySecret(method === 'client_secret_post' ? 'ClientSecretPost' : 'ClientSecretBasic', secret)
}
