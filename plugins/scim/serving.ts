/** How SCIM's addresses are served: JSON of a type of its own both ways, failures in its form, and a token for its own resource. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { answer, type Answer } from '../../src/doors/answer.ts'
import type { BearerCall, EndpointMethod } from '../../src/doors/endpoint.ts'
import { queryText } from '../../src/http/forms.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { ProgramAccess } from '../programs/access.ts'
import type { Members } from './attributes.ts'
import { FAILURES } from './errors.ts'
import type { List } from './lists.ts'
import { PATH, SCIM_JSON } from './messages.ts'

export const READ = 'latchkey:scim:read'
export const WRITE = 'latchkey:scim:write'
/** By name, as people who allow an app to have one read it: in English, which catalogues have as it is. */
export const SCOPES = {
  [READ]: message('See all users and their contact details'),
  [WRITE]: message('Register, change and delete users, but no administrators'),
} as const
export const IMPLIED = { [WRITE]: [READ] } as const
export type ScimScope = keyof typeof SCOPES

export interface ScimOperation {
  readonly method: EndpointMethod
  /** Below `/scim/v2`. */
  readonly path: `/${string}`
  readonly scope: ScimScope
  /** Throws `OAuthError`. */
  handle(call: BearerCall): Promise<Answer>
}

/** All of one kind. */
export interface ScimResources {
  readonly list: List
  readonly operations: readonly ScimOperation[]
}

export function serveScim(
  { oauth }: FastifyInstance,
  { requireScope, nameActor }: ProgramAccess,
  { method, path, scope, handle }: ScimOperation,
): void {
  oauth.registerEndpoint({
    path: `${PATH}${path}`,
    method,
    caller: 'bearer',
    body: 'json',
    scopes: [scope],
    requireScope,
    failures: FAILURES,
    parameters: Type.Object({}),
    async handle(_parameters, call) {
      nameActor(call)
      return handle(call)
    },
  })
}

/** What anybody may know: how SCIM is served here. */
export function serveOpenly(
  { oauth }: FastifyInstance,
  path: `/${string}`,
  tell: (call: Pick<BearerCall, 'path'>) => Members,
): void {
  oauth.registerEndpoint({
    path: `${PATH}${path}`,
    method: 'GET',
    caller: 'anybody',
    body: 'json',
    failures: FAILURES,
    parameters: Type.Object({}),
    async handle(_parameters, call) {
      // RFC 7644 §4: whoever filters would take all of it for what the filter lets through.
      if ((queryOf(call.request)['filter'] ?? '') !== '')
        throw new OAuthError('access_denied', 'what SCIM can do here is not filtered', { status: 403 })
      return scimAnswer(tell(call))
    },
  })
}

/** A resource or a message; `headers` beside those of the house. */
export function scimAnswer(
  body: Members,
  { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): Answer {
  return answer({ status, headers, type: SCIM_JSON, body: JSON.stringify(body) })
}

/** What stands in the query of any method; the first of several. */
export function queryOf(request: FastifyRequest): Readonly<Record<string, string>> {
  return Object.fromEntries([...new URLSearchParams(queryText(request))].toReversed())
}
