/**
 * The subject types of OpenID Connect Core §8: `public` names a user by the same `sub` everywhere, `pairwise` by one
 * for each sector, so that clients of different sectors cannot tell that two users are one.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createHmac, type KeyObject } from 'node:crypto'
import { metadataError } from '../src/protocol/client-metadata.ts'
import { Type } from '../src/protocol/schema.ts'
import { sectorIdentifier } from '../src/protocol/sector-identifier.ts'

async function subjectTypes(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  let key: KeyObject
  fastify.addHook('onReady', async () => {
    key = await oauth.secret('pairwise-subjects')
  })

  oauth.register('subjectType', 'public', { subject: (userId) => userId })
  oauth.register('subjectType', 'pairwise', {
    subject: (userId, client) =>
      // A host holds no line break, so that no other pair reads the same.
      createHmac('sha256', key)
        .update(`${sectorIdentifier(client.metadata)}\n${userId}`)
        .digest('base64url'),
  })

  oauth.extendClientMetadata(Type.Object({}), (metadata) => {
    const type = metadata['subject_type']
    const owners = oauth.owners('subjectType')
    if (type !== undefined && !owners.has(type as string))
      throw metadataError('subject_type', `must be one of ${[...owners.keys()].join(', ')}`)
    if (type === 'pairwise') sectorIdentifier(metadata)
  })
  oauth.extend('metadata', async () => ({
    subject_types_supported: [...oauth.owners('subjectType').keys()],
  }))
}

export default fp(subjectTypes, { name: 'latchkey-subject-types', dependencies: ['latchkey-oauth'] })
