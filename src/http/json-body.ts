/** Scopes whose bodies are JSON, and nothing else: one object, by `protocol/strict-json.ts`. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Bag } from '../protocol/bag.ts'
import { OAuthError } from '../protocol/errors.ts'
import { parseJsonObject } from '../protocol/strict-json.ts'
import { BODY_LIMIT, problemOfBody } from './bodies.ts'

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Makes `scope` accept JSON alone; `jsonOf` then gives what a request brought. */
export function acceptJson(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    JSON_TYPE,
    { parseAs: 'buffer', bodyLimit: BODY_LIMIT },
    (_request, bytes, done) => done(null, bytes),
  )
  // Not async, and after what routes refuse before a body is read.
  scope.addHook('preParsing', (request, _reply, _payload, done) => done(problemOf(request)))
}

/** Throws `invalid_request`. */
export function jsonOf({ body }: FastifyRequest): Bag {
  if (!(body instanceof Uint8Array)) throw new OAuthError('invalid_request', 'the body must be a JSON object')
  return parseJsonObject(body)
}

function problemOf({ raw, method, headers }: FastifyRequest): OAuthError | null {
  const { 'content-type': type } = headers
  if (type === undefined ? WITH_BODY.has(method) : !JSON_TYPE.test(type))
    return new OAuthError('invalid_request', 'the body must be application/json', { status: 415 })
  return problemOfBody(raw, 'plain JSON') ?? null
}
