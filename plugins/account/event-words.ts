/** What happened to an account, in the words of its owner. What the server notes for others has none. */
import type { AuditEvent, EventDetails, EventType } from '../../src/events.ts'
import { type Message, message } from '../../src/protocol/message.ts'
import { wordsOfMember } from '../pages/member-words.ts'

type EventWords = { [Type in EventType]?: Message | ((details: EventDetails[Type]) => Message) }

const COPIED = message('A passkey was refused, since it may have been copied: delete it, and add another one')
const WRONG_PASSWORDS = message(
  'Too many wrong passwords were tried: whoever tries them is refused for a while',
)
const WRONG_PASSWORDS_EVERYWHERE = message(
  'Too many wrong passwords were tried: for a while, only browsers that you have used before may try',
)
const WRONG_CODES = message('Too many wrong codes were tried: whoever tries them is refused for a while')
const WRONG_CODES_EVERYWHERE = message(
  'Too many wrong codes were tried: for a while, only browsers that you have used before may try',
)
const DEVICE_CODES = message('Too many wrong codes of devices were entered: the next one has to wait a while')
const APPROVAL_CODES = message(
  'Too many wrong codes were given with requests for your approval: the app that gives them is refused for a while',
)
const OTHERS = message('Something was tried too often: it is refused for a while')
const MAILS = message('Too many mails with a link were asked for: the next one has to wait a while')
const MAIL_CODES = message('Too many wrong codes were tried: codes by mail are refused for a while')
const CODES = message('Too many mails with a code were asked for: the next one has to wait a while')
/** By the kind of attempt: at the account from one network, and from all of them. */
const LIMITS: ReadonlyMap<string, readonly [Message, Message]> = new Map([
  ['user', [WRONG_PASSWORDS, WRONG_PASSWORDS_EVERYWHERE]],
  ['factor', [WRONG_CODES, WRONG_CODES_EVERYWHERE]],
  ['confirm-email', [MAILS, MAILS]],
  ['confirm-email-to', [MAILS, MAILS]],
  ['mail-code', [MAIL_CODES, MAIL_CODES]],
  ['mail-code-sending', [CODES, CODES]],
  ['device', [DEVICE_CODES, DEVICE_CODES]],
  ['ciba-user-code', [APPROVAL_CODES, APPROVAL_CODES]],
])
const WORDS: EventWords = {
  'user.registered': message('The account was made'),
  'user.changed': ({ changes }) =>
    message('Your profile was changed: {members}', { members: Object.keys(changes).map(wordsOfMember) }),
  'user.password_changed': message('Your password was changed: every session and all access of apps ended'),
  'user.password_removed': message('Your password was removed'),
  'user.tokens_revoked': message(
    'You were signed out everywhere: every session and all access of apps ended',
  ),
  'user.invited': message('You were invited by mail'),
  'user.invitation_withdrawn': message('Your invitation was withdrawn'),
  'user.password_link_made': message('A link to set your password was made'),
  'user.passkey_added': ({ name }) => message('A passkey was added: {name}', { name }),
  'user.passkey_removed': ({ name }) => message('A passkey was deleted: {name}', { name }),
  'user.passkey_refused': ({ reason }) => (reason === 'counter' ? COPIED : message('A passkey was refused')),
  'user.upstream_linked': ({ upstream }) =>
    message('A sign-in by {upstream} was linked with your account', { upstream }),
  'user.upstream_unlinked': ({ upstream }) =>
    message('A sign-in by {upstream} was unlinked from your account', { upstream }),
  'user.disabled': message('Your account was disabled'),
  'user.enabled': message('Your account was enabled again'),
  'user.deletion_requested': message(
    'You asked for the deletion of your account: every session and all access of apps ended',
  ),
  'user.deletion_cancelled': message('Your account was kept: it is not deleted'),
  'user.signed_in': message('You signed in'),
  'user.sign_in_pending': message('A sign-in passed its first step and was asked for a second one'),
  'user.sign_in_abandoned': message('A sign-in passed its first step, and was left at the second one'),
  'user.factor_added': message('A second factor was set up'),
  'user.factor_removed': message('A second factor was taken away'),
  'user.factor_failed': message(
    'A sign-in passed its first step, and a wrong code was tried as the second one',
  ),
  'user.recovery_codes_made': message('New recovery codes were made'),
  'user.recovery_code_used': ({ left }) =>
    message(
      'A recovery code was used: {left, plural, =0 {none is left} one {# is left} other {# are left}}',
      {
        left,
      },
    ),
  'user.sign_in_code_sent': message('A code to sign in was mailed to you'),
  'user.sign_in_failed': ({ method }) =>
    method === 'mail-code' ? message('A wrong code was tried') : message('A wrong password was tried'),
  'limit.reached': ({ kind, limit }) => {
    const [here, everywhere] = LIMITS.get(kind) ?? [OTHERS, OTHERS]
    return limit === 'everywhere' ? everywhere : here
  },
  'user.signed_out': message('You signed out'),
  'session.ended': ({ sid, except }) => {
    if (sid !== undefined) return message('A browser was signed out')
    return except === undefined
      ? message('Every browser was signed out')
      : message('Every other browser was signed out')
  },
  'consent.given': message('You allowed an app access'),
  'consent.denied': message('You denied an app access'),
  'device.allowed': ({ device }) => message('You connected a device at {device}', { device }),
  'device.denied': ({ device }) => message('You denied a device at {device}', { device }),
  'ciba.asked': message('An app asked for your approval'),
  'ciba.allowed': message('You approved what an app asked for'),
  'ciba.denied': ({ unmet }) =>
    unmet === undefined
      ? message('You denied what an app asked for')
      : message('What an app asked for could not be approved'),
  'ciba.user_code_set': message('Your code for apps that ask for approval was set'),
  'ciba.user_code_removed': message('Your code for apps that ask for approval was removed'),
  'consent.withdrawn': message('The access of an app was taken back'),
  'authorization.revoked': message('The access of an app ended'),
  'authorization.replayed': message('A token of an app was used twice, so the access of the app ended'),
}

/** Undefined for what is nothing to tell its user. */
export function eventInWords({ type, details }: AuditEvent): Message | undefined {
  // A plugin may have called its own as it likes.
  if (!Object.hasOwn(WORDS, type)) return undefined
  const words = WORDS[type] as Message | ((details: unknown) => Message) | undefined
  return typeof words === 'function' ? words(details) : words
}

/** Null for the user, and for strangers, of whom nothing is known. */
export function whoElse({ actor, user }: AuditEvent): 'administrator' | 'app' | 'service' | null {
  if (actor.kind === 'user') return actor.id === null || actor.id === user ? null : 'administrator'
  return actor.kind === 'client' ? 'app' : 'service'
}
