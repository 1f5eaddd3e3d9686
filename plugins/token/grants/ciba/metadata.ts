/** What clients register for CIBA, and what the server says of it (CIBA §4). */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import type { Bag } from '../../../../src/protocol/bag.ts'
import { isSecure, WEB_URI } from '../../../../src/protocol/client-metadata.ts'
import { reason } from '../../../../src/protocol/message.ts'
import { metadataError } from '../../../../src/protocol/errors.ts'
import { SIGNATURE_ALGORITHMS } from '../../../../src/protocol/jwk-set.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { CIBA } from '../../../../src/services/clients/client-kinds.ts'

const Members = Type.Partial(
  Type.Object({
    backchannel_token_delivery_mode: Type.String({ maxLength: 20, open: true }),
    backchannel_client_notification_endpoint: Type.String({ maxLength: 2048, format: WEB_URI, open: true }),
    backchannel_authentication_request_signing_alg: Type.Enum([...SIGNATURE_ALGORITHMS], { open: true }),
    backchannel_user_code_parameter: Type.Boolean({ open: true }),
    /** Of no standard: whether each of its requests says what it is about. */
    require_authorization_context: Type.Boolean({ open: true }),
  }),
)

/** How clients hear that a person has decided. */
const MODES = ['poll', 'ping']

export function addMetadata(fastify: FastifyInstance): void {
  const { oauth } = fastify
  oauth.extendClientMetadata(Members, check)
  if (!kernelOf(fastify).config.OIDC_CIBA) return
  oauth.extend('metadata', async () => ({
    backchannel_token_delivery_modes_supported: MODES,
    backchannel_authentication_request_signing_alg_values_supported: SIGNATURE_ALGORITHMS,
    // Where people can set one.
    backchannel_user_code_parameter_supported: fastify.hasDecorator('account'),
  }))
}

/** `poll` where nothing is registered. */
export function modeOf(metadata: Bag): string {
  return (metadata['backchannel_token_delivery_mode'] as string | undefined) ?? 'poll'
}

function check(metadata: Bag): void {
  const mode = modeOf(metadata)
  const { backchannel_client_notification_endpoint: endpoint } = metadata
  if (mode === 'push')
    throw metadataError(
      'backchannel_token_delivery_mode',
      reason('cannot be push, which is not served: use ping, and fetch the tokens'),
    )
  if (!MODES.includes(mode))
    throw metadataError('backchannel_token_delivery_mode', reason('must be one of {names}', { names: MODES }))
  if (mode === 'ping' && endpoint === undefined)
    throw metadataError('backchannel_client_notification_endpoint', reason('is needed with ping'))
  // CIBA §4 asks for https.
  if (typeof endpoint === 'string' && !isSecure(endpoint))
    throw metadataError(
      'backchannel_client_notification_endpoint',
      reason('must use https (http only to this machine)'),
    )
  const signs = metadata['backchannel_authentication_request_signing_alg'] !== undefined
  if (signs && metadata['jwks'] === undefined && metadata['jwks_uri'] === undefined)
    throw metadataError('backchannel_authentication_request_signing_alg', reason('needs jwks or jwks_uri'))
  const uses = ((metadata['grant_types'] ?? []) as readonly string[]).includes(CIBA)
  if (uses && metadata['token_endpoint_auth_method'] === 'none')
    throw metadataError(
      'grant_types',
      reason('must not hold {grant} for a client that cannot authenticate', { grant: CIBA }),
    )
}
