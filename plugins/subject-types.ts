/**
 * The subject types of OpenID Connect Core §8: `public` names a user by the same `sub` everywhere, `pairwise` by one
 * for each sector, so that clients of different sectors cannot tell that two users are one.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createHmac, type KeyObject } from 'node:crypto'
import type { Client } from '../src/doors/client.ts'
import type { Fetch } from '../src/doors/outbound.ts'
import type { Bag } from '../src/protocol/bag.ts'
import { metadataError, OAuthError } from '../src/protocol/errors.ts'
import { reason } from '../src/protocol/message.ts'
import { Type } from '../src/protocol/schema.ts'
import { sectorIdentifier } from '../src/protocol/sector-identifier.ts'
import { TooManyUnderWay } from '../src/services/outbound/too-many.ts'

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
        .update(`${sectorOf(client)}\n${userId}`)
        .digest('base64url'),
  })

  oauth.extendClientMetadata(Type.Object({}), async (metadata) => {
    const type = metadata['subject_type']
    const owners = oauth.owners('subjectType')
    if (type !== undefined && !owners.has(type as string))
      throw metadataError('subject_type', reason('must be one of {names}', { names: [...owners.keys()] }))
    await assertListed(metadata, oauth.fetch)
    if (type === 'pairwise') sectorIdentifier(metadata)
  })
  oauth.extend('metadata', async () => ({
    subject_types_supported: [...oauth.owners('subjectType').keys()],
  }))
}

/**
 * A client that is known by its document alone is a sector of its own: the document may name the host of another app tomorrow, and who
 * refreshes then would be told by which `sub` that app knows the same person (docs/adr/0047).
 */
function sectorOf({ clientId, unregistered, metadata }: Client): string {
  return unregistered === undefined ? sectorIdentifier(metadata) : clientId
}

/** The document of the sector names all redirect URIs, whatever the subject type (OpenID Connect Registration §5). */
async function assertListed(
  { sector_identifier_uri: document, redirect_uris: uris = [] }: Bag,
  fetch: Fetch,
): Promise<void> {
  if (typeof document !== 'string') return
  const listed = await listIn(document, fetch)
  const missing = (uris as readonly string[]).find((uri) => !listed.includes(uri))
  if (missing !== undefined)
    throw metadataError('sector_identifier_uri', reason('must name a document that lists all redirect_uris'))
}

async function listIn(document: string, fetch: Fetch): Promise<readonly unknown[]> {
  let listed: unknown
  try {
    const response = await fetch(document, { headers: { accept: 'application/json' }, byAnybody: true })
    listed = response.ok ? await response.json() : undefined
  } catch (cause) {
    if (cause instanceof TooManyUnderWay) throw cause
    throw unreadable(cause)
  }
  if (!Array.isArray(listed)) throw unreadable(document)
  return listed
}

/** The same for every reason, so that nobody sees through it what our network looks like. */
function unreadable(cause: unknown): OAuthError {
  const { code, message } = metadataError('sector_identifier_uri', 'must name a JSON list that can be read')
  return new OAuthError(code, message, { cause })
}

export default fp(subjectTypes, { name: 'latchkey-subject-types', dependencies: ['latchkey-oauth'] })
