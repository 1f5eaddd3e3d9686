/** How answers travel: `query` and `fragment` (OAuth 2.0 Multiple Response Type Encoding §2.1), and `form_post`. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { withQuery } from '../../src/protocol/redirect-uri.ts'
import type { Wire } from '../../src/protocol/wire.ts'

async function responseModes({ oauth }: FastifyInstance): Promise<void> {
  oauth.register('responseMode', 'query', {
    inQuery: true,
    send: (reply, { redirectUri }, answer) =>
      neverStored(reply).redirect(withQuery(redirectUri, answer as Record<string, string>), 303),
  })
  // Also for a code: what is behind `#` never leaves the browser, and apps in one read it without asking their server.
  oauth.register('responseMode', 'fragment', {
    inQuery: false,
    send: (reply, { redirectUri }, answer) =>
      neverStored(reply).redirect(`${redirectUri}#${inFragment(answer)}`, 303),
  })
  oauth.register('responseMode', 'form_post', {
    inQuery: false,
    send: (reply, { redirectUri }, answer) =>
      reply.page('form-post', { action: redirectUri, fields: answer as Record<string, string> }),
  })
}

/** Spaces as `%20`: scripts that decode it themselves do not all know `+`. */
function inFragment(answer: Wire): string {
  return new URLSearchParams(answer as Record<string, string>).toString().replaceAll('+', '%20')
}

function neverStored(reply: FastifyReply): FastifyReply {
  return reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
}

export default fp(responseModes, {
  name: 'latchkey-response-modes',
  dependencies: ['latchkey-oauth', 'latchkey-pages'],
})
