/** Errors for people: the same answers and log lines as `src/http/errors.ts`, as a page. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError, type OAuthErrorOptions } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { dropUnsendable, isUnreadable, logFailure, toOAuthError } from '../../src/http/errors.ts'
import type { ErrorPage } from './models.ts'

/** What the page says beside the error: details for the developer of the client, other words for people, and ways on. */
export type Explanation = Partial<
  Pick<ErrorPage, 'detail' | 'ways' | 'words' | 'who' | 'again' | 'offersSignOut'>
>

/** A refusal that says to people in words of its own what is so, and where they can go on. */
export class ExplainedError extends OAuthError {
  readonly explanation: Explanation

  constructor(code: string, description: string, explanation: Explanation, options: OAuthErrorOptions = {}) {
    super(code, description, options)
    this.explanation = explanation
  }
}

/** Of what a key has sealed that is missing here. */
export const UNREADABLE = {
  title: message('This cannot be read at the moment'),
  text: message(
    'It is stored under a key that this server does not have now. Nothing is lost, and it is not your fault: tell whoever runs this service.',
  ),
}

/** An error handler for scopes that serve pages. */
export function sendErrorPage(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  dropUnsendable(reply)
  const known = toOAuthError(error, request)
  logFailure(known, request)
  if (isUnreadable(known)) return showError(known, reply, { words: UNREADABLE })
  return showError(known, reply, known instanceof ExplainedError ? known.explanation : {})
}

/** Answers with the error page. */
export function showError(error: OAuthError, reply: FastifyReply, more: Explanation = {}): FastifyReply {
  const { id } = reply.request
  const { code, status, message: description, headers } = error
  reply.headers({ 'x-request-id': id, ...headers })
  const told = { status, code, description, requestId: id, time: new Date(), detail: [] }
  const none = { ways: [], words: null, who: null, again: null, offersSignOut: false }
  return reply.page('error', { ...told, ...none, ...more }, { status })
}

/** Whether a browser asks for something to show, and not a program for something to read. */
export function wantsPage(request: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(request.headers.accept ?? '')
}
