/** The letter by which operators see that mails arrive: from the administration, and from `latchkey mail test`. */
import type { Letter } from './letters.ts'

export function testLetter(issuer: string): Letter {
  return {
    subject: 'A test of the mail of this server',
    paragraphs: [
      `The server at ${issuer} can send mails: this is one. It was asked for by one of its operators.`,
    ],
    button: { text: 'Open the server', href: `${issuer}/` },
    otherwise: 'There is nothing for you to do.',
  }
}
