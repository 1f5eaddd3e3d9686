/** For pages that say that a mail is on its way: where a development start shows it, to whoever is at its machine. */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { isLoopbackHost } from '../../src/protocol/redirect-uri.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

/** Below the server's own path. */
export const DEV_MAIL = '/dev/mail'

/** Null in production, where mails are sent, and for whoever is elsewhere. */
export function readHere(fastify: FastifyInstance, call: BrowserCall): { text: Words; href: string } | null {
  const { oauth } = fastify
  const isKept = oauth.owners('mailTransport').size === 0 && !kernelOf(fastify).config.production
  return isKept && isHere(call)
    ? {
        text: message('Open the mails of this development server'),
        href: `${oauth.config.basePath}${DEV_MAIL}`,
      }
    : null
}

/** Neither another machine, nor a page elsewhere whose name leads here. */
export function isHere({ request: { socket, headers } }: BrowserCall): boolean {
  const from = socket.remoteAddress?.replace(/^::ffff:/, '') ?? ''
  const host = URL.parse(`http://${headers.host ?? ''}`)?.hostname ?? ''
  return isLoopbackHost(from) && isLoopbackHost(host)
}
