/**
 * The cookie after one: random as that was, and the same for the same form for a while, so that one which is sent twice, as by a double
 * click, leads to one session. Who only has the former cookie cannot tell it, nor get it without what the form shows; and it is the same
 * form at its own address alone, so that nothing else is done by it.
 */
import { randomUUID } from 'node:crypto'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { SecretBox } from '../../src/services/keys/secret-box.ts'

export interface NextCookie {
  /** Its value after `former`, by a form; without one, what nothing leads to again. */
  after(call: BrowserCall, former: string, form?: Wire): string
  /** The values that the form led to where it was sent before. */
  ledTo(call: BrowserCall, former: string, form: Wire): readonly string[]
}

/**
 * Milliseconds, twice over at most: a double click comes at once. Who has the former cookie could else go on guessing what the form
 * showed, where no plugin counts.
 */
const TWICE_WITHIN = 30_000

export function createNextCookie({ hash }: Pick<SecretBox, 'hash'>): NextCookie {
  function nextOf({ request: { url } }: BrowserCall, former: string, form: Wire, now: number): string {
    const turn = Math.floor(now / TWICE_WITHIN)
    return hash(`cookie after\0${former}\0${turn}\0${url}\0${JSON.stringify(form)}`).split('.')[1]!
  }

  return {
    after: (call, former, form = { once: randomUUID() }) => nextOf(call, former, form, Date.now()),
    ledTo(call, former, form) {
      const now = Date.now()
      return [now, now - TWICE_WITHIN].map((at) => nextOf(call, former, form, at))
    },
  }
}
