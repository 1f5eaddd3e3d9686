/**
 * The hybrid flow (OpenID Connect Core §3.3) for Latchkey: `code id_token` answers with a code and with an ID token that says
 * whose it is, before the code is taken anywhere.
 */
import type { FastifyInstance } from 'fastify'
import { OAuthError, parseScope, type Wire } from 'latchkey'

export default async function hybrid({ oauth }: FastifyInstance): Promise<void> {
  oauth.register('responseType', 'code id_token', {
    defaultMode: 'fragment',
    async respond(granted, request, call) {
      const { code = '' } = await oauth.owners('responseType').get('code')!.respond(granted, request, call)
      const { state } = request
      const beside = { code: String(code), ...(state === undefined ? {} : { state }) }
      return { code, id_token: await oauth.idTokens.issue(granted, call, beside) }
    },
  })

  oauth.add('authorizationCheck', {
    name: 'hybrid',
    check({ wire }) {
      if (!asksForIdToken(wire)) return
      if (!parseScope(String(wire['scope'] ?? '')).has('openid'))
        throw new OAuthError('invalid_request', 'an ID token needs the scope openid')
      // §3.3.2.11: without it nobody could tell a token that was put in from one that was asked for.
      if (wire['nonce'] === undefined) throw new OAuthError('invalid_request', 'an ID token needs a nonce')
    },
  })
}

function asksForIdToken({ response_type: type }: Wire): boolean {
  return String(type).split(' ').includes('id_token')
}
