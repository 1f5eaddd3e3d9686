/** Of headers: which may come (RFC 9110 §5.3), and which can leave (§5.1, §5.5). */

/** Node keeps the first of several and hides the rest: whether `name` (lower case) stands more than once in the names and values of `IncomingMessage.rawHeaders`. */
export function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let found = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const one = rawHeaders[at]!
    if (one.length === name.length && one.toLowerCase() === name) found++
  }
  return found > 1
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** As Node sends them: bytes, none of which ends a line. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Whether a header can be sent so; `value` may be a list, as of cookies. */
export function isSendable(name: string, value: unknown): boolean {
  const values: readonly unknown[] = [value].flat()
  return NAME.test(name) && values.every((one) => VALUE.test(String(one)))
}

/** Throws `TypeError`, in a sentence without the value, which may be a secret. `what` is whose headers they are: "an answer". */
export function assertSendable(what: string, headers: Readonly<Record<string, unknown>>): void {
  const bad = Object.keys(headers).find((name) => !isSendable(name, headers[name]))
  if (bad !== undefined)
    throw new TypeError(`the header ${JSON.stringify(bad)} of ${what} has characters that no header may have`)
}
