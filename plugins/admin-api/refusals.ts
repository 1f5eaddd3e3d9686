/** What operations refuse in the same words. */
import { memberError, type OAuthError } from '../../src/protocol/errors.ts'
import type { Words } from '../../src/protocol/message.ts'

/** Of one member of what was sent, where no registry has a code of its own for it. */
export function memberProblem(member: string, why: Words): OAuthError {
  return memberError('invalid_request', member.slice(0, 100), why)
}

/** A member that is misspelt is refused, and not ignored: a program reads no warnings. */
export function assertKnown(sent: object, isKnown: (name: string) => boolean): void {
  const unknown = Object.keys(sent).find((name) => !isKnown(name))
  if (unknown !== undefined) throw memberProblem(unknown, 'is not known')
}

/** Of what a path names as a segment: browsers take dots away, and the router reads no more. */
const LONGEST_SEGMENT = 512

export function assertAddressable(member: string, name: unknown): void {
  if (name === '.' || name === '..')
    throw memberProblem(member, 'must not be dots alone: no address could name it')
  if (typeof name === 'string' && encodeURIComponent(name).length > LONGEST_SEGMENT)
    throw memberProblem(
      member,
      `must have ${LONGEST_SEGMENT} characters at most, percent-encoded: an address names it`,
    )
}
