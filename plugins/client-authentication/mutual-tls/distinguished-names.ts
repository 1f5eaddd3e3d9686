/** Distinguished names (X.501) as text: as RFC 4514 writes them, and as Node writes those of certificates; compared as what they say. */

/** From the most specific: of each part its attributes, `TYPE=value` in one order. */
export type DistinguishedName = readonly (readonly string[])[]

/** Other ways to write the types that certificates have. */
const TYPES: Readonly<Record<string, string>> = {
  E: 'EMAILADDRESS',
  S: 'ST',
  '2.5.4.3': 'CN',
  '2.5.4.5': 'SERIALNUMBER',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'STREET',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.97': 'ORGANIZATIONIDENTIFIER',
  '0.9.2342.19200300.100.1.1': 'UID',
  '0.9.2342.19200300.100.1.25': 'DC',
  '1.2.840.113549.1.9.1': 'EMAILADDRESS',
}
const TYPE = /^\s*([A-Za-z][A-Za-z0-9-]*|\d+(?:\.\d+)+)\s*=/
/** A character that is none of those that part names, or an escape (RFC 4514 §3). */
const VALUE = /^(?:[^\\",+;<>\0]|\\[0-9A-Fa-f]{2}|\\[ "#+,;<=>\\])*/

/** As registered: the most specific first. Null for what is no such name. */
export function parseDistinguishedName(text: string): DistinguishedName | null {
  const parts: string[][] = [[]]
  for (let rest = text; ;) {
    const [whole = '', type = ''] = TYPE.exec(rest) ?? []
    if (whole === '') return null
    rest = rest.slice(whole.length)
    const [written = ''] = VALUE.exec(rest) ?? []
    rest = rest.slice(written.length)
    const value = unescape(trim(written))
    // What is given by its bytes (§2.4) is of no type that we could compare.
    if (value === null || value === '' || trim(written).startsWith('#')) return null
    const name = type.toUpperCase()
    parts.at(-1)!.push(`${TYPES[name] ?? name}=${value}`)
    if (rest === '') return parts.map((part) => part.toSorted())
    if (rest.startsWith(',')) parts.push([])
    else if (!rest.startsWith('+')) return null
    rest = rest.slice(1)
  }
}

/** `X509Certificate.subject`: a part in each line, the least specific first, escaped as in RFC 4514. Null where there is none. */
export function parseSubject(subject: string | undefined): DistinguishedName | null {
  const parts = (subject ?? '').split('\n').map(parseDistinguishedName)
  return parts.every((part) => part?.length === 1) ? parts.map((part) => part![0]!).toReversed() : null
}

/** Spaces around a value do not count, unless they are escaped. */
function trim(written: string): string {
  return written.replace(/^\s+/, '').replace(/(?<!\\)\s+$/, '')
}

/** Null for bytes that are no UTF-8. */
function unescape(written: string): string | null {
  const bytes = written.replace(/\\([0-9A-Fa-f]{2})|\\(.)|([^\\])/gsu, (_all, hex, escaped, plain) =>
    hex === undefined
      ? Buffer.from(String(escaped ?? plain)).toString('latin1')
      : String.fromCharCode(parseInt(String(hex), 16)),
  )
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return null
  }
}
