/** What an event says to people: its type as a few words, and what its details are called. */
import type { AuditEvent, EventType } from '../../../src/events.ts'
import type { Changes } from '../../../src/protocol/changes.ts'
import { message, type Message, type Words } from '../../../src/protocol/message.ts'

/** By the type, in the order in which the filter offers them. */
const OURS: Readonly<Partial<Record<EventType, Message>>> = {
  'user.signed_in': message('Signed in'),
  'user.sign_in_pending': message('Sign-in began, a factor is missing'),
  'user.sign_in_abandoned': message('Sign-in left, a factor was missing'),
  'user.sign_in_failed': message('Sign-in failed'),
  'user.sign_in_code_sent': message('Sign-in code mailed'),
  'user.factor_failed': message('Second factor failed'),
  'user.factor_added': message('Second factor added'),
  'user.factor_removed': message('Second factor removed'),
  'user.recovery_codes_made': message('Recovery codes made'),
  'user.recovery_code_used': message('Recovery code used'),
  'user.signed_out': message('Signed out'),
  'session.ended': message('Session ended'),
  'user.registered': message('User registered'),
  'user.changed': message('User changed'),
  'user.password_changed': message('Password changed'),
  'user.password_removed': message('Password removed'),
  'user.tokens_revoked': message('All sessions and tokens ended'),
  'user.password_link_made': message('Password link made'),
  'user.invited': message('User invited by mail'),
  'user.invitation_withdrawn': message('Invitation withdrawn'),
  'user.link_refused': message('One-time link refused'),
  'user.passkey_added': message('Passkey added'),
  'user.passkey_removed': message('Passkey deleted'),
  'user.passkey_refused': message('Passkey refused'),
  'user.upstream_linked': message('Sign-in by an upstream linked'),
  'user.upstream_unlinked': message('Sign-in by an upstream taken away'),
  'user.disabled': message('User disabled'),
  'user.enabled': message('User enabled'),
  'user.deletion_requested': message('Deletion of the account asked for'),
  'user.deletion_cancelled': message('Deletion of the account cancelled'),
  'user.deleted': message('User deleted'),
  'consent.given': message('Consent given'),
  'consent.denied': message('Consent denied'),
  'consent.withdrawn': message('Consent withdrawn'),
  'device.allowed': message('Device allowed'),
  'device.denied': message('Device denied'),
  'device.code_refused': message('Code of a device refused'),
  'ciba.asked': message('Approval asked for by an app'),
  'ciba.allowed': message('Approval given to an app'),
  'ciba.denied': message('Approval denied to an app'),
  'ciba.user_code_set': message('Code for approvals set'),
  'ciba.user_code_removed': message('Code for approvals removed'),
  'token.issued': message('Token issued'),
  'token.exchange_refused': message('Token exchange refused'),
  'token.revoked': message('Token revoked'),
  'authorization.revoked': message('Authorization revoked'),
  'authorization.replayed': message('Code or refresh token used twice'),
  'client.registered': message('Client registered'),
  'client.changed': message('Client changed'),
  'client.secret_rotated': message('Client secret replaced'),
  'client.deleted': message('Client deleted'),
  'client.blocked': message('App blocked'),
  'client.unblocked': message('App no longer blocked'),
  'client.authentication_failed': message('Client authentication failed'),
  'stream.created': message('Stream of security events made'),
  'stream.changed': message('Stream of security events changed'),
  'stream.deleted': message('Stream of security events deleted'),
  'stream.verification_sent': message('Verification event sent'),
  'initial_token.created': message('Initial access token made'),
  'initial_token.deleted': message('Initial access token deleted'),
  'limit.reached': message('Too many failures, refused for a while'),
  'resource.registered': message('Resource registered'),
  'resource.changed': message('Resource changed'),
  'resource.deleted': message('Resource deleted'),
  'scope.registered': message('Scope registered'),
  'scope.changed': message('Scope changed'),
  'scope.deleted': message('Scope deleted'),
  'role.registered': message('Role registered'),
  'role.changed': message('Role changed'),
  'role.deleted': message('Role deleted'),
  'upstream.registered': message('Upstream registered'),
  'upstream.changed': message('Upstream changed'),
  'upstream.deleted': message('Upstream deleted'),
  'trusted_issuer.registered': message('Trusted issuer registered'),
  'trusted_issuer.changed': message('Trusted issuer changed'),
  'trusted_issuer.deleted': message('Trusted issuer deleted'),
  'token.vouched': message('Vouched for at another server'),
  'token.assertion_refused': message('Assertion refused'),
  'key.created': message('Signing key made or brought forward'),
  'key.revoked': message('Signing key revoked'),
  'delivery.given_up': message('Delivery given up'),
  'delivery.retried': message('Delivery tried again'),
  'webhook.tested': message('Test sent to a webhook'),
}

