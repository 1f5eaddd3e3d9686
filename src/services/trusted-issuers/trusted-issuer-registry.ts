/**
 * The one way in which trusted issuers come to be, change and end, but for SEED_FILE; and all of them in memory, read again when the
 * change feed says so. There are few.
 */
import { metadataError } from '../../protocol/errors.ts'
import { reason } from '../../protocol/message.ts'
import {
  parseTrustedIssuer,
  type TrustedIssuerInformation,
  type TrustedIssuerInput,
  trustedIssuerInformation,
} from '../../protocol/trusted-issuer-information.ts'
import { recordChange } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { everyPage } from '../../store/every-page.ts'
import { isDuplicate } from '../../store/failures.ts'
import { statements } from '../../store/trusted-issuers.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { ListOptions, SaveOptions } from '../resource-registry.ts'
import { madeOf, toStored } from './trusted-issuer-rows.ts'

export type { TrustedIssuerInformation, TrustedIssuerInput }

/** As it is used. */
export interface TrustedIssuer extends TrustedIssuerInformation {
  /** Another one each time that it is registered or enabled. */
  readonly generation: string
}

export interface TrustedIssuerRegistry {
  /** Not those that are disabled. Of all processes, two seconds old at most. Throws 503 when that cannot be known. */
  trusted(): Promise<readonly TrustedIssuer[]>
  /** Whether one is registered, as it was last known. */
  isKnown(issuer: string): boolean
  /**
   * Registers it, or lays what is given over what is there: null takes a member away. Throws `invalid_client_metadata`
   * naming the field.
   */
  save(issuer: TrustedIssuerInput, options?: SaveOptions): Promise<void>
  find(issuer: string): Promise<TrustedIssuerInformation | null>
  /** When a JWT of each was last found good, of those of which one was; a few minutes old. */
  lastUses(issuers: readonly string[]): Promise<ReadonlyMap<string, Date>>
  list(options?: ListOptions): Promise<TrustedIssuerInformation[]>
  /** False where there was none. What came of its JWTs ends with it. */
  delete(issuer: string): Promise<boolean>
}

export interface TrustedIssuerRegistryOptions {
  database: Database
  audit: AuditTrail
  feed: ChangeFeed
  issuer: string
}

/** Read at once. */
const PAGE = 1000

/** @internal */
export function createTrustedIssuerRegistry({
  database,
  audit,
  feed,
  issuer: own,
}: TrustedIssuerRegistryOptions): TrustedIssuerRegistry {
  let known: Promise<readonly TrustedIssuer[]> | undefined
  let names: ReadonlySet<string> = new Set()

  async function read(): Promise<readonly TrustedIssuer[]> {
    const rows = await everyPage(
      (after) => database.query(statements.page, [after, PAGE]),
      PAGE,
      ({ issuer }) => issuer,
    )
    names = new Set(rows.map(({ issuer }) => issuer))
    return rows
      .filter(({ disabled }) => disabled !== true)
      .map((row) => ({ ...trustedIssuerInformation(toStored(row)), generation: row.generation }))
  }

  /** What fails is asked for again. */
  function load(): Promise<readonly TrustedIssuer[]> {
    const loading = read()
    known = loading
    loading.catch(() => {
      if (known === loading) known = undefined
    })
    return loading
  }

  feed.onAny('trusted_issuer', async () => {
    await load()
  })
  feed.onGap(async () => {
    known = undefined
  })

  async function list({ after = '', limit = 100 }: ListOptions = {}): Promise<TrustedIssuerInformation[]> {
    const rows = await database.query(statements.page, [after, limit])
    return rows.map((row) => trustedIssuerInformation(toStored(row)))
  }

  return {
    async trusted() {
      await feed.catchUp()
      feed.assertFresh()
      return known ?? load()
    },
    isKnown: (issuer) => names.has(issuer),
    list,
    async find(issuer) {
      const [row] = await database.query(statements.find, [issuer])
      return row === undefined ? null : trustedIssuerInformation(toStored(row))
    },
    async lastUses(issuers) {
      const rows = await database.query(statements.uses, [issuers])
      return new Map(rows.map(({ issuer, usedAt }) => [issuer, usedAt]))
    },
    async save(input, { isNew } = {}) {
      const { members, unknown } = parseTrustedIssuer(input, own)
      const [stranger] = unknown
      if (stranger !== undefined)
        throw metadataError(stranger.slice(0, 100), 'is no member of a trusted issuer')
      const { issuer } = members
      const changed = await audit
        .transaction(async (query, note) => {
          const [row] = await query(statements.lock, [[issuer]])
          if (isNew === true && row !== undefined)
            throw metadataError('issuer', reason('is already registered'))
          if (isNew === false && row === undefined) throw metadataError('issuer', reason('is not registered'))
          const made = madeOf(row, members)
          if (made === null) return false
          await query(made.isNew ? statements.insert : statements.update, [JSON.stringify([made.row])])
          await recordChange(query, 'trusted_issuer', issuer)
          note(made.event)
          return true
        })
        .catch((error: unknown) => {
          throw isDuplicate(error) ? metadataError('issuer', reason('is already registered')) : error
        })
      if (changed) await feed.announce('trusted_issuer', issuer)
    },
    async delete(issuer) {
      const deleted = await audit.transaction(async (query, note) => {
        if ((await query(statements.delete, [issuer])).length === 0) return false
        await recordChange(query, 'trusted_issuer', issuer)
        note({ type: 'trusted_issuer.deleted', details: { issuer } })
        return true
      })
      if (deleted) await feed.announce('trusted_issuer', issuer)
      return deleted
    },
  }
}
