/** The transmitter's configuration (SSF 1.0 §7), where receivers look for it. */
import type { FastifyInstance } from 'fastify'
import { servePublicDocument } from '../../src/http/public-document.ts'
import { CONFIGURATION } from './configuration.ts'
import { PATH } from './serving.ts'
import { STATUS } from './status.ts'
import { POLL, PUSH } from './stream.ts'
import { ADD, REMOVE } from './subjects.ts'
import { VERIFY } from './verification.ts'

const WELL_KNOWN = '/.well-known/ssf-configuration'

export async function serveMetadata(fastify: FastifyInstance): Promise<void> {
  const { oauth } = fastify
  const at = (path: string): string => `${oauth.issuer}${PATH}${path}`
  let document: Buffer | undefined

  function read(): Buffer {
    document ??= Buffer.from(
      JSON.stringify({
        spec_version: '1_0',
        issuer: oauth.issuer,
        ...(fastify.hasPlugin('latchkey-jwks') ? { jwks_uri: `${oauth.issuer}/jwks` } : {}),
        delivery_methods_supported: [PUSH, POLL],
        configuration_endpoint: at(CONFIGURATION),
        status_endpoint: at(STATUS),
        add_subject_endpoint: at(ADD),
        remove_subject_endpoint: at(REMOVE),
        verification_endpoint: at(VERIFY),
        authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
        default_subjects: 'ALL',
      }),
    )
    return document
  }

  const { basePath } = oauth.config
  // §7.2: before the path of the issuer; behind it too, as metadata of OpenID Connect is, for who looks there.
  const urls = new Set([WELL_KNOWN + basePath, basePath + WELL_KNOWN])
  await oauth.root.register(async (scope) =>
    servePublicDocument(scope, { urls, type: 'application/json', maxAge: 60, read }),
  )
}
