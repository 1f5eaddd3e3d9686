/**
 * Server metadata (RFC 8414, OpenID Connect Discovery), made from what is registered: leave a plugin out and its
 * members are gone. The addresses follow from the issuer, so they lie at the host's root when the issuer has a path.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../../src/config.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { servePublicDocument } from '../../src/http/public-document.ts'
import { createSignedDocument } from './signed.ts'

/** The member that profiles narrow to the algorithms by which this server signs. */
const SIGNS = 'id_token_signing_alg_values_supported'

async function discovery(fastify: FastifyInstance): Promise<void> {
  const { oauth, log } = fastify
  const { config, doors, keys, profiles } = kernelOf(fastify)
  let read: () => Buffer

  fastify.addHook('onReady', async () => {
    const endpoints = oauth.endpoints().map(({ metadata, path }) => [metadata, oauth.issuer + path])
    if (endpoints.some(([member]) => member === 'issuer'))
      throw new ConfigError('The metadata member issuer is taken.')
    const own = { issuer: oauth.issuer, ...(Object.fromEntries(endpoints) as Record<string, string>) }
    const metadata = profiles.offered(await doors.withContributions('metadata', own, own, undefined))
    // Required by RFC 8414 §2, also of a server without an authorization endpoint.
    const { response_types_supported = [] } = metadata
    const whole = { ...metadata, response_types_supported }
    const document = Buffer.from(JSON.stringify(whole))
    read = config.OIDC_SIGNED_METADATA
      ? await createSignedDocument(whole, { sign: oauth.signStatement, keys, algorithm: algorithm(), log })
      : () => document
  })

  /** RS256, which every client knows, or the first that OIDC_PROFILE leaves of those that there are. */
  function algorithm(): string {
    const { [SIGNS]: left } = profiles.offered({ [SIGNS]: keys.algorithms })
    const [first = 'RS256'] = left as readonly string[]
    return first
  }

  const urls = addresses(oauth.config.basePath)
  servePublicDocument(fastify, { urls, type: 'application/json', maxAge: 60, read: () => read() })
}

/** RFC 8414 §3.1 inserts the well-known part before the issuer's path, OpenID Connect Discovery §4 appends it. */
function addresses(basePath: string): Set<string> {
  const documents = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']
  return new Set(documents.flatMap((wellKnown) => [wellKnown + basePath, basePath + wellKnown]))
}

export default fp(discovery, {
  name: 'latchkey-discovery',
  dependencies: ['latchkey-oauth'],
  encapsulate: true,
})
