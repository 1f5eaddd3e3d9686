/** Addresses of mails, as far as their form goes, and of the server that takes them. Whether anybody reads them, only a mail can find out. */

import { domainToASCII, domainToUnicode } from 'node:url'
import { message } from './message.ts'
import { percentDecoded } from './percent-encoding.ts'
import { usernameKey } from './username.ts'

/** One address, and nothing that a header or an SMTP command would read as more. */
const ADDRESS = /^[^\s@<>,;:"()[\]\\\p{C}]{1,64}@[^\s@<>,;:"()[\]\\\p{C}]{1,190}$/u
/** `Example <login@example.com>`, or the address alone. */
const NAMED = /^(?:(?<name>[^<>"\p{C}]{0,100}?)\s*<(?<inner>[^<>]+)>|(?<bare>[^<>]+))$/u

/** What people read of one that is none. */
export const NO_MAIL_ADDRESS = message('This must be an email address, such as alice@example.com.')

export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text)
}

/**
 * The one form in which addresses are compared, whoever's they are: as a user name, with the domain as the DNS has it (UTS #46), so
 * `bücher.example`, `ＢÜＣＨＥＲ.example` and `xn--bcher-kva.example` are one. A text without `@` is its user name's form; null for what
 * can be no user name.
 */
export function addressKey(address: string): string | null {
  const key = usernameKey(address)
  if (key === null) return null
  const { local, domain } = split(key)
  // domainToASCII lowers what was typed by itself: the key is lowered already, and a final Σ is another letter there. What a URL would
  // read as more than a name stays as it is.
  const typed = split(address.trim()).domain
  const isPlain = /^\p{ASCII}*$/u.test(domain) || /(?![\w.-])\p{ASCII}/u.test(domain)
  const ascii = isPlain ? domain : domainToASCII(typed) || domain
  return local + ascii.replace(/\.$/, '')
}

/** That form; the address in lower case; and with its domain as people read it: earlier versions stored one of these. */
export function addressForms(address: string): readonly string[] {
  const [typed, key] = [usernameKey(address), addressKey(address)]
  if (typed === null || key === null) return []
  const { local, domain } = split(key)
  return [...new Set([key, typed, local + (domainToUnicode(domain) || domain)])]
}

function split(address: string): { local: string; domain: string } {
  const at = address.lastIndexOf('@') + 1
  return at === 0
    ? { local: address, domain: '' }
    : { local: address.slice(0, at), domain: address.slice(at) }
}

/** Whom mails come from; a name of `''` is none. */
export interface Sender {
  readonly name: string
  readonly address: string
}

/** Null for what is none. */
export function parseSender(text: string): Sender | null {
  const { name = '', inner, bare = '' } = NAMED.exec(text.trim())?.groups ?? {}
  const address = (inner ?? bare).trim()
  return isMailAddress(address) ? { name: name.trim(), address } : null
}

/** A server that takes mails. */
export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (RFC 8314 §3.3); else by STARTTLS where the server offers it. */
  readonly secure: boolean
  readonly credentials: { readonly user: string; readonly pass: string } | null
}

/** The ports of mail submission, without and with TLS from the first byte (RFC 8314 §7.3). */
const [SUBMISSION, SUBMISSIONS] = [587, 465]

/** Null for what is no `smtp://` or `smtps://` address with a host alone, and perhaps a port, a user name and a password. */
export function parseSmtpUrl(text: string): SmtpServer | null {
  const url = URL.parse(text)
  if (url === null || !/^smtps?:$/.test(url.protocol) || !/^\/?$/.test(url.pathname)) return null
  if (/[?#]/.test(text) || !/^(?:[\w.-]+|\[[\da-f:.]+\])$/i.test(url.hostname)) return null
  const [user, pass] = [percentDecoded(url.username), percentDecoded(url.password)]
  if (user === null || pass === null || (user === '') !== (pass === '')) return null
  const secure = url.protocol === 'smtps:'
  return {
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: url.port === '' ? (secure ? SUBMISSIONS : SUBMISSION) : Number(url.port),
    secure,
    credentials: user === '' ? null : { user, pass },
  }
}
