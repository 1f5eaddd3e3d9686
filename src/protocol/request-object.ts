/** What a request object says of how to answer it, read although the object is refused (OpenID Connect Core §6.1). */
import { decodeJwt } from 'jose'

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
