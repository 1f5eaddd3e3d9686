/** What an endpoint is, by whom no compiler reads, and which members go with which caller. */
import type { TObject } from 'typebox'
import { ConfigError } from '../config.ts'
import type { Caller, Endpoint } from './endpoint.ts'
import type { FailureForm } from './failure-form.ts'
import {
  assertShape,
  BOOLEAN,
  FUNCTION,
  maybe,
  MEDIA_TYPE,
  OBJECT,
  oneOf,
  PARAMETERS,
  TEXT,
  TEXTS,
  whatOf,
  type Shape,
} from './shapes.ts'

const ENDPOINT: Shape<Endpoint> = {
  path: {
    is: (path) => typeof path === 'string' && /^\/.*[^/]$/.test(path),
    words: "below the issuer's, as '/shelf'",
  },
  method: maybe(oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
  metadata: maybe(TEXT),
  caller: maybe(oneOf('client', 'bearer', 'anybody')),
  body: maybe(oneOf('form', 'json')),
  publicClients: maybe(BOOLEAN),
  scopes: maybe(TEXTS),
  requireScope: maybe(FUNCTION),
  cors: maybe(BOOLEAN),
  failures: maybe(OBJECT),
  parameters: PARAMETERS,
  handle: FUNCTION,
}
const FAILURES: Shape<FailureForm> = { type: MEDIA_TYPE, body: FUNCTION }
/** Members that say something of one kind of caller alone: with another they would let in who is not meant. */
const BY_CALLER = [
  ['scopes', 'bearer'],
  ['requireScope', 'bearer'],
  ['publicClients', 'client'],
] as const

export function assertEndpoint(endpoint: unknown): void {
  assertShape(whatOf('endpoint', endpoint), ENDPOINT, endpoint)
  const given = endpoint as Partial<Endpoint<TObject, Caller>>
  if (given.failures !== undefined)
    assertShape(`failures of the endpoint ${given.path}`, FAILURES, given.failures)
  for (const [member, caller] of BY_CALLER)
    if (given[member] !== undefined && (given.caller ?? 'client') !== caller)
      throw new ConfigError(
        `The ${member} of the endpoint ${given.path} is for callers that are ${caller}: its caller is ${given.caller ?? 'client'}.`,
      )
}
