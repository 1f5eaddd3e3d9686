/**
 * `/Bulk` (RFC 7644 §3.7): several changes in one request, one after another, each whole by itself and answered by itself. What is made is named by its
 * `bulkId` in others, which come after it, wherever they stand.
 */
import type { FastifyRequest } from 'fastify'
import type { Answer } from '../../src/doors/answer.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import { BODY_LIMIT } from '../../src/http/bodies.ts'
import { logFailure, toOAuthError } from '../../src/http/errors.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { notFound } from '../programs/refusals.ts'
import { isMembers, memberOf, type Members, type Value } from './attributes.ts'
import { assertSchema } from './conditions.ts'
import { FAILURES, scimError } from './errors.ts'
import { BULK_REQUEST, BULK_RESPONSE } from './messages.ts'
import { scimAnswer, type ScimOperation, WRITE } from './serving.ts'

/** As `/ServiceProviderConfig` tells them. */
export const BULK_LIMITS = { maxOperations: 100, maxPayloadSize: BODY_LIMIT } as const

/** Milliseconds in which changes are begun: whoever stands between us and the client gives up not long after. */
const BEGUN_WITHIN = 30_000
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
const REFERENCE = /^bulkId:(.+)$/s

/** One of those that were sent. */
interface Asked {
  readonly method: (typeof METHODS)[number]
  /** Of those that make something. */
  readonly bulkId: string | undefined
  readonly path: string
  readonly version: string | undefined
  readonly data: Members
}

/**
 * `operations` are those that a change may be; `base` is the address of all that SCIM has here. What is not begun `within` so many milliseconds is
 * answered 503.
 */
export function bulkOperation(
  operations: readonly ScimOperation[],
  base: string,
  within = BEGUN_WITHIN,
): ScimOperation {
  async function done(
    asked: Asked,
    call: BearerCall,
    ids: ReadonlyMap<string, string>,
    end: number,
  ): Promise<Members> {
    const { method, bulkId, version } = asked
    const told = { method, ...(bulkId === undefined ? {} : { bulkId }) }
    const path = asked.path.split('/').map((part) => named(part, ids)).join('/') // prettier-ignore
    const location = method === 'POST' ? {} : { location: `${base}${path}` }
    try {
      if (performance.now() > end)
        throw new OAuthError('temporarily_unavailable', 'the changes before it took too long: send it again')
      const missing = referencesOf(asked).find((id) => !ids.has(id))
      if (missing !== undefined)
        throw new OAuthError(
          'invalid_request',
          `bulkId:${missing} names nothing that was made before in this request`,
          {
            status: 409,
          },
        )
      const { operation, id } = found(operations, method, path)
      const body = replaced(asked.data, ids) as Members
      const answer = await operation.handle({
        ...call,
        body,
        path: { id },
        request: about(call.request, version),
      })
      return { ...told, ...location, ...ofAnswer(answer) }
    } catch (error) {
      const failure = toOAuthError(error, call.request)
      logFailure(failure, call.request)
      const { status, code, message: description, about: member } = failure
      const response = FAILURES.body({ status, code, description, member: member?.member })
      return { ...told, ...location, status: String(status), response }
    }
  }

  return {
    method: 'POST',
    path: '/Bulk',
    scope: WRITE,
    async handle(call) {
      assertSchema(call.body, BULK_REQUEST)
      const pending = askedIn(call.body).map((asked, at) => ({ asked, at }))
      const most = mostErrorsIn(call.body)
      const ids = new Map<string, string>()
      const results: { at: number; result: Members }[] = []
      const end = performance.now() + within
      for (let errors = 0; pending.length > 0 && errors < most;) {
        const [next] = pending.splice(nextOf(pending.map(({ asked }) => asked), ids), 1) // prettier-ignore
        const result = await done(next!.asked, call, ids, end)
        if ('response' in result) errors++
        else if (next!.asked.bulkId !== undefined && next!.asked.method === 'POST')
          ids.set(next!.asked.bulkId, String(result['location']).split('/').at(-1)!)
        results.push({ at: next!.at, result })
      }
      const told = results.toSorted((one, other) => one.at - other.at).map(({ result }) => result)
      return scimAnswer({ schemas: [BULK_RESPONSE], Operations: told })
    },
  }
}

/** Throws `invalidSyntax`, and 413 for too many. */
function askedIn(body: Members): readonly Asked[] {
  const operations = memberOf(body, 'Operations')
  if (!Array.isArray(operations)) throw scimError('invalidSyntax', 'Operations must be a list of changes')
  if (operations.length > BULK_LIMITS.maxOperations)
    throw new OAuthError(
      'invalid_request',
      `there are more than ${BULK_LIMITS.maxOperations} changes in one request`,
      { status: 413 },
    )
  const all = operations.map(askedOf)
  const made = all.flatMap(({ method, bulkId }) => (method === 'POST' ? [bulkId] : []))
  if (new Set(made).size < made.length)
    throw scimError('invalidSyntax', 'a bulkId must be that of one change alone')
  return all
}

