/**
 * Browsers on which a factor is not asked for again for thirty days: each keeps a signed mark of the account, and nothing is stored here. It
 * stands for the factor alone, so a stolen one opens nothing; it ends with that factor, and with what makes strangers of browsers
 * (`known-browsers.ts`): a new password, disabling, signing out everywhere.
 */
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { createBrowserMarks } from '../../src/services/users/browser-marks.ts'
import { statements } from '../../src/store/known-browsers.ts'
import type { Cookie } from '../browser/cookies.ts'

export interface RememberedBrowsers {
  /** From now on; `since` is when the factor was set up. */
  remember(call: BrowserCall, user: User, since: number): void
  /** `since` is asked for where a mark is genuine otherwise: null where the factor is gone. */
  isRemembered(call: BrowserCall, user: User, since: () => Promise<number | null>): Promise<boolean>
}

/** Seconds. */
export const REMEMBERED_FOR = 30 * 86_400

export function createRememberedBrowsers({ box, database }: Kernel, cookie: Cookie): RememberedBrowsers {
  const marks = createBrowserMarks('remembered browser', box)
  /** With when the factor was set up: it ends with that. */
  const accountOf = ({ id }: User, since: number): string => `${id}\0${since}`

  return {
    remember(call, user, since) {
      cookie.set(call, marks.add(cookie.read(call.request), accountOf(user, since)))
    },
    async isRemembered({ request }, user, since) {
      const kept = cookie.read(request)
      const setUp = kept === undefined ? null : await since()
      const mark = setUp === null ? undefined : marks.find(kept, accountOf(user, setUp))
      if (mark === undefined || mark.madeAt < Date.now() - REMEMBERED_FOR * 1000) return false
      const values = [user.id, new Date(mark.madeAt)]
      return (await database.query(statements.knowsBrowsersOf, values)).length > 0
    },
  }
}
