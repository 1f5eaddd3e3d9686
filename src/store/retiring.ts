/**
 * What becomes of a connection whose statement nobody waits for any more: its place in the pool is free when its backend is
 * gone, and not before, so that there are never more of them than the pool has places (docs/adr/0032). Where PostgreSQL ends
 * such a statement by itself that is waited for; where it does not, the statement is cancelled.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { limitSession, sessionOf } from './session-limits.ts'
import { backendOf, cancel, drop, hangUp } from './backend.ts'

/** Milliseconds between two requests to cancel, and for each to be heard. */
const CANCEL_EVERY = 1000
/** Milliseconds after which the database is asked about a connection that says nothing. */
const PATIENCE = 15_000

export interface Retirement {
  /** Calls `free` when its place is. */
  retire(client: pg.ClientBase, free: () => void): void
  /** From now on nothing is waited for. */
  close(): void
}

/** `open` makes a connection beside the pool, for one question. */
export function createRetirement(open: () => Promise<pg.Client>): Retirement {
  const retiring = new Set<pg.ClientBase>()
  let asking: Promise<unknown> = Promise.resolve()
  let closed = false

  /** One question at a time. */
  async function askInTurn(client: pg.ClientBase): Promise<boolean> {
    const asked = asking.then(async () => backendOf(client).gone || (await isGone(client, open)))
    asking = asked.catch(() => {})
    return asked.catch(() => false)
  }

  async function untilQuiet(client: pg.ClientBase): Promise<void> {
    const { limited, since } = sessionOf(client)
    const quiet = untilIdle(client)
    for (let waited = 0; isBusy(client); waited += CANCEL_EVERY) {
      if (closed) return drop(client)
      if (!limited) await cancel(client, CANCEL_EVERY)
      await Promise.race([quiet, delay(CANCEL_EVERY, undefined, { ref: false })])
      if (waited < PATIENCE || !isBusy(client)) continue
      // What a pooler lends is the pooler's to bound.
      if (since === null || (await askInTurn(client))) return drop(client)
      waited = 0
    }
  }

  async function untilGone(client: pg.ClientBase): Promise<void> {
    await untilQuiet(client)
    if (backendOf(client).gone) return
    await Promise.race([hangUp(client), delay(CANCEL_EVERY, undefined, { ref: false })])
    drop(client)
  }

  return {
    retire(client, free) {
      retiring.add(client)
      void untilGone(client).finally(() => {
        retiring.delete(client)
        free()
      })
    },
    close() {
      closed = true
      for (const client of retiring) drop(client)
    },
  }
}

function isBusy(client: pg.ClientBase): boolean {
  const { busy, gone } = backendOf(client)
  return busy && !gone
}

/** Until it has answered all that it was sent, or is closed. */
async function untilIdle(client: pg.ClientBase): Promise<void> {
  return new Promise((resolve) => client.once('drain', resolve).once('end', resolve))
}

/**
 * Whether the backend is not there, or not any more, for a connection may be lost without a word. One that commits and waits
 * for its standby is left alone: ended, it would have committed for this server only.
 */
async function isGone(client: pg.ClientBase, open: () => Promise<pg.Client>): Promise<boolean> {
  const asker = await open()
  try {
    await limitSession(asker)
    const { rows } = await asker.query<{ gone: boolean }>(
      `select case when wait_event = 'SyncRep' then false else pg_terminate_backend(pid, 1000) end as gone
        from pg_stat_activity where pid = $1 and backend_start = $2::timestamptz`,
      [backendOf(client).pid, sessionOf(client).since],
    )
    return rows.every(({ gone }) => gone)
  } finally {
    await asker.end()
  }
}
