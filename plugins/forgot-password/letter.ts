/** The mail with the link by which a new password is set. */
import { message } from '../../src/protocol/message.ts'
import type { Letter } from '../mail/letters.ts'

export function resetLetter(username: string, issuer: string, href: string): Letter {
  return {
    subject: message('Set a new password'),
    paragraphs: [
      message('Somebody asked for a new password for your account at {host}.', {
        host: new URL(issuer).host,
      }),
      message('Account: {username}', { username }),
      message('The link is good for an hour, and works once.'),
    ],
    button: { text: message('Set a new password'), href },
    otherwise: message('If this was not you, do nothing: your password stays as it is.'),
  }
}
