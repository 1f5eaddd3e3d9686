/**
 * The operations of the interface: each is an endpoint with one scope, and says of itself what its description tells (`description.ts`).
 * Plugins add theirs by `fastify.adminApi`.
 */
import type { FastifyInstance } from 'fastify'
import type { Static, TObject } from 'typebox'
import type { Answer } from '../../src/doors/answer.ts'
import type { BearerCall, EndpointMethod } from '../../src/doors/endpoint.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { inEnglish } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import { administratorOf, PATH, type ApiScope } from './access.ts'
import type { LateSchema } from './json-schema.ts'
import { createUsersOfPaths, type UsersOfPaths } from './user-of-path.ts'

/** One method at one path of the interface. */
export interface Operation<Query extends TObject = TObject> {
  readonly method: EndpointMethod
  /** Below `/admin/api/v1`; `:name` stands for a segment that the call has in `path`. */
  readonly path: `/${string}`
  /** What it is called where code is made of the description: `listUsers`. Each has one of its own. */
  readonly name: string
  /** One line of plain English. */
  readonly summary: string
  /** That the token must have; `latchkey:admin` holds all others. */
  readonly scope: ApiScope
  /** What may stand in the query of a GET or DELETE. */
  readonly query?: Query
  /** What is sent: for the description, since who stores it judges it. */
  readonly body?: LateSchema
  /** What is answered where all is well; without `schema`, nothing but the status. */
  readonly answer: { readonly status: 200 | 201 | 202 | 204; readonly schema?: LateSchema }
  /** Throws `OAuthError`. */
  handle(query: Static<Query>, call: BearerCall): Promise<Bag | Answer>
}

export interface AdminApi extends UsersOfPaths {
  /** Serves one more operation. Throws `ConfigError` where another has its path and method. */
  serve<Query extends TObject>(operation: Operation<Query>): void
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Where ADMIN_API is on alone. */
    adminApi: AdminApi
  }
}

/** What is wrong with which members of what was sent, beside the words for who reads the log of a program. */
class RefusedMembers extends OAuthError {
  override toJSON() {
    const problems = [this.about, ...(this.also ?? [])].flatMap((one) =>
      one === undefined ? [] : [{ member: one.member, reason: inEnglish(one.reason) }],
    )
    return { ...super.toJSON(), problems }
  }
}

const NOTHING = Type.Object({})

/** `served` gets each as it is served. */
export function createAdminApi(
  fastify: FastifyInstance,
  requireScope: FastifyInstance['requireScope'],
  served: (operation: Operation) => void,
): AdminApi {
  return {
    ...createUsersOfPaths(fastify),
    serve(operation) {
      const { method, path, scope, query = NOTHING } = operation
      fastify.oauth.registerEndpoint({
        path: `${PATH}${path}`,
        method,
        caller: 'bearer',
        body: 'json',
        scopes: [scope],
        requireScope,
        parameters: query,
        async handle(parameters, call) {
          const administrator = administratorOf(call)
          if (administrator !== null) call.request.actor = { kind: 'user', id: administrator.id }
          return operation.handle(parameters as never, call).catch(tellMembers)
        },
      })
      served(operation)
    },
  }
}

function tellMembers(error: unknown): never {
  if (!(error instanceof OAuthError) || error.about === undefined) throw error
  const { code, message, status, headers, cause, about, also } = error
  throw new RefusedMembers(code, message, {
    status,
    headers,
    cause,
    about,
    ...(also === undefined ? {} : { also }),
  })
}
