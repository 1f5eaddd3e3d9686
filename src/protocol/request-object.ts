/** Request objects (RFC 9101, OpenID Connect Core §6): the parameters that one holds, and what one says though it is refused. */
import { decodeJwt } from 'jose'
import type { Bag } from './bag.ts'
import { REPEATABLE, type Wire } from './wire.ts'

const MAX_LENGTH = 16_384
/** RFC 6749 §A.5. */
const STATE = /^[\x20-\x7e]+$/

interface AskedAnswer {
  state?: string
  response_mode?: string
  response_type?: string
}

/**
 * A client may put what says how it is answered into the object alone, and still has to be able to tell which request
 * was refused. Nothing is verified: the query around it is no more than anybody's word either.
 */
export function answerAskedBy(object: unknown): AskedAnswer {
  if (typeof object !== 'string' || object.length > MAX_LENGTH) return {}
  let claims: Readonly<Record<string, unknown>>
  try {
    claims = decodeJwt(object)
  } catch {
    return {}
  }
  const { state, response_mode: mode, response_type: type } = claims
  return {
    ...(typeof state === 'string' && STATE.test(state) ? { state } : {}),
    ...(typeof mode === 'string' ? { response_mode: mode } : {}),
    ...(typeof type === 'string' ? { response_type: type } : {}),
  }
}

/** Of the JWT itself (RFC 7519 §4.1), and no parameters. */
const OF_THE_JWT: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'])

/**
 * The members of a request object as parameters are sent: what is neither text, number nor boolean is JSON (OpenID Connect
 * Core §6.1, RFC 9396 §3), but for parameters that may repeat. Empty ones and null are absent.
 */
export function parametersIn(claims: Bag): Wire {
  const wire = Object.create(null) as Record<string, string | readonly string[]>
  for (const [name, value] of Object.entries(claims)) {
    if (OF_THE_JWT.has(name) || value === null || value === undefined) continue
    const sent = REPEATABLE.has(name) ? [value].flat().map(asText) : asText(value)
    if (sent.length > 0) wire[name] = sent
  }
  return wire
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
