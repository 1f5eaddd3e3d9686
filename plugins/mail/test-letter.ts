/** The letter by which operators see that mails arrive: from the administration, and from `latchkey mail test`. */
import { message } from '../../src/protocol/message.ts'
import type { Letter } from './letters.ts'

export function testLetter(issuer: string): Letter {
  return {
    subject: message('A test of the mail of this server'),
    paragraphs: [
      message('The server at {issuer} can send mails: this is one. One of its operators asked for it.', {
        issuer,
      }),
    ],
    button: { text: message('Open the server'), href: `${issuer}/` },
    otherwise: message('There is nothing for you to do.'),
  }
}
