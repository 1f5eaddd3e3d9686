/** What people are told by mail of what happened to their account, by the type of the event. What plugins may bring is among it. */
import { type Message, message } from '../../src/protocol/message.ts'
import type { Letter } from '../mail/letters.ts'
import { leadingTo } from '../pages/places.ts'

export interface Happening {
  readonly type: string
  /** Whom it is told: of a changed address, the former one or the new one. */
  readonly whose: 'former' | 'present'
  readonly time: Date
  readonly username: string
  /** The address where they see what happened; null where there is none. */
  readonly activity: string | null
}

interface What {
  readonly subject: Message
  readonly what: Message
  /** What to do about it. */
  readonly otherwise?: Message
}

const OTHERWISE = message(
  'If this was you, there is nothing for you to do. If not, somebody else may have your account: change your password at once, and tell those who run this service.',
)
/** A new password alone keeps nobody out who has another way in. */
const TAKE_IT_AWAY = message(
  'If this was you, there is nothing for you to do. If not, somebody else may have your account: take it away on the page Security of your account, change your password at once, and tell those who run this service.',
)

const CHANGED: What = {
  subject: message('Your email address was changed'),
  what: message('The email address of your account was changed.'),
}
const WORDS: Readonly<Record<string, What>> = {
  'user.password_changed': {
    subject: message('Your password was changed'),
    what: message('Your account has a new password. Wherever you were signed in, you are signed out.'),
  },
  'user.password_removed': {
    subject: message('Your password was removed'),
    what: message('Your account no longer has a password. The one that it had is not accepted any more.'),
  },
  'user.passkey_added': {
    subject: message('A passkey was added'),
    what: message('A passkey was added to your account.'),
    otherwise: TAKE_IT_AWAY,
  },
  'user.passkey_removed': {
    subject: message('A passkey was removed'),
    what: message('A passkey was removed from your account.'),
  },
  'user.upstream_linked': {
    subject: message('A sign-in was linked'),
    what: message(
      'A sign-in of another service was linked with your account: whoever can sign in there comes into it.',
    ),
    otherwise: TAKE_IT_AWAY,
  },
  'user.upstream_unlinked': {
    subject: message('A sign-in was unlinked'),
    what: message(
      'A sign-in of another service is no longer linked with your account: it does not sign you in any more.',
    ),
  },
  'user.factor_added': {
    subject: message('A second factor was added'),
    what: message('Your account asks for a second factor at sign-in from now on.'),
  },
  'user.factor_removed': {
    subject: message('A second factor was removed'),
    what: message('A second factor was removed from your account.'),
  },
  'user.recovery_codes_made': {
    subject: message('You have new recovery codes'),
    what: message('New recovery codes were made for your account. Those from before are no longer good.'),
  },
  'user.recovery_code_used': {
    subject: message('A recovery code was used'),
    what: message(
      'Somebody signed in to your account with one of your recovery codes, in the place of the second factor. That code is used up.',
    ),
  },
  'user.deletion_requested': {
    subject: message('Your account will be deleted'),
    what: message(
      'Somebody who was signed in to your account asked for its deletion. You are signed out everywhere, and no app has access any more. Until it is deleted, you can sign in and keep it.',
    ),
  },
  'user.deletion_cancelled': {
    subject: message('Your account is kept'),
    what: message('The deletion of your account was cancelled: you keep it.'),
  },
  'user.signed_in': {
    subject: message('A sign-in from a new browser'),
    what: message('Somebody signed in to your account with a browser that was not used for it before.'),
  },
}

export const ADDRESS_CHANGED = 'user.changed'

/** What is told of, besides a changed address. */
export const TOLD: readonly string[] = Object.keys(WORDS)

/** To who has no account any more. */
export function farewellOf({ time, username }: Pick<Happening, 'time' | 'username'>): Letter {
  return {
    subject: message('Your account is deleted'),
    paragraphs: [
      message('Your account is deleted, as you asked for, with all that was kept of you.'),
      message('Account: {username}', { username }),
      message('When: {time}', { time }),
    ],
    button: null,
    otherwise: message('If this was not you, tell those who run this service.'),
  }
}

/** Not what people change themselves. */
export function newNameOf({ was, is, time }: { was: string; is: string; time: Date }): Letter {
  return {
    subject: message('Your user name was changed'),
    paragraphs: [
      message(
        'Your user name is {username} from now on: you sign in by it. All else of your account stays as it was.',
        {
          username: is,
        },
      ),
      message('It was {username} until now.', { username: was }),
      message('When: {time}', { time }),
    ],
    button: null,
    otherwise: message('If you did not expect this, tell those who run this service.'),
  }
}

/** Null for what nobody is told of. */
export function letterOf({ type, whose, time, username, activity }: Happening): Letter | null {
  const words = type === ADDRESS_CHANGED ? CHANGED : WORDS[type]
  if (words === undefined) return null
  const now =
    whose === 'former' ? [message('It was this one until now, and is another one from now on.')] : []
  return {
    subject: words.subject,
    paragraphs: [
      words.what,
      ...now,
      message('Account: {username}', { username }),
      message('When: {time}', { time }),
    ],
    button: leadingTo(activity, { text: message('See what happened') }),
    otherwise: words.otherwise ?? OTHERWISE,
  }
}
