/** What holds of every body that is read: its headers come once, it is plain, and its text is UTF-8. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { OAuthError } from '../protocol/errors.ts'
import { isRepeated } from '../protocol/headers.ts'

/** Bytes of a body. */
export const BODY_LIMIT = 65_536

/** What is wrong with the headers of a body that should be `what`, if anything. */
export function problemOfBody(
  { rawHeaders, headers }: IncomingMessage,
  what: string,
): OAuthError | undefined {
  const repeated = ['authorization', 'content-type'].find((name) => isRepeated(rawHeaders, name))
  if (repeated !== undefined) return new OAuthError('invalid_request', `the ${repeated} header is repeated`)
  if (isPlain(headers)) return undefined
  return new OAuthError('invalid_request', `the body must be ${what} in UTF-8`, { status: 415 })
}

/** Fastify chooses the parser by the media type; its parameters and an encoding are ours to refuse. */
function isPlain(headers: IncomingHttpHeaders): boolean {
  const { 'content-type': type = '', 'content-encoding': encoding, 'transfer-encoding': transfer } = headers
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1]
  return (
    (charset === undefined || /^utf-?8$/i.test(charset)) &&
    (encoding === undefined || encoding === 'identity') &&
    (transfer === undefined || transfer.toLowerCase() === 'chunked')
  )
}
