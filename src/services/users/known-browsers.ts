/**
 * Which browsers an account has signed in from: each keeps a signed mark of that account, and nothing is stored here. Whose
 * marks they are cannot be read from them. A mark opens nothing; what it spares its browser is for the throttle.
 */
import { usernameKey } from '../../protocol/username.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/users.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createBrowserMarks } from './browser-marks.ts'
import type { User } from './user.ts'

export interface KnownBrowsers {
  /** The marks of a browser in which `user` has just signed in: a new one of theirs, before those of a few others. */
  remember(marks: string | undefined, user: Pick<User, 'username'>): string
  /**
   * The mark of this account among them, good now: made within `LIFETIME`, and not before what ended all of them, such as
   * a new password. Null where there is none, and for a name that is nobody's, by the same statements.
   */
  find(marks: string | undefined, username: string): Promise<string | null>
}

/** Seconds. */
export const KNOWN_FOR = 180 * 86_400
/** @internal */
export function createKnownBrowsers(database: Database, box: SecretBox): KnownBrowsers {
  const marksOf = createBrowserMarks('known browser', box)

  return {
    remember: (marks, { username }) => marksOf.add(marks, usernameKey(username) ?? username),
    async find(marks, username) {
      const key = usernameKey(username)
      const mark = key === null ? undefined : marksOf.find(marks, key)
      if (mark === undefined || mark.madeAt < Date.now() - KNOWN_FOR * 1000) return null
      const [known] = await database.query(statements.knowsBrowsersOf, [key, new Date(mark.madeAt)])
      return known === undefined ? null : mark.signed
    },
  }
}