const WORDS: ReadonlyMap<string, Message> = new Map(Object.entries(OURS))

/** A type that a plugin added speaks for itself, and so does what somebody made up. */
export function wordsOf(type: string): Words {
  return WORDS.get(type) ?? type
}

/** For the filter; `chosen` too, whoever's type it is. */
export function typeOptions(chosen: string): { value: string; text: Words }[] {
  const types = [...new Set([...WORDS.keys(), ...(chosen === '' ? [] : [chosen])])]
  return [
    { value: '', text: message('Everything') },
    ...types.map((value) => ({ value, text: wordsOf(value) })),
  ]
}

/** What the row says of the details, before somebody opens them. */
const TELLING = [
  'scope',
  'resource',
  'role',
  'upstream',
  'blocked',
  'algorithm',
  'grant_type',
  'cause',
  'scopes',
  'kind',
  'link',
  'name',
  'reason',
  'factor',
  'method',
] as const

/** What the server wrote down in English, by the name of the detail, and can say otherwise. All else are terms, or others' words. */
const SAID: Readonly<Partial<Record<string, ReadonlyMap<unknown, Message>>>> = {
  cause: new Map([
    ['revoked by hand', message('revoked by hand')],
    ['its refresh token was revoked', message('its refresh token was revoked')],
  ]),
  reason: new Map([
    ['last administrator', message('last administrator')],
    ['another user', message('another user')],
    ['disabled', message('disabled')],
    ['counter', message('it may have been copied')],
    ['proof', message('what it signed does not hold')],
  ]),
  link: new Map([
    ['setup', message('first administrator')],
    ['password', message('new password')],
    ['reset', message('forgotten password')],
    ['email', message('email address')],
    ['sign-up', message('new account')],
    ['invitation', message('invitation')],
    ['upstream', message('first sign-in by an upstream')],
  ]),
  factor: new Map([
    ['authenticator', message('authenticator app')],
    ['recovery-codes', message('recovery codes')],
  ]),
  method: new Map([['mail-code', message('code by mail')]]),
}

export interface Told {
  /** `''` for nothing; a string is as it stands in the event. */
  summary: Words
  facts: readonly { name: string; value: string }[]
  changes: readonly { member: string; before: string; after: string }[]
}

/** The details as text: what changed apart from all else. */
export function toldBy({ type, details }: AuditEvent): Told {
  const { changes = {}, ...facts } = details as { changes?: Changes } & Record<string, unknown>
  const telling = TELLING.map((name) => facts[name]).find((value) => value !== undefined)
  const said = Object.keys(SAID).flatMap((name) => SAID[name]?.get(facts[name]) ?? [])[0]
  const named = telling === undefined ? [] : [textOf(telling)]
  // Of what is new, all is.
  const members = type.endsWith('.registered') ? [] : Object.keys(changes)
  return {
    summary: said ?? [...named, ...(members.length > 0 ? [members.join(', ')] : [])].join(': '),
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
