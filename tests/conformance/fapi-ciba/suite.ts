/** What every check of a FAPI-CIBA plan works with: a server that is held to the profile, two clients of the plan's kind, and a person. */
import type { ServerResponse } from 'node:http'
import type { JWK } from 'jose'
import * as oauth from 'oauth4webapi'
import { asPem, certify, createAuthority, jwkOf, type TestCertificate } from '../../support/certificates.ts'
import { GRANT_TYPE } from '../../support/ciba.ts'
import { createAssertionKey, type AssertionKey } from '../../support/client-assertions.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'
import { insecure, PERSON } from '../suite.ts'
import { cibaVariantOf, type CibaPlan, type CibaVariant } from './ledger.ts'

export interface CibaClient {
  readonly client_id: string
  /** Signs its assertions and its requests. */
  readonly key: AssertionKey
  /** Of an algorithm that the profile has none of; it is registered too. */
  readonly weak: AssertionKey
  readonly certificate: TestCertificate
}

export interface CibaServer {
  readonly server: TestServer
  /** Where clients are told. */
  readonly host: Receiver
  /** What they answer then; 204 by default. */
  readonly answers: { next: ((response: ServerResponse) => unknown) | undefined }
}

export interface CibaSuite extends CibaVariant, CibaServer {
  /** As `oauth4webapi` read and judged it. */
  readonly metadata: oauth.AuthorizationServer
  readonly first: CibaClient
  readonly second: CibaClient
  /** A browser of the person. */
  readonly agent: UserAgent
}

/** Beside `openid`. */
export const SCOPE = 'accounts'
export const API = '/accounts'

const authority = await createAuthority('Suite CA')
const [key, another, weak, issued, selfSigned] = await Promise.all([
  createAssertionKey('first', 'PS256'),
  createAssertionKey('second', 'ES256'),
  createAssertionKey('weak', 'RS256'),
  certify('/O=Suite/CN=first', { issuer: authority }),
  certify('/CN=second'),
])
const FIRST = { key, weak, certificate: issued }
const SECOND = { key: another, weak, certificate: selfSigned }
const CERTIFIED = [
  { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=first,O=Suite' },
  { token_endpoint_auth_method: 'self_signed_tls_client_auth' },
]

export async function startCibaServer(): Promise<CibaServer> {
  const answers: CibaServer['answers'] = { next: undefined }
  const host = await startReceiver((_request, response) =>
    (answers.next ?? ((one: ServerResponse) => one.writeHead(204).end()))(response),
  )
  const server = await startServer(
    {
      OIDC_PROFILE: 'fapi-ciba',
      OIDC_CIBA: true,
      CLIENT_CERTIFICATE_HEADER: 'Client-Cert',
      CLIENT_CERTIFICATE_AUTHORITIES: authority.files.cert,
      TRUSTED_PROXIES: '127.0.0.1',
      OIDC_MTLS_ORIGIN: 'https://mtls.suite.example',
      UNSAFE_OUTBOUND_ORIGINS: `http://127.0.0.1:${host.port}`,
    },
    {
      seed: { users: [PERSON], scopes: [{ name: SCOPE }], clients: [] },
      extend: (app) => app.get(API, { config: { scope: SCOPE } }, async () => ({})),
    },
  )
  return { server, host, answers }
}

/** One server has the clients of all plans. */
export async function createCibaSuite(plan: CibaPlan, served: CibaServer): Promise<CibaSuite> {
  const { server, host } = served
  const variant = cibaVariantOf(plan)
  const issuer = new URL(server.url)
  const metadata = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, insecure),
  )
  const register = async (held: Omit<CibaClient, 'client_id'>, certified: object): Promise<CibaClient> => {
    const created = await server.server.oauth.clients.create({
      scope: [SCOPE],
      grant_types: [GRANT_TYPE, 'refresh_token'],
      jwks: { keys: [jwkFor(held.key), jwkFor(held.weak), jwkOf(held.certificate)] },
      ...(variant.authentication === 'mtls' ? certified : { token_endpoint_auth_method: 'private_key_jwt' }),
      backchannel_token_delivery_mode: variant.mode,
      ...(variant.mode === 'ping'
        ? { backchannel_client_notification_endpoint: `http://127.0.0.1:${host.port}/ciba-notification-endpoint` }
        : {}),
      backchannel_authentication_request_signing_alg: held.key.alg,
    }) // prettier-ignore
    return { ...held, client_id: created.client_id! }
  }
  const [first, second] = [await register(FIRST, CERTIFIED[0]!), await register(SECOND, CERTIFIED[1]!)]
  return { ...variant, ...served, metadata, first, second, agent: createUserAgent(server.url) }
}

function jwkFor(held: AssertionKey): JWK {
  return (held as AssertionKey & { jwk: JWK }).jwk
}

/** The certificate that a proxy before the server hands on. */
export const shown = ({ certificate }: CibaClient): Record<string, string> => ({
  'client-cert': asPem(certificate),
})
