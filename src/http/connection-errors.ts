/**
 * What Node's parser refuses before there is a request: answered in our words and with the connection closed, since
 * nobody knows where the next request would begin. The limits themselves are set in `src/server.ts`.
 */
import type { ConnectionError } from 'fastify'
import type { Socket } from 'node:net'
import { OAuthError } from '../protocol/errors.ts'

const REFUSALS: Readonly<Record<string, OAuthError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: new OAuthError('invalid_request', 'the request took too long', { status: 408 }),
  HPE_HEADER_OVERFLOW: new OAuthError('invalid_request', 'the headers are too large', { status: 431 }),
}
/** RFC 9110 §15.5. Written out, since whoever imports `node:http` loads Node's own fetch along, of 800 kB. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}
const MALFORMED = new OAuthError('invalid_request', 'the request is malformed')

/** For Fastify's `clientErrorHandler`. */
export function refuseConnection(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const refusal = REFUSALS[error.code] ?? MALFORMED
  if (socket.writable) socket.write(response(refusal))
  socket.destroy()
}

function response(refusal: OAuthError): string {
  const body = JSON.stringify(refusal)
  return [
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status]}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'cache-control: no-store',
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
