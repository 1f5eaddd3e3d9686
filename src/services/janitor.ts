/**
 * Removes what has expired, now and then, in every process that serves: many at once do no harm. It only saves space;
 * what is good is decided by who reads it, and what shows that something is used twice stays as long as that matters.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { statements as auditEvents } from '../store/audit-events.ts'
import { statements as resources } from '../store/clients.ts'
import type { Database } from '../store/database.ts'
import { statements as authorizations } from '../store/dead-authorizations.ts'
import { statements as expired, type Removed } from '../store/expired.ts'
import { isLost } from '../store/failures.ts'
import type { Statement } from '../store/statement.ts'
import { createBackgroundLoop } from './background-loop.ts'

export interface Janitor {
  /** From the next round on, beside the `endings` that it was made with. */
  add(name: string, ending: () => Promise<number>): void
  /**
   * Removes all there is, unless its time is up before; returns how many rows, by what they are. Takes no rests. Throws what fails, once the
   * rest is removed.
   */
  round(): Promise<Readonly<Record<string, number>>>
  /** From then on there is a round now and then, with rests. */
  start(): void
  /** Waits for the statement under way. */
  stop(): Promise<void>
}

export interface JanitorOptions {
  database: Database
  log: FastifyBaseLogger
  /** Seconds between two rounds, more or less; 0 for never. */
  interval: number
  /** Seconds: how long an access token may live that was got by the last refresh token, apart from what resources set. */
  longestLifetime: number
  /** Seconds that audit events are kept; 0 for ever. */
  auditExpire: number
  /** Each ends a few things that are more than rows, by what they are; how many, and 0 where none is left. */
  endings?: Readonly<Record<string, () => Promise<number>>>
  /** Milliseconds that one round may take; where more is left the next one follows soon. Default 30 000. */
  budget?: number
  /**
   * How many times as long as a statement took it rests after it, so that requests do not feel it; half as long after
   * each round in a row that left something over. Default 8.
   */
  rest?: number
}

/** Milliseconds between a round that left something over and the next one, more or less. */
const PAUSE = 1000
/** What somebody still waited for. */
const LOST: Readonly<Record<string, string>> = {
  securityEvents: 'security events expired before their receivers took them',
}
/** Seconds: for clocks that differ, and for tokens from before somebody made their lifetime shorter. */
const SLACK = 86_400
/** Milliseconds: a timer of Node with a longer one goes off at once. */
const LONGEST_DELAY = 2 ** 31 - 1

interface Round {
  readonly counts: Record<string, number>
  isOver(): boolean
  /** After a statement that took so many milliseconds. */
  rest(took: number): Promise<void>
}

/** Removes one batch; false when there was nothing. A short one may be what another janitor left of it. */
type Sweep = (round: Round) => Promise<boolean>

export function createJanitor(options: JanitorOptions): Janitor {
  const {
    database,
    log,
    interval,
    longestLifetime,
    auditExpire,
    endings: given = {},
    budget = 30_000,
    rest: usual = 8,
  } = options
  const stopping = new AbortController()
  const endings = { ...given }
  let failing = false
  /** Rounds in a row that left something over. */
  let behind = 0

  const sweepOf =
    (name: string, statement: Statement<Removed>, values?: readonly unknown[]): Sweep =>
    async ({ counts, rest }) => {
      const began = performance.now()
      // Two janitors may lock the same rows in another order: a transaction is tried again.
      const [row] = await database.transaction(async (query) => query(statement, values))
      const { removed } = row!
      counts[name] = (counts[name] ?? 0) + removed
      await rest(performance.now() - began)
      return removed > 0
    }

  /** Authorizations last: without theirs, nobody would find the rest again. */
  async function removeFamilies(ids: readonly string[], round: Round): Promise<void> {
    const sweeps = [
      sweepOf('refreshTokens', authorizations.removeRefreshTokens, [ids]),
      sweepOf('codes', authorizations.removeCodes, [ids]),
      sweepOf('authorizations', authorizations.remove, [ids]),
    ]
    for (const sweep of sweeps) while (await sweep(round)) if (round.isOver()) return
  }

  const sweepAuthorizations: Sweep = async (round) => {
    const [longest] = await database.query(resources.longestLifetime)
    const lifetime = Math.max(longestLifetime, longest?.seconds ?? 0) + SLACK
    const due = await database.query(authorizations.due, [lifetime])
    const dead: string[] = []
    const alive: string[] = []
    const ends: Date[] = []
    for (const { id, endsAt } of due) {
      if (endsAt === null) dead.push(id)
      else {
        alive.push(id)
        ends.push(endsAt)
      }
    }
    if (alive.length > 0) await database.query(authorizations.keep, [alive, ends])
    if (dead.length > 0) await removeFamilies(dead, round)
    return due.length > 0
  }

  function sweepAuditEvents(): Sweep[] {
    return auditExpire === 0 ? [] : [sweepOf('auditEvents', auditEvents.remove, [auditExpire])]
  }

  const sweepBy =
    (name: string, end: () => Promise<number>): Sweep =>
    async ({ counts, rest }) => {
      const began = performance.now()
      const removed = await end()
      counts[name] = (counts[name] ?? 0) + removed
      await rest(performance.now() - began)
      return removed > 0
    }

  /** Rests after each statement so many times as long as it took. */
  async function round(times = 0): Promise<Record<string, number>> {
    const until = performance.now() + budget
    const running: Round = {
      counts: {},
      isOver: () => stopping.signal.aborted || performance.now() > until,
      async rest(took) {
        // No longer than the round: a statement may have waited for somebody, or the process stood still.
        const pause = Math.min(took * times, until - performance.now())
        if (pause > 0) await sleep(pause, undefined, { signal: stopping.signal }).catch(() => {})
      },
    }
    const tables = Object.entries(expired).map(([name, statement]) => sweepOf(name, statement))
    const ended = Object.entries(endings).map(([name, end]) => sweepBy(name, end))
    let sweeps: Sweep[] = [...tables, sweepAuthorizations, ...sweepAuditEvents(), ...ended]
    const failures: unknown[] = []
    // One batch of each in turn, so that much of one thing does not keep the others.
    while (sweeps.length > 0 && !running.isOver()) {
      const unfinished: Sweep[] = []
      for (const sweep of sweeps)
        try {
          if (running.isOver() || (await sweep(running))) unfinished.push(sweep)
        } catch (error) {
          // Nor does what fails by itself; while the database is away, all of it would.
          if (isLost(error)) throw error
          failures.push(error)
        }
      sweeps = unfinished
    }
    behind = sweeps.length > 0 ? behind + 1 : 0
    for (const [name, text] of Object.entries(LOST)) {
      const count = running.counts[name] ?? 0
      if (count > 0) log.warn({ count }, text)
    }
    if (failures.length > 0) throw failures[0]
    return running.counts
  }

  async function roundAndReport(): Promise<void> {
    const rest = usual / 2 ** behind
    try {
      log.debug({ removed: await round(rest), rest }, 'expired rows were removed')
      failing = false
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'expired rows could not be removed; this is tried again')
      failing = true
      if (isLost(error)) behind = 0
    }
  }

  // Processes that were started together do not go on together.
  const delay = (): number =>
    Math.min((behind > 0 ? PAUSE : interval * 1000) * (0.5 + Math.random()), LONGEST_DELAY)
  const loop = createBackgroundLoop(roundAndReport, delay)

  return {
    add: (name, ending) => void (endings[name] = ending),
    round: async () => round(),
    start() {
      if (interval > 0) loop.start()
    },
    async stop() {
      stopping.abort()
      await loop.stop()
    },
  }
}
