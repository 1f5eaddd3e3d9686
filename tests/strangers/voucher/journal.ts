/** Listens to the server's events, adds one of the shop's own, and asks the audit log for them. */
import type { FastifyInstance } from 'fastify'

declare module 'latchkey' {
  interface EventDetails {
    'voucher.praised': { readonly stars: number }
  }
}

export default async function journal(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const heard: string[] = []
  oauth.audit.on('token.issued', ({ client, details }) => heard.push(`${client} by ${details.grant_type}`))
  oauth.audit.on('voucher.praised', ({ details: { stars } }) => heard.push('*'.repeat(stars)))

  fastify.get('/journal', async () => {
    const { events } = await oauth.audit.list({ type: 'voucher.praised' })
    return { heard, stored: events.map(({ details }) => details) }
  })
  fastify.get('/journal/praise', async () => {
    oauth.audit.observe({ type: 'voucher.praised', client: 'shop', details: { stars: 5 } })
    return {}
  })
}
