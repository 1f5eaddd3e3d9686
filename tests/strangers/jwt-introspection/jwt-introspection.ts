/**
 * Introspection responses as JWTs (RFC 9701) for Latchkey: signed for an API that accepts them so, which can then show what it
 * was told; and encrypted to a key of its own where it is registered for that.
 */
import type { FastifyInstance } from 'fastify'
import { CompactEncrypt, importJWK, type JWK } from 'jose'
import { OAuthError, Type, type Bag, type RepresentedCall } from 'latchkey'

const JWT = 'token-introspection+jwt'
const PATH = '/introspect'
const ENCRYPTIONS = ['RSA-OAEP-256', 'ECDH-ES']

/** RFC 9701 §6. */
const Members = Type.Object({
  introspection_signed_response_alg: Type.Optional(Type.String()),
  introspection_encrypted_response_alg: Type.Optional(Type.Enum(ENCRYPTIONS)),
})

export default async function jwtIntrospection({ oauth }: FastifyInstance): Promise<void> {
  oauth.extendClientMetadata(Members, async (metadata) => {
    const { introspection_signed_response_alg: signing, introspection_encrypted_response_alg: encryption } =
      metadata
    if (encryption !== undefined && keyOf(metadata) === undefined)
      throw unusable('jwks has no key for introspection_encrypted_response_alg')
    if (signing === undefined) return
    if (!oauth.keys.algorithms.includes(String(signing)))
      throw unusable('introspection_signed_response_alg is not offered')
    // Before it signs anything: who verifies it then finds the key.
    await oauth.keys.provide(String(signing))
  })
  oauth.extend('metadata', async () => ({
    introspection_signing_alg_values_supported: oauth.keys.algorithms,
    introspection_encryption_alg_values_supported: ENCRYPTIONS,
    introspection_encryption_enc_values_supported: ['A256GCM'],
  }))

  oauth.add('representation', {
    name: 'introspection_jwt',
    of: PATH,
    applies: acceptsJwt,
    async render({ body }, { client }) {
      const claims = { aud: client?.clientId, iat: Math.floor(Date.now() / 1000), token_introspection: body }
      const algorithm = String(client?.metadata['introspection_signed_response_alg'] ?? 'RS256')
      const text = await oauth.signStatement(claims, { typ: JWT, algorithm })
      return { text, type: `application/${JWT}` }
    },
  })
  oauth.add('representation', {
    name: 'introspection_jwe',
    of: PATH,
    applies: (call) =>
      acceptsJwt(call) && call.client?.metadata['introspection_encrypted_response_alg'] !== undefined,
    async render({ text, type }, { client }) {
      const key = keyOf(client?.metadata ?? {})
      if (key === undefined) throw new OAuthError('invalid_request', 'the client has no key to encrypt to')
      const alg = String(client?.metadata['introspection_encrypted_response_alg'])
      const header = {
        alg,
        enc: 'A256GCM',
        typ: JWT,
        cty: 'JWT',
        ...(key.kid === undefined ? {} : { kid: key.kid }),
      }
      const jwe = new CompactEncrypt(new TextEncoder().encode(text)).setProtectedHeader(header)
      return { text: await jwe.encrypt(await importJWK(key, alg)), type }
    },
  })
}

function acceptsJwt({ request }: RepresentedCall): boolean {
  const accepted = (request.headers.accept ?? '').split(',')
  return accepted.some((one) => one.split(';')[0]?.trim().toLowerCase() === `application/${JWT}`)
}

/** The client's own, for what it is registered for. */
function keyOf({ jwks, introspection_encrypted_response_alg: alg }: Bag): JWK | undefined {
  const keys: unknown = typeof jwks === 'object' && jwks !== null && 'keys' in jwks ? jwks.keys : []
  if (!Array.isArray(keys)) return undefined
  const kty = alg === 'ECDH-ES' ? 'EC' : 'RSA'
  return keys.filter(isKey).find((key) => key.kty === kty && key.use !== 'sig')
}

function isKey(value: unknown): value is JWK {
  return typeof value === 'object' && value !== null && 'kty' in value && typeof value.kty === 'string'
}

function unusable(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description)
}
