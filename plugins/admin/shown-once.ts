/** Carries a new secret from the form that made it to the page that shows it, once: sealed, for one session, not for long. */
import type { OAuth } from '../oauth.ts'
import type { Administrator } from './guard.ts'

export interface ShownOnce {
  /** Returns the handle by which the page takes it. */
  put(clientId: string, secret: string, administrator: Administrator): Promise<string>
  /** Null when it was shown, is too old, or was another's. */
  take(handle: string, administrator: Administrator): Promise<{ clientId: string; secret: string } | null>
}

interface Kept {
  clientId: string
  sid: string
  sealed: string
}

/** Seconds. */
const LIFETIME = 300
const HANDLE = /^[A-Za-z0-9_-]{43}$/

export function createShownOnce({ artifacts, box }: OAuth): ShownOnce {
  const kept = artifacts<Kept | { shown: true }>('admin-shown-once', LIFETIME)
  const contextOf = ({ clientId, sid }: Pick<Kept, 'clientId' | 'sid'>): string =>
    `shown once\0${clientId}\0${sid}`

  return {
    async put(clientId, secret, { session: { sid } }) {
      return kept.put({ clientId, sid, sealed: box.seal(secret, contextOf({ clientId, sid })) })
    },
    async take(handle, { session }) {
      const found = HANDLE.test(handle) ? await kept.get(handle) : null
      if (found === null || 'shown' in found || found.sid !== session.sid) return null
      if (!(await kept.replace(handle, found, { shown: true }))) return null
      return { clientId: found.clientId, secret: box.open(found.sealed, contextOf(found)) }
    },
  }
}
