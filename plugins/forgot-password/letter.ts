/** The mail with the link by which a new password is set. */
import type { Letter } from '../mail/letters.ts'

export function resetLetter(username: string, issuer: string, href: string): Letter {
  return {
    subject: 'Set a new password',
    paragraphs: [
      `Somebody asked for a new password for your account at ${new URL(issuer).host}.`,
      `Account: ${username}`,
      'The link is good for an hour, and works once.',
    ],
    button: { text: 'Set a new password', href },
    otherwise: 'If this was not you, do nothing: your password stays as it is.',
  }
}
