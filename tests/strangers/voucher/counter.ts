/** A page of the shop's own: its template, in the server's layout, with the server's policies and error page. */
import type { FastifyInstance } from 'fastify'
import { OAuthError } from 'latchkey'

declare module 'latchkey' {
  interface Pages {
    'voucher-counter': { customer: string; left: number }
  }
}

export default async function counter(fastify: FastifyInstance): Promise<void> {
  await fastify.pages.add('voucher-counter', new URL('counter.eta', import.meta.url))
  fastify.setErrorHandler(fastify.pages.sendError)
  fastify.get<{ Params: { customer: string } }>('/counter/:customer', async ({ params }, reply) => {
    const { customer } = params
    if (customer === 'nobody')
      throw new OAuthError('no_customer', 'there must be a customer', { status: 403 })
    return reply.page('voucher-counter', { customer, left: 3 })
  })
}
