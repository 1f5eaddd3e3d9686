/**
 * How signing keys are stored and withdrawn, each change in one transaction with its audit event, and each from the oldest
 * key that it touches to the newest, so that no two wait for one another. What was planned on keys that another process has
 * changed meanwhile is not done; who asked looks again.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { NewEvent } from '../../events.ts'
import { recordChange } from '../../store/changes.ts'
import { statements as clients } from '../../store/clients.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { isDuplicate, isUnavailable } from '../../store/failures.ts'
import { insertSigningKey, statements, type NewSigningKey } from '../../store/signing-keys.ts'
import type { AuditTrail, Note } from '../audit/audit.ts'
import { planRevocation, TOLERANCE } from './key-order.ts'
import { DATABASE, sealedPartOf } from './database-keys.ts'
import type { KeyStores } from './key-stores.ts'
import type { RingKey } from './ring-key.ts'

export interface KeyChanges {
  /** A key that signs after `publishFor` seconds, and the end of the one it replaces; false where that one has a successor. */
  add(algorithm: string, predecessor: RingKey | undefined, publishFor: number): Promise<boolean>
  /** Has those that would sign much later (`FAR_AHEAD`) do so after `publishFor` seconds; false where there are none. */
  bringForward(algorithm: string, publishFor: number): Promise<boolean>
  /** Revokes `key`, one of `published`, which are those of its algorithm; false where these are not as they were. */
  end(key: RingKey, published: readonly RingKey[]): Promise<boolean>
  /** Seconds: the life of the tokens that live longest. */
  longestLifetime(): Promise<number>
}

export interface KeyChangesOptions {
  database: Database
  audit: AuditTrail
  stores: Pick<KeyStores, 'make' | 'withdraw'>
  log: FastifyBaseLogger
  /** Seconds that a key is published before it signs. */
  publishFor: number
  /** Seconds: the longest life of a token, apart from what resources set. */
  longestLifetime: number
}

/** Seconds that a key is kept beyond its last token, for clocks that differ. */
const SLACK = 60

