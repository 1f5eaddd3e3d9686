/** Another shop's plugin, which wants the same grant. */
import { Type, type OAuth } from 'latchkey'

export default async function rival({ oauth }: { oauth: OAuth }): Promise<void> {
  oauth.registerGrant({
    type: 'urn:example:voucher',
    parameters: Type.Object({}),
    authorize: async (_parameters, { client }) => ({ scopes: client.grantableScopes, resources: [] }),
  })
}
