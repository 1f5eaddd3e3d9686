/** The sector of a client: those of one sector know a user by one pairwise subject (OpenID Connect Core §8.1). */
import { metadataError } from './errors.ts'
import { reason } from './message.ts'

/**
 * The host of its `sector_identifier_uri`, whose document lists all redirect URIs (Registration §5), or the one host of those.
 * Throws `invalid_client_metadata`.
 */
export function sectorIdentifier(metadata: Readonly<Record<string, unknown>>): string {
  const { redirect_uris = [], sector_identifier_uri: document } = metadata as {
    redirect_uris?: readonly string[]
    sector_identifier_uri?: string
  }
  if (document !== undefined) return hostOf(document)
  const [host, ...others] = new Set(redirect_uris.map(hostOf))
  if (others.length > 0)
    throw metadataError(
      'redirect_uris',
      reason('must have one host when the subject_type is pairwise and there is no sector_identifier_uri'),
    )
  if (host === undefined || host === '')
    throw metadataError(
      'subject_type',
      reason('pairwise needs redirect_uris of http or https, whose host is the sector'),
    )
  return host
}

/** The host that somebody owns; schemes of an app's own have none. */
function hostOf(uri: string): string {
  const { protocol, hostname } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? hostname : ''
}
