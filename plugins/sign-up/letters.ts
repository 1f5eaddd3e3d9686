/** The mails of sign-up: one for a new address, one for whose account there is. The page that they asked on says nothing of which it was. */
import type { Letter } from '../mail/letters.ts'

export function confirmLetter(username: string, issuer: string, href: string): Letter {
  return {
    subject: 'Confirm your email address',
    paragraphs: [
      `Somebody asked for an account at ${new URL(issuer).host} with this address.`,
      `User name: ${username}`,
      'The link is good for a day, and works once.',
    ],
    button: { text: 'Confirm your address', href },
    otherwise: 'If this was not you, do nothing: without the link there will be no account.',
  }
}

export function existingLetter(username: string, issuer: string, href: string): Letter {
  return {
    subject: 'You have an account already',
    paragraphs: [
      `Somebody asked for an account at ${new URL(issuer).host} with this address. You have one already, and nothing about it has changed.`,
      `Account: ${username}`,
      'If you do not know its password any more, the page where you sign in leads to a new one.',
    ],
    button: { text: 'Sign in', href },
    otherwise: 'If this was not you, do nothing.',
  }
}
