/** The mails of sign-up: one for a new address, one for whose account there is. The page that they asked on says nothing of which it was. */
import { message } from '../../src/protocol/message.ts'
import type { Letter } from '../mail/letters.ts'
import { leadingTo } from '../pages/places.ts'
import { CONFIRM } from './confirmation.ts'

/** `token` is that of the link. The name is not in it: a stranger has chosen it, and could write to anybody by it. */
export function confirmLetter(issuer: string, token: string): Letter {
  return {
    subject: message('Confirm your email address'),
    paragraphs: [
      message('Somebody asked for an account at {host} with this address.', { host: new URL(issuer).host }),
      message('The link is good for a day, and works once.'),
    ],
    button: { text: message('Confirm your address'), href: `${issuer}${CONFIRM}?token=${token}` },
    otherwise: message('If this was not you, do nothing: without the link there will be no account.'),
  }
}

/** `signIn` is the path of the page where they do; null where nobody does but on the way to an app. */
export function existingLetter(username: string, issuer: string, signIn: string | null): Letter {
  return {
    subject: message('You have an account already'),
    paragraphs: [
      message(
        'Somebody asked for an account at {host} with this address. You have one already, and nothing about it has changed.',
        { host: new URL(issuer).host },
      ),
      message('Account: {username}', { username }),
      message('If you do not know its password any more, the page where you sign in leads to a new one.'),
    ],
    button: leadingTo(signIn === null ? null : new URL(signIn, issuer).href, { text: message('Sign in') }),
    otherwise: message('If this was not you, do nothing.'),
  }
}
