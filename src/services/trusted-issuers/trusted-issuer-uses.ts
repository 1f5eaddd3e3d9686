/** When a JWT of each trusted issuer was last found good: noted in memory, and stored behind the requests, all of them at once and rarely. */
import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/trusted-issuers.ts'
import { type BackgroundLoop, createBackgroundLoop } from '../background-loop.ts'
import type { TrustedIssuer } from './trusted-issuer-registry.ts'

export interface TrustedIssuerUses extends Omit<BackgroundLoop, 'now'> {
  note(issuer: Pick<TrustedIssuer, 'generation'>): void
  /** Stores what was noted; what cannot be stored is kept for the next time. */
  flush(): Promise<void>
}

/** Milliseconds: a minute, and for each process another part of one more. */
const INTERVAL = 60_000

/** @internal */
export function createTrustedIssuerUses(
  database: Pick<Database, 'query'>,
  log: FastifyBaseLogger,
): TrustedIssuerUses {
  /** By the generation, so that nothing is noted of one that was registered anew. */
  let noted = new Map<string, Date>()
  let failing = false

  async function flush(): Promise<void> {
    if (noted.size === 0) return
    const taken = noted
    noted = new Map()
    try {
      await database.query(statements.note, [[...taken.keys()], [...taken.values()]])
      failing = false
    } catch (error) {
      noted = new Map([...taken, ...noted])
      if (!failing)
        log.warn({ err: error }, 'uses of trusted issuers could not be stored; this is tried again')
      failing = true
    }
  }

  const loop = createBackgroundLoop(flush, () => INTERVAL + Math.random() * INTERVAL)
  return {
    note({ generation }) {
      noted.set(generation, new Date())
    },
    flush,
    start: loop.start,
    async stop() {
      await loop.stop()
      await flush()
    },
  }
}
