/**
 * How long PostgreSQL lets a connection of ours run, wait and sit idle in a transaction: it ends itself what nobody waits
 * for any more, also when we are not there to say so. Behind a pooler nothing is set, since that would be others' too.
 */
import type pg from 'pg'
import { backendOf } from './backend.ts'

/** Milliseconds that we wait for a statement's answer. */
export const STATEMENT_LIMIT = 5000
/** Milliseconds, by PostgreSQL's clock: each is over before we stop waiting, so that its answer is known. */
const LIMITS = {
  statement_timeout: STATEMENT_LIMIT - 500,
  lock_timeout: STATEMENT_LIMIT - 1000,
  idle_in_transaction_session_timeout: 2 * STATEMENT_LIMIT,
}

export interface Session {
  /** Whether PostgreSQL ends by itself what runs for longer than we wait. */
  readonly limited: boolean
  /** When its backend began; null where a pooler lends us now this one and now that. */
  readonly since: string | null
}

const UNLIMITED: Session = { limited: false, since: null }
const sessions = new WeakMap<pg.ClientBase, Session>()

/** Sets what is not set to less already. Throws when the connection breaks. */
export async function limitSession(client: pg.ClientBase): Promise<void> {
  const wanted = Object.entries(LIMITS).map(([name, most]) => `('${name}', ${most})`)
  // A pooler makes up the id that it tells us.
  const { rows } = await client.query<{ name: string; value: number; direct: boolean; since: string }>(
    `select name, direct, since, case when direct and not setting::int between 1 and most
        then most + 0 * length(set_config(name, most::text, false)) else setting::int end as value
      from (values ${wanted.join(', ')}) as wanted (name, most)
        join pg_settings using (name)
        cross join (select pg_backend_pid() = ${backendOf(client).pid} as direct,
          backend_start::text as since from pg_stat_get_activity(pg_backend_pid())) as backend`,
  )
  const [timeout] = rows.filter(({ name }) => name === 'statement_timeout')
  if (timeout === undefined) return
  const limited = timeout.value > 0 && timeout.value < STATEMENT_LIMIT
  sessions.set(client, { limited, since: timeout.direct ? timeout.since : null })
}

export function sessionOf(client: pg.ClientBase): Session {
  return sessions.get(client) ?? UNLIMITED
}
