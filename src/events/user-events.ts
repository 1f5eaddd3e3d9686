/** Events of users: their accounts, the ways in that they have, and their sign-ins. */
import type { Bag } from '../protocol/bag.ts'
import type { Changes } from '../protocol/changes.ts'
import { tells, type Ended } from './tells.ts'

export const USER_EVENTS = {
  'user.registered': tells<{ readonly changes: Changes }>(),
  /** `noWayIn` where it took the address away by which alone they could sign in. */
  'user.changed': tells<{ readonly changes: Changes; readonly noWayIn?: true }>(),
  /** Every session and token of theirs ended with the old one. */
  'user.password_changed': tells<Ended>(),
  /** Every session and token of theirs ended, as somebody asked who may: the actor. They may sign in again. */
  'user.tokens_revoked': tells<Ended>(),
  /** They sign in by something else alone; nothing ends with it. */
  'user.password_removed': tells<Bag>(),
  /** A one-time link was made, by which they may set a password; `expires` is in seconds since the epoch. */
  'user.password_link_made': tells<{ readonly expires: number }>(),
  /** An administrator had a mail sent with a link by which they choose their password. */
  'user.invited': tells<Bag>(),
  /** By somebody, or with everything of theirs that ended (`user.tokens_revoked`). */
  'user.invitation_withdrawn': tells<Bag>(),
  /** A one-time link that was used, is too old, or never was one; `link` says what it would have been for. */
  'user.link_refused': tells<{
    readonly link: 'setup' | 'password' | 'reset' | 'email' | 'sign-up' | 'invitation' | 'upstream'
  }>(),
  /** `name` is what its user calls it. */
  'user.passkey_added': tells<{ readonly name: string }>(),
  'user.passkey_removed': tells<{ readonly name: string }>(),
  /**
   * One of theirs did not sign in. `counter`: it was used more often than it says, so it may have been copied; `proof`: what it should have
   * signed does not hold; `another user`: somebody else had to show that it is them.
   */
  'user.passkey_refused': tells<{ readonly reason: 'counter' | 'proof' | 'disabled' | 'another user' }>(),
  'user.disabled': tells<Ended>(),
  'user.enabled': tells<Bag>(),
  /** By themselves. Everything of theirs ended; `due`, in seconds since the epoch, is when they are deleted unless they keep their account. */
  'user.deletion_requested': tells<Ended & { readonly due: number }>(),
  /** They kept it, or an administrator did; or nobody else who may sign in is an administrator. */
  'user.deletion_cancelled': tells<{ readonly reason?: 'last administrator' }>(),
  /** With all that was theirs; the log goes on naming them by their id. */
  'user.deleted': tells<Ended>(),
  /** `sid` names the session; `amr` is RFC 8176; `newBrowser` is noted where NOTIFY_NEW_BROWSERS asks for it. */
  'user.signed_in': tells<{
    readonly sid: string
    readonly amr: readonly string[]
    readonly newBrowser?: true
  }>(),
  /** A first factor was right, and another one is asked for. */
  'user.sign_in_pending': tells<{ readonly sid: string; readonly amr: readonly string[] }>(),
  /** Asked for a second factor or a passkey at a sign-in, they went back to the app, which got `access_denied`. */
  'user.sign_in_abandoned': tells<Bag>(),
  /** `factor` names its kind: `authenticator` is an app whose codes are asked for. */
  'user.factor_added': tells<{ readonly factor: string }>(),
  'user.factor_removed': tells<{ readonly factor: string }>(),
  /** A sign-in had passed its first step, and its code was wrong: `factor` is `authenticator` or `recovery_code`. */
  'user.factor_failed': tells<{ readonly factor: string }>(),
  /** In the place of all that they had. */
  'user.recovery_codes_made': tells<{ readonly count: number }>(),
  /** In the place of a factor; `left` of them are good still. */
  'user.recovery_code_used': tells<{ readonly left: number }>(),
  /** A code was mailed by which they sign in. */
  'user.sign_in_code_sent': tells<Bag>(),
  /**
   * Of an account that there is not, only a keyed hash: what was typed may be a password. `method` is noted where it was another than the
   * password, as `mail-code` is.
   */
  'user.sign_in_failed': tells<{ readonly account?: string; readonly method?: string }>(),
  /** From then on they can sign in by that upstream; `registered` is noted where their account was made by it. */
  'user.upstream_linked': tells<{
    readonly upstream: string
    readonly issuer: string
    readonly registered?: true
  }>(),
  'user.upstream_unlinked': tells<{ readonly upstream: string; readonly issuer: string }>(),
  'user.signed_out': tells<Ended & { readonly sid: string }>(),
  /** Somebody other than its browser ended it; without `sid`, all of the user's, or all but `except`. */
  'session.ended': tells<Ended & { readonly sid?: string; readonly except?: string }>(),
}
