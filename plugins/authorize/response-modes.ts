/** How answers travel: `query` (OAuth 2.0 Multiple Response Type Encoding §2.1) and `form_post`. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { Wire } from '../../src/protocol/wire.ts'

async function responseModes({ oauth }: FastifyInstance): Promise<void> {
  oauth.register('responseMode', 'query', {
    send: (reply, redirectUri, answer) => neverStored(reply).redirect(withQuery(redirectUri, answer), 303),
  })
  oauth.register('responseMode', 'form_post', {
    send: (reply, redirectUri, answer) =>
      reply.page('form-post', { action: redirectUri, fields: answer as Record<string, string> }),
  })
}

/** RFC 6749 §3.1.2: a query that is registered stays as it is. */
function withQuery(redirectUri: string, answer: Wire): string {
  const query = new URLSearchParams(answer as Record<string, string>).toString()
  return `${redirectUri}${redirectUri.includes('?') ? (/[?&]$/.test(redirectUri) ? '' : '&') : '?'}${query}`
}

function neverStored(reply: FastifyReply): FastifyReply {
  return reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
}

export default fp(responseModes, {
  name: 'latchkey-response-modes',
  dependencies: ['latchkey-oauth', 'latchkey-pages'],
})
