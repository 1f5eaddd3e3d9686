/** The mail that brings a code: which app asks, from where, and what to do for who did not ask. */
import { message } from '../../src/protocol/message.ts'
import type { Letter } from '../mail/letters.ts'
import { describeUserAgent } from '../pages/user-agent.ts'

export interface CodeLetter {
  readonly digits: string
  readonly username: string
  readonly issuer: string
  /** What the app is called to which they go on; none where that is the server itself. */
  readonly app?: string
  readonly userAgent?: string
  /** From which it was asked for. */
  readonly address: string
  /** Milliseconds since the epoch. */
  readonly sentAt: number
  /** Milliseconds since the epoch. */
  readonly until: number
}

export function codeLetter(letter: CodeLetter): Letter {
  const { digits, username, issuer, app, userAgent, address, sentAt, until } = letter
  const { host } = new URL(issuer)
  return {
    // Without the code: subjects stand on locked screens, and in logs.
    subject: message('Your code to sign in'),
    paragraphs: [
      app === undefined
        ? message('Enter this code to sign in at {host}:', { host })
        : message('Enter this code to sign in at {host} and continue to {app}:', { host, app }),
      message('It is good for ten minutes, once, and only in the browser in which it was asked for.'),
      message('Account: {username}', { username }),
      message('Asked for by: {browser}, from the address {address}', {
        browser: describeUserAgent(userAgent ?? null),
        address,
      }),
      message('When: {time}', { time: new Date(sentAt) }),
    ],
    code: digits,
    button: null,
    otherwise: message(
      'If this was not you, do nothing: nobody can sign in without the code. Tell it to nobody, and enter it only at {host}.',
      { host },
    ),
    until,
  }
}
