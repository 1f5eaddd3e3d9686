/**
 * The operations of the interface: each is an endpoint with one scope, and says of itself what its description tells (`description.ts`).
 * Plugins add theirs by `fastify.adminApi`.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import { ConfigError } from '../../src/config.ts'
import { answer } from '../../src/doors/answer.ts'
import type { BearerCall, EndpointMethod } from '../../src/doors/endpoint.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { queryText } from '../../src/http/forms.ts'
import { inEnglish } from '../../src/protocol/message.ts'
import { checkOf, Type } from '../../src/protocol/schema.ts'
import { PATH, SCOPES, type Access, type ApiScope } from './access.ts'
import type { LateSchema } from './json-schema.ts'
import { assertKnown, memberProblem } from './refusals.ts'
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
  /** What may stand in the query of a GET or DELETE. What else does, or has no value, is refused. */
  readonly query?: Query
  /** What the body of a POST or PATCH must fit; what it does not name is refused. By default nothing. */
  readonly body?: TObject
  /** What the body is, in the place of `body`, where `handle` judges it: for the description. */
  readonly judges?: LateSchema
  /** What is answered where all is well; without `schema`, nothing but the status. */
  readonly answer: { readonly status: 200 | 201 | 202 | 204; readonly schema?: LateSchema }
  /** Throws `OAuthError`. */
  handle(query: Static<Query>, call: BearerCall): Promise<Bag | void>
}

export interface AdminApi extends UsersOfPaths {
  /** Serves one more operation. Throws `ConfigError` where another has its name, or its path and method. */
  serve<Query extends TObject>(operation: Operation<Query>): void
  /** For what could be used to get more than the token has: `what` begins the sentence. Throws `insufficient_scope`. */
  readonly assertAll: Access['assertAll']
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
  { requireScope, nameActor, assertAll }: Access,
  served: (operation: Operation) => void,
): AdminApi {
  const names = new Set<string>()

  function assertOperation({ name, scope }: Pick<Operation, 'name' | 'scope'>): void {
    if (names.has(name))
      throw new ConfigError(`The operation ${name} of the administration is registered twice.`)
    if (!Object.hasOwn(SCOPES, scope))
      throw new ConfigError(
        `The operation ${name} of the administration needs one of the scopes ${Object.keys(SCOPES).join(', ')}.`,
      )
    names.add(name)
  }

  return {
    ...createUsersOfPaths(fastify, assertAll),
    assertAll,
    serve<Query extends TObject>(operation: Operation<Query>): void {
      const { method, path, scope, query = NOTHING, body = NOTHING, judges } = operation
      assertOperation(operation)
      const readQuery = readerOf(query)
      const readBody = judges === undefined ? readerOf(body) : () => undefined
      fastify.oauth.registerEndpoint({
        path: `${PATH}${path}`,
        method,
        caller: 'bearer',
        body: 'json',
        scopes: [scope],
        requireScope,
        parameters: NOTHING,
        async handle(_parameters, call) {
          nameActor(call)
          try {
            assertQuery(call.request, query)
            readQuery(call.wire)
            readBody(call.body)
            const done = await operation.handle(call.wire as Static<Query>, call)
            const { status } = operation.answer
            return answer(done === undefined ? { status } : { status, body: done })
          } catch (error) {
            throw toldOf(error)
          }
        },
      })
      served(operation)
    },
  }
}

/** Refuses what does not fit, by its name. */
function readerOf(schema: TObject): (sent: Bag) => void {
  const check = checkOf(schema)
  return (sent) => {
    assertKnown(sent, (name) => Object.hasOwn(schema.properties, name))
    const misfit = check(sent)
    if (misfit === undefined) return
    const { missing, instancePath, words } = misfit
    if (missing !== undefined) throw memberProblem(missing, 'is missing')
    const member = instancePath.split('/')[1] ?? ''
    const { expects } = (schema.properties[member] ?? {}) as { readonly expects?: string }
    throw memberProblem(member, expects === undefined ? words : `must be ${expects}`)
  }
}

/** A filter that is misspelt, or empty as by a variable that is not set, would else find everybody. */
function assertQuery(request: FastifyRequest, { properties }: TObject): void {
  for (const [name, value] of new URLSearchParams(queryText(request))) {
    if (!Object.hasOwn(properties, name)) throw memberProblem(name, 'is no parameter here')
    if (value.trim() === '') throw memberProblem(name, 'is empty: leave it out, or give it a value')
  }
}

function toldOf(error: unknown): unknown {
  if (!(error instanceof OAuthError) || error.about === undefined) return error
  const { code, message, status, headers, cause, about, also } = error
  return new RefusedMembers(code, message, {
    status,
    headers,
    cause,
    about,
    ...(also === undefined ? {} : { also }),
  })
}
