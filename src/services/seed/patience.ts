/**
 * What SEED_FILE asks of a database that loses its connections meanwhile, as it does to a process that stood still, or is
 * started again beside us: it is asked again for a while. What was stored and not acknowledged is seen then, and not stored twice.
 */
import type { FastifyBaseLogger } from 'fastify'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../store/database.ts'
import { isClosed, isUnavailable } from '../../store/failures.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { FindServerSecret } from '../keys/server-secrets.ts'

interface Asked {
  database: Database
  audit: AuditTrail
  secret: FindServerSecret
}

/** Milliseconds after its first failure in which something is asked again, and between two tries. */
const [PATIENCE, PAUSE] = [5000, 500]

/** The same, whose single queries and noted transactions run again, until `signal`. */
export function patient(
  { database, audit, secret }: Asked,
  log: FastifyBaseLogger,
  signal: AbortSignal,
): Asked {
  async function patiently<T>(ask: () => Promise<T>): Promise<T> {
    for (let end: number | undefined; ; await delay(PAUSE, undefined, { signal })) {
      try {
        return await ask()
      } catch (error) {
        if (!isUnavailable(error) || isClosed(error) || performance.now() > (end ?? Infinity)) throw error
        if (end === undefined)
          log.warn(
            { err: error },
            `the database is not available now, and is asked again for ${PATIENCE / 1000} s`,
          )
        end ??= performance.now() + PATIENCE
      }
    }
  }
  return {
    database: { ...database, query: async (...call) => patiently(async () => database.query(...call)) },
    audit: { ...audit, transaction: async (work) => patiently(async () => audit.transaction(work)) },
    secret: async (name) => patiently(async () => secret(name)),
  }
}
