/** What an authorization request asks for: the table of checks, from top to bottom. Every error goes to the client. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { AuthorizationRequest, Parameter } from '../../src/doors.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { assertLengths, compileParameters } from '../../src/protocol/parameters.ts'
import { OPENID_SCOPES, parseScope } from '../../src/protocol/scope.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { AnswerAddress } from './answer.ts'
import type { Target } from './target.ts'

export type ParseRequest = (
  target: Target,
  address: AnswerAddress,
  wire: Wire,
  repeated: ReadonlySet<string>,
) => Promise<AuthorizationRequest>

type Check = (wire: Wire, target: Target, oauth: FastifyInstance['oauth']) => void

/** What can be told from the wire alone, in order. */
const CHECKS: readonly Check[] = [refuseRequestObjects, checkResponseType, checkGrantType, checkResponseMode]

export function createRequestParser(oauth: FastifyInstance['oauth']): ParseRequest {
  let parsers: readonly (readonly [Parameter, (wire: Wire) => Record<string, Wire[string]>])[] | undefined

  async function parseParameters(wire: Wire, { client }: Target): Promise<Record<string, unknown>> {
    parsers ??= oauth.all('parameter').map((parameter) => {
      const schema = Type.Object({ [parameter.name]: Type.Optional(parameter.schema) })
      return [parameter, compileParameters(schema) as never] as const
    })
    const parameters: Record<string, unknown> = {}
    for (const [{ name, parse }, check] of parsers) {
      const raw = check(wire)[name]
      const value = parse === undefined ? raw : await parse(raw, client, wire)
      if (value !== undefined) parameters[name] = value
    }
    return parameters
  }

  return async (target, address, wire, repeated) => {
    const [again] = repeated
    if (again !== undefined) throw new OAuthError('invalid_request', 'a parameter is repeated')
    assertLengths(wire)
    for (const check of CHECKS) check(wire, target, oauth)
    const parameters = await parseParameters(wire, target)
    const scopes = await grantableTo(oauth, target, wire)
    const resources = (wire['resource'] ?? []) as readonly string[]
    await oauth.assertTargets(target.client, scopes, resources)
    return {
      ...address,
      client: target.client,
      responseType: wire['response_type'] as string,
      scopes,
      resources,
      parameters,
    }
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

function checkResponseType(wire: Wire, { client }: Target, oauth: FastifyInstance['oauth']): void {
  const asked = wire['response_type']
  if (typeof asked !== 'string')
    throw new OAuthError('invalid_request', 'the parameter response_type is missing')
  if (!oauth.owners('responseType').has(asked))
    throw new OAuthError('unsupported_response_type', 'this response_type is not served here')
  const registered = client.metadata['response_types'] as readonly string[]
  if (!registered.includes(asked))
    throw new OAuthError('unauthorized_client', 'the client is not registered for this response_type')
}

function checkGrantType({ response_type: asked }: Wire, { client }: Target): void {
  if (asked === 'code' && !client.grantTypes.has('authorization_code'))
    throw new OAuthError(
      'unauthorized_client',
      'the client is not registered for the authorization_code grant',
    )
}

function checkResponseMode(
  { response_mode: mode }: Wire,
  _target: Target,
  oauth: FastifyInstance['oauth'],
): void {
  if (mode !== undefined && !oauth.owners('responseMode').has(mode as string))
    throw new OAuthError('invalid_request', 'this response_mode is not served here')
}

/** The scopes of OpenID Connect for every client, and registered scopes that stand in the client's `scope`. */
async function grantableTo(
  oauth: FastifyInstance['oauth'],
  { client }: Target,
  { scope }: Wire,
): Promise<ReadonlySet<string>> {
  if (typeof scope !== 'string') throw new OAuthError('invalid_scope', 'the parameter scope is missing')
  const granted = new Set<string>()
  for (const name of parseScope(scope)) {
    const known =
      OPENID_SCOPES.has(name) ||
      (client.grantableScopes.has(name) && (await oauth.findScope(name)).registered)
    if (known) granted.add(name)
  }
  if (granted.size === 0) throw new OAuthError('invalid_scope', 'the client may have none of these scopes')
  return granted
}
