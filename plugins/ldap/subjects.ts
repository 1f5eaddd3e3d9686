/** What an entry keeps for ever, as it is kept here: of each value one text, and never the same of two. */
import { isUtf8 } from 'node:buffer'

/** Those whose values are bytes: they are hexadecimal digits here, and nothing else. */
const BINARY: ReadonlySet<string> = new Set(['objectguid', 'objectsid'])
/** Before the digits (RFC 4514 §2.4) of what is no text, as eDirectory's GUID, and of text that begins so itself. */
const MARK = '#'

export function subjectOf(attribute: string, value: Buffer): string {
  if (BINARY.has(attribute.toLowerCase())) return value.toString('hex')
  // No database keeps NUL in a text.
  const isText = isUtf8(value) && !value.includes(0) && !value.toString('latin1').startsWith(MARK)
  return isText ? value.toString('utf8') : MARK + value.toString('hex')
}

/** What the directory is asked for by it. */
export function valueOf(attribute: string, subject: string): Buffer {
  if (BINARY.has(attribute.toLowerCase())) return Buffer.from(subject, 'hex')
  return subject.startsWith(MARK)
    ? Buffer.from(subject.slice(MARK.length), 'hex')
    : Buffer.from(subject, 'utf8')
}
