/** The door `users.records`: what plugins keep of a user, encrypted at rest where they ask for it. */
import { ConfigError } from '../../config.ts'
import { assertRecordKind, assertUserRecordOptions } from '../../doors/record-shapes.ts'
import type { RecordOptions, UserRecord, UserRecords } from '../../doors/user-records.ts'
import type { NewEvent } from '../../events.ts'
import type { Bag } from '../../protocol/bag.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { isUuid } from '../../protocol/uuid.ts'
import type { Database } from '../../store/database.ts'
import type { Query, Statement } from '../../store/statement.ts'
import { statements, type UserRecordRow } from '../../store/user-records.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { Directory } from '../directory.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createRecordValues } from './record-values.ts'
import type { UserChange } from './user-changes.ts'
import type { OwnUserRegistry } from './user-registry.ts'
import { createWaysIn, type SignInMethods } from './ways-in.ts'

export interface UserRecordKeeper {
  /**
   * Records of one `kind`, a plugin's own; declared while the server starts. Throws `ConfigError` for a kind that is taken.
   */
  records<Value extends object = Bag>(kind: string, options?: RecordOptions<Value>): UserRecords<Value>
  /**
   * The ways by which a user can sign in now: `password` where they have one, its kind for each record that `signsIn`, and the names of the
   * methods that are one without a record (`isWayIn`).
   */
  waysIn(userId: string): Promise<readonly string[]>
  /** @internal The same in a transaction that has locked the user. */
  waysInBy(query: Query, userId: string): Promise<readonly string[]>
  /** Whether the user has a factor beside the first; what is spare alone is none. */
  hasFactors(userId: string): Promise<boolean>
  /**
   * Takes every factor beside the first from a user who has lost theirs: their next sign-in asks for none, or has one set up where a policy
   * demands it. False where there was none.
   */
  resetFactors(userId: string): Promise<boolean>
  /** Every record of a user, by kind, as each kind describes its own. */
  describeRecords(userId: string): Promise<Readonly<Record<string, readonly Bag[]>>>
}

/** Undoes the transaction that it is thrown in. */
class RecordTaken extends Error {}

/** @internal */
export interface UserRecordsOptions {
  database: Database
  audit: AuditTrail
  changeUser: UserChange
  directory: Pick<Directory, 'recordKindsOf'>
  box: SecretBox
  signInMethods: SignInMethods
  createWith: OwnUserRegistry['createWith']
}

