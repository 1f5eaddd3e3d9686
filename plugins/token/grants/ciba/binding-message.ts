/** What the client and the person both see, so that people know which request it is (CIBA §7.1 `binding_message`). */
import { OAuthError } from '../../../../src/protocol/errors.ts'

/** Characters. */
const LONGEST = 100
/** On one line, and nothing that no keyboard types: what could reorder, hide or break what is around it. */
const PLAIN = /^[\p{L}\p{M}\p{N}\p{Sc} .,:;!?'’"()+\-–—/#&%@*=_°·…]+$/u
/** Nothing that a reader of mails makes a link of, as of `evil.example/pay`. */
const LINK = /:\/\/|www\.|\p{L}[\p{L}\p{N}-]*\.\p{L}{2,}/iu
/** Marks that would grow over the lines around. */
const PILE = /\p{M}{4}/u

/** Throws `invalid_binding_message`. */
export function parseBindingMessage(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const message = text.normalize('NFC').trim()
  if (message.length > LONGEST) throw refused(`binding_message must have ${LONGEST} characters at most`)
  if (!PLAIN.test(message) || LINK.test(message) || PILE.test(message))
    throw refused('binding_message must be letters, digits and common punctuation, and no address of a page')
  return message
}

function refused(description: string): OAuthError {
  return new OAuthError('invalid_binding_message', description)
}
