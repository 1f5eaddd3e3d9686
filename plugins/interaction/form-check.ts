/** Whether the form of a step is one of ours, of this interaction, and of who is signed in. */
import type { BrowserCall, Interaction } from '../../src/doors/interaction.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { Browser } from '../browser/index.ts'
import { keepingTyped } from '../pages/expired-form.ts'
import { LOGIN } from './phases.ts'
import { isNoted, usersBefore, type SignInNote } from './sign-in-note.ts'
import type { InteractionStore, Stored } from './store.ts'

/** A form that was sent. */
interface Sent {
  readonly stored: Stored
  readonly session: Interaction['session']
  readonly step: string
  /** As its address names it. */
  readonly form: string
  /** Its step is not the one that is asked now, and it says what it said before. */
  readonly isRepeated: boolean
}

/** Throws `access_denied` for one that is not; of one that has expired, what was typed is kept. */
export type FormCheck = (sent: Sent, wire: Wire, call: BrowserCall) => Promise<void>

export function createFormCheck(browser: Browser, store: InteractionStore): FormCheck {
  return async ({ stored, session, step, form, isRepeated }, wire, call) => {
    // Somebody signed in by it, and sent it once more: it was shown to nobody.
    const toNobody = isRepeated && Object.hasOwn(stored.notes, step)
    // Somebody signed in by it anew, and sent it once more before the new session's cookie came: it was shown to who was there before. It may
    // have led to that session again.
    const note = stored.notes[LOGIN] as SignInNote | undefined
    const isAnew = step === LOGIN && (session === null || isNoted(session, note))
    const toFormer = isAnew ? usersBefore(note) : []
    const shownTo = [session?.userId, ...(toNobody ? [undefined] : []), ...toFormer]
    const purposes = shownTo.map((userId) => purposeOf(stored.id, userId))
    await keepingTyped(store.addressOf(stored, form), wire, async () =>
      browser.assertGenuine(call, wire, ...purposes),
    )
  }
}

/**
 * A form belongs to its interaction, and to who was signed in when it was shown: to the user, as a login form that is
 * sent twice begins two sessions, and the cookie of either may be the one that stays.
 */
export function purposeOf(id: string, userId = ''): string {
  return `${id} ${userId}`
}
