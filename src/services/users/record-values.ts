/** What is in the records of users: sealed where their kind says so, opened for who reads them, and told in the export of their user. */
import type { RecordOptions } from '../../doors/user-records.ts'
import type { Bag } from '../../protocol/bag.ts'
import type { Database } from '../../store/database.ts'
import { statements, type UserRecordRow } from '../../store/user-records.ts'
import { userRecordContext as contextOf } from '../keys/former-keys.ts'
import { UnreadableError, type SecretBox } from '../keys/secret-box.ts'

type Closed = Pick<UserRecordRow, 'id' | 'value'>

export interface RecordValues {
  /** Throws `UnreadableError` where no key fits. */
  open(kind: string, userId: string, row: Closed): Bag
  /** As it is stored. */
  close(kind: string, userId: string, id: string, value: object): object
  /** Under the first key from here on, so that older ones can go. */
  renew(kind: string, userId: string, row: Closed): Promise<void>
  /** As its kind describes it. Nothing of what no key fits: who takes their data with them, or are shown all of it, get the rest. */
  describe(kind: string, userId: string, row: Closed): Bag
}

/** @internal */
export function createRecordValues(
  kinds: ReadonlyMap<string, RecordOptions>,
  database: Database,
  box: SecretBox,
): RecordValues {
  const whatOf = (kind: string, userId: string): string => `the record ${kind} of the user ${userId}`

  function sealedIn(kind: string, { value }: Closed): string | undefined {
    return kinds.get(kind)?.sealed ? (value as { sealed?: string }).sealed : undefined
  }

  const open: RecordValues['open'] = (kind, userId, row) => {
    const sealed = sealedIn(kind, row)
    if (sealed === undefined) return row.value
    return JSON.parse(box.open(sealed, contextOf(kind, userId, row.id), whatOf(kind, userId))) as Bag
  }

  return {
    open,
    close: (kind, userId, id, value) =>
      kinds.get(kind)?.sealed
        ? { sealed: box.seal(JSON.stringify(value), contextOf(kind, userId, id)) }
        : value,
    async renew(kind, userId, row) {
      const sealed = sealedIn(kind, row)
      if (sealed === undefined || box.isCurrent(sealed)) return
      const context = contextOf(kind, userId, row.id)
      const now = { sealed: box.seal(box.open(sealed, context, whatOf(kind, userId)), context) }
      await database.query(statements.reseal, [userId, kind, row.id, now, row.value])
    },
    describe(kind, userId, row) {
      const { sealed, describe }: RecordOptions = kinds.get(kind) ?? { sealed: 'sealed' in row.value }
      // What nobody describes is not opened.
      if (sealed && describe === undefined) return {}
      try {
        const value = open(kind, userId, row)
        return describe?.(value) ?? value
      } catch (error) {
        if (error instanceof UnreadableError) return {}
        throw error
      }
    },
  }
}
