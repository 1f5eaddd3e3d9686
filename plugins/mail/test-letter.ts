/** The letter by which operators see that mails arrive: from the administration, and from `latchkey mail test`. */
import { message } from '../../src/protocol/message.ts'
import { leadingTo } from '../pages/places.ts'
import type { Letter } from './letters.ts'

/** `start` is the path of the page where people begin; null for none. */
export function testLetter(issuer: string, start: string | null): Letter {
  return {
    subject: message('A test of the mail of this server'),
    paragraphs: [
      message('The server at {issuer} can send mails: this is one. One of its operators asked for it.', {
        issuer,
      }),
    ],
    button: leadingTo(start === null ? null : new URL(start, issuer).href, {
      text: message('Open the server'),
    }),
    otherwise: message('There is nothing for you to do.'),
  }
}
