// What a token names and what is accepted, for the log alone: the caller is told neither.

/** The longest that each side is, in characters: what the token names is anybody's text until its signature is checked. */
const LONGEST = 300

export class Mismatch extends Error {
  override readonly name = 'Mismatch'
}

/** "iss is X, expected Y", each as JSON and cut where it is long. */
export function mismatch(claim: string, named: unknown, accepted: readonly string[]): Mismatch {
  const expected = accepted.map((one) => JSON.stringify(one)).join(' or ')
  return new Mismatch(`${claim} is ${cut(JSON.stringify(named) ?? 'absent')}, expected ${cut(expected)}`)
}

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
