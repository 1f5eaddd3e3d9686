/**
 * The roles of a user as a claim, `roles` or `groups` (RFC 9068 §2.2.3.1), for apps that decide by them: in access tokens, ID tokens, userinfo and
 * introspection, where the scope of that name was granted. With `OIDC_ROLES_CLAIM` unset nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../src/http/kernel-of.ts'
import type { Authorization } from '../src/doors/facts.ts'
import type { Bag } from '../src/protocol/bag.ts'
import { message } from '../src/protocol/message.ts'

/** What people read who allow an app to have it: in English, which catalogues have as it is. */
const DESCRIPTION = message('See your roles')

async function roles(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, seeder } = kernelOf(fastify)
  const names = config.OIDC_ROLES_CLAIM
  if (names.length === 0) return
  // What is changed or removed of it here stays so.
  seeder.bring('OIDC_ROLES_CLAIM', {
    scopes: names.map((name) => ({ name, description: DESCRIPTION.text })),
  })

  for (const name of names) {
    const tell = async ({ scopes, subject }: Authorization): Promise<Bag | undefined> => {
      if (!scopes.has(name) || subject === undefined) return undefined
      const user = await oauth.findUser(subject)
      return user === null || user.roles.length === 0 ? undefined : { [name]: user.roles }
    }
    oauth.extend('access_token', [name], tell)
    oauth.extend('userinfo', [name], tell)
    oauth.extend('id_token', [name], async (authorization, _document, { client }) => {
      const { id_token_include_claims: own } = client.metadata
      return (own ?? config.OIDC_IDTOKEN_INCLUDE_CLAIMS) === true ? tell(authorization) : undefined
    })
    // As they were when it was issued: whoever verifies the token itself reads the same.
    oauth.extend('introspection', [name], ({ claims }) =>
      claims[name] === undefined ? undefined : { [name]: claims[name] },
    )
  }
}

export default fp(roles, { name: 'latchkey-roles', dependencies: ['latchkey-oauth'] })
