/** A client_id that is the address of the client's metadata (draft-ietf-oauth-client-id-metadata-document-00 §3). */

const MAX_LENGTH = 200

/**
 * Null for what is none: one that is not https (or of an origin in `plain`), is not written as browsers write it, has no path, or holds a
 * fragment, credentials, dots as segments or a dot behind its host. Such addresses are compared letter by letter, so there is one way to
 * write each.
 */
export function parseClientIdUrl(clientId: string, plain: readonly string[] = []): URL | null {
  if (clientId.length > MAX_LENGTH || !/^https?:\/\//.test(clientId)) return null
  const url = URL.parse(clientId)
  if (url?.href !== clientId || url.pathname === '/') return null
  if (url.username !== '' || url.password !== '' || clientId.includes('#')) return null
  if (url.hostname.endsWith('.')) return null
  return url.protocol === 'https:' || plain.includes(url.origin) ? url : null
}
