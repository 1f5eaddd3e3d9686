/** The mails to an address that a newcomer's upstream names and is not believed about. The page says nothing of which it was. */
import { message } from '../../src/protocol/message.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { Letter } from '../mail/letters.ts'
import { leadingTo } from '../pages/places.ts'
import { nameOf } from './words.ts'

function whatHappened(upstream: UpstreamInformation, issuer: string) {
  const values = { host: new URL(issuer).host, name: nameOf(upstream) }
  return message('Somebody signed in at {host} with {name}, where this is their address.', values)
}

export function confirmLetter(upstream: UpstreamInformation, issuer: string, href: string): Letter {
  return {
    subject: message('Confirm your email address'),
    paragraphs: [
      whatHappened(upstream, issuer),
      message('The link is good for a day, and works once, in the browser in which that was.'),
    ],
    button: { text: message('Confirm your address'), href },
    otherwise: message('If this was not you, do nothing: without the link there will be no account.'),
  }
}

/** `signIn` is the path of the page where they do; null where nobody does but on the way to an app. */
export function existingLetter(
  upstream: UpstreamInformation,
  username: string,
  issuer: string,
  signIn: string | null,
): Letter {
  return {
    subject: message('You have an account already'),
    paragraphs: [
      whatHappened(upstream, issuer),
      message('You have an account here already, and nothing about it has changed.'),
      message('Account: {username}', { username }),
      message('To use {name} for it, sign in another way first, and link {name} on its page Security.', {
        name: nameOf(upstream),
      }),
    ],
    button: leadingTo(signIn === null ? null : new URL(signIn, issuer).href, { text: message('Sign in') }),
    otherwise: message('If this was not you, do nothing.'),
  }
}
