/**
 * Pushed authorization requests (RFC 9126) for Latchkey: a client sends its request to the server, and the browser brings a
 * reference to it. That is good for a minute to begin with, for its client, and for one answer.
 */
import type { FastifyInstance } from 'fastify'
import { answer, networkOf, OAuthError, Type, type Wire } from 'latchkey'

const PREFIX = 'urn:ietf:params:oauth:request_uri:'
const SOURCE = 'pushed'
/** Seconds in which a browser must come with it. */
const LIFETIME = 60
/** Seconds that a person who came in time has to sign in and to decide. */
const DECIDING = 3600
/** Of one network that anybody may push from, in the name of a public client: the oldest give way. */
const MOST_OF_ANYBODY = 1000

export const settings = Type.Object({
  REQUIRE_PAR: Type.Boolean({
    default: false,
    description: 'whether every client must push its requests, whatever its registration says',
  }),
})

interface Pushed {
  readonly clientId: string
  readonly wire: Wire
  /** What the client proved as it sent it, such as the key to which its code is bound. */
  readonly shown: Wire
  /** Milliseconds since the epoch. */
  readonly until: number
}

export default async function pushedRequests({ oauth }: FastifyInstance): Promise<void> {
  const { REQUIRE_PAR: isRequired } = oauth.settings(settings)
  const requests = oauth.artifacts<Pushed>('pushed_request', { lifetime: LIFETIME + DECIDING })

  oauth.extendClientMetadata(
    Type.Object({ require_pushed_authorization_requests: Type.Optional(Type.Boolean({ open: true })) }),
  )
  oauth.extend('metadata', async () => ({ require_pushed_authorization_requests: isRequired }))

  oauth.registerEndpoint({
    path: '/par',
    metadata: 'pushed_authorization_request_endpoint',
    publicClients: true,
    cors: true,
    parameters: Type.Object({}),
    async handle(_parameters, call) {
      const { client, wire, request } = call
      if (wire['request_uri'] !== undefined)
        throw new OAuthError('invalid_request', 'a pushed request has no request_uri')
      const { clientId } = client
      const asked = { ...wire, client_id: clientId }
      const shown = await oauth.parametersShownBy(call)
      await oauth.parseRequest(asked, client, { source: SOURCE, shown })
      const handle = await requests.put(
        { clientId, wire: asked, shown, until: Date.now() + LIFETIME * 1000 },
        client.isPublic() ? { owner: networkOf(request.ip), most: MOST_OF_ANYBODY } : {},
      )
      return answer({ status: 201, body: { request_uri: PREFIX + handle, expires_in: LIFETIME } })
    },
  })

  oauth.register('requestSource', SOURCE, {
    recognizes: ({ request_uri: uri }) => typeof uri === 'string' && uri.startsWith(PREFIX),
    async resolve({ request_uri: uri }, { clientId }) {
      const handle = String(uri).slice(PREFIX.length)
      const pushed = await requests.get(handle)
      if (pushed === null || pushed.clientId !== clientId || pushed.until <= Date.now())
        throw new OAuthError('invalid_request_uri', 'the request has expired, or was answered before')
      return { wire: pushed.wire, shown: pushed.shown, spends: [{ kind: 'pushed_request', handle }] }
    },
  })

  oauth.add('authorizationCheck', {
    name: 'pushed',
    check({ client, sources }) {
      const required = isRequired || client.metadata['require_pushed_authorization_requests'] === true
      if (required && !sources.includes(SOURCE))
        throw new OAuthError('invalid_request', 'the request must be pushed')
    },
  })
}
