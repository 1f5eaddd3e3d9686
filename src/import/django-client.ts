/** A client of django-oidc-provider as client metadata. Whether it is good is for the registry to say. */
import { fieldError, flag, text, words, type Fields, type Translated } from './fields.ts'
import type { DumpRecord } from './dump.ts'

export interface TranslatedClient extends Translated {
  /** Members that a client can do without: one that the registry refuses is left out, and named. */
  optional: Record<string, unknown>
}

/** Values of `oidc_provider.responsetype` by the primary key, as a client's list names them. */
export type ResponseTypes = ReadonlyMap<string, string>

export function readResponseType({ pk, fields }: DumpRecord): [string, string] {
  return [String(pk), text(fields, 'value')]
}

export function translateClient(fields: Fields, responseTypes: ResponseTypes): TranslatedClient {
  const notes: string[] = []
  const name = text(fields, 'name', '')
  const redirectUris = words(fields, '_redirect_uris')
  const members = {
    client_id: text(fields, 'client_id'),
    ...(name === '' ? {} : { client_name: name }),
    redirect_uris: redirectUris,
    post_logout_redirect_uris: words(fields, '_post_logout_redirect_uris'),
    scope: words(fields, '_scope'),
    response_types: readResponseTypes(fields, responseTypes, redirectUris.length > 0, notes),
    ...readAuthentication(fields, notes),
  }
  noteUnsupported(fields, notes)
  return { members, optional: readOptional(fields), notes }
}

/** Unset, `token_endpoint_auth_method` lets Basic and post both work, as there. */
function readAuthentication(fields: Fields, notes: string[]): Record<string, unknown> {
  const type = text(fields, 'client_type', 'confidential')
  const secret = text(fields, 'client_secret', '')
  if (type === 'public') {
    if (secret !== '') notes.push('client_secret is not taken over: a public client has none')
    return { token_endpoint_auth_method: 'none' }
  }
  if (type !== 'confidential') throw fieldError('client_type', 'must be confidential or public')
  if (secret !== '') return { client_secret: secret }
  notes.push('has no secret: client rotate-secret gives it one')
  return {}
}

/** Primary keys, natural keys (a list of one text each), or the one text of versions before 0.7. */
function readResponseTypes(
  fields: Fields,
  known: ResponseTypes,
  hasRedirect: boolean,
  notes: string[],
): string[] {
  const list =
    fields['response_types'] ?? (fields['response_type'] === undefined ? [] : [[fields['response_type']]])
  if (!Array.isArray(list)) throw fieldError('response_types', 'must be a list')
  const values = list.map((entry: unknown) => {
    const value: unknown = Array.isArray(entry) ? entry[0] : known.get(String(entry))
    if (typeof value === 'string') return value
    throw fieldError(
      'response_types',
      'names what is not in this file: dump oidc_provider.responsetype with the clients',
    )
  })
  if (hasRedirect || values.length === 0) return values
  notes.push('response_types are not taken over: there is no redirect URI')
  return []
}

/** `terms_url` is, by its own help text, where the client's privacy policy stands. */
function readOptional(fields: Fields): Record<string, unknown> {
  const email = text(fields, 'contact_email', '')
  const members = {
    client_uri: text(fields, 'website_url', ''),
    policy_uri: text(fields, 'terms_url', ''),
    contacts: email === '' ? '' : [email],
    require_consent: flag(fields, 'require_consent', true),
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== ''))
}

function noteUnsupported(fields: Fields, notes: string[]): void {
  const algorithm = text(fields, 'jwt_alg', 'RS256')
  if (algorithm !== 'RS256' && algorithm !== 'HS256') throw fieldError('jwt_alg', 'must be RS256 or HS256')
  if (algorithm === 'HS256')
    notes.push('jwt_alg HS256 is not supported: its ID tokens are signed RS256, by the keys at jwks_uri')
  if (!flag(fields, 'reuse_consent', true))
    notes.push('reuse_consent false is not supported: what a user allowed is remembered')
  if (text(fields, 'logo', '') !== '') notes.push('logo is a file there: set logo_uri')
}
