/** What an examination found: one line for people, and the same for programs. */

export interface Finding {
  /** What was looked at, in a word or two. */
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  /** One sentence; where something is wrong, it says what to do. */
  readonly says: string
}

type Find = (check: string, says: string) => Finding

export const ok: Find = (check, says) => ({ check, status: 'ok', says })
/** It works, and should not stay as it is. */
export const warn: Find = (check, says) => ({ check, status: 'warn', says })
/** The server does not start like this, or does harm. */
export const fail: Find = (check, says) => ({ check, status: 'fail', says })