function askedOf(one: Value): Asked {
  if (!isMembers(one)) throw scimError('invalidSyntax', 'each of the Operations must be an object')
  const text = (name: string): string | undefined => {
    const value = memberOf(one, name) ?? undefined
    if (value !== undefined && typeof value !== 'string')
      throw scimError('invalidSyntax', `${name} must be a text`)
    return value
  }
  const [sent, path, bulkId, data] = [text('method'), text('path'), text('bulkId'), memberOf(one, 'data')]
  const method = METHODS.find((known) => known === sent?.toUpperCase())
  if (method === undefined) throw scimError('invalidSyntax', 'method must be POST, PUT, PATCH or DELETE')
  if (path === undefined) throw scimError('invalidSyntax', 'each of the Operations must have a path')
  // One that is empty could be named by nothing (RFC 7644 §3.7.2).
  if (method === 'POST' && (bulkId ?? '') === '')
    throw scimError('invalidSyntax', 'each POST must have a bulkId')
  if (method !== 'DELETE' && !isMembers(data))
    throw scimError('invalidSyntax', `the data of ${method} must be an object`)
  return { method, path, bulkId, version: text('version'), data: isMembers(data) ? data : {} }
}

/** After so many that fail, nothing else is done; without it, all is tried. */
function mostErrorsIn(body: Members): number {
  const most = memberOf(body, 'failOnErrors') ?? Infinity
  if (most !== Infinity && (!Number.isInteger(most) || (most as number) < 1))
    throw scimError('invalidValue', 'failOnErrors must be a whole number from 1 on')
  return most as number
}

/** The first that waits for none of the others; of a circle, the first of all. */
function nextOf(pending: readonly Asked[], ids: ReadonlyMap<string, string>): number {
  const toCome = new Set(pending.flatMap(({ method, bulkId }) => (method === 'POST' ? [bulkId] : [])))
  const ready = pending.findIndex((asked) =>
    referencesOf(asked).every((id) => ids.has(id) || !toCome.has(id)),
  )
  return Math.max(0, ready)
}

/** The bulkIds that it names. */
function referencesOf({ path, data }: Asked): readonly string[] {
  const texts = (value: Value): readonly string[] => {
    if (typeof value === 'string') return [value]
    if (Array.isArray(value)) return value.flatMap(texts)
    return isMembers(value) ? Object.values(value).flatMap(texts) : []
  }
  return [...path.split('/'), ...texts(data)].flatMap((text) => REFERENCE.exec(text)?.[1] ?? [])
}

function replaced(value: Value, ids: ReadonlyMap<string, string>): Value {
  if (typeof value === 'string') return named(value, ids)
  if (Array.isArray(value)) return value.map((one) => replaced(one, ids))
  if (!isMembers(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replaced(one, ids)]))
}

function named(text: string, ids: ReadonlyMap<string, string>): string {
  const [, bulkId] = REFERENCE.exec(text) ?? []
  return (bulkId === undefined ? undefined : ids.get(bulkId)) ?? text
}

/** Throws 404 for an address at which nothing is changed so. */
function found(
  operations: readonly ScimOperation[],
  method: string,
  path: string,
): { operation: ScimOperation; id: string } {
  const [, kind, id = ''] = /^(\/(?:Users|Groups))(?:\/([^/]+))?$/.exec(path) ?? []
  const wanted = id === '' ? kind : `${kind}/:id`
  const operation = operations.find((one) => one.method === method && one.path === wanted)
  if (operation === undefined) throw notFound(`${method} of such a path`)
  return { operation, id }
}

/** The same request with the condition of one change, and none of its own. It is told by its address and version, so that nothing else is read for that. */
function about(request: FastifyRequest, version: string | undefined): FastifyRequest {
  const { 'if-match': _own, ...others } = request.headers
  const headers = version === undefined ? others : { ...others, 'if-match': version }
  const raw: unknown = Object.create(request.raw, { url: { value: '?attributes=id' } })
  return Object.create(request, { headers: { value: headers }, raw: { value: raw } }) as FastifyRequest
}

function ofAnswer({ status, headers: { etag, location } }: Answer): Members {
  return {
    ...(location === undefined ? {} : { location }),
    ...(etag === undefined ? {} : { version: etag }),
    status: String(status),
  }
}
