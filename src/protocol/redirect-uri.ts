/** What may be registered as an address that we send browsers to (RFC 6749 §3.1.2, RFC 9700 §2.1, RFC 8252 §7). */
import { reason, type Words } from './message.ts'

/** Schemes that are no app's own: each is run, shown, fetched or handed to another program. */
const NOBODYS: ReadonlySet<string> = new Set(
  [
    'javascript data vbscript file blob filesystem about view-source jar resource chrome content',
    'ftp ftps sftp ws wss gopher telnet ssh git svn ldap ldaps nfs smb rtsp news nntp irc ircs imap pop urn',
    'intent android-app shell search-ms ms-msdt ms-appinstaller market itms itms-apps itms-services',
    'mailto tel sms smsto mms mmsto geo maps facetime sip sips xmpp im webcal feed magnet bitcoin cid mid',
  ].flatMap((line) => line.split(' ').map((scheme) => `${scheme}:`)),
)
const MAX_LENGTH = 2048

/** Whether a host is this machine: `localhost`, 127.0.0.0/8 or ::1. Takes `URL.hostname` form. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** Where a web address leads. Null for an app's own scheme: what stands there is of its choice, and may be the host of somebody else. */
export function webHostOf(uri: string): string | null {
  const url = URL.parse(uri)
  return url !== null && /^https?:$/.test(url.protocol) ? url.host : null
}

/** Whose an address is: its scheme and host, and the port where it says which; on this machine that is another one each time. */
export function placeOf(uri: string): string {
  const { protocol, host, hostname } = new URL(uri)
  return host === '' ? protocol : `${protocol}//${isLoopbackHost(hostname) ? hostname : host}`
}

/**
 * Why `uri` may not be registered, in words that can follow its field's name, or undefined when it may.
 * `insecure` marks plain http to another host, which a development start only warns of.
 */
export function redirectUriProblem(uri: string): { reason: Words; insecure?: true } | undefined {
  if (uri.length > MAX_LENGTH)
    return { reason: reason('must not be longer than {most} characters', { most: MAX_LENGTH }) }
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0020\u007f-\uffff\\"<>^`{|}]/.test(uri))
    return { reason: reason('must hold only the characters of a URI (RFC 3986)') }
  if (!/^[a-z][a-z0-9+.-]*:/i.test(uri) || !URL.canParse(uri))
    return { reason: withoutScheme(uri) ?? reason('must be an absolute URI') }
  const url = new URL(uri)
  if (NOBODYS.has(url.protocol))
    return { reason: reason('must not use the scheme {scheme}', { scheme: url.protocol }) }
  if (uri.includes('#')) return { reason: reason('must not have a fragment') }
  if (url.username !== '' || url.password !== '')
    return { reason: reason('must not carry a user name or password') }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return url.protocol.includes('.') || uri.includes('://')
      ? undefined
      : {
          reason: withoutScheme(uri) ?? reason('needs a scheme that the app owns, such as com.example.app:'),
        }
  }
  if (!/^https?:\/\/[^/]/i.test(uri)) return { reason: reason('must be an absolute URI') }
  if (url.hostname.includes('*')) return { reason: reason('must not hold a wildcard') }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    return { reason: reason('must use https (http only to this machine)'), insecure: true }
  }
  return undefined
}

/** What is said of a host, such as `localhost:4000`, that only reads as a scheme; undefined for what is none. */
function withoutScheme(uri: string): Words | undefined {
  const [, host] = /^([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d|(?<=^localhost)(?:[:/]|$))/i.exec(uri) ?? []
  if (host === undefined) return undefined
  const scheme = isLoopbackHost(host.toLowerCase()) ? 'http' : 'https'
  return reason('must begin with http:// or https://, as in {uri}', {
    uri: `${scheme}://${uri.slice(0, 200)}`,
  })
}

/**
 * Why an address that may be registered is not safe all the same, in words that can follow its field's name: a scheme
 * without a dot is nobody's by any name that one can own, so that another app may take it too (RFC 8252 §7.1, §8.6). There
 * are apps that have one, so an administrator may register it; a stranger may not.
 */
export function redirectUriCaution(uri: string): string | undefined {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):/i.exec(uri) ?? []
  if (scheme.includes('.') || /^https?$/i.test(scheme) || redirectUriProblem(uri) !== undefined)
    return undefined
  return `has ${scheme.toLowerCase()}:, a scheme without a dot, which another app on the same device may take`
}

const LOOPBACK = /^(http:\/\/(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost))(?::\d{1,5})?(\/.*)?$/

/**
 * Whether `sent` is one of the registered addresses: the same string (RFC 9700 §2.1), where only the port of a
 * loopback address is free (RFC 8252 §7.3).
 */
export function isRegisteredRedirectUri(sent: string, registered: readonly string[]): boolean {
  if (registered.includes(sent)) return true
  const loopback = withoutPort(sent)
  return loopback !== undefined && registered.some((one) => withoutPort(one) === loopback)
}

function withoutPort(uri: string): string | undefined {
  const [, host, rest = ''] = LOOPBACK.exec(uri) ?? []
  return host === undefined || redirectUriProblem(uri) !== undefined ? undefined : host + rest
}

/** RFC 6749 §3.1.2: a query that is registered stays as it is. */
export function withQuery(uri: string, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(parameters).toString()
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${query}`
}
