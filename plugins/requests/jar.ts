/**
 * Request objects (RFC 9101, OpenID Connect Core §6): the request is a JWT that its client has signed, sent by value or at an
 * address that the client has registered. What stands beside it is not read (RFC 9101 §6.3).
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { AuthorizationRequest } from '../../src/doors/approval.ts'
import type { SourcedRequest } from '../../src/doors/authorization-requests.ts'
import type { Client } from '../../src/doors/client.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { metadataError, OAuthError } from '../../src/protocol/errors.ts'
import { reason } from '../../src/protocol/message.ts'
import { SIGNATURE_ALGORITHMS } from '../../src/protocol/jwk-set.ts'
import { parametersIn } from '../../src/protocol/request-object.ts'
import { Type, WEB_ADDRESS } from '../../src/protocol/schema.ts'
import { assertBounded, assertClaims, decodeUnsignedJwt, JwtError } from '../../src/protocol/signed-jwt.ts'
import {
  CONTENT_ENCRYPTION,
  createDecryptionKeys,
  KEY_MANAGEMENT,
  type DecryptionKeys,
} from '../../src/services/keys/decryption-keys.ts'
import type { ExpectedJwt } from '../../src/services/clients/client-keys.ts'
import { createDownload } from './request-downloads.ts'

/** The keys of the request sources. */
const BY_VALUE = 'request_object'
const BY_REFERENCE = 'request_object_uri'
const TYPE = 'oauth-authz-req+jwt'

const METADATA = Type.Partial(
  Type.Object({
    request_object_signing_alg: Type.Enum([...SIGNATURE_ALGORITHMS, 'none'], { open: true }),
    request_object_encryption_alg: Type.Enum(KEY_MANAGEMENT, { open: true }),
    request_object_encryption_enc: Type.Enum(CONTENT_ENCRYPTION, { open: true }),
    request_uris: Type.Array(Type.String({ maxLength: 2048, pattern: WEB_ADDRESS }), {
      maxItems: 100,
      open: true,
    }),
    require_signed_request_object: Type.Boolean({ open: true }),
  }),
)

const ENCRYPTION = {
  request_object_encryption_alg_values_supported: KEY_MANAGEMENT,
  request_object_encryption_enc_values_supported: CONTENT_ENCRYPTION,
}

type Parameter = 'request' | 'request_uri'

/** What clients that have registered no such thing are told is not served (OpenID Connect Core §6.1). */
class Unsigned extends Error {}

