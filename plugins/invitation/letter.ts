/** The mail with the link by which somebody who was invited chooses their password. */
import type { Letter } from '../mail/letters.ts'

export function invitationLetter(username: string, issuer: string, href: string): Letter {
  const { host } = new URL(issuer)
  return {
    subject: `Your account at ${host}`,
    paragraphs: [
      `An account was made for you at ${host}. Choose a password, and you can sign in.`,
      `User name: ${username}`,
      'The link is good for seven days, and works once.',
    ],
    button: { text: 'Choose a password', href },
    otherwise:
      'If you do not know what this is about, do nothing: without the link nobody signs in to the account.',
  }
}
