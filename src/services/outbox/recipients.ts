/**
 * Whom deliveries are for: who fails again and again is tried less, by every process, and what became of the last attempts is kept for
 * administrators. Those of this process are written together, a moment later.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { RecipientGone } from '../../doors/outbound.ts'
import { recordChange } from '../../store/changes.ts'
import type { Database } from '../../store/database.ts'
import { statements as outbox } from '../../store/outbox.ts'
import { type Outcome, statements } from '../../store/recipients.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { ChangeFeed } from '../change-feed.ts'
import { describe } from './failures.ts'
import { type Addressed, createGivingUp, MOST_WAITING } from './giving-up.ts'

export type { Outcome }

/** Instants are milliseconds since the epoch. */
export interface RecipientState {
  readonly recipient: string
  /** In a row; 0 where the last attempt did well. */
  readonly failures: number
  readonly failingSince: number | null
  /** It is not tried before; null where it is tried as anybody. */
  readonly restsUntil: number | null
  /** The last 20, the latest first; those of the last second may be missing. */
  readonly outcomes: readonly Outcome[]
  /** 501 stands for more. */
  readonly waiting: number
  readonly givenUp: number
  /** As much waits as may: the oldest are given up. */
  readonly crowded: boolean
}

export interface Recipients {
  /** In the order of the names. */
  list(kind: string, names: readonly string[]): Promise<readonly RecipientState[]>
  /** Keeps what became of an attempt that was none of a delivery, as of a test. */
  tell(kind: string, recipient: string, outcome: Outcome): Promise<void>
  /** It is known to take things: it is tried at once, as anybody. */
  well(kind: string, recipient: string): Promise<void>
}

/** @internal */
export interface OwnRecipients extends Recipients {
  /** It failed with this, which is nobody else's fault: milliseconds that it rests. */
  failed(of: Addressed, error: unknown): Promise<number>
  /** To be written soon. */
  note(of: Addressed, outcome: Outcome): void
  /** All that waits for it is given up. */
  gone(of: Addressed, error: RecipientGone): Promise<void>
  /** Gives up the oldest where more waits than may; how many, 0 where there is no more. */
  giveUpExcess(): Promise<number>
  /** Removes a few of what was given up where too much was; how many, 0 where there is no more. */
  removeExcess(): Promise<number>
  stop(): Promise<void>
}

/** @internal */
export interface RecipientsOptions {
  database: Database
  audit: AuditTrail
  feed: ChangeFeed
  log: FastifyBaseLogger
  /** What may wait, for one recipient. */
  mostWaiting?: number
}

const MOST_COUNTED = 501
/** Failures in a row after which it is said that somebody is tried less. */
export const MANY_FAILURES = 5
/** What was given up, of one recipient. */
export const MOST_GIVEN_UP = 20_000
const BATCH = 500
/** Milliseconds. */
const WRITE_AFTER = 1000
/** Of one recipient, between two writes. */
const MOST_NOTED = 20

/** @internal */
export function createRecipients(options: RecipientsOptions): OwnRecipients {
  const { database, audit, feed, log, mostWaiting = MOST_WAITING } = options
  const noted = new Map<string, Addressed & { outcomes: Outcome[] }>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    timer = undefined
    const all = [...noted.values()]
    noted.clear()
    for (const { kind, recipient, outcomes } of all)
      await database
        .query(statements.note, [kind, recipient, JSON.stringify(outcomes)])
        .catch((error: unknown) =>
          log.warn({ err: error }, 'it could not be stored what became of deliveries'),
        )
  }

  const givingUp = createGivingUp({ database, audit, log, mostWaiting })

  return {
    async list(kind, names) {
      const rows = await database.query(statements.list, [kind, names, MOST_COUNTED, mostWaiting])
      return rows.map(({ failingSince, restsUntil, ...row }) => ({
        ...row,
        failingSince: failingSince?.getTime() ?? null,
        restsUntil: restsUntil?.getTime() ?? null,
      }))
    },
    async tell(kind, recipient, outcome) {
      await database.query(statements.note, [kind, recipient, JSON.stringify([outcome])])
    },
    async well(kind, recipient) {
      const wasFailing = await database.transaction(async (query) => {
        const rows = await query(statements.well, [kind, recipient])
        if (rows.length > 0) await recordChange(query, 'delivery', '')
        return rows.length > 0
      })
      if (!wasFailing) return
      log.info({ kind, recipient }, 'deliveries are taken again')
      await feed.announce('delivery', '')
    },
    async failed(of, error) {
      const { kind, recipient } = of
      const [row] = await database.query(statements.failed, [kind, recipient])
      const { failures, rest } = row!
      if (failures === MANY_FAILURES)
        log.warn(
          { err: error, kind, recipient, failures },
          'deliveries fail again and again: this recipient is tried less, every five minutes at last, until it takes one',
        )
      if (failures >= MANY_FAILURES) await givingUp.over(of, describe(error))
      return rest
    },
    note({ kind, recipient }, outcome) {
      const key = JSON.stringify([kind, recipient])
      const one = noted.get(key) ?? { kind, recipient, outcomes: [] }
      one.outcomes.unshift(outcome)
      one.outcomes.length = Math.min(one.outcomes.length, MOST_NOTED)
      noted.set(key, one)
      timer ??= setTimeout(() => void (writing = writing.then(write)), WRITE_AFTER).unref()
    },
    async removeExcess() {
      const [most] = await database.query(statements.inExcess, [MOST_GIVEN_UP])
      if (most === undefined) return 0
      const { kind, recipient } = most
      const [row] = await database.query(outbox.removeExcess, [BATCH, kind, recipient, MOST_GIVEN_UP])
      const { removed } = row!
      if (removed > 0)
        log.warn({ kind, recipient, removed }, `of what was given up, the last ${MOST_GIVEN_UP} are kept`)
      return removed
    },
    gone: givingUp.gone,
    giveUpExcess: givingUp.excess,
    async stop() {
      clearTimeout(timer)
      await (writing = writing.then(write))
    },
  }
}
