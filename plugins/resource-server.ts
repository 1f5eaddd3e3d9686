/**
 * `fastify.requireScope` inside the server itself: the package that foreign apps use, verifying with our own keys
 * and database. Its audience is the default resource, whose identifier is the issuer.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../src/config.ts'
import type { Verified } from '../src/doors/facts.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { OAuthError } from '../src/protocol/errors.ts'
import { instantsOf } from './require-scope/expiry.ts'
import { asksForToken } from './require-scope/routes.ts'
import { isUnavailable } from '../src/store/failures.ts'
import requireScope, {
  BearerError,
  VerificationUnavailable,
  type AccessToken,
  type SenderConstraint,
  type Verifier,
} from './require-scope/index.ts'

async function resourceServer(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  await fastify.register(requireScope, {
    verifier: createOwnVerifier(oauth),
    resource: oauth.issuer,
    senderConstraints: ownConstraints(fastify),
    metadata: { authorization_servers: [oauth.issuer] },
  })
}

/**
 * In its place, where it is left out: what asks for a token would be open. The start ends with `ConfigError`, and what was made before
 * is closed. An app may have a guard of its own.
 */
export function refuseScopes(fastify: FastifyInstance): void {
  fastify.addHook('onRoute', function (this: FastifyInstance, { method, url, config = {} }) {
    if (asksForToken(config) && !this.hasDecorator('requireScope'))
      throw lacksGuard(`${String(method)} ${url}`)
  })
  // Unlike onRoute, this reaches routes that were made before.
  fastify.addHook('onRequest', ({ server, method, url, routeOptions }, _reply, done) => {
    const isOpen = !asksForToken(routeOptions.config) || server.hasDecorator('requireScope')
    done(isOpen ? undefined : lacksGuard(`${method} ${routeOptions.url ?? url}`))
  })
}

function lacksGuard(route: string): ConfigError {
  return new ConfigError(`The route ${route} asks for a token, so it needs latchkey-resource-server.`)
}

/**
 * Verifies with our own keys and database. `behind` sees what a token stands for: what it finds is added to the token, and
 * it may refuse the token too.
 */
export function createOwnVerifier(
  oauth: FastifyInstance['oauth'],
  behind?: (verified: Verified, token: AccessToken) => Promise<object>,
): Verifier {
  return {
    async verify(token) {
      const verified = await oauth.verify(token).catch(refuse)
      if (verified === null)
        throw new BearerError('invalid_token', 'The access token is expired, revoked or not ours')
      const accessToken = toAccessToken(verified.claims)
      return behind === undefined
        ? accessToken
        : Object.assign(accessToken, await behind(verified, accessToken))
    },
  }
}

/** The registered sender constraints, once they all are: until then the list is empty. */
export function ownConstraints(fastify: FastifyInstance): readonly SenderConstraint[] {
  const constraints: SenderConstraint[] = []
  fastify.addHook('onReady', async () => {
    for (const constraint of kernelOf(fastify).doors.all('senderConstraint')) {
      const { scheme, confirmation, challenge, metadata, required } = constraint
      constraints.push({
        scheme,
        confirmation,
        challenge,
        metadata,
        required,
        async verify(...given) {
          try {
            await constraint.verify(...given)
          } catch (error) {
            refuse(error)
          }
        },
      })
    }
  })
  return constraints
}

/** An error of the protocol as a guarded route tells it; a database that is away decides nothing. */
function refuse(error: unknown): never {
  if ((error instanceof OAuthError && error.status === 503) || isUnavailable(error))
    throw new VerificationUnavailable({ retryAfter: 2, cause: error })
  if (!(error instanceof OAuthError) || error.status >= 500) throw error
  const { code, message, headers, cause } = error
  throw new BearerError(code, message, { headers, cause })
}

function toAccessToken(claims: Readonly<Record<string, unknown>>): AccessToken {
  const { iss, sub, client_id, scope, aud, jti, iat, exp } = claims as Record<string, string> & {
    iat: number
    exp: number
  }
  const { issuedAt, expiresAt } = instantsOf({ jti, iat, exp })
  return {
    issuer: iss!,
    subject: sub!,
    clientId: client_id!,
    scopes: new Set(scope?.split(' ')),
    audience: [aud!].flat(),
    issuedAt: new Date(issuedAt),
    expiresAt: new Date(expiresAt),
    jti,
    claims,
  }
}

export default fp(resourceServer, { name: 'latchkey-resource-server', dependencies: ['latchkey-oauth'] })
