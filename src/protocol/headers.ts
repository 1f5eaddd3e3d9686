/** Headers that may come once (RFC 9110 §5.3): Node keeps the first of several and hides the rest. */

/** Whether `name` (lower case) stands more than once in the names and values of `IncomingMessage.rawHeaders`. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let found = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const one = rawHeaders[at]!
    if (one.length === name.length && one.toLowerCase() === name) found++
  }
  return found > 1
}
