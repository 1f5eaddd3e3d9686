/** What may be used once: whoever inserts it first has used it. */
import { SpentHandle } from '../entities/spent-handle.ts'
import { statement } from './statement.ts'

export const statements = {
  /** $1 until $2; no row where it is there. It locks its own key alone, so many travel together, by $1 in one order. */
  spend: statement<{ spent: true }>(
    'handle-spend',
    (table) => {
      const handle = table(SpentHandle)
      const [hash, expiresAt] = [handle.column('hash'), handle.column('expiresAt')]
      return `insert into ${handle.name} (${hash}, ${expiresAt}) values ($1, $2)
        on conflict (${hash}) do nothing returning true as "spent"`
    },
    'with writers',
  ),
}