async function jar(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, doors, keys } = kernelOf(fastify)
  const isRequired = config.OIDC_REQUIRE_SIGNED_REQUEST_OBJECT

  const mustSign = ({ metadata }: Client): boolean =>
    isRequired || metadata['require_signed_request_object'] === true

  oauth.extendClientMetadata(METADATA, (members) => {
    if (members['require_signed_request_object'] !== true) return
    if (members['jwks'] === undefined && members['jwks_uri'] === undefined)
      throw metadataError('require_signed_request_object', reason('needs jwks or jwks_uri'))
    if (members['request_object_signing_alg'] === 'none')
      throw metadataError('request_object_signing_alg', reason('none is no signature'))
  })
  let decryption: DecryptionKeys | undefined
  if (config.OIDC_REQUEST_OBJECT_ENCRYPTION)
    fastify.addHook('onReady', async () => {
      decryption = createDecryptionKeys(await oauth.secret('request-object-encryption'))
      keys.publishToo(decryption.publicJwk)
    })
  oauth.extend('metadata', async () => ({
    ...(config.OIDC_REQUEST_OBJECT_ENCRYPTION ? ENCRYPTION : {}),
    request_object_signing_alg_values_supported: SIGNATURE_ALGORITHMS,
    require_signed_request_object: isRequired,
    require_request_uri_registration: true,
  }))

  /** The claims of a request object of the client's, and whether it is signed. Throws `JwtError`, and `Unsigned` where nobody has said that it has any. */
  async function open(jwt: string, client: Client): Promise<{ claims: Bag; isSigned: boolean }> {
    const { request_object_signing_alg: registered } = client.metadata
    const expected: ExpectedJwt & { issuer: string } = {
      types: [undefined, 'jwt', TYPE],
      issuer: client.clientId,
      audiences: [oauth.issuer],
      shared: true,
      isForAll: true,
      issuerOptional: true,
      required: [],
      longest: Number.POSITIVE_INFINITY,
    }
    if (jwt.endsWith('.')) {
      if (registered === undefined && !mustSign(client)) throw new Unsigned()
      const unsigned = decodeUnsignedJwt(jwt)
      if (registered !== 'none' || mustSign(client)) throw new JwtError('it is not signed')
      assertClaims(unsigned, { ...expected, now: Date.now() })
      return { claims: unsigned.claims, isSigned: false }
    }
    const demands = doors.all('requestObjectRule').map(({ narrow }) => narrow(client) ?? {})
    const takes = (algorithm: string): boolean =>
      (registered === undefined || registered === algorithm) &&
      demands.every(({ algorithms = SIGNATURE_ALGORITHMS }) => algorithms.includes(algorithm))
    const algorithms = SIGNATURE_ALGORITHMS.filter(takes)
    const claims = await oauth.clientKeys.verify(client, jwt, { ...expected, algorithms })
    for (const { longest } of demands) if (longest !== undefined) assertBounded(claims, longest)
    return { claims, isSigned: true }
  }

  async function read(jwt: string, client: Client, parameter: Parameter): Promise<SourcedRequest> {
    try {
      const isEncrypted = decryption !== undefined && jwt.split('.').length === 5
      const { claims, isSigned } = await open(isEncrypted ? await decryption!.decrypt(jwt) : jwt, client)
      // RFC 9101 §10.8: what proves who a client is must not be taken for what it asks.
      if (claims['sub'] === client.clientId) throw new JwtError('its sub is the client')
      const wire = parametersIn(claims)
      if (wire['request'] !== undefined || wire['request_uri'] !== undefined)
        throw new JwtError('it leads to another request')
      return { wire, isSigned }
    } catch (error) {
      if (error instanceof Unsigned)
        throw new OAuthError(
          `${parameter}_not_supported`,
          'the client has registered no unsigned request objects',
        )
      if (!(error instanceof JwtError)) throw error
      const description = `the request object is not good: ${error.message}`
      throw new OAuthError('invalid_request_object', description, { cause: error })
    }
  }

  const download = createDownload(fastify)

  oauth.register('requestSource', BY_VALUE, {
    supports: ['request'],
    recognizes: ({ request }) => request !== undefined,
    resolve: async ({ request }, client) => read(String(request), client, 'request'),
  })
  oauth.register('requestSource', BY_REFERENCE, {
    supports: ['request_uri'],
    recognizes: ({ request_uri: uri }) => /^https?:/i.test(String(uri)),
    async resolve({ request_uri: uri }, client) {
      assertRegistered(String(uri), client)
      return read(await download(String(uri)), client, 'request_uri')
    },
  })
  function assertSigned({
    client,
    sources = [],
    isSigned = wasSigned(sources),
  }: Pick<AuthorizationRequest, 'client' | 'sources' | 'isSigned'>): void {
    if (mustSign(client) && !isSigned)
      throw new OAuthError('invalid_request', 'the request must be a signed request object')
  }
  oauth.add('authorizationCheck', {
    name: 'signed_request_object',
    check: assertSigned,
    review: assertSigned,
  })
}

/** Of what a process of the version before has opened: there the sources say it. */
function wasSigned(sources: readonly string[]): boolean {
  const isObject = sources.includes(BY_VALUE) || sources.includes(BY_REFERENCE)
  return isObject && !sources.includes('unsigned_request_object')
}

/** OpenID Connect Core §6.2: what stands behind # is how an app says that the document is another one now. */
function assertRegistered(uri: string, { metadata }: Client): void {
  const registered = (metadata['request_uris'] ?? []) as readonly string[]
  if (registered.length === 0)
    throw new OAuthError('request_uri_not_supported', 'the client has registered no request_uris')
  if (!registered.some((one) => one === uri || one === uri.split('#')[0]))
    throw new OAuthError('invalid_request_uri', 'the request_uri is not registered for this client')
}

export default fp(jar, { name: 'latchkey-jar', dependencies: ['latchkey-oauth', 'latchkey-authorize'] })
