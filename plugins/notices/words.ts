/** What people are told by mail of what happened to their account, by the type of the event. What plugins may bring is among it. */
import { message } from '../../src/protocol/message.ts'
import type { Letter } from '../mail/letters.ts'

export interface Happening {
  readonly type: string
  /** Whom it is told: of a changed address, the former one or the new one. */
  readonly whose: 'former' | 'present'
  readonly time: Date
  readonly username: string
  readonly issuer: string
}

interface Words {
  readonly subject: string
  readonly what: string
}

const CHANGED: Words = {
  subject: 'Your email address was changed',
  what: 'The email address of your account was changed.',
}
const WORDS: Readonly<Record<string, Words>> = {
  'user.password_changed': {
    subject: 'Your password was changed',
    what: 'Your account has a new password. Wherever you were signed in, you are signed out.',
  },
  'user.password_removed': { subject: 'Your password was removed', what: 'Your account has no password any more: nobody signs in by the one that it had.' },
  'user.passkey_added': { subject: 'A passkey was added', what: 'A passkey was added to your account.' },
  'user.passkey_removed': { subject: 'A passkey was removed', what: 'A passkey was removed from your account.' },
  'user.factor_added': { subject: 'A second step was added', what: 'Your account asks for a second step at sign-in from now on.' },
  'user.factor_removed': { subject: 'A second step was removed', what: 'A second step was removed from your account.' },
  'user.recovery_codes_made': { subject: 'You have new recovery codes', what: 'New recovery codes were made for your account. Those from before are no longer good.' },
  'user.deletion_requested': { subject: 'Your account will be deleted', what: 'Somebody who was signed in as you asked for the deletion of your account. You are signed out everywhere, and no app has access any more. Until it is deleted, you can sign in and keep it.' },
  'user.deletion_cancelled': { subject: 'Your account is kept', what: 'Your account was to be deleted, and is not any more.' },
  'user.signed_in': { subject: 'A sign-in from a new browser', what: 'Somebody signed in to your account with a browser that it did not know.' },
} // prettier-ignore

export const ADDRESS_CHANGED = 'user.changed'

/** What is told of, besides a changed address. */
export const TOLD: readonly string[] = Object.keys(WORDS)

/** To who has no account any more. */
export function farewellOf({ time, username }: Pick<Happening, 'time' | 'username'>): Letter {
  return {
    subject: 'Your account is deleted',
    paragraphs: [
      'Your account is deleted, as you asked for, with all that was kept of you.',
      message('Account: {username}', { username }),
      message('When: {time}', { time }),
    ],
    button: null,
    otherwise: 'If this was not you, tell those who run this service.',
  }
}

/** Null for what nobody is told of. */
export function letterOf({ type, whose, time, username, issuer }: Happening): Letter | null {
  const words = type === ADDRESS_CHANGED ? CHANGED : WORDS[type]
  if (words === undefined) return null
  const now = whose === 'former' ? ['It was this one until now, and is another one from now on.'] : []
  return {
    subject: words.subject,
    paragraphs: [
      words.what,
      ...now,
      message('Account: {username}', { username }),
      message('When: {time}', { time }),
    ],
    button: { text: 'See what happened', href: `${issuer}/account/activity` },
    otherwise:
      'If this was you, there is nothing for you to do. If not, somebody else may have your account: change your password at once, and tell those who run this service.',
  }
}