export function createKeyChanges(options: KeyChangesOptions): KeyChanges {
  const { database, audit, stores, log } = options

  /**
   * A key that signs `after` so many seconds, counted from when it is there: a store may take its time. Where it has a predecessor, also by
   * the database's clock: by one that is behind that, what the predecessor has signed since would be nobody's.
   */
  async function make(
    algorithm: string,
    predecessor: RingKey | undefined,
    after: number,
  ): Promise<NewSigningKey> {
    const { reference, ...key } = await stores.make(algorithm)
    const own = key.store === DATABASE
    return {
      ...key,
      privateJwk: own ? sealedPartOf(reference) : '',
      reference: own ? '' : reference,
      predecessor: predecessor?.kid ?? '',
      signsFrom: new Date(Math.max(Date.now() + after * 1000, (predecessor?.signsFrom ?? 0) + 1)),
      // What is to sign at once does so also where the clock is a little behind.
      signsAfter: predecessor === undefined ? null : after === 0 ? -TOLERANCE / 1000 : after,
    }
  }

  /** What nobody will ask for leaves nothing behind where it was made. */
  async function withdrawUnless(stored: boolean, key: NewSigningKey | undefined): Promise<boolean> {
    if (!stored && key !== undefined && key.store !== DATABASE)
      await stores
        .withdraw(key)
        .catch((error: unknown) =>
          log.warn(
            { err: error, store: key.store, reference: key.reference },
            'a key is left that nobody uses',
          ),
        )
    return stored
  }

  /** Stores `key` with what goes with it, or leaves nothing of it. */
  async function storing(key: NewSigningKey | undefined, change: Promise<void>): Promise<boolean> {
    try {
      return await withdrawUnless(await unlessOutdated(change), key)
    } catch (error) {
      // Whether it was stored is not known where the database went away: then it stays.
      if (!isUnavailable(error)) await withdrawUnless(false, key)
      throw error
    }
  }

  async function longestLifetime(): Promise<number> {
    const [row] = await database.query(clients.longestLifetime)
    return Math.max(options.longestLifetime, row?.seconds ?? 0)
  }

  /** When a key leaves whose successor signs from `signsFrom` on, and not before `signsAfter` seconds: as `succeed` takes it. */
  async function retirement({
    signsFrom,
    signsAfter = null,
  }: {
    signsFrom: Date | number
    signsAfter?: number | null
  }): Promise<[Date, number | null]> {
    const kept = (await longestLifetime()) + SLACK
    return [new Date(Number(signsFrom) + kept * 1000), signsAfter === null ? null : signsAfter + kept]
  }

  /** With its audit event, which says when it signs. */
  async function insert(query: Query, note: Note, key: NewSigningKey): Promise<void> {
    note(created({ ...key, signsFrom: await insertSigningKey(query, key) }))
  }

  return {
    longestLifetime,
    async add(algorithm, predecessor, publishFor) {
      const key = await make(algorithm, predecessor, publishFor)
      const leaves = predecessor && (await retirement(key))
      return storing(
        key,
        audit.transaction(async (query, note) => {
          if (predecessor !== undefined) await query(statements.succeed, [predecessor.kid, ...leaves!])
          await insert(query, note, key)
          await recordChange(query, 'signing_key', key.kid)
        }),
      )
    },
    async bringForward(algorithm, publishFor) {
      // Before there is a transaction, which has a connection already.
      const kept = (await longestLifetime()) + SLACK
      return audit.transaction(async (query, note) => {
        await query(statements.lock, [algorithm])
        const brought = await query(statements.bringForward, [algorithm, publishFor])
        for (const key of brought) {
          const leaves = new Date(key.signsFrom.getTime() + kept * 1000)
          await query(statements.leaveSooner, [key.predecessor, leaves])
          await recordChange(query, 'signing_key', key.kid)
          note(created(key))
        }
        return brought.length > 0
      })
    },
    async end(key, published) {
      const planned = planRevocation(key, published, Date.now())
      const waits = planned.successor === 'published'
      const made = planned.successor && (await make(key.algorithm, key, waits ? options.publishFor : 0))
      // A store takes its time, and what was planned may be another thing by now.
      const now = Date.now()
      const { successor, forward, extend } = planRevocation(key, published, now)
      if (successor !== planned.successor) return withdrawUnless(false, made)
      // Back by the tolerance: so it signs at once also where the clock is behind ours.
      const atOnce = Math.max(now - TOLERANCE, key.signsFrom + 1)
      if (made !== undefined && !waits) Object.assign(made, { signsFrom: new Date(atOnce), signsAfter: null })
      const longer = extend && (await retirement(extend.until ?? made!))
      return storing(
        made,
        audit.transaction(async (query, note) => {
          if (extend !== undefined) await query(statements.succeed, [extend.key.kid, ...longer!])
          await assertDone(query, statements.revoke, key.kid, new Date(now))
          if (forward !== undefined)
            await assertDone(query, statements.forward, forward.kid, new Date(atOnce))
          if (made !== undefined) await insert(query, note, made)
          await recordChange(query, 'signing_key', key.kid)
          note({
            type: 'key.revoked',
            details: { kid: key.kid, algorithm: key.algorithm, successor: (made ?? forward)?.kid ?? null },
          })
        }),
      )
    },
  }
}

/** A key that the change was planned for was revoked meanwhile. */
class PlanOutdated extends Error {}

async function assertDone(
  query: Query,
  change: typeof statements.revoke,
  kid: string,
  at: Date,
): Promise<void> {
  if ((await query(change, [kid, at])).length === 0) throw new PlanOutdated()
}

/** One key has one successor: a duplicate is one that another process made first. */
async function unlessOutdated(change: Promise<void>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    if (error instanceof PlanOutdated || isDuplicate(error)) return false
    throw error
  }
}

function created({
  kid,
  algorithm,
  signsFrom,
}: Pick<NewSigningKey, 'kid' | 'algorithm' | 'signsFrom'>): NewEvent {
  return { type: 'key.created', details: { kid, algorithm, signsFrom: signsFrom.toISOString() } }
}
