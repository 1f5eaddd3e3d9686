/**
 * Mutual TLS (RFC 8705): clients that prove who they are by the certificate of their connection, issued by an authority that is
 * trusted, or by themselves and registered; and tokens that are good on connections with that certificate alone.
 */
import { createPublicKey, X509Certificate } from 'node:crypto'
import { Server } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Client, ClientAuthentication } from '../../../src/doors/client.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { mtlsOriginOf } from '../../../src/http/mtls-origin.ts'
import { hasAsked } from '../../../src/http/own-tls.ts'
import type { Bag } from '../../../src/protocol/bag.ts'
import { open } from '../../../src/protocol/client-metadata.ts'
import { reason } from '../../../src/protocol/message.ts'
import { metadataError } from '../../../src/protocol/errors.ts'
import { isObject } from '../../../src/protocol/json.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { JwtError } from '../../../src/protocol/signed-jwt.ts'
import {
  type CertifiedRequest,
  createFindCertificate,
  type ShownCertificate,
} from '../../require-scope/mutual-tls/certificates.ts'
import { describeMutualTls } from '../../require-scope/mutual-tls/mutual-tls.ts'
import { createIsTrusted } from './authorities.ts'
import { assertSubjectNames, hasSubjectOf, SUBJECT_NAMES } from './subjects.ts'

const PKI = 'tls_client_auth'
const SELF_SIGNED = 'self_signed_tls_client_auth'
const REFUSED = 'refused: the certificate of a client is not good'
const Names = Type.Partial(
  Type.Object(
    Object.fromEntries(
      SUBJECT_NAMES.map((name) => [name, open(Type.String({ minLength: 1, maxLength: 1000 }))]),
    ),
  ),
)

async function mutualTls(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const {
    CLIENT_CERTIFICATE_HEADER: header,
    CLIENT_CERTIFICATE_AUTHORITIES: authorities,
    MTLS_PORT: ownPort,
  } = kernelOf(fastify).config
  const origin = mtlsOriginOf(fastify)
  const findCertificate = createFindCertificate(
    header === undefined
      ? undefined
      : {
          name: header.toLowerCase(),
          isFromProxy: (request: CertifiedRequest) =>
            !hasAsked(request.raw.socket) && oauth.isFromTrustedProxy(request),
        },
  )
  const isTrusted = await createIsTrusted(authorities)

  const { server } = fastify
  const asksForOne = server instanceof Server && (server as { requestCert?: boolean }).requestCert === true
  const isServed = header !== undefined || ownPort !== undefined || asksForOne

  oauth.extendClientMetadata(Names, (metadata) => {
    const { token_endpoint_auth_method: method } = metadata
    assertSubjectNames(metadata, isServed && method === PKI)
    if (isServed && method === SELF_SIGNED) assertCertificates(metadata)
  })

  /** What proves a client: its name in a certificate that is trusted, or a certificate that it has registered. */
  const isKnown = {
    async [PKI](client: Client, { x509 }: ShownCertificate): Promise<boolean> {
      return hasSubjectOf(client.metadata, x509)
    },
    async [SELF_SIGNED](client: Client, { x509 }: ShownCertificate): Promise<boolean> {
      return oauth.clientKeys.hasCertificate(client, x509)
    },
  }

  function methodBy(method: keyof typeof isKnown): ClientAuthentication {
    return {
      credentials: [],
      implied: true,
      recognizes: (request, { client_id: id }) =>
        typeof id === 'string' && id !== '' && findCertificate(request) !== undefined ? [id] : null,
      async authenticate(request, _wire, client) {
        const certificate = findCertificate(request)
        if (certificate === undefined) return false
        const trusted = method === SELF_SIGNED || isTrusted(certificate)
        const refuse = (reason: string): boolean => {
          if (client !== null) request.log.warn({ client: client.clientId, method, reason }, REFUSED)
          return false
        }
        if (!trusted) return refuse('no authority that is trusted has issued it, or it is not good now')
        if (client === null) return false
        try {
          return (await isKnown[method](client, certificate)) || refuse('it is not that of the client')
        } catch (error) {
          if (error instanceof JwtError) return refuse(error.message)
          throw error
        }
      },
    }
  }

  if (!isServed) return
  oauth.add('senderConstraint', {
    ...describeMutualTls(findCertificate),
    onDemand: true,
    bind: ({ request }) => findCertificate(request)?.thumbprint,
  })
  oauth.register('clientAuthentication', SELF_SIGNED, methodBy(SELF_SIGNED))
  if (authorities !== undefined || asksForOne) oauth.register('clientAuthentication', PKI, methodBy(PKI))
  if (origin !== undefined)
    oauth.extend('metadata', async () => ({ mtls_endpoint_aliases: aliasesAt(origin, fastify) }))
}

/** Endpoints that browsers go to. */
const NOT_CALLED: ReadonlySet<string> = new Set(['authorization_endpoint', 'end_session_endpoint'])

/** The endpoints that clients call, where TLS asks for a certificate (RFC 8705 §5). */
function aliasesAt(origin: string, fastify: FastifyInstance): Record<string, string> {
  const { config, endpoints } = fastify.oauth
  const called = endpoints().filter(
    ({ metadata }) => metadata.endsWith('_endpoint') && !NOT_CALLED.has(metadata),
  )
  const userinfo = fastify.hasRoute({ method: 'GET', url: `${config.basePath}/userinfo` })
  return Object.fromEntries([
    ...called.map(({ metadata, path }) => [metadata, origin + config.basePath + path]),
    ...(userinfo ? [['userinfo_endpoint', `${origin}${config.basePath}/userinfo`]] : []),
  ])
}

/** A key without one could not be told from the certificate that is shown (RFC 8705 §2.2.2). */
function assertCertificates({ jwks, jwks_uri: uri }: Bag): void {
  if (uri !== undefined) return
  const keys = isObject(jwks) && Array.isArray(jwks['keys']) ? (jwks['keys'] as unknown[]) : []
  const certified = keys.filter(isObject).filter(({ x5c }) => Array.isArray(x5c) && x5c.length > 0)
  if (certified.length === 0)
    throw metadataError(
      'token_endpoint_auth_method',
      reason('{method} needs jwks_uri, or jwks with x5c', { method: SELF_SIGNED }),
    )
  if (!certified.every(isOwnCertificate))
    throw metadataError('jwks', reason('has a key whose first x5c is not a certificate of it'))
}

/** RFC 7517 §4.7: the first is of the key itself, in DER and base64. */
function isOwnCertificate(key: Bag): boolean {
  try {
    const { publicKey } = new X509Certificate(Buffer.from(String((key['x5c'] as unknown[])[0]), 'base64'))
    return publicKey.equals(createPublicKey({ key, format: 'jwk' }))
  } catch {
    return false
  }
}

export default fp(mutualTls, { name: 'latchkey-mutual-tls', dependencies: ['latchkey-oauth'] })
