/**
 * Records of users under SECRET_KEY: how they are sealed, and how the janitor brings them under the first key, so that former ones can go
 * though the owners of the records do not come.
 */
import type { Database } from '../../store/database.ts'
import { statements, type PlacedRecordRow } from '../../store/user-records.ts'
import type { SecretBox } from '../keys/secret-box.ts'

/** @internal */
export function contextOf(kind: string, userId: string, id: string): string {
  return `user-record ${kind} ${userId} ${id}`
}

/** Milliseconds from the end of all to the next beginning: until then other processes may go on with the former key. */
const PAUSE = 3_600_000
const NIL = '00000000-0000-0000-0000-000000000000'

/**
 * Looks through the next ones, and seals anew what a former key sealed; returns how many it looked at, 0 at the end of all and for a while
 * behind it.
 * @internal
 */
export function createResealRecords(database: Database, box: SecretBox): () => Promise<number> {
  let last: Pick<PlacedRecordRow, 'userId' | 'kind' | 'id'> | undefined
  let restsUntil = 0

  async function reseal({ userId, kind, id, value }: PlacedRecordRow): Promise<void> {
    const { sealed } = value
    if (typeof sealed !== 'string' || box.isCurrent(sealed)) return
    const context = contextOf(kind, userId, id)
    let now: string
    try {
      now = box.seal(box.open(sealed, context), context)
    } catch {
      // No key fits, which `doctor` tells; or it is a plugin's own word, and nothing was sealed.
      return
    }
    await database.query(statements.reseal, [userId, kind, id, { sealed: now }, value])
  }

  return async () => {
    if (Date.now() < restsUntil) return 0
    const { userId = NIL, kind = '', id = '' } = last ?? {}
    const rows = await database.query(statements.next, [userId, kind, id])
    for (const row of rows) await reseal(row)
    last = rows.at(-1)
    if (last === undefined) restsUntil = Date.now() + PAUSE
    return rows.length
  }
}
