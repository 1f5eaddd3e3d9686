/** Errors for people: the same answers and log lines as `src/http/errors.ts`, as a page. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OAuthError } from '../../src/protocol/errors.ts'
import { logFailure, toOAuthError } from '../../src/http/errors.ts'
import type { ErrorPage } from './models.ts'

/** An error handler for scopes that serve pages. */
export function sendErrorPage(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = toOAuthError(error, request)
  logFailure(known, request)
  return showError(known, reply)
}

/** Answers with the error page; `more` is what the developer of the client should see, other words for people, and the way on. */
export function showError(
  error: OAuthError,
  reply: FastifyReply,
  more: Partial<Pick<ErrorPage, 'detail' | 'backUri' | 'backTo' | 'words' | 'signOut'>> = {},
): FastifyReply {
  const { id } = reply.request
  const { code, status, message: description, headers } = error
  reply.headers({ 'x-request-id': id, ...headers })
  const told = { status, code, description, requestId: id, time: new Date(), detail: [] }
  const none = { backUri: null, backTo: null, words: null, signOut: null }
  return reply.page('error', { ...told, ...none, ...more }, { status })
}

/** Whether a browser asks for something to show, and not a program for something to read. */
export function wantsPage(request: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(request.headers.accept ?? '')
}
