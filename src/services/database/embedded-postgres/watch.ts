/** Notices that PostgreSQL has died and that it serves again, by looking every second; its supervisor starts it. */
import type { Hold } from './hold.ts'
import { logPath } from './log.ts'
import { findPostmaster, type Postmaster } from './postmaster.ts'

/** What becomes of a PostgreSQL that served. */
export interface Fate {
  /** It has ended, and is started again; `log` is the file that says why, where PostgreSQL could say it. */
  died(log: string): void
  /** It serves again. */
  recovered(): void
  /** It has ended, and nobody starts it again. */
  abandoned(): void
}

/** Milliseconds. */
const INTERVAL = 1000

/** Watches the one that serves `cluster` now. Returns what ends that. */
export function watchPostmaster(
  cluster: string,
  { postmaster, hold }: { postmaster: Postmaster; hold: Hold | undefined },
  tell: Fate,
): () => void {
  let { pid } = postmaster
  let serves = true

  async function look(): Promise<void> {
    const found = await findPostmaster(cluster)
    if (serves && found?.pid === pid) return
    if (serves) {
      serves = false
      tell.died(logPath(cluster))
    }
    if (found?.status === 'ready') {
      serves = true
      pid = found.pid
      tell.recovered()
    } else if (found === undefined && (hold === undefined || hold.isAbandoned())) {
      clearInterval(timer)
      tell.abandoned()
    }
  }

  // What cannot be read now is looked at again.
  const timer = setInterval(() => void look().catch(() => {}), INTERVAL).unref()
  return () => clearInterval(timer)
}
