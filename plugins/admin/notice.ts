/** What a page says at its top of what was done, or was not done yet. */

export const SIGNED_IN_AGAIN =
  'Thank you for signing in again. What you asked for is not done yet: ask once more.'

/** Members of an address, each there or not. */
export interface Told {
  saved?: string | undefined
  again?: string | undefined
}

/** Null for nothing. */
export function noticeOf({ saved, again }: Told): string | null {
  if (again !== undefined) return SIGNED_IN_AGAIN
  return saved === undefined ? null : 'Saved. The next token has it.'
}
