/**
 * Which browsers an account has signed in from: each keeps a signed mark of that account, and nothing is stored here. Whose
 * marks they are cannot be read from them. A mark opens nothing; what it spares its browser is for the throttle.
 */
import { usernameKey } from '../../protocol/username.ts'
import { NIL } from '../../protocol/uuid.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/known-browsers.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { createBrowserMarks } from './browser-marks.ts'
import { findRowByName } from './user-finder.ts'
import type { User } from './user.ts'

type Known = Pick<User, 'id' | 'username'>
/** A name leads to whoever is called so now; a function is asked where a browser shows marks, and not else. */
export type Sought = Known | string | (() => Promise<Known | null>)

export interface KnownBrowsers {
  /** The marks of a browser in which `user` has just signed in: a new one of theirs, before those of a few others. */
  remember(marks: string | undefined, user: Known): string
  /**
   * The mark of this account among them, good now: made within `KNOWN_FOR`, and not before what ended all of them, such as
   * a new password. Null where there is none, and for a name that is nobody's, by the same statements.
   */
  find(marks: string | undefined, whom: Sought): Promise<string | null>
}

/** Seconds. */
export const KNOWN_FOR = 180 * 86_400
/** @internal */
export function createKnownBrowsers(database: Database, box: SecretBox): KnownBrowsers {
  const marksOf = createBrowserMarks('known browser', box)

  async function findKnown(whom: Sought): Promise<Known> {
    if (typeof whom === 'object') return whom
    if (typeof whom === 'function') return (await whom()) ?? { id: NIL, username: '' }
    return (await findRowByName(database, whom)) ?? { id: NIL, username: whom }
  }

  return {
    remember: (marks, user) => marksOf.add(marks, ...accountsOf(user)),
    async find(marks, whom) {
      if (marks === undefined) return null
      const user = await findKnown(whom)
      const mark = marksOf.find(marks, ...accountsOf(user))
      if (mark === undefined || mark.madeAt < Date.now() - KNOWN_FOR * 1000) return null
      const [known] = await database.query(statements.knowsBrowsersOf, [user.id, new Date(mark.madeAt)])
      return known === undefined ? null : mark.signed
    },
  }
}

/** A mark is of the id, which stays when they are renamed; no name looks like it. The version before made it of the name, which is good for `KNOWN_FOR`, too. */
function accountsOf({ id, username }: Known): readonly [string, string] {
  return [`id\0${id}`, usernameKey(username) ?? username]
}
