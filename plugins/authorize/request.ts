/**
 * What an authorization request asks for: the table of checks, from top to bottom, then what any request for approval
 * goes through. Every error goes to the client.
 */
import type { FastifyInstance } from 'fastify'
import type { AuthorizationRequest } from '../../src/doors/approval.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { assertLengths } from '../../src/protocol/parameters.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { AnswerAddress } from './answer.ts'
import type { Recipient } from './recipient.ts'

export type ParseRequest = (
  recipient: Recipient,
  address: AnswerAddress,
  wire: Wire,
  repeated: ReadonlySet<string>,
) => Promise<AuthorizationRequest>

type Check = (wire: Wire, recipient: Recipient, oauth: FastifyInstance['oauth']) => void

/** What can be told from the wire alone, in order. */
const CHECKS: readonly Check[] = [refuseRequestObjects, checkResponseType, checkGrantType, checkResponseMode]

/** Throws for a response that the client gets none of, as it is registered. */
export function assertServed(wire: Wire, recipient: Recipient, oauth: FastifyInstance['oauth']): void {
  for (const check of CHECKS) check(wire, recipient, oauth)
}

export function createRequestParser(oauth: FastifyInstance['oauth']): ParseRequest {
  return async (recipient, address, wire, repeated) => {
    const [again] = repeated
    if (again !== undefined) throw new OAuthError('invalid_request', 'a parameter is repeated')
    assertLengths(wire)
    assertServed(wire, recipient, oauth)
    const approval = await oauth.parseApproval(recipient.client, wire)
    return { ...address, ...approval, responseType: wire['response_type'] as string }
  }
}

/** OpenID Connect Core §6: never ignored, since the request is not the same without them. */
function refuseRequestObjects(wire: Wire): void {
  if (wire['request'] !== undefined)
    throw new OAuthError('request_not_supported', 'request objects are not served here')
  if (wire['request_uri'] !== undefined)
    throw new OAuthError('request_uri_not_supported', 'request_uri is not served here')
  if (wire['registration'] !== undefined)
    throw new OAuthError('registration_not_supported', 'the registration parameter is not served here')
}

function checkResponseType(wire: Wire, { client }: Recipient, oauth: FastifyInstance['oauth']): void {
  const asked = wire['response_type']
  if (typeof asked !== 'string')
    throw new OAuthError('invalid_request', 'the parameter response_type is missing')
  if (!oauth.owners('responseType').has(asked))
    throw new OAuthError('unsupported_response_type', 'this response_type is not served here')
  const registered = client.metadata['response_types'] as readonly string[]
  if (!registered.includes(asked))
    throw new OAuthError('unauthorized_client', 'the client is not registered for this response_type')
}

function checkGrantType({ response_type: asked }: Wire, { client }: Recipient): void {
  if (asked === 'code' && !client.grantTypes.has('authorization_code'))
    throw new OAuthError(
      'unauthorized_client',
      'the client is not registered for the authorization_code grant',
    )
}

function checkResponseMode(
  { response_mode: mode }: Wire,
  _recipient: Recipient,
  oauth: FastifyInstance['oauth'],
): void {
  if (mode !== undefined && !oauth.owners('responseMode').has(mode as string))
    throw new OAuthError('invalid_request', 'this response_mode is not served here')
}
