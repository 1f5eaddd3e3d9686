/** The mail with the link by which somebody who was invited chooses their password. */
import { message } from '../../src/protocol/message.ts'
import type { Letter } from '../mail/letters.ts'

export function invitationLetter(username: string, issuer: string, href: string): Letter {
  const { host } = new URL(issuer)
  return {
    subject: message('Your account at {host}', { host }),
    paragraphs: [
      message('An account was made for you at {host}. Choose a password, and you can sign in.', { host }),
      message('User name: {username}', { username }),
      message('The link is good for seven days, and works once.'),
    ],
    button: { text: message('Choose a password'), href },
    otherwise: message(
      'If you do not know what this is about, do nothing: without the link nobody signs in to the account.',
    ),
  }
}
