/**
 * MCP authorization, revision 2026-07-28, as a set of rules that a client keeps: OAuth 2.1, requests that may leave out the scope, and
 * clients that are known by a document. What else it asks of a server, every client has: `iss` in answers, resources, rotation.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'

const NAME = 'mcp'

async function mcp(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, doors } = kernelOf(fastify)
  const { OIDC_PROFILE: profiles, OIDC_CLIENT_METADATA_DOCUMENTS: documents } = config
  fastify.addHook('onReady', async () => {
    if (!profiles.includes(NAME) || documents[0] === 'off') return
    if (doors.owners('clientSource').size === 0)
      throw new ConfigError(
        `OIDC_PROFILE ${NAME} needs latchkey-client-documents, which is left out; or set OIDC_CLIENT_METADATA_DOCUMENTS=off.`,
      )
    fastify.log.info(`OIDC_PROFILE ${NAME}: OIDC_CLIENT_METADATA_DOCUMENTS is ${documents.join(',')}.`)
  })
  oauth.register('profile', NAME, {
    locks: { require_pkce: true, authorization_code_lifetime: 600, access_token_in_query: false },
    choices: {
      response_types: { among: ['code'], supported: ['response_types_supported'] },
      grant_types: { never: ['implicit', 'password'], supported: ['grant_types_supported'] },
    },
    // Clients register with the scope of the first challenge, and never again; the next challenge asks for more.
    growingScope: true,
    defaults({ scope }) {
      // A client that has not seen a challenge yet sends no scope.
      const all = (scope ?? []) as readonly string[]
      return {
        default_scope: all.length === 0 ? ['openid'] : all,
        // OAuth 2.1 §4.1.3
        require_redirect_uri_with_code: false,
      }
    },
  })
}

export default fp(mcp, { name: 'latchkey-mcp', dependencies: ['latchkey-oauth'] })
