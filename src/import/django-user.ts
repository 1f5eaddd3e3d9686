/** Django's `auth.user` as a user of ours. Whether the name is free, and the claims are good, is for the registry. */
import { djangoPasswords, isUnusable } from '../services/users/django-passwords.ts'
import type { ImportedUser } from '../services/users/update-options.ts'
import { flag, text, type Fields, type Translated } from './fields.ts'

export interface TranslatedUser extends Translated {
  imported: ImportedUser
}

/** Names that may be said aloud; what stands before the first `$` may else be part of a password. */
const ALGORITHMS = new Set([
  'pbkdf2_sha256', 'pbkdf2_sha1', 'argon2', 'scrypt', 'bcrypt', 'bcrypt_sha256', 'md5', 'sha1', 'crypt',
]) // prettier-ignore

/** `admins`: superusers there are administrators here. */
export function translateUser(fields: Fields, admins: boolean): TranslatedUser {
  const notes: string[] = []
  const imported = {
    passwordHash: readPassword(text(fields, 'password', ''), notes),
    disabled: !flag(fields, 'is_active', true),
  }
  const isSuperuser = flag(fields, 'is_superuser', false)
  if (isSuperuser && !admins) notes.push('a superuser there, and no administrator here without --admins')
  const members = {
    username: text(fields, 'username'),
    ...readClaims(fields),
    ...(isSuperuser && admins ? { roles: ['admin'] } : {}),
  }
  return { members, imported, notes }
}

/** Django does not know whether an address was verified. Empty texts are left out. */
function readClaims(fields: Fields): Record<string, unknown> {
  const [given, family, email] = ['first_name', 'last_name', 'email'].map((name) =>
    text(fields, name, '').trim(),
  )
  const name = [given, family].filter((one) => one !== '').join(' ')
  const claims = { given_name: given, family_name: family, name, email }
  const known = Object.entries(claims).filter(([, value]) => value !== '')
  return { ...Object.fromEntries(known), ...(email === '' ? {} : { email_verified: false }) }
}

function readPassword(hash: string, notes: string[]): string | undefined {
  if (isUnusable(hash)) return undefined
  if (djangoPasswords.some((one) => one.recognizes(hash))) return hash
  const [algorithm = ''] = hash.split('$', 1)
  const form = ALGORITHMS.has(algorithm) ? algorithm : 'an unknown form'
  notes.push(`comes without a password: its hash (${form}) cannot be read here`)
  return undefined
}
