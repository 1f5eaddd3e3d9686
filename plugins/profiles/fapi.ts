/**
 * FAPI 2.0 Security Profile (final), as a set of rules that a client keeps: requests are pushed, codes short and under PKCE, clients
 * prove who they are by keys, tokens are bound to one, and signatures are of algorithms that last.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Client } from '../../src/doors/client.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { ConfigError } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { CIBA, DEVICE_CODE } from '../../src/services/clients/client-kinds.ts'
import { PROFILE } from '../../src/services/clients/profiles.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import { LASTING_ALGORITHMS } from '../../src/protocol/jwk-set.ts'
import { reason } from '../../src/protocol/message.ts'
import { assertSecureAddresses, signedAnswers } from './of-fapi.ts'

const NAME = 'fapi-2.0'
/** What devices ask cannot be pushed, and whoever has the code decides for whom (§5.3.2.2). */
const NEVER = ['implicit', 'password', DEVICE_CODE]
/** §5.3.2.1 */
const METHODS = ['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth'] as const
/** Seconds (§5.3.2.1). */
const CODE_LIFETIME = 60
/** Seconds (FAPI 2.0 Message Signing §5.3.1). */
const REQUEST_LIFETIME = 3600

const signedBy = (...supported: readonly string[]) => ({
  among: LASTING_ALGORITHMS,
  optional: true,
  supported,
})

async function fapi(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, doors, profiles } = kernelOf(fastify)

  /** What it cannot do without, by the names of the plugins that bring it. */
  function missing(): string | undefined {
    const pushes = oauth
      .endpoints()
      .some(({ metadata }) => metadata === 'pushed_authorization_request_endpoint')
    if (!pushes) return 'latchkey-par'
    if (!METHODS.some((method) => oauth.owners('clientAuthentication').has(method)))
      return 'latchkey-private-key-jwt'
    return doors.all('senderConstraint').length === 0 ? 'latchkey-dpop' : undefined
  }

  fastify.addHook('onReady', async () => {
    const plugin = config.OIDC_PROFILE.includes(NAME) ? missing() : undefined
    if (plugin !== undefined)
      throw new ConfigError(`OIDC_PROFILE ${NAME} needs ${plugin}, which is left out.`)
  })
  const isHeld = ({ metadata }: Client): boolean => profiles.holds(NAME, metadata)
  oauth.add('assertionRule', {
    name: NAME,
    narrow: (client) => (isHeld(client) ? { algorithms: LASTING_ALGORITHMS, issuerAlone: true } : undefined),
  })
  oauth.add('requestObjectRule', {
    name: NAME,
    narrow: (client) =>
      isHeld(client) ? { algorithms: LASTING_ALGORITHMS, longest: REQUEST_LIFETIME } : undefined,
  })
  oauth.add('proofRule', {
    name: NAME,
    narrow: (client) => (isHeld(client) ? { algorithms: LASTING_ALGORITHMS } : undefined),
  })
  oauth.register('profile', NAME, {
    locks: {
      require_pushed_authorization_requests: true,
      require_pkce: true,
      require_bound_access_tokens: true,
      // §5.3.4
      access_token_in_query: false,
      authorization_code_lifetime: CODE_LIFETIME,
    },
    choices: {
      token_endpoint_auth_method: {
        among: METHODS,
        supported: ['token', 'revocation', 'introspection'].map(
          (one) => `${one}_endpoint_auth_methods_supported`,
        ),
      },
      response_types: { among: ['code'], supported: ['response_types_supported'] },
      grant_types: {
        never: NEVER,
        supported: ['grant_types_supported'],
        serving: { [DEVICE_CODE]: 'device_authorization_endpoint' },
      },
      token_endpoint_auth_signing_alg: signedBy(
        ...['token', 'revocation', 'introspection'].map(
          (one) => `${one}_endpoint_auth_signing_alg_values_supported`,
        ),
        // Of proofs, nothing is registered.
        'dpop_signing_alg_values_supported',
      ),
      id_token_signed_response_alg: {
        ...signedBy('id_token_signing_alg_values_supported'),
        fallback: 'ES256',
      },
      userinfo_signed_response_alg: signedBy('userinfo_signing_alg_values_supported'),
      request_object_signing_alg: signedBy('request_object_signing_alg_values_supported'),
      backchannel_authentication_request_signing_alg: signedBy(
        'backchannel_authentication_request_signing_alg_values_supported',
      ),
      ...signedAnswers(LASTING_ALGORITHMS),
    },
    check(metadata) {
      const plugin = missing()
      if (plugin !== undefined)
        throw metadataError(
          PROFILE,
          reason('cannot be {profile} without {plugin}, which is left out here', { profile: NAME, plugin }),
        )
      // §5.3.2.2: https, whatever the kind of start.
      assertSecureAddresses(NAME, metadata)
      assertSigned(metadata)
    },
  })
}

/** What is asked by the back channel is as good as pushed where it is signed (FAPI-CIBA §5.2.2). */
function assertSigned({
  grant_types: types = [],
  backchannel_authentication_request_signing_alg: alg,
}: Bag): void {
  if ((types as readonly string[]).includes(CIBA) && alg === undefined)
    throw metadataError(
      'backchannel_authentication_request_signing_alg',
      reason('must be one of {names}: the profile {profile} needs it', {
        names: LASTING_ALGORITHMS,
        profile: NAME,
      }),
    )
}

export default fp(fapi, { name: 'latchkey-fapi-2.0', dependencies: ['latchkey-oauth'] })
