/** What an event says to people: its type as a few words, and what its details are called. */
import type { AuditEvent, EventType } from '../../../src/events.ts'
import type { Changes } from '../../../src/protocol/changes.ts'

/** By the type, in the order in which the filter offers them. */
const OURS: Readonly<Partial<Record<EventType, string>>> = {
  'user.signed_in': 'Signed in',
  'user.sign_in_pending': 'Sign-in began, a factor is missing',
  'user.sign_in_failed': 'Sign-in failed',
  'user.factor_added': 'Second factor added',
  'user.factor_removed': 'Second factor removed',
  'user.recovery_codes_made': 'Recovery codes made',
  'user.recovery_code_used': 'Recovery code used',
  'user.signed_out': 'Signed out',
  'session.ended': 'Session ended',
  'user.registered': 'User registered',
  'user.changed': 'User changed',
  'user.password_changed': 'Password changed',
  'user.password_removed': 'Password removed',
  'user.password_link_made': 'Password link made',
  'user.invited': 'User invited by mail',
  'user.invitation_withdrawn': 'Invitation withdrawn',
  'user.link_refused': 'One-time link refused',
  'user.passkey_added': 'Passkey added',
  'user.passkey_removed': 'Passkey deleted',
  'user.passkey_refused': 'Passkey refused',
  'user.upstream_linked': 'Sign-in by an upstream linked',
  'user.upstream_unlinked': 'Sign-in by an upstream taken away',
  'user.disabled': 'User disabled',
  'user.enabled': 'User enabled',
  'user.deletion_requested': 'Deletion of the account asked for',
  'user.deletion_cancelled': 'Deletion of the account cancelled',
  'user.deleted': 'User deleted',
  'consent.given': 'Consent given',
  'consent.denied': 'Consent denied',
  'consent.withdrawn': 'Consent withdrawn',
  'token.issued': 'Token issued',
  'token.revoked': 'Token revoked',
  'authorization.revoked': 'Authorization revoked',
  'authorization.replayed': 'Code or refresh token used twice',
  'client.registered': 'Client registered',
  'client.changed': 'Client changed',
  'client.secret_rotated': 'Client secret replaced',
  'client.deleted': 'Client deleted',
  'client.authentication_failed': 'Client authentication failed',
  'limit.reached': 'Too many failures, refused for a while',
  'resource.registered': 'Resource registered',
  'resource.changed': 'Resource changed',
  'resource.deleted': 'Resource deleted',
  'scope.registered': 'Scope registered',
  'scope.changed': 'Scope changed',
  'scope.deleted': 'Scope deleted',
  'upstream.registered': 'Upstream registered',
  'upstream.changed': 'Upstream changed',
  'upstream.deleted': 'Upstream deleted',
  'key.created': 'Signing key made',
  'key.revoked': 'Signing key revoked',
  'delivery.given_up': 'Delivery given up',
  'delivery.retried': 'Delivery tried again',
}

const WORDS: ReadonlyMap<string, string> = new Map(Object.entries(OURS))

/** A type that a plugin added speaks for itself, and so does what somebody made up. */
export function wordsOf(type: string): string {
  return WORDS.get(type) ?? type
}

/** For the filter; `chosen` too, whoever's type it is. */
export function typeOptions(chosen: string): { value: string; text: string }[] {
  const types = [...new Set([...WORDS.keys(), ...(chosen === '' ? [] : [chosen])])]
  return [{ value: '', text: 'Everything' }, ...types.map((value) => ({ value, text: wordsOf(value) }))]
}

/** What the row says of the details, before somebody opens them. */
const TELLING = [
  'scope',
  'resource',
  'upstream',
  'algorithm',
  'grant_type',
  'cause',
  'scopes',
  'kind',
  'link',
  'name',
  'reason',
  'factor',
] as const

export interface Told {
  /** `''` for nothing. */
  summary: string
  facts: readonly { name: string; value: string }[]
  changes: readonly { member: string; before: string; after: string }[]
}

/** The details as text: what changed apart from all else. */
export function toldBy({ type, details }: AuditEvent): Told {
  const { changes = {}, ...facts } = details as { changes?: Changes } & Record<string, unknown>
  const telling = TELLING.map((name) => facts[name]).find((value) => value !== undefined)
  const named = telling === undefined ? [] : [textOf(telling)]
  // Of what is new, all is.
  const members = type.endsWith('.registered') ? [] : Object.keys(changes)
  return {
    summary: [...named, ...(members.length > 0 ? [members.join(', ')] : [])].join(': '),
    facts: Object.entries(facts).map(([name, value]) => ({ name, value: textOf(value) })),
    changes: Object.entries(changes).map(([member, [before, after]]) => ({
      member,
      before: textOf(before),
      after: textOf(after),
    })),
  }
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  if (Array.isArray(value) && value.every((one) => typeof one === 'string'))
    return value.length === 0 ? '–' : value.join(' ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
