/** Reads what a request brought to an endpoint: its form, its JSON or its query, and what stands in its address. */
import type { FastifyRequest } from 'fastify'
import type { Endpoint, Sent } from '../doors/endpoint.ts'
import type { Bag } from '../protocol/bag.ts'
import { OAuthError } from '../protocol/errors.ts'
import { assertLengths } from '../protocol/parameters.ts'
import { parseForm, type Wire } from '../protocol/wire.ts'
import { formText, queryText } from './forms.ts'
import { jsonOf } from './json-body.ts'

/** Throws `OAuthError` for what is not well-formed. */
export type ReadSent = (request: FastifyRequest) => Sent

const NOTHING: Bag = Object.freeze({})
const NO_WIRE: Wire = Object.freeze(Object.create(null) as Wire)
const NOWHERE: Readonly<Record<string, string>> = Object.freeze({})

/** Whether a parameter of this name says something. */
export type IsRead = (name: string) => boolean

export function readerOf(
  { path, method, body }: Pick<Endpoint, 'path' | 'method' | 'body'>,
  isRead: IsRead,
): ReadSent {
  const pathOf = path.includes('/:') ? segmentsOf : () => NOWHERE
  if (method === 'GET' || method === 'DELETE')
    return (request) => ({ wire: parseQuery(request), body: NOTHING, path: pathOf(request) })
  if (body === 'json') return (request) => ({ wire: NO_WIRE, body: jsonOf(request), path: pathOf(request) })
  return (request) => ({ wire: parseBody(request, isRead), body: NOTHING, path: pathOf(request) })
}

/**
 * The parameters of the body. A query is not read, except to refuse a parameter sent in both; what nobody reads is ignored there as
 * everywhere (RFC 6749 §3.2): MSAL sends its `client-request-id` in both.
 */
function parseBody(request: FastifyRequest, isRead: IsRead): Wire {
  const wire = parseForm(formText(request))
  assertLengths(wire)
  for (const name in parseForm(queryText(request))) {
    if (wire[name] !== undefined && isRead(name))
      throw new OAuthError('invalid_request', 'a parameter is in the query and in the body')
  }
  return wire
}

function parseQuery(request: FastifyRequest): Wire {
  const wire = parseForm(queryText(request))
  assertLengths(wire)
  return wire
}

function segmentsOf({ params }: FastifyRequest): Readonly<Record<string, string>> {
  const segments = params as Readonly<Record<string, string>>
  // No database text can hold the one, and the other stands for bytes that were no UTF-8.
  if (Object.values(segments).some((text) => text.includes('\0') || text.includes('\ufffd')))
    throw new OAuthError('invalid_request', 'the address is malformed')
  return segments
}
