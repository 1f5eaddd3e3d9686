/**
 * Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document-00): a client_id is an address, and what is there is what the
 * client is. Nothing is registered. With `OIDC_CLIENT_METADATA_DOCUMENTS=off` nothing of it is here.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { parseClientIdUrl } from '../../src/protocol/client-id-url.ts'
import { addAdminBlocked } from './administration.ts'
import { createBlocked, type Blocked } from './blocked.ts'
import { createDocuments } from './documents.ts'
import { createJudgeDocument, type JudgeDocument } from './judge.ts'
import { createReadClientDocument } from './reading.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** For apps that are known by their address: who of them is shut out, and what is made of a document; not there where none are taken. */
    readonly clientDocuments: { readonly blocked: Blocked; readonly judge: JudgeDocument }
  }
}

/** What its clients have as their `registrar`. */
const SOURCE = 'client-metadata-document'

async function clientDocuments(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { config, database, parseOpenMetadata: parse, policies } = kernelOf(fastify)
  const { OIDC_CLIENT_METADATA_DOCUMENTS: taken, OIDC_REGISTRATION_SCOPES: scopes } = config
  if (taken[0] === 'off') return
  const hosts = taken[0] === 'any' ? undefined : new Set(taken)

  function urlOf(clientId: string): URL | null {
    const url = parseClientIdUrl(clientId, config.UNSAFE_OUTBOUND_ORIGINS)
    return url === null || (hosts?.has(url.host) ?? true) ? url : null
  }

  const blocked = createBlocked(
    fastify,
    (name) => parseClientIdUrl(name, config.UNSAFE_OUTBOUND_ORIGINS) !== null,
  )
  const judge = createJudgeDocument({ parse, policies, scopes })
  fastify.decorate('clientDocuments', { blocked, judge })
  oauth.register(
    'clientSource',
    SOURCE,
    createDocuments({
      database,
      log: fastify.log,
      read: createReadClientDocument(fastify),
      judge,
      blocked,
      urlOf,
      consentLifetime: config.OIDC_CLIENT_METADATA_CONSENT_EXPIRE,
    }),
  )
  oauth.extend('metadata', async () => ({ client_id_metadata_document_supported: true }))
  if (fastify.hasDecorator('admin')) await addAdminBlocked(fastify, blocked)
}

export default fp(clientDocuments, { name: 'latchkey-client-documents', dependencies: ['latchkey-oauth'] })
