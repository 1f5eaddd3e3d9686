/** A grant for tests that gives tokens on behalf of a user, so with an Authorization behind them. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { parseScope } from '../../src/protocol/scope.ts'

export const USER_GRANT = 'urn:example:user'

export function addUserGrant({ oauth }: FastifyInstance): void {
  oauth.registerGrant({
    type: USER_GRANT,
    publicClients: true,
    parameters: Type.Object({ scope: Type.String(), user: Type.String() }),
    authorize: async ({ scope, user }) => ({ subject: user, scopes: parseScope(scope), resources: [] }),
  })
}