/** @internal */
export function createUserRecords(options: UserRecordsOptions): UserRecordKeeper {
  const { database, audit, changeUser, directory, box, signInMethods, createWith } = options
  const kinds = new Map<string, RecordOptions>()

  const values = createRecordValues(kinds, database, box)
  const waysBy = createWaysIn(kinds, values, signInMethods)

  function toRecord(kind: string, userId: string, row: UserRecordRow): UserRecord {
    const { id, revision, createdAt, updatedAt } = row
    return {
      id,
      value: values.open(kind, userId, row),
      revision,
      createdAt: createdAt.getTime(),
      updatedAt: updatedAt.getTime(),
    }
  }

  async function waysInBy(query: Query, userId: string): Promise<string[]> {
    return (await waysBy(query, userId)).map(({ way }) => way)
  }

  /** Whether the statement, whose $1 and $2 are user and kind, changed something: that is noted with it, and told to every process. */
  async function change(
    statement: Statement<object>,
    parameters: readonly [userId: string, kind: string, ...unknown[]],
    event: NewEvent | undefined,
    most?: number,
    unless?: (kept: readonly Bag[]) => boolean,
  ): Promise<boolean> {
    const [userId, kind] = parameters
    const isFactor = (kinds.get(kind)?.factor ?? false) !== false
    if (event === undefined && !isFactor && most === undefined)
      return (await database.query(statement, parameters)).length > 0
    // Whether somebody has one is what every process knows of them.
    const run: UserChange = isFactor ? changeUser : audit.transaction
    const changed = await run(async (query, note) => {
      // Who waits here sees what was added meanwhile: each statement looks anew.
      if (most !== undefined) await query(statements.lockUser, [userId])
      if (unless !== undefined) {
        const kept = await query(statements.list, [userId, kind])
        if (unless(kept.map((row) => toRecord(kind, userId, row).value))) return undefined
      }
      if ((await query(statement, parameters)).length === 0) {
        if (most !== undefined) await assertRoom(query, userId, kind, most)
        return undefined
      }
      if (event !== undefined) note(event)
      return { id: userId }
    })
    return changed !== undefined
  }

  const factors = (which: (factor: true | 'spare') => boolean = () => true): string[] =>
    [...kinds].filter(([, { factor = false }]) => factor !== false && which(factor)).map(([kind]) => kind)

  async function resetFactors(userId: string): Promise<boolean> {
    if (!isUuid(userId)) return false
    const reset = await changeUser(async (query, note) => {
      const taken = new Set(
        (await query(statements.deleteKinds, [userId, factors()])).map(({ kind }) => kind),
      )
      for (const factor of taken) note({ type: 'user.factor_removed', user: userId, details: { factor } })
      return taken.size > 0 ? { id: userId } : undefined
    })
    return reset !== undefined
  }

  /** Unless it is the last one: who locks the user first decides, and the next one counts without it. */
  async function deleteWayIn(which: readonly [string, string, string], event?: NewEvent): Promise<boolean> {
    const [userId, kind, ownId] = which
    return audit.transaction(async (query, note) => {
      await query(statements.lockUser, [userId])
      const ways = await waysBy(query, userId)
      if ((await query(statements.delete, which)).length === 0) return false
      const isLast = ways.every(({ way, id }) => way === kind && id === ownId)
      if (ways.length > 0 && isLast) throw lastWayIn()
      if (event !== undefined) note(event)
      return true
    })
  }

  function keep(
    kind: string,
    { unique = false, signsIn = false, factor = false, most }: RecordOptions,
  ): UserRecords {
    const stored = (userId: string, id: string, value: object): object =>
      values.close(kind, userId, id, value)
    const placed = (userId: string, id: string, value: object) =>
      [userId, kind, id, stored(userId, id, value), unique ? `${kind} ${id}` : null, most ?? null] as const

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
        await values.renew(kind, userId, row)
        return toRecord(kind, userId, row)
      },
      async put(userId, id, value, event, unless) {
        if (unless !== undefined && most === undefined)
          throw new TypeError(`records of the kind ${kind} have no most, by which others wait`)
        if (!isUuid(userId)) return false
        return change(statements.put, placed(userId, id, value), event, most, unless)
      },
      async register(members, id, value, eventOf) {
        try {
          return await createWith(members, async (query, note, userId) => {
            if ((await query(statements.put, placed(userId, id, value))).length === 0) throw new RecordTaken()
            if (eventOf !== undefined) note(eventOf(userId))
          })
        } catch (error) {
          if (error instanceof RecordTaken) return null
          throw error
        }
      },
      async replace(userId, { id, revision }, value, event) {
        const changed = [userId, kind, id, stored(userId, id, value), revision] as const
        return isUuid(userId) && change(statements.replace, changed, event)
      },
      async delete(userId, id, event) {
        if (!isUuid(userId)) return false
        return signsIn !== false
          ? deleteWayIn([userId, kind, id], event)
          : change(statements.delete, [userId, kind, id], event)
      },
      async has(userId) {
        if (factor === false) throw new TypeError(`records of the kind ${kind} are no factor`)
        return (await directory.recordKindsOf(userId)).has(kind)
      },
      async owner(id) {
        if (!unique) throw new TypeError(`records of the kind ${kind} are not unique`)
        return (await database.query(statements.owner, [`${kind} ${id}`]))[0]?.userId ?? null
      },
    }
  }

  return {
    records<Value extends object = Bag>(kind: string, options: RecordOptions<Value> = {}) {
      assertRecordKind(kind)
      assertUserRecordOptions(kind, options)
      if (kinds.has(kind)) throw new ConfigError(`The records ${kind} are registered twice.`)
      kinds.set(kind, options as RecordOptions)
      return keep(kind, options as RecordOptions) as UserRecords<Value>
    },
    waysInBy,
    async hasFactors(userId) {
      const kept = await directory.recordKindsOf(userId)
      return factors((factor) => factor === true).some((kind) => kept.has(kind))
    },
    resetFactors,
    waysIn: async (userId) => (isUuid(userId) ? waysInBy(database.query, userId) : []),
    async describeRecords(userId) {
      const rows = await database.query(statements.all, [userId])
      const described = rows.map((row) => {
        const told = values.describe(row.kind, userId, row)
        return [row.kind, { ...told, created_at: row.createdAt.toISOString() }] as const
      })
      const byKind = Map.groupBy(described, ([kind]) => kind)
      return Object.fromEntries([...byKind].map(([kind, all]) => [kind, all.map(([, told]) => told)]))
    },
  }
}

async function assertRoom(query: Query, userId: string, kind: string, most: number): Promise<void> {
  if ((await query(statements.list, [userId, kind])).length < most) return
  throw new OAuthError('invalid_request', `the user has ${most} records of the kind ${kind} already`)
}

/** @internal */
export function lastWayIn(): OAuthError {
  return new OAuthError(
    'invalid_request',
    'it is the only way to sign in that is left; add another one first',
  )
}
