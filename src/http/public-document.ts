/**
 * Documents that are the same for everybody: from memory, open to browsers, kept by caches, and asked for again by their
 * entity tag (RFC 9110 §8.8.3, §13.1.2).
 */
import type { FastifyInstance } from 'fastify'
import { hash } from 'node:crypto'
import { passive } from './before-routes.ts'
import { allowBrowsers } from './cors.ts'
import { sendError } from './errors.ts'
import { refuseOtherMethods } from './methods.ts'
import { sendText } from './ready-text.ts'

export interface PublicDocument {
  readonly urls: Iterable<string>
  readonly type: string
  /** Seconds that others may keep it. */
  readonly maxAge: number
  /** The same buffer for as long as the document is the same. */
  readonly read: () => Buffer
}

/** Serves `document` in `scope`, which must be its own. */
export function servePublicDocument(scope: FastifyInstance, document: PublicDocument): void {
  const { urls, type, maxAge, read } = document
  const render = (bytes: Buffer) => ({
    bytes,
    text: bytes.toString(),
    headers: {
      // A cache may get it for somebody who names no origin, and give it to a page.
      'access-control-allow-origin': '*',
      'content-type': type,
      'cache-control': `public, max-age=${maxAge}`,
      etag: `"${hash('sha256', bytes, 'base64url')}"`,
    },
  })
  let rendered: ReturnType<typeof render> | undefined

  scope.setErrorHandler(sendError)
  allowBrowsers(scope)
  for (const url of urls) {
    // Refusing costs no less, and others cannot check tokens without.
    scope.get(url, { config: { [passive]: true } }, (request, reply) => {
      const bytes = read()
      if (rendered?.bytes !== bytes) rendered = render(bytes)
      const { headers, text } = rendered
      if (isAmong(request.headers['if-none-match'], headers.etag)) reply.code(304).headers(headers).send()
      else sendText(reply, headers, text)
    })
    refuseOtherMethods(scope, url, ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD')
  }
}

/** Weak tags are as good here (RFC 9110 §13.1.2). */
function isAmong(tags: string | undefined, etag: string): boolean {
  if (tags === undefined) return false
  return tags.split(',').some((tag) => [etag, '*'].includes(tag.trim().replace(/^W\//, '')))
}
