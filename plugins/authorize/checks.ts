/** What the authorization endpoint serves at all, from top to bottom. */
import type { FastifyInstance } from 'fastify'
import type { AuthorizationCheck } from '../../src/doors/authorization-requests.ts'
import type { Client } from '../../src/doors/client.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { asksFor, orderedResponseType } from '../../src/protocol/response-type.ts'
import { assertInOrder } from '../../src/services/clients/in-order.ts'
import { problemOfMode } from '../../src/services/tokens/answer-address.ts'

/** Those of the endpoint itself, in their order; a response type or a plugin has its own after them. */
export function endpointChecks(oauth: FastifyInstance['oauth']): readonly AuthorizationCheck[] {
  const assertType = (asked: string, { metadata }: Client): void => {
    if (!oauth.owners('responseType').has(asked))
      throw new OAuthError('unsupported_response_type', 'this response_type is not served here')
    const registered = metadata['response_types'] as readonly string[]
    if (!registered.some((one) => orderedResponseType(one) === asked))
      throw new OAuthError('unauthorized_client', 'the client is not registered for this response_type')
  }
  const assertMode = (asked: string, responseType: string): void => {
    const problem = problemOfMode(oauth, asked, responseType)
    if (problem !== undefined) throw new OAuthError('invalid_request', problem)
  }

  return [
    {
      name: 'profile',
      check: ({ client }) => assertInOrder(client),
      review: ({ client }) => assertInOrder(client),
    },
    { name: 'request_object', check: ({ wire }) => refuseRequestObjects(wire) },
    { name: 'demanded_request', check: ({ client }) => assertDemandServed(oauth, client) },
    {
      name: 'response_type',
      check({ client, wire: { response_type: asked } }) {
        if (typeof asked !== 'string')
          throw new OAuthError('invalid_request', 'the parameter response_type is missing')
        assertType(orderedResponseType(asked), client)
      },
      review: ({ client, responseType }) => assertType(responseType, client),
    },
    {
      name: 'grant_type',
      check: ({ client, wire }) => assertGrant(wire['response_type'], client),
      review: ({ client, responseType }) => assertGrant(responseType, client),
    },
    {
      name: 'response_mode',
      check({ wire: { response_mode: asked, response_type: type } }) {
        if (asked !== undefined) assertMode(String(asked), orderedResponseType(String(type)))
      },
      review: ({ responseMode, responseType }) => assertMode(responseMode, responseType),
    },
  ]
}

/** Who wants its requests pushed, or signed, has them taken no other way: also where nobody is left who would look. */
function assertDemandServed({ endpoints, owners }: FastifyInstance['oauth'], { metadata }: Client): void {
  const pushes = (): boolean =>
    endpoints().some((one) => one.metadata === 'pushed_authorization_request_endpoint')
  const opens = (): boolean =>
    [...owners('requestSource').values()].some(({ supports = [] }) => supports.includes('request'))
  for (const [member, isServed] of [
    ['require_pushed_authorization_requests', pushes],
    ['require_signed_request_object', opens],
  ] as const)
    if (metadata[member] === true && !isServed())
      throw new OAuthError(
        'unauthorized_client',
        `the client is registered with ${member}, which is not served here`,
      )
}

/** OpenID Connect Core §6: never ignored, since the request is not the same without them. */
function refuseRequestObjects(wire: Readonly<Record<string, unknown>>): void {
  if (wire['request'] !== undefined)
    throw new OAuthError('request_not_supported', 'request objects are not served here')
  if (wire['request_uri'] !== undefined)
    throw new OAuthError('request_uri_not_supported', 'request_uri is not served here')
  if (wire['registration'] !== undefined)
    throw new OAuthError('registration_not_supported', 'the registration parameter is not served here')
}

function assertGrant(responseType: unknown, { grantTypes }: Client): void {
  if (asksFor('code', responseType) && !grantTypes.has('authorization_code'))
    throw new OAuthError(
      'unauthorized_client',
      'the client is not registered for the authorization_code grant',
    )
}
