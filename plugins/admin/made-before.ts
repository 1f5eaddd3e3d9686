/**
 * Of forms that register something by its name: the same one that comes twice finds it taken by what it has registered itself. That is noted
 * right after it is stored, not in its transaction: where the process dies between, the second form is refused.
 */
import { lookAgain } from '../../src/http/look-again.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { createDoneOnce, type SentForm } from '../../src/services/done-once.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import type { Administrator } from './sections.ts'

export interface MadeBefore {
  /** Notes that this form has registered it; once that is stored. */
  note(administrator: Administrator, wire: Wire): Promise<void>
  /** Whether this form has done so a moment ago, or notes it just now. */
  isMade(administrator: Administrator, wire: Wire): Promise<boolean>
}

/** Until a form that came first has noted it: three waits of `lookAgain`. */
const LOOKS = 4

/** `kind` is of what is registered. */
export function createMadeBefore(kernel: Kernel, kind: string): MadeBefore {
  const made = createDoneOnce<Record<string, never>>(kernel, `admin-new-${kind}`)
  const sentBy = ({ session }: Administrator, wire: Wire): SentForm => ({
    form: JSON.stringify(wire),
    browser: session.sid,
  })
  return {
    note: async (administrator, wire) =>
      made.noteAnew(kernel.database.query, sentBy(administrator, wire), {}),
    async isMade(administrator, wire) {
      const look = async () => (await made.find(sentBy(administrator, wire))) ?? undefined
      return (await lookAgain(LOOKS, look)) !== undefined
    },
  }
}
