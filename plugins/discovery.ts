/**
 * Server metadata (RFC 8414, OpenID Connect Discovery), made from what is registered: leave a plugin out and its
 * members are gone. The addresses follow from the issuer, so they lie at the host's root when the issuer has a path.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { ConfigError } from '../src/config.ts'
import { kernelOf } from '../src/http/kernel-of.ts'
import { servePublicDocument } from '../src/http/public-document.ts'

async function discovery(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const { doors, profiles } = kernelOf(fastify)
  let document: Buffer | undefined

  fastify.addHook('onReady', async () => {
    const endpoints = oauth.endpoints().map(({ metadata, path }) => [metadata, oauth.issuer + path])
    if (endpoints.some(([member]) => member === 'issuer'))
      throw new ConfigError('The metadata member issuer is taken.')
    const own = { issuer: oauth.issuer, ...(Object.fromEntries(endpoints) as Record<string, string>) }
    const metadata = profiles.offered(await doors.withContributions('metadata', own, own, undefined))
    // Required by RFC 8414 §2, also of a server without an authorization endpoint.
    const { response_types_supported = [] } = metadata
    document = Buffer.from(JSON.stringify({ ...metadata, response_types_supported }))
  })

  const urls = addresses(oauth.config.basePath)
  servePublicDocument(fastify, { urls, type: 'application/json', maxAge: 60, read: () => document! })
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
