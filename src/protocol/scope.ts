/** Scope strings of RFC 6749 §3.3: space-separated on the wire, ordered sets in code. */
import { OAuthError } from './errors.ts'

/** OpenID Connect Core §5.4 and §11: every client may ask an end-user for these. */
export const OPENID_SCOPES: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'address',
  'phone',
  'offline_access',
])

const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/
const MAX_SCOPES = 100

export function isScopeToken(name: string): boolean {
  return SCOPE_TOKEN.test(name)
}

/**
 * Parses a scope string, keeping its order and dropping repetitions. Throws `invalid_scope` for characters
 * outside RFC 6749 §3.3, for more than 100 names and for a string without any.
 */
export function parseScope(text: string): ReadonlySet<string> {
  const names = text.split(' ').filter((name) => name !== '')
  if (names.length === 0 || names.length > MAX_SCOPES || !names.every(isScopeToken)) {
    throw new OAuthError('invalid_scope', 'the scope is malformed')
  }
  return new Set(names)
}

/** Granted scopes separated by single spaces. */
export function formatScope(scopes: Iterable<string>): string {
  return [...scopes].join(' ')
}
