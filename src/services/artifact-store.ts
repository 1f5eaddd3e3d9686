/** The artifacts door: what a plugin stores by a handle, without the handle itself ever being stored. */
import { randomBytes } from 'node:crypto'
import { ConfigError } from '../config.ts'
import type { ArtifactOptions, Artifacts, PutOptions } from '../doors/artifacts.ts'
import type { DoorRegistry } from '../doors/registry.ts'
import { assertShape, BOOLEAN, FUNCTION, maybe, type Shape } from '../doors/shapes.ts'
import type { Bag } from '../protocol/bag.ts'
import { isUuid } from '../protocol/uuid.ts'
import { statements } from '../store/artifacts.ts'
import type { Database } from '../store/database.ts'
import type { Query } from '../store/statement.ts'
import { statements as userRecords } from '../store/user-records.ts'
import type { AuditTrail } from './audit/audit.ts'
import type { SecretBox } from './keys/secret-box.ts'

export interface ArtifactStore {
  /** Artifacts of one kind. Throws `ConfigError` for a kind that is another's, and for options that are none. */
  artifacts<Value extends object = Bag>(kind: string, options: ArtifactOptions<Value>): Artifacts<Value>
  /** Every artifact that a user owns, by kind, as each kind describes its own. */
  describeArtifacts(userId: string): Promise<Readonly<Record<string, readonly Bag[]>>>
}

/** On one page, and of one owner unless somebody says otherwise. */
const PAGE = 100
const MOST_OF_ONE = 1000

const OPTIONS: Shape<ArtifactOptions> = {
  lifetime: { is: isLifetime, words: 'seconds' },
  ofUsers: maybe(BOOLEAN),
  describe: maybe(FUNCTION),
}

/** @internal */
export interface ArtifactStoreOptions {
  database: Database
  box: SecretBox
  doors: DoorRegistry
  audit: Pick<AuditTrail, 'transaction'>
}

/** @internal */
export function createArtifactStore({ database, box, doors, audit }: ArtifactStoreOptions): ArtifactStore {
  const kinds = new Map<string, ArtifactOptions>()

  /** Of what is put for a user at once, the later one sees the earlier one, and takes its place. */
  async function oneByOne<Result>(userId: string, work: (query: Query) => Promise<Result>): Promise<Result> {
    return database.transaction(async (query) => {
      await query(userRecords.lockUser, [userId])
      return work(query)
    })
  }

  function keep(kind: string, { lifetime: usual, ofUsers = false }: ArtifactOptions): Artifacts {
    const putOwned = ofUsers ? statements.putOfUser : statements.putOwned

    function put(
      value: Bag,
      options?: PutOptions & { handle?: undefined; owner?: undefined },
    ): Promise<string>
    function put(value: Bag, options: PutOptions): Promise<string | false>
    async function put(value: Bag, options: PutOptions = {}): Promise<string | false> {
      assertPlacing(kind, options)
      const { handle = randomBytes(32).toString('base64url'), lifetime = usual, owner, most = PAGE } = options
      if (ofUsers && owner !== undefined && !isUuid(owner)) return false
      const hash = box.hash(handle)
      if (owner === undefined)
        return (await database.query(statements.put, [hash, kind, value, lifetime])).length > 0 && handle
      const values = [kind, hash, value, lifetime, owner, most] as const
      const rows =
        ofUsers && options.most !== undefined
          ? await oneByOne(owner, async (query) => query(putOwned, values))
          : await database.query(putOwned, values)
      return rows.length > 0 && handle
    }

    return {
      put,
      async get(handle) {
        const [row] = await database.query(statements.get, [kind, box.hashes(handle)])
        return row?.value ?? null
      },
      async replace(handle, from, to, event) {
        const values = [kind, box.hashes(handle), from, to] as const
        if (event === undefined) return (await database.query(statements.replace, values)).length > 0
        return audit.transaction(async (query, note) => {
          const isReplaced = (await query(statements.replace, values)).length > 0
          if (isReplaced) note(event)
          return isReplaced
        })
      },
      async spend(handle) {
        const [row] = await database.query(statements.spend, [kind, box.hashes(handle)])
        return row?.value ?? null
      },
      async delete(which) {
        const hashes = typeof which === 'string' ? box.hashes(which) : [which.id]
        return (await database.query(statements.delete, [kind, hashes])).length > 0
      },
      async list(owner, { after = '', limit = PAGE } = {}) {
        if (!(limit >= 1 && limit <= PAGE)) throw new RangeError(`a page of artifacts has 1 to ${PAGE}`)
        const rows = await database.query(statements.list, [owner, kind, after, limit])
        return rows.map(({ hash, value, expiresAt }) => ({ id: hash, value, expiresAt: expiresAt.getTime() }))
      },
    }
  }

  return {
    artifacts<Value extends object = Bag>(kind: string, options: ArtifactOptions<Value>) {
      assertDeclared(kind, options)
      doors.own('artifact kind', kind)
      kinds.set(kind, options as ArtifactOptions)
      return keep(kind, options as ArtifactOptions) as Artifacts<Value>
    },
    async describeArtifacts(userId) {
      const told: Record<string, Bag[]> = {}
      let after = { kind: '', hash: '' }
      for (;;) {
        const rows = await database.query(statements.listAll, [userId, after.kind, after.hash, PAGE])
        for (const { kind, value, expiresAt } of rows)
          (told[kind] ??= []).push({
            ...kinds.get(kind)?.describe?.(value),
            expires_at: expiresAt.toISOString(),
          })
        if (rows.length < PAGE) return told
        after = rows.at(-1)!
      }
    },
  }
}

/** What was declared by a number alone was written for a `put` that threw where a handle was taken: it must not go on unread. */
function assertDeclared(kind: string, options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new ConfigError(
      `The artifacts ${kind} are declared by { lifetime: ${String(options)} } instead of ${String(options)}, and put(value, { handle }) answers false where the handle is taken.`,
    )
  const { lifetime } = options as Partial<ArtifactOptions>
  if (kind === '' || !isLifetime(lifetime))
    throw new ConfigError(`The artifacts ${kind} need a kind and a lifetime in seconds.`)
  assertShape(`artifacts ${kind}`, OPTIONS, options)
}

function assertPlacing(kind: string, options: PutOptions): void {
  if (typeof options !== 'object') throw new TypeError(`a ${kind} is put with { handle }, not with a handle`)
  const { lifetime, most = PAGE } = options
  if (lifetime !== undefined && !isLifetime(lifetime))
    throw new RangeError(`a ${kind} lives for some seconds`)
  if (!(most >= 1 && most <= MOST_OF_ONE)) throw new RangeError(`an owner has 1 to ${MOST_OF_ONE} of ${kind}`)
}

/** Seconds, of which a timestamp can be made. */
function isLifetime(seconds: unknown): boolean {
  return typeof seconds === 'number' && seconds > 0 && seconds < 1e10
}
