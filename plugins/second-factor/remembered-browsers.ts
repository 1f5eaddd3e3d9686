/**
 * Browsers on which a factor is not asked for again for thirty days: each keeps a signed mark of the account, and nothing is stored here. It
 * stands for the factor alone, so a stolen one opens nothing; it ends with that factor, and with what makes strangers of browsers
 * (`known-browsers.ts`): a new password, disabling, signing out everywhere.
 */
import { randomBytes } from 'node:crypto'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { User } from '../../src/doors/user.ts'
import { usernameKey } from '../../src/protocol/username.ts'
import type { Kernel } from '../../src/services/kernel.ts'
import { statements } from '../../src/store/users.ts'
import type { Cookie } from '../browser.ts'

export interface RememberedBrowsers {
  /** From now on; `since` is when the factor was set up. */
  remember(call: BrowserCall, user: User, since: number): void
  /** `since` is asked for where a mark is genuine otherwise: null where the factor is gone. */
  isRemembered(call: BrowserCall, user: User, since: () => Promise<number | null>): Promise<boolean>
}

/** Seconds. */
export const REMEMBERED_FOR = 30 * 86_400
/** People who share a browser. */
const MAX_MARKS = 5
const SEPARATOR = '~'
/** Whose it is by a tag that only we can make, when it was made (milliseconds since the epoch), and the signature. */
const MARK = /^([\w-]{22}\.(\d{13}))\.([\w-]+\.[\w-]{43})$/

interface Mark {
  readonly text: string
  readonly signed: string
  readonly madeAt: number
  readonly signature: string
}

export function createRememberedBrowsers({ box, database }: Kernel, cookie: Cookie): RememberedBrowsers {
  const subjectOf = (signed: string, { id }: User, since: number): string =>
    `remembered browser\0${signed}\0${id}\0${since}`

  return {
    remember(call, user, since) {
      const signed = `${randomBytes(16).toString('base64url')}.${Date.now()}`
      const mark = `${signed}.${box.hash(subjectOf(signed, user, since))}`
      const others = marksOf(cookie.read(call.request)).filter(
        ({ signed: one, signature }) => !box.matches(subjectOf(one, user, since), signature),
      )
      const all = [mark, ...others.map(({ text }) => text)]
      cookie.set(call, all.slice(0, MAX_MARKS).join(SEPARATOR))
    },
    async isRemembered({ request }, user, since) {
      const oldest = Date.now() - REMEMBERED_FOR * 1000
      const marks = marksOf(cookie.read(request)).filter(({ madeAt }) => madeAt >= oldest)
      const setUp = marks.length === 0 ? null : await since()
      if (setUp === null) return false
      const mark = marks.find(({ signed, signature }) =>
        box.matches(subjectOf(signed, user, setUp), signature),
      )
      if (mark === undefined) return false
      const values = [usernameKey(user.username), new Date(mark.madeAt)]
      return (await database.query(statements.knowsBrowsersOf, values)).length > 0
    },
  }
}

/** What looks like marks; anybody may have made them. */
function marksOf(text: string | undefined): Mark[] {
  return (text?.split(SEPARATOR, MAX_MARKS) ?? []).flatMap((one) => {
    const [, signed = '', madeAt, signature = ''] = MARK.exec(one) ?? []
    return madeAt === undefined ? [] : [{ text: one, signed, madeAt: Number(madeAt), signature }]
  })
}
