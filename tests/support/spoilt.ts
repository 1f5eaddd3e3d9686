/** A JWT in which a few characters are others. */
import fc from 'fast-check'

/**
 * None that says and proves the same as `good` did: the last character of a part may stand for fewer bits than it has, and then others read
 * alike (RFC 4648 §3.5).
 */
export function spoiltOf(good: string): fc.Arbitrary<string> {
  const bytes = bytesOf(good)
  const change = fc.tuple(fc.nat(good.length - 1), fc.constantFrom(...'aZ0_-.,= é'.split('')))
  return fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) => {
      const characters = good.split('')
      for (const [at, character] of changes) characters[at] = character
      return characters.join('')
    })
    .filter((text) => bytesOf(text) !== bytes)
}

function bytesOf(jwt: string): string {
  return jwt
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('hex'))
    .join('.')
}
