/** An operator's plugin, for PLUGINS: it asks elsewhere whether a client may be registered, which takes a while. */
import type { FastifyInstance } from 'fastify'
import { setTimeout } from 'node:timers/promises'
import { Type } from 'typebox'
import { OAuthError } from '../../src/protocol/errors.ts'

/** A name that it refuses. */
export const REFUSED = 'Nobody knows this app'

export default async function asking({ oauth }: FastifyInstance): Promise<void> {
  oauth.extendClientMetadata(Type.Object({}), async ({ client_name: name }) => {
    await setTimeout(5)
    if (name === REFUSED) throw new OAuthError('invalid_client_metadata', 'client_name is known to nobody')
  })
}
