/** Reads a record's fields in the types that Django gives them. Absent and null are the same. */
import { OAuthError } from '../protocol/errors.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A record as the registries take it: what was made of its fields, and what the operator is to know of it. */
export interface Translated {
  members: Record<string, unknown>
  /** Each is a sentence's rest, to stand below the record's name. */
  notes: string[]
}

/** The reason follows the field's name; neither holds a value, which may be secret. */
export function fieldError(field: string, reason: string): OAuthError {
  return new OAuthError('invalid_request', `${field} ${reason}`)
}

/** Throws when there is none and no `fallback`. */
export function text(fields: Fields, name: string, fallback?: string): string {
  const value = fields[name] ?? fallback
  if (value === undefined) throw fieldError(name, 'is missing')
  if (typeof value !== 'string') throw fieldError(name, 'must be a text')
  return value
}

export function flag(fields: Fields, name: string, fallback: boolean): boolean {
  const value = fields[name] ?? fallback
  if (typeof value !== 'boolean') throw fieldError(name, 'must be true or false')
  return value
}

/** Lines and words alike: neither an address nor a scope holds a space. */
export function words(fields: Fields, name: string): string[] {
  return text(fields, name, '')
    .split(/\s+/)
    .filter((word) => word !== '')
}
