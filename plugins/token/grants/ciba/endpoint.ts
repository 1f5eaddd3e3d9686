/** The backchannel authentication endpoint (CIBA §7): a client names a person and what it asks of them, and gets an auth_req_id. */
import type { FastifyInstance } from 'fastify'
import type { ApprovalRequest } from '../../../../src/doors/approval.ts'
import type { Client } from '../../../../src/doors/client.ts'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { compileParameters } from '../../../../src/protocol/parameters.ts'
import { Type } from '../../../../src/protocol/schema.ts'
import { parseScope } from '../../../../src/protocol/scope.ts'
import { without, type Wire } from '../../../../src/protocol/wire.ts'
import { CIBA } from '../../../../src/services/clients/client-kinds.ts'
import { assertReachable } from '../../../login/asked-acr.ts'
import { INTERVAL } from '../polls.ts'
import { parseBindingMessage } from './binding-message.ts'
import type { ReachOnDevices } from './devices.ts'
import type { FindHinted } from './hints.ts'
import { modeOf } from './metadata.ts'
import { LIFETIME, type BackchannelRequests } from './requests.ts'
import type { OpenSigned } from './signed-requests.ts'
import type { UserCodes } from './user-codes.ts'

export interface EndpointOptions {
  requests: BackchannelRequests
  userCodes: UserCodes
  findHinted: FindHinted
  openSigned: OpenSigned
  devices: ReachOnDevices
}

const Own = Type.Object({
  scope: Type.String(),
  binding_message: Type.Optional(Type.String()),
  user_code: Type.Optional(Type.String({ maxLength: 1000 })),
  requested_expiry: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,8}$' })),
  client_notification_token: Type.Optional(Type.String()),
})
const readOwn = compileParameters(Own)
/** CIBA §7.1: a bearer token (RFC 6750 §2.1). */
const NOTIFICATION_TOKEN = /^[A-Za-z0-9\-._~+/]{1,1024}=*$/
/** Parameters of an authorization request that say who is asked, or how a browser asks them: here that is another's to say. */
const NOT_HERE = ['login_hint', 'id_token_hint', 'prompt', 'max_age', 'display', 'nonce']

export function addEndpoint(
  fastify: FastifyInstance,
  { requests, userCodes, findHinted, openSigned, devices }: EndpointOptions,
): void {
  const { oauth } = fastify
  const { doors } = kernelOf(fastify)
  doors.reads(Own)
  oauth.registerEndpoint({
    path: '/backchannel-authentication',
    metadata: 'backchannel_authentication_endpoint',
    parameters: Type.Object({}),
    async handle(_parameters, call) {
      const { client, request } = call
      if (!client.grantTypes.has(CIBA))
        throw new OAuthError('unauthorized_client', 'the client is not registered for this grant')
      const wire = await openSigned(call.wire, client)
      const { scope, binding_message, requested_expiry, user_code } = readOwn(wire)
      if (!parseScope(scope).has('openid'))
        throw new OAuthError('invalid_scope', 'the scope openid is missing')
      const bindingMessage = parseBindingMessage(binding_message)
      const token = notificationTokenOf(wire, client)
      const user = await findHinted(wire, call)
      await userCodes.assertKnown(user, user_code, call)
      const shown = await oauth.parametersShownBy(call)
      const asked = await oauth.parseApproval(client, { ...without(wire, NOT_HERE), ...shown })
      assertReachable(doors, asked)
      if (bindingMessage === undefined) assertDetailed(asked)
      const approval = {
        ...asked,
        user: user.id,
        ...(bindingMessage === undefined ? {} : { bindingMessage }),
      }
      const lifetime = Math.min(Number(requested_expiry ?? LIFETIME), LIFETIME)
      const made = await requests.create({
        approval,
        address: request.ip,
        lifetime,
        ...(token === undefined ? {} : { notificationToken: token }),
      })
      const details = { request: made.request.id, address: request.ip }
      oauth.audit.observe({ type: 'ciba.asked', user: user.id, client: client.clientId, details })
      if (!(await devices({ user, client, request: made.request }))) {
        await requests.withdraw(made.request)
        throw new OAuthError('access_denied', 'there is no way here to ask this person')
      }
      return { auth_req_id: made.authReqId, expires_in: lifetime, interval: INTERVAL }
    },
  })
}

/** FAPI-CIBA §5.2.2: so that people know what they allow, and allow nothing else by it. */
function assertDetailed({ client, parameters }: ApprovalRequest): void {
  if (client.metadata['require_authorization_context'] !== true) return
  if (parameters['authorization_details'] === undefined)
    throw new OAuthError(
      'invalid_request',
      'binding_message or authorization_details must say what is asked for',
    )
}

/** CIBA §7.1: of a client that is told; for one that polls, it says nothing. */
function notificationTokenOf({ client_notification_token: token }: Wire, client: Client): string | undefined {
  if (modeOf(client.metadata) !== 'ping') return undefined
  if (token === undefined)
    throw new OAuthError('invalid_request', 'the parameter client_notification_token is missing')
  if (!NOTIFICATION_TOKEN.test(String(token)) || String(token).length > 1024)
    throw new OAuthError('invalid_request', 'client_notification_token is no bearer token')
  return String(token)
}
