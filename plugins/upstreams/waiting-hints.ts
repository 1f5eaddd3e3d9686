/** ID tokens of newcomers, by which they are signed out at their upstream too: sealed, for as long as their mail waits to be read. */
import type { SecretBox } from '../../src/services/keys/secret-box.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import type { Identity } from './provider.ts'

type Whose = Pick<Identity, 'issuer' | 'subject'>

interface Waiting {
  /** Sealed; absent where signing out here does not sign out there. */
  readonly idToken?: string
}

export interface WaitingHints {
  /** Without one that is too long to wait with the rest: who has it stays signed in there. */
  of(upstream: Upstream, identity: Identity): Waiting
  /** Undefined where there is none, or no SECRET_KEY fits any more. */
  open(waiting: Waiting & Whose): string | undefined
}

/** Characters, sealed: beside it, what waits in the outbox has the claims, and the address that leads on. */
const LONGEST = 12_000

export function createWaitingHints(box: Pick<SecretBox, 'seal' | 'tryOpen'>): WaitingHints {
  const contextOf = ({ issuer, subject }: Whose): string => `ID token of a newcomer, ${issuer} ${subject}`
  return {
    of({ sign_out: signsOut }, { idToken, ...whose }) {
      if (signsOut !== true || idToken === undefined) return {}
      const sealed = box.seal(idToken, contextOf(whose))
      return sealed.length > LONGEST ? {} : { idToken: sealed }
    },
    open: ({ idToken, ...whose }) =>
      idToken === undefined ? undefined : (box.tryOpen(idToken, contextOf(whose)) ?? undefined),
  }
}
