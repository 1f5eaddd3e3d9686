/** OAuth 2.1 (draft-ietf-oauth-v2-1), as a set of rules that a client keeps: no token but by the back channel, and PKCE for everybody. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

async function oauth21({ oauth }: FastifyInstance): Promise<void> {
  oauth.register('profile', 'oauth-2.1', {
    // §4.1.1, §7.5.1 and §5.1
    locks: { require_pkce: true, authorization_code_lifetime: 600, access_token_in_query: false },
    choices: {
      response_types: { among: ['code'], supported: ['response_types_supported'] },
      // §10.1 and §10.2
      grant_types: { never: ['implicit', 'password'], supported: ['grant_types_supported'] },
    },
    // §4.1.3
    defaults: () => ({ require_redirect_uri_with_code: false }),
  })
}

export default fp(oauth21, { name: 'latchkey-oauth-2.1', dependencies: ['latchkey-oauth'] })
