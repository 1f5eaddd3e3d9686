/** Of a form that changes what is stored: what people have seen of it, so that theirs undoes nothing unseen that somebody else did meanwhile. */
import { hash } from 'node:crypto'

/**
 * The same for every version of the server, side by side in an upgrade: the order of the fields, and those without a value, say
 * nothing of what is stored.
 */
export function seenVersion(values: Readonly<Record<string, string>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== '')
  const sorted = given.toSorted(([one], [other]) => (one < other ? -1 : 1))
  return hash('sha256', JSON.stringify(sorted), 'base64url')
}
