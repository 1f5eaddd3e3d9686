/** User names: which texts may be one, and the one form in which they are compared. */

const MAX_LENGTH = 256

/** Why this cannot be a user name, in words to follow "username"; undefined when it can. */
export function usernameProblem(username: unknown): string | undefined {
  if (typeof username !== 'string') return 'must be a text'
  if (username.trim() === '') return 'must not be empty'
  if (username.length > MAX_LENGTH) return `must have ${MAX_LENGTH} characters at most`
  if (!username.isWellFormed() || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(username))
    return 'must not hold control characters or broken Unicode'
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
