/** The client authentication methods of RFC 6749 §2.3.1 and, for public clients, none. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { isBasic, parseBasic } from '../src/protocol/basic-credentials.ts'
import { OAuthError } from '../src/protocol/errors.ts'
import type { Wire } from '../src/protocol/wire.ts'

const text = (wire: Wire, name: string): string | undefined => wire[name] as string | undefined

async function clientAuthentication({ oauth }: FastifyInstance): Promise<void> {
  oauth.register('clientAuthentication', 'client_secret_basic', {
    recognizes({ headers: { authorization } }, wire) {
      if (!isBasic(authorization)) return null
      const claimed = [...new Set(parseBasic(authorization).map(({ clientId }) => clientId))]
      const named = text(wire, 'client_id')
      if (named !== undefined && claimed.length > 0 && !claimed.includes(named)) {
        throw new OAuthError(
          'invalid_request',
          'the client_id differs from the one in the Authorization header',
        )
      }
      return claimed
    },
    async authenticate({ headers }, _wire, client, claimed) {
      for (const { clientId, clientSecret } of parseBasic(headers.authorization ?? '')) {
        if (clientId === claimed && (await oauth.checkSecret(client, clientSecret, claimed))) return true
      }
      return false
    },
  })

  oauth.register('clientAuthentication', 'client_secret_post', {
    recognizes(_request, wire) {
      if (text(wire, 'client_secret') === undefined) return null
      return [text(wire, 'client_id') ?? ''].filter((id) => id !== '')
    },
    authenticate: async (_request, wire, client, claimed) =>
      oauth.checkSecret(client, text(wire, 'client_secret') ?? '', claimed),
  })

  oauth.register('clientAuthentication', 'none', {
    recognizes({ headers: { authorization } }, wire) {
      const clientId = text(wire, 'client_id')
      if (clientId === undefined || isBasic(authorization)) return null
      return text(wire, 'client_secret') === undefined && text(wire, 'client_assertion') === undefined
        ? [clientId]
        : null
    },
    authenticate: async (_request, _wire, client) => client?.isPublic() ?? false,
  })
}

export default fp(clientAuthentication, {
  name: 'latchkey-client-authentication',
  dependencies: ['latchkey-oauth'],
})
