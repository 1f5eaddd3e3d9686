/** User names: which texts may be one, and the one form in which they are compared. */
import { type Message, reason } from './message.ts'
import { isHiding, isUnseen } from './unseen.ts'

const MAX_LENGTH = 256
/** Spaces that look like one space of a keyboard, or like none. */
const OTHER_SPACES = /(?! )\p{Zs}| {2}/u

/** Why this cannot be a user name, in words to follow "username"; undefined when it can. */
export function usernameProblem(username: unknown): Message | undefined {
  if (typeof username !== 'string') return reason('must be a text')
  if (isUnseen(username)) return reason('must not be empty')
  if (username.length > MAX_LENGTH) return reason('must have {max} characters at most', { max: MAX_LENGTH })
  if (!username.isWellFormed() || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(username))
    return reason('must not hold control characters or broken Unicode')
  return undefined
}

/** The same of a name that strangers choose themselves: it must not look like somebody else's by what nobody sees (RFC 8264 §9.13). */
export function chosenUsernameProblem(username: string): Message | undefined {
  const problem = usernameProblem(username)
  if (problem !== undefined) return problem
  if (isHiding(username)) return reason('must not hold characters that nobody sees')
  if (OTHER_SPACES.test(username.trim())) return reason('must have ordinary spaces only, one at a time')
  return undefined
}

/**
 * The lookup form, or null for what cannot be a user name: NFC and lower case (RFC 8265 §3.3.2), without the space
 * that a keyboard adds at its end. Letters that only look alike stay different; what is shown is neutralised there.
 */
export function usernameKey(username: string): string | null {
  if (usernameProblem(username) !== undefined) return null
  return username.trim().normalize('NFC').toLowerCase().normalize('NFC')
}
