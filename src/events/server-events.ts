/** Events of the server itself: its keys, its limits, and what it sends. */
import type { Bag } from '../protocol/bag.ts'
import { tells } from './tells.ts'

export const SERVER_EVENTS = {
  /**
   * Failures were too many, so more tries are refused for a while: at an account from one network, at a network, whatever
   * the account, or at an account from everywhere. Told once while it goes on, by each process that found it out. `kind` is of
   * attempt: `user`, `client`, a plugin's own; `account` a keyed hash where it is nobody's that we know.
   */
  'limit.reached': tells<{
    readonly kind: string
    readonly limit: 'account' | 'network' | 'everywhere'
    readonly account?: string
  }>(),
  /** It signs from `signsFrom` on. Told again of a key that a rotation brings forward (docs/rotate.md): none is made then. */
  'key.created': tells<{ readonly kid: string; readonly algorithm: string; readonly signsFrom: string }>(),
  /** With all that it signed; `successor` signs in its place, null where it signed no more. */
  'key.revoked': tells<{
    readonly kid: string
    readonly algorithm: string
    readonly successor: string | null
  }>(),
  /** What was to be done outside failed for a day, or cannot be done at all; or `count` of them, whose recipient failed all the while and was tried less. */
  'delivery.given_up': tells<{
    readonly kind: string
    readonly delivery?: string
    readonly attempts?: number
    readonly count?: number
  }>(),
  /** Somebody had it tried again, or `count` of them. */
  'delivery.retried': tells<{ readonly kind: string; readonly delivery?: string; readonly count?: number }>(),
  /** An event stream of a client, by which it hears of security events: `method` is how. */
  'stream.created': tells<{ readonly method: string }>(),
  /** `changes` are names of members; `status` where that is another. */
  'stream.changed': tells<{ readonly changes: readonly string[]; readonly status?: string }>(),
  'stream.deleted': tells<Bag>(),
  /** Somebody here had a verification event sent. */
  'stream.verification_sent': tells<Bag>(),
  /** Somebody had a test sent; `webhook` is its name, `status` of HTTP or null where no answer came. */
  'webhook.tested': tells<{
    readonly webhook: string
    readonly taken: boolean
    readonly status: number | null
  }>(),
}
