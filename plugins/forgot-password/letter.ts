/** The mails to who forgot their password: the link by which a new one is set, or where it is set elsewhere. */
import type { KeptElsewhere } from '../../src/doors/password-source.ts'
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

/** For whose password is none of ours. */
export function keptLetter(username: string, issuer: string, { password, changeUri }: KeptElsewhere): Letter {
  return {
    subject: message('Your password'),
    paragraphs: [
      message('Somebody asked for a new password for your account at {host}.', {
        host: new URL(issuer).host,
      }),
      message('Account: {username}', { username }),
      password,
    ],
    button: changeUri === null ? null : { text: message('Change it there'), href: changeUri },
    otherwise: message('If this was not you, do nothing: your password stays as it is.'),
  }
}
