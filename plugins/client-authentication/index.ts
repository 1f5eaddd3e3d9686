/**
 * The client authentication methods of RFC 6749 §2.3.1 and, for public clients, none; and what the metadata says of all
 * that are registered.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { RegisteredEndpoint } from '../../src/http/endpoint.ts'
import { type Credentials, isBasic, parseBasic } from '../../src/protocol/basic-credentials.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { OAuth } from '../oauth/index.ts'

const text = (wire: Wire, name: string): string | undefined => wire[name] as string | undefined

const namesOf = (readings: readonly Credentials[]): string[] => [
  ...new Set(readings.map(({ clientId }) => clientId)),
]

/**
 * An empty secret is the same as none (RFC 6749 §2.3.1), so it is no proof: golang.org/x/oauth2 and oidc-agent send it for
 * public clients.
 */
const isWithoutSecret = (readings: readonly Credentials[]): boolean =>
  readings.length > 0 && readings.every(({ clientSecret }) => clientSecret === '')

async function clientAuthentication({ oauth }: FastifyInstance): Promise<void> {
  oauth.register('clientAuthentication', 'client_secret_basic', {
    credentials: [],
    recognizes({ headers: { authorization } }, wire) {
      if (!isBasic(authorization)) return null
      const readings = parseBasic(authorization)
      const claimed = namesOf(readings)
      const named = text(wire, 'client_id')
      if (named !== undefined && claimed.length > 0 && !claimed.includes(named)) {
        throw new OAuthError(
          'invalid_request',
          'the client_id differs from the one in the Authorization header',
        )
      }
      return isWithoutSecret(readings) ? null : claimed
    },
    async authenticate({ headers }, _wire, client, claimed) {
      for (const { clientId, clientSecret } of parseBasic(headers.authorization ?? '')) {
        if (clientId === claimed && (await oauth.checkSecret(client, clientSecret, claimed))) return true
      }
      return false
    },
  })

  oauth.register('clientAuthentication', 'client_secret_post', {
    credentials: ['client_secret'],
    recognizes(_request, wire) {
      if (text(wire, 'client_secret') === undefined) return null
      return [text(wire, 'client_id') ?? ''].filter((id) => id !== '')
    },
    authenticate: async (_request, wire, client, claimed) =>
      oauth.checkSecret(client, text(wire, 'client_secret') ?? '', claimed),
  })

  oauth.register('clientAuthentication', 'none', {
    credentials: [],
    implied: true,
    recognizes({ headers: { authorization } }, wire) {
      // A proof that nobody here can judge is no reason to do without one.
      if (text(wire, 'client_assertion') !== undefined) return null
      const clientId = text(wire, 'client_id')
      if (clientId !== undefined) return [clientId]
      const readings = isBasic(authorization) ? parseBasic(authorization) : []
      return isWithoutSecret(readings) ? namesOf(readings) : null
    },
    authenticate: async (_request, _wire, client) => client?.isPublic() ?? false,
  })

  oauth.extend('metadata', async () => {
    const endpoints = oauth.endpoints().filter(({ metadata }) => NAMED.has(metadata))
    return Object.fromEntries(endpoints.flatMap((endpoint) => authenticationAt(endpoint, oauth)))
  })
}

/** Endpoints whose methods the standards let the metadata name (RFC 8414 §2). */
const NAMED: ReadonlySet<string> = new Set([
  'token_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
])

/** The members of an endpoint, by who may call it. */
function authenticationAt(
  { metadata, publicClients }: RegisteredEndpoint,
  { owners }: OAuth,
): [string, string[]][] {
  const methods = [...owners('clientAuthentication')].filter(([method]) => publicClients || method !== 'none')
  const algorithms = new Set(methods.flatMap(([, { algorithms = [] }]) => algorithms))
  return [
    [`${metadata}_auth_methods_supported`, methods.map(([method]) => method)],
    ...(algorithms.size > 0
      ? [[`${metadata}_auth_signing_alg_values_supported`, [...algorithms]] satisfies [string, string[]]]
      : []),
  ]
}

export default fp(clientAuthentication, {
  name: 'latchkey-client-authentication',
  dependencies: ['latchkey-oauth'],
})
