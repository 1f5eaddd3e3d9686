/** The door `users.records`: what plugins keep of a user, encrypted at rest where they ask for it. */
import { ConfigError } from '../../config.ts'
import type { RecordOptions, UserRecord, UserRecords } from '../../doors/user-records.ts'
import type { Bag } from '../../protocol/bag.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { Database } from '../../store/database.ts'
import { statements, type UserRecordRow } from '../../store/user-records.ts'
import type { SecretBox } from '../keys/secret-box.ts'

export interface UserRecordKeeper {
  /**
   * Records of one `kind`, a plugin's own; declared while the server starts. Throws `ConfigError` for a kind that is taken.
   */
  records<Value extends object = Bag>(kind: string, options?: RecordOptions<Value>): UserRecords<Value>
  /** Every record of a user, by kind, as each kind describes its own. */
  describeRecords(userId: string): Promise<Readonly<Record<string, readonly Bag[]>>>
}

const KIND = /^[a-z][a-z0-9-]{0,63}$/

/** @internal */
export function createUserRecords(database: Database, box: SecretBox): UserRecordKeeper {
  const kinds = new Map<string, RecordOptions>()

  const contextOf = (kind: string, userId: string, id: string): string =>
    `user-record ${kind} ${userId} ${id}`

  function valueOf(kind: string, userId: string, { id, value }: Pick<UserRecordRow, 'id' | 'value'>): Bag {
    const { sealed } = value as { sealed?: string }
    if (!kinds.get(kind)?.sealed || sealed === undefined) return value
    return JSON.parse(box.open(sealed, contextOf(kind, userId, id))) as Bag
  }

  /** Under the first key from here on, so that older ones can go. */
  async function reseal(kind: string, userId: string, row: UserRecordRow): Promise<void> {
    const { sealed } = row.value as { sealed?: string }
    if (!kinds.get(kind)?.sealed || sealed === undefined || box.isCurrent(sealed)) return
    const context = contextOf(kind, userId, row.id)
    const now = { sealed: box.seal(box.open(sealed, context), context) }
    await database.query(statements.reseal, [userId, kind, row.id, now, row.value])
  }

  function toRecord(kind: string, userId: string, row: UserRecordRow): UserRecord {
    const { id, revision, createdAt, updatedAt } = row
    return {
      id,
      value: valueOf(kind, userId, row),
      revision,
      createdAt: createdAt.getTime(),
      updatedAt: updatedAt.getTime(),
    }
  }

  function keep(kind: string, { sealed = false, unique = false }: RecordOptions): UserRecords {
    const stored = (userId: string, id: string, value: object): object =>
      sealed ? { sealed: box.seal(JSON.stringify(value), contextOf(kind, userId, id)) } : value

    return {
      async list(userId) {
        if (!isUuid(userId)) return []
        return (await database.query(statements.list, [userId, kind])).map((row) =>
          toRecord(kind, userId, row),
        )
      },
      async get(userId, id) {
        if (!isUuid(userId)) return null
        const [row] = await database.query(statements.get, [userId, kind, id])
        if (row === undefined) return null
        await reseal(kind, userId, row)
        return toRecord(kind, userId, row)
      },
      async put(userId, id, value) {
        if (!isUuid(userId)) return false
        const values = [userId, kind, id, stored(userId, id, value), unique ? `${kind} ${id}` : null]
        return (await database.query(statements.put, values)).length > 0
      },
      async replace(userId, { id, revision }, value) {
        const values = [userId, kind, id, stored(userId, id, value), revision]
        return isUuid(userId) && (await database.query(statements.replace, values)).length > 0
      },
      delete: async (userId, id) =>
        isUuid(userId) && (await database.query(statements.delete, [userId, kind, id])).length > 0,
      async owner(id) {
        if (!unique) throw new TypeError(`records of the kind ${kind} are not unique`)
        return (await database.query(statements.owner, [`${kind} ${id}`]))[0]?.userId ?? null
      },
    }
  }

  return {
    records<Value extends object = Bag>(kind: string, options: RecordOptions<Value> = {}) {
      if (!KIND.test(kind))
        throw new ConfigError(`The records ${kind} need a name of small letters, digits and hyphens.`)
      if (kinds.has(kind)) throw new ConfigError(`The records ${kind} are registered twice.`)
      kinds.set(kind, options as RecordOptions)
      return keep(kind, options as RecordOptions) as UserRecords<Value>
    },
    async describeRecords(userId) {
      const rows = await database.query(statements.all, [userId])
      const described = rows.map((row) => {
        const { sealed = false, describe }: RecordOptions = kinds.get(row.kind) ?? {
          sealed: 'sealed' in row.value,
        }
        // What nobody describes is not opened: its key may be gone.
        const told = describe?.(valueOf(row.kind, userId, row)) ?? (sealed ? {} : row.value)
        return [row.kind, { ...told, created_at: row.createdAt.toISOString() }] as const
      })
      const byKind = Map.groupBy(described, ([kind]) => kind)
      return Object.fromEntries([...byKind].map(([kind, all]) => [kind, all.map(([, told]) => told)]))
    },
  }
}
