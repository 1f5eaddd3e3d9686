/**
 * Administrators see what they have just written, also where lists are read from a replica: their browser carries how far the
 * log of the database was then, and no list comes from a replica that is not as far.
 */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Cookie } from '../browser/cookies.ts'

/** Seconds: what a replica has not by then, its age tells. */
const LASTS = 3600
/** Behind all that there will be, where the position cannot be had. */
const LAST = 'FFFFFFFF/FFFFFFFF'

export function writtenCookie({ browser }: FastifyInstance): Cookie {
  return browser.cookie('written', { maxAge: LASTS })
}

export function followWrites(scope: FastifyInstance): void {
  const { listings } = kernelOf(scope)
  if (listings.state() === null) return
  const written = writtenCookie(scope)
  scope.addHook('onSend', async (request, reply) => {
    // Who was not let in has written nothing.
    if (request.method !== 'POST' || reply.statusCode >= 400) return
    written.set({ request, reply }, (await listings.position().catch(() => LAST)) ?? LAST)
  })
}
