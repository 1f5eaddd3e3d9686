/** What names a resource (RFC 8707 §2), and when two names are one. */

/** A slash at the end is none of the name: clients add one, and leave it out, as they please. */
export function slashless(name: string): string {
  return name.endsWith('/') ? name.slice(0, -1) : name
}

/** The name without a slash at its end, and with one. */
export function formsOf(name: string): [string, string] {
  return [slashless(name), `${slashless(name)}/`]
}

/** Whether it can be what RFC 8707 §2 calls a resource. */
export function isResourceIdentifier(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^[\x21-\x7e]{1,2048}$/.test(value) &&
    URL.canParse(value) &&
    !value.includes('#')
  )
}
