/** To each upstream by what it speaks: OpenID Connect (`openid.ts`), or OAuth 2.0 alone (`oauth.ts`). All of it goes the guarded way out. */
import type { FastifyInstance } from 'fastify'
import { hasIdTokens } from '../../src/protocol/upstream-kinds.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import { createOAuth } from './oauth.ts'
import { createOpenid } from './openid.ts'
import type { Provider } from './provider.ts'

export function createProvider(fastify: FastifyInstance): Provider {
  const [openid, oauth] = [createOpenid(fastify), createOAuth(fastify)]
  const of = (upstream: Upstream): Provider => (hasIdTokens(upstream) ? openid : oauth)
  return {
    authorizationUrl: async (upstream, asked) => of(upstream).authorizationUrl(upstream, asked),
    signOutUrl: async (upstream, asked) => of(upstream).signOutUrl(upstream, asked),
    identify: async (upstream, query, checks) => of(upstream).identify(upstream, query, checks),
  }
}
