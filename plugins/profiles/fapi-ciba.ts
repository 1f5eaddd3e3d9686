/**
 * FAPI: Client Initiated Backchannel Authentication Profile (implementer's draft 1), as a set of rules that a client keeps: it proves who it
 * is by a key or a certificate, signs what it asks, and its tokens are bound to its certificate.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import type { Client } from '../../src/doors/client.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import { reason } from '../../src/protocol/message.ts'
import { CIBA } from '../../src/services/clients/client-kinds.ts'
import { PROFILE } from '../../src/services/clients/profiles.ts'
import { assertSecureAddresses, signedAnswers } from './of-fapi.ts'

const NAME = 'fapi-ciba'
/** FAPI 1.0 Advanced §5.2.2. */
const METHODS = ['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth'] as const
/** FAPI 1.0 Advanced §8.6. */
const ALGORITHMS = ['PS256', 'ES256']
/** Seconds (FAPI-CIBA §5.2.2). */
const REQUEST_LIFETIME = 3600
const ENDPOINTS = ['token', 'revocation', 'introspection']
const SIGNED = 'backchannel_authentication_request_signing_alg'

const signedBy = (...supported: readonly string[]) => ({ among: ALGORITHMS, optional: true, supported })

async function fapiCiba(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, doors, profiles } = kernelOf(fastify)

  /** What it cannot do without, in the words of an operator. */
  function missing(): string | undefined {
    if (!doors.grants.has(CIBA)) return 'OIDC_CIBA=true'
    if (!METHODS.some((method) => oauth.owners('clientAuthentication').has(method)))
      return 'latchkey-private-key-jwt'
    const bindings = doors.all('senderConstraint').map(({ confirmation }) => confirmation)
    return bindings.includes('x5t#S256')
      ? undefined
      : 'latchkey-mutual-tls and CLIENT_CERTIFICATE_HEADER, or MTLS_PORT'
  }

  fastify.addHook('onReady', async () => {
    const needed = config.OIDC_PROFILE.includes(NAME) ? missing() : undefined
    if (needed !== undefined) throw new ConfigError(`OIDC_PROFILE ${NAME} needs ${needed}.`)
  })
  const isHeld = ({ metadata }: Client): boolean => profiles.holds(NAME, metadata)
  oauth.add('assertionRule', {
    name: NAME,
    narrow: (client) => (isHeld(client) ? { algorithms: ALGORITHMS } : undefined),
  })
  oauth.add('requestObjectRule', {
    name: NAME,
    narrow: (client) => (isHeld(client) ? { algorithms: ALGORITHMS, longest: REQUEST_LIFETIME } : undefined),
  })
  oauth.register('profile', NAME, {
    locks: {
      tls_client_certificate_bound_access_tokens: true,
      require_pkce: true,
      require_authorization_context: true,
      // FAPI 1.0 Baseline §6.2.1
      access_token_in_query: false,
    },
    choices: {
      token_endpoint_auth_method: {
        among: METHODS,
        supported: ENDPOINTS.map((one) => `${one}_endpoint_auth_methods_supported`),
      },
      response_types: { among: ['code'], supported: ['response_types_supported'] },
      grant_types: { never: ['implicit', 'password'], supported: ['grant_types_supported'] },
      token_endpoint_auth_signing_alg: signedBy(
        ...ENDPOINTS.map((one) => `${one}_endpoint_auth_signing_alg_values_supported`),
      ),
      id_token_signed_response_alg: {
        ...signedBy('id_token_signing_alg_values_supported'),
        fallback: 'ES256',
      },
      userinfo_signed_response_alg: signedBy('userinfo_signing_alg_values_supported'),
      request_object_signing_alg: signedBy('request_object_signing_alg_values_supported'),
      [SIGNED]: signedBy(`${SIGNED}_values_supported`),
      ...signedAnswers(ALGORITHMS),
    },
    check(metadata) {
      const { grant_types: types = [], [SIGNED]: algorithm } = metadata
      const needed = missing()
      if (needed !== undefined)
        throw metadataError(
          PROFILE,
          reason('cannot be {profile} without {plugin}', { profile: NAME, plugin: needed }),
        )
      if ((types as readonly string[]).includes(CIBA) && algorithm === undefined)
        throw metadataError(
          SIGNED,
          reason('must be one of {names}: the profile {profile} needs it', {
            names: ALGORITHMS,
            profile: NAME,
          }),
        )
      // FAPI 1.0 Baseline §5.2.2
      assertSecureAddresses(NAME, metadata)
    },
  })
}

export default fp(fapiCiba, { name: 'latchkey-fapi-ciba', dependencies: ['latchkey-oauth'] })
