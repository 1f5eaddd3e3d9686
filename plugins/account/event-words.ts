/** What happened to an account, in the words of its owner. What the server notes for others has none. */
import type { AuditEvent, EventDetails, EventType } from '../../src/events.ts'

type Words = { [Type in EventType]?: string | ((details: EventDetails[Type]) => string) }

const WORDS: Words = {
  'user.registered': 'The account was made',
  'user.changed': ({ changes }) => `Your profile was changed: ${Object.keys(changes).map(plain).join(', ')}`,
  'user.password_changed': 'Your password was changed; all that was signed in ended',
  'user.password_removed': 'Your password was removed',
  'user.invited': 'You were invited by mail',
  'user.invitation_withdrawn': 'Your invitation was withdrawn',
  'user.password_link_made': 'A link was made by which your password can be set',
  'user.passkey_added': ({ name }) => `A passkey was added: ${name}`,
  'user.passkey_removed': ({ name }) => `A passkey was deleted: ${name}`,
  'user.passkey_refused': ({ reason }) =>
    reason === 'counter'
      ? 'A passkey was refused, since it may have been copied: delete it, and add another one'
      : 'A passkey was refused',
  'user.upstream_linked': ({ upstream }) => `A sign-in by ${upstream} was linked with your account`,
  'user.upstream_unlinked': ({ upstream }) => `A sign-in by ${upstream} was taken away from your account`,
  'user.disabled': 'Your account was disabled',
  'user.enabled': 'Your account was enabled again',
  'user.deletion_requested': 'You asked for the deletion of your account; all that was signed in ended',
  'user.deletion_cancelled': 'Your account was kept: it is not deleted',
  'user.signed_in': 'You signed in',
  'user.sign_in_pending':
    'A sign-in began with your password, or another first factor, and was asked for more',
  'user.factor_added': 'A second factor was set up',
  'user.factor_removed': 'A second factor was taken away',
  'user.recovery_codes_made': 'New recovery codes were made',
  'user.recovery_code_used': ({ left }) => `A recovery code was used; left: ${left}`,
  'user.sign_in_failed': 'A wrong password was tried',
  'limit.reached': 'Wrong passwords were too many: whoever tried them is refused for a while',
  'user.signed_out': 'You signed out',
  'session.ended': ({ sid, except }) =>
    sid !== undefined
      ? 'A browser was signed out'
      : `${except === undefined ? 'Every browser' : 'Every other browser'} was signed out`,
  'consent.given': 'You allowed an app access',
  'consent.denied': 'You denied an app access',
  'consent.withdrawn': 'The access of an app was taken back',
  'authorization.revoked': 'The access of an app ended',
  'authorization.replayed': 'A token of an app was used twice, so the access of the app ended',
}

/** Undefined for what is nothing to tell its user. */
export function eventInWords({ type, details }: AuditEvent): string | undefined {
  // A plugin may have called its own as it likes.
  if (!Object.hasOwn(WORDS, type)) return undefined
  const words = WORDS[type] as string | ((details: unknown) => string) | undefined
  return typeof words === 'function' ? words(details) : words
}

/** Null for the user, and for strangers, of whom nothing is known. */
export function whoElse({ actor, user }: AuditEvent): string | null {
  if (actor.kind === 'user') return actor.id === null || actor.id === user ? null : 'an administrator'
  return actor.kind === 'client' ? 'the app' : 'this service'
}

function plain(claim: string): string {
  return claim.replaceAll('_', ' ')
}
