/** Distinguished names (RFC 4514) in one form, so that two spellings of one name are equal. */

/** As it is compared: attributes and values in small letters, without what spaces and escapes add; the parts of each step in order. */
export function nameKey(dn: string): string {
  return splitAt(dn, ',')
    .map((step) => splitAt(step, '+').map(partKey).toSorted().join('+'))
    .join(',')
}

function partKey(part: string): string {
  const at = part.indexOf('=')
  if (at < 0) return part.trim().toLowerCase()
  const value = unescaped(part.slice(at + 1))
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
  return `${part.slice(0, at).trim().toLowerCase()}=${value.replaceAll(/[,+=\\]/g, (letter) => `\\${letter}`)}`
}

/** At what is not escaped. */
function splitAt(text: string, separator: string): string[] {
  const parts: string[] = ['']
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\' && at + 1 < text.length) parts[parts.length - 1] += text[at]! + text[++at]!
    else if (text[at] === separator) parts.push('')
    else parts[parts.length - 1] += text[at]!
  }
  return parts
}

/** §2.4: a letter behind a backslash, or bytes as two hexadecimal digits each. What comes of it is not read again. */
function unescaped(value: string): string {
  return value.replaceAll(/((?:\\[0-9a-f]{2})+)|\\(.)/gis, (_whole, bytes?: string, letter?: string) =>
    bytes === undefined ? letter! : Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString('utf8'),
  )
}
