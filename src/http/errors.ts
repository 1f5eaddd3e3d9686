/**
 * The one place where a failure becomes an answer: an `OAuthError` as it says, what Fastify refused as
 * `invalid_request`, an absent database as 503, and everything else as `server_error` with an id to ask for.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Failure, FailureForm } from '../doors/failure-form.ts'
import { OAuthError } from '../protocol/errors.ts'
import { isSendable } from '../protocol/headers.ts'
import { UnreadableError } from '../services/keys/secret-box.ts'
import { UnregisteredRedirectUri } from '../services/tokens/answer-address.ts'
import { lineOf } from '../services/shedding.ts'
import { isOfFetch, isUnavailable } from '../store/failures.ts'
import { kernelOf } from './kernel-of.ts'
import { BearerError, VerificationUnavailable } from '../../plugins/require-scope/bearer-error.ts'

/** Marks a route (in its `config`) that tells failures in a form of its own. */
export const failureForm = Symbol('latchkey: failure form')

/** An error handler for scopes that answer in JSON: as RFC 6749 §5.2 has it, or in the form that the route has. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  dropUnsendable(reply)
  // A guarded route has set its own status and headers already (RFC 6750 §3).
  if (error instanceof BearerError || error instanceof VerificationUnavailable) {
    const { error: code, error_description: description } = error.body
    return sendFailure(request, reply, error.body, { status: reply.statusCode, code, description })
  }
  const known = toOAuthError(error, request)
  logFailure(known, request)
  const { status, code, message: description, about } = known
  return sendFailure(
    request,
    reply.code(status).headers({
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'x-request-id': request.id,
      ...known.headers,
    }),
    known,
    { status, code, description, member: about?.member },
  )
}

/** What a handler had set, and is why its answer could not leave, would keep ours back too. */
export function dropUnsendable(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (!isSendable(name, value)) reply.removeHeader(name)
}

/** `body`, or what the route makes of the failure. */
function sendFailure(
  { routeOptions }: FastifyRequest,
  reply: FastifyReply,
  body: object,
  failure: Failure,
): FastifyReply {
  const form = (routeOptions.config as { readonly [failureForm]?: FailureForm } | undefined)?.[failureForm]
  const told = form === undefined ? body : form.body(failure)
  return reply
    .header('content-type', form?.type ?? 'application/json')
    .send(Buffer.from(JSON.stringify(told)))
}

/** Never throws; what it does not know becomes `server_error`, with its cause for the log. */
export function toOAuthError(error: unknown, request: FastifyRequest): OAuthError {
  if (error instanceof OAuthError) return error
  // The client went away; to the driver's names of failures it would look like the database.
  if (error instanceof Error && error === request.raw.errored)
    return new OAuthError('invalid_request', 'the request was cut off', { cause: error })
  // Nobody who asks can do anything about it, and asking again does not help: the operator reads in the log what does.
  if (error instanceof UnreadableError)
    return new OAuthError(
      'access_denied',
      'what is stored for this cannot be read with the keys of this server',
      {
        cause: error,
      },
    )
  if (isUnavailable(error)) {
    return new OAuthError('temporarily_unavailable', 'the database does not answer; try again', {
      cause: error,
    })
  }
  if (isOfFetch(error))
    return new OAuthError(
      'server_error',
      `an address that this depends on does not answer; its id is ${request.id}`,
      {
        status: 502,
        cause: error,
      },
    )
  const status = (error as Partial<FastifyError> | null)?.statusCode
  if (status !== undefined && status >= 400 && status < 500) {
    const description = REFUSED[status] ?? 'the request is malformed'
    return new OAuthError('invalid_request', description, { status, cause: error })
  }
  return new OAuthError('server_error', `something went wrong here; its id is ${request.id}`, {
    cause: error,
  })
}

/** What Fastify refuses before a handler runs, in our words: its own may quote the request. */
const REFUSED: Readonly<Record<number, string>> = {
  413: 'the body is too large',
  414: 'the address is too long',
  415: 'the body must be application/x-www-form-urlencoded',
}

/** Whether it is so since a former SECRET_KEY left the list too early. */
export function isUnreadable(error: OAuthError): error is OAuthError & { cause: UnreadableError } {
  return error.cause instanceof UnreadableError
}

/** The one line that a failure leaves in the log; what is refused in a crowd leaves one together. */
export function logFailure(error: OAuthError, request: FastifyRequest): void {
  const full = lineOf(error)
  if (full !== undefined) return kernelOf(request.server).shedding.note(full)
  const { method, routeOptions, url } = request
  // What is asked in vain may be anything; an address of ours is told without what stands in it.
  const where = routeOptions.url === undefined ? { path: pathOf(url) } : { route: routeOptions.url }
  const line = {
    error: error.code,
    description: error.message,
    status: error.status,
    method,
    ...where,
    ...moreOf(error),
  }
  const refused = (): void => request.log.info(line, 'request refused')
  if (isUnreadable(error)) request.log.error({ ...line, reason: error.cause.message }, 'request refused')
  else if (error.status >= 500) request.log.error({ ...line, err: error.cause }, 'request failed')
  else if (error.status === 429) kernelOf(request.server).throttledLines.note(refused)
  else refused()
}

/** Of an address that is not registered: whose it would be, and how to see those that are. What was sent is a stranger's, and stands in no log. */
function moreOf(error: OAuthError): object {
  if (!(error instanceof UnregisteredRedirectUri)) return {}
  const client_id = error.clientId.slice(0, 200)
  const isPlain = /^[\w.:~-]+$/.test(client_id)
  return { client_id, ...(isPlain ? { remedy: `npx latchkey client show ${client_id}` } : {}) }
}

/** As much as tells what somebody mistook: without a query, and without what is long enough to be a secret. */
function pathOf(url: string): string {
  return url
    .replace(/[?#].*$/s, '')
    .replaceAll(/[^/]{25,}/g, '…')
    .slice(0, 100)
}
