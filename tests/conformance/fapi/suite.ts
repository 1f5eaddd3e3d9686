/** What every check of a FAPI plan works with: a server that is held to the profile, two clients of the plan's kind, and a person. */
import { calculateJwkThumbprint, type JWK } from 'jose'
import * as oauth from 'oauth4webapi'
import { certify, createAuthority, jwkOf, type TestCertificate } from '../../support/certificates.ts'
import { createAssertionKey, type AssertionKey } from '../../support/client-assertions.ts'
import { createDpopKey, type DpopKey } from '../../support/dpop.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'
import { CALLBACK, insecure, PERSON } from '../suite.ts'
import { variantOf, type FapiPlan, type Variant } from './ledger.ts'

export interface FapiClient {
  readonly client_id: string
  /** Signs its assertions and its requests. */
  readonly key: AssertionKey
  /** Of an algorithm that the profile has none of; it is registered too. */
  readonly weak: AssertionKey
  readonly dpopKey: DpopKey
  readonly certificate: TestCertificate
}

export interface FapiSuite extends Variant {
  readonly server: TestServer
  /** As `oauth4webapi` read and judged it. */
  readonly metadata: oauth.AuthorizationServer
  readonly first: FapiClient
  readonly second: FapiClient
  /** A browser in which the person has signed in. */
  readonly agent: UserAgent
}

/** §5.4.1 */
export const ALGORITHMS = ['PS256', 'ES256', 'EdDSA', 'Ed25519']
/** Beside `openid`. */
export const SCOPE = 'accounts'
export const API = '/accounts'

const authority = await createAuthority('Suite CA')
const [key, another, weak, dpopKey, otherDpopKey, issued, selfSigned] = await Promise.all([
  createAssertionKey('first', 'ES256'),
  createAssertionKey('second', 'Ed25519'),
  createAssertionKey('weak', 'RS256'),
  createDpopKey('ES256'),
  createDpopKey('Ed25519'),
  certify('/O=Suite/CN=first', { issuer: authority }),
  certify('/CN=second'),
])
/** What the two clients hold: a key of its own each, and a certificate of each kind. */
const FIRST = { key, weak, dpopKey, certificate: issued }
const SECOND = { key: another, weak, dpopKey: otherDpopKey, certificate: selfSigned }
const CERTIFIED = [
  { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=first,O=Suite' },
  { token_endpoint_auth_method: 'self_signed_tls_client_auth' },
]

export async function startFapiServer(): Promise<TestServer> {
  return startServer(
    {
      OIDC_PROFILE: 'fapi-2.0',
      CLIENT_CERTIFICATE_HEADER: 'Client-Cert',
      CLIENT_CERTIFICATE_AUTHORITIES: authority.files.cert,
      TRUSTED_PROXIES: '127.0.0.1',
      OIDC_MTLS_ORIGIN: 'https://mtls.suite.example',
      // Soon over, by a clock that our own caches can still follow.
      OIDC_PAR_EXPIRE: 30,
    },
    {
      seed: { users: [PERSON], scopes: [{ name: SCOPE }], clients: [] },
      extend: (app) => app.get(API, { config: { scope: SCOPE } }, async () => ({})),
    },
  )
}

const agents = new WeakMap<TestServer, UserAgent>()

/** One server has the clients of many plans. */
export async function createFapiSuite(plan: FapiPlan, server: TestServer): Promise<FapiSuite> {
  const variant = variantOf(plan)
  const issuer = new URL(server.url)
  const metadata = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, insecure),
  )
  const register = async (held: Omit<FapiClient, 'client_id'>, certified: object): Promise<FapiClient> => {
    const created = await server.server.oauth.clients.create({
      redirect_uris: [CALLBACK],
      scope: [SCOPE],
      grant_types: variant.isOwn ? ['client_credentials'] : ['authorization_code', 'refresh_token'],
      jwks: { keys: [jwkFor(held.key), jwkFor(held.weak), jwkOf(held.certificate)] },
      ...(variant.authentication === 'mtls' ? certified : { token_endpoint_auth_method: 'private_key_jwt' }),
      ...(variant.constraint === 'dpop'
        ? { dpop_bound_access_tokens: true }
        : { tls_client_certificate_bound_access_tokens: true }),
      ...(variant.signs ? { require_signed_request_object: true } : {}),
    })
    return { ...held, client_id: created.client_id! }
  }
  const [first, second] = [await register(FIRST, CERTIFIED[0]!), await register(SECOND, CERTIFIED[1]!)]
  const agent = agents.get(server) ?? createUserAgent(server.url)
  agents.set(server, agent)
  return { ...variant, server, metadata, first, second, agent }
}

function jwkFor(held: AssertionKey): JWK {
  return (held as AssertionKey & { jwk: JWK }).jwk
}

export const thumbprintOf = async ({ jwk }: DpopKey): Promise<string> => calculateJwkThumbprint(jwk)
