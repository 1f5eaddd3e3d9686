/** Whether statements stay prepared: a pooler between us and PostgreSQL may break that, sooner or later. */
import type pg from 'pg'
import { type Place, withClient } from './connections.ts'
import { sqlState } from './failures.ts'
import { retried } from './retries.ts'

/** One connection of PostgreSQL was lent to two of ours, or two to one. */
const BROKEN: ReadonlySet<string> = new Set(['26000', '42P05'])
const PROBE = { name: 'latchkey-probe', text: 'select 1' }

/** Asks by two connections in turn; as a rule a pooler that is not busy lends both the same one. For a URL. */
export async function keepsPrepared(place: Place): Promise<boolean> {
  const another = { ...place, client: undefined }
  try {
    await retried(async () =>
      withClient(place, async (one) => withClient(another, async (other) => ask(one, other))),
    )
    return true
  } catch (error) {
    if (BROKEN.has(sqlState(error) ?? '')) return false
    throw error
  }
}

async function ask(one: pg.ClientBase, other: pg.ClientBase): Promise<void> {
  for (const client of [one, other, one]) await client.query(PROBE)
}
