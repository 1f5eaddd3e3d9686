/**
 * Which signed tokens were revoked before their end. All processes hold the whole set, which is small: a `jti`
 * stays in it no longer than its token would have lived, and arrives with the change feed.
 */
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/tokens.ts'
import type { ChangeFeed } from '../change-feed.ts'

export interface Revocations {
  isRevoked(jti: string): boolean
  /** One that this process has stored; every other refuses the token within two seconds. */
  announce(jti: string, expiresAt: Date): Promise<void>
  start(): Promise<void>
}

/** Milliseconds. */
const SWEEP_EVERY = 60_000

export function createRevocations(database: Database, feed: ChangeFeed): Revocations {
  const revoked = new Map<string, number>()
  let sweptAt = performance.now()

  async function load(): Promise<void> {
    for (const { jti, expiresAt } of await database.query(statements.revoked))
      revoked.set(jti, expiresAt.getTime())
  }

  /** What is over by our clock and by the database's: each may be ahead for a while, and nothing is read once more when it is right again. */
  function sweep(): void {
    if (performance.now() - sweptAt < SWEEP_EVERY) return
    sweptAt = performance.now()
    const now = Math.min(Date.now(), feed.databaseTime())
    for (const [jti, expiresAt] of revoked) if (expiresAt < now) revoked.delete(jti)
  }

  feed.on('revoked_token', ({ key, expiresAt }) => {
    sweep()
    revoked.set(key, expiresAt?.getTime() ?? Number.MAX_SAFE_INTEGER)
  })
  feed.onGap(load)

  return {
    isRevoked(jti) {
      feed.assertFresh()
      return revoked.has(jti)
    },
    announce: async (jti, expiresAt) => feed.announce('revoked_token', jti, expiresAt),
    start: load,
  }
}
