/** What the client and the person both see, so that people know which request it is (CIBA §7.1 `binding_message`). */
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { isHiding } from '../../../../src/protocol/unseen.ts'

/** Characters. */
const LONGEST = 100
/** On one line, and nothing that no keyboard types: what could reorder, hide or break what is around it. */
const PLAIN = /^[\p{L}\p{M}\p{N}\p{Sc} .,:;!?'’"()+\-–—/#&%@*=_°·…]+$/u
/** Nothing that a reader of mails makes a link of, as of `evil.example/pay`, `1688.com` or `हिन्दी.com`. */
const LINK = /:\/\/|www\.|[\p{L}\p{M}\p{N}-]\.\p{L}[\p{L}\p{M}]/iu
const BYTE = '(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)'
/** As of `192.0.2.1/x`; amounts and days have fewer numbers, or greater ones. */
const IPV4 = new RegExp(`(?<![\\d.])${BYTE}(?:\\.${BYTE}){3}(?!\\.?\\d)`)
/** Marks that would grow over the lines around. */
const PILE = /\p{M}{4}/u

/** Throws `invalid_binding_message`. */
export function parseBindingMessage(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const message = text.normalize('NFC').trim()
  if (message.length > LONGEST) throw refused(`binding_message must have ${LONGEST} characters at most`)
  // Browsers take letters and digits of another width for these.
  const read = message.normalize('NFKC')
  if (!PLAIN.test(message) || isHiding(message) || LINK.test(read) || IPV4.test(read) || PILE.test(message))
    throw refused('binding_message must be letters, digits and common punctuation, and no address of a page')
  return message
}

function refused(description: string): OAuthError {
  return new OAuthError('invalid_binding_message', description)
}
