// Whether a proof is for the address that a request came to (RFC 9449 §4.3): without query and fragment, in normal form.

/** Of RFC 3986: what else a URL parser would put right is no address. */
const ADDRESS = /^https?:\/\/[^/?#@\\]+(?:[/?#][\w\-.~%!$&'()*+,;=:@/?#]*)?$/i
const LONGEST = 2048

/**
 * @param htu of the proof
 * @param origins under which requests are sent here, as `URL.origin` writes them
 * @param target of the request line: path and query, mostly
 */
export function isSameAddress(htu: unknown, origins: readonly string[], target: string): boolean {
  if (typeof htu !== 'string' || htu.length > LONGEST) return false
  const path = target.split('?', 1)[0]!
  if (path.startsWith('/') && origins.some((origin) => htu === origin + path)) return true
  const named = normalized(htu)
  if (named === undefined) return false
  const sent = path.startsWith('/') ? origins.map((origin) => origin + path) : [path]
  return sent.some((one) => origins.includes(originOf(one)) && normalized(one) === named)
}

function originOf(address: string): string {
  return URL.parse(address)?.origin ?? ''
}

/** RFC 3986 §6.2.2 and §6.2.3; undefined for what is no address of a request. */
function normalized(address: string): string | undefined {
  const url = ADDRESS.test(address) ? URL.parse(address.replace(ESCAPE, withoutNeed)) : null
  return url === null ? undefined : url.origin + url.pathname
}

const ESCAPE = /%([0-9a-f]{2})/gi

/** RFC 3986 §6.2.2.1 and §6.2.2.2. */
function withoutNeed(escape: string, digits: string): string {
  const character = String.fromCharCode(Number.parseInt(digits, 16))
  return /[\w\-.~]/.test(character) ? character : escape.toUpperCase()
}
