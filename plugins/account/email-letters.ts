/** The mails to an address that somebody says is theirs. Neither holds anything that they could have written themselves but their name. */
import type { Letter } from '../mail/letters.ts'

export function confirmLetter(username: string, issuer: string, href: string): Letter {
  return {
    subject: 'Confirm your email address',
    paragraphs: [
      `Somebody gave this address as that of their account at ${new URL(issuer).host}.`,
      `Account: ${username}`,
      'The link is good for a day, and works once.',
    ],
    button: { text: 'Confirm this address', href },
    otherwise: 'If this was not you, do nothing: the address is not taken without you.',
  }
}

/** To whose it is already. */
export function takenLetter(issuer: string): Letter {
  return {
    subject: 'Somebody gave your email address as theirs',
    paragraphs: [
      `Another account at ${new URL(issuer).host} gave this address as its own. It is yours, so nothing has changed.`,
    ],
    button: { text: 'Go to your account', href: `${issuer}/account` },
    otherwise:
      'If you have two accounts and want this address for the other one, take it off this one first. If not, there is nothing for you to do.',
  }
}
