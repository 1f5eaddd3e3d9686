/** What a page says at its top of what was done, or was not done yet. */
import { message, type Words } from '../../src/protocol/message.ts'
import type { Notice } from '../pages/models.ts'

export const SIGNED_IN_AGAIN: Notice = {
  kind: 'notice',
  text: message('Thank you for signing in again. What you asked for is not done yet: ask once more.'),
}

/** Members of an address, each there or not. */
export interface Told {
  saved?: string | undefined
  again?: string | undefined
}

/** Null for nothing. */
export function noticeOf({ saved, again }: Told): Notice | null {
  if (again !== undefined) return SIGNED_IN_AGAIN
  return saved === undefined ? null : { kind: 'success', text: message('Saved. The next token has it.') }
}

/** What a list says that something was taken from just now: `removed` is a member of its address. Null for nothing. */
export function noticeOfEnd(removed: string | undefined, text: Words): Notice | null {
  return removed === undefined ? null : { kind: 'success', text }
}
