/** Events of what a user allowed to somebody, or did not: to a client, to a device, to who asked them elsewhere. */
import type { Bag } from '../protocol/bag.ts'
import { tells, type Ended } from './tells.ts'

export const CONSENT_EVENTS = {
  /** `lines` are the keys of what was allowed beside scopes and resources; `declined` the scopes that were left out. */
  'consent.given': tells<{
    readonly scopes: readonly string[]
    readonly resources: readonly string[]
    readonly lines?: readonly string[]
    readonly declined?: readonly string[]
  }>(),
  'consent.denied': tells<Bag>(),
  'consent.withdrawn': tells<Ended>(),
  /** Somebody let a device have tokens, or did not; `device` is the address that it asked from. */
  'device.allowed': tells<{ readonly device: string }>(),
  'device.denied': tells<{ readonly device: string }>(),
  /** A client asked for somebody's approval, they gave it, or did not; `address` is where the client asked from, `request` names it on pages. */
  'ciba.asked': tells<{ readonly address: string; readonly request: string }>(),
  'ciba.allowed': tells<{ readonly address: string; readonly request: string }>(),
  'ciba.denied': tells<{ readonly address: string; readonly request: string; readonly unmet?: string }>(),
  /** From then on clients have to know it that ask them, or nobody has to. */
  'ciba.user_code_set': tells<Bag>(),
  'ciba.user_code_removed': tells<Bag>(),
  /** A code was entered of which no request is open, or not in that browser. */
  'device.code_refused': tells<Bag>(),
}
