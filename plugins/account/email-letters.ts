/** The mails to an address that somebody says is theirs. They hold nothing that this person has written, not even the name. */
import { message } from '../../src/protocol/message.ts'
import type { Letter } from '../mail/letters.ts'

export function confirmLetter(issuer: string, href: string): Letter {
  return {
    subject: message('Confirm your email address'),
    paragraphs: [
      message('Somebody gave this address as that of their account at {host}.', { host: hostOf(issuer) }),
      message('The link is good for a day, and works once.'),
    ],
    button: { text: message('Confirm this address'), href },
    otherwise: message(
      'If this was not you, do nothing: the address is added only once the link is followed.',
    ),
  }
}

/** To whose it is already. */
export function takenLetter(issuer: string): Letter {
  return {
    subject: message('Somebody gave your email address as theirs'),
    paragraphs: [
      message(
        'Another account at {host} gave this address as its own. It is yours, so nothing has changed.',
        {
          host: hostOf(issuer),
        },
      ),
    ],
    button: { text: message('Go to your account'), href: `${issuer}/account` },
    otherwise: message(
      'If you have two accounts and want this address for the other one, remove it from this one first. If not, there is nothing for you to do.',
    ),
  }
}

function hostOf(issuer: string): string {
  return new URL(issuer).host
}
