/** What is known of a token that is exchanged, whatever its kind, and how one is refused. */
import type { Granted } from '../../../../src/doors/facts.ts'
import type { Bag } from '../../../../src/protocol/bag.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import type { Actor, Authentication, Parent } from '../../../../src/protocol/facts.ts'

export const TYPE = 'urn:ietf:params:oauth:token-type:'
export const ACCESS_TOKEN = `${TYPE}access_token`

export interface Source {
  /** Who got it. */
  readonly clientId: string
  /** Its `sub`, as the client that exchanges it is told. */
  readonly sub: string
  readonly standsFor: Pick<Granted, 'subject' | 'subjectClient'>
  readonly scopes: ReadonlySet<string>
  readonly actor?: Actor | undefined
  readonly mayAct?: unknown
  readonly cnf?: Bag | undefined
  readonly authentication?: Authentication | undefined
  readonly parent: Parent
  /** Milliseconds since the epoch. */
  readonly notAfter: number
}

/** RFC 8693 §2.2.2. The reason is for the developer of a client that is allowed to have it: it tells nothing that the token does not. */
export function refused(reason: string): OAuthError {
  return new OAuthError('invalid_request', `the token cannot be exchanged: ${reason}`)
}

export const NOT_GOOD = 'it is not good here, or not for this client to exchange'
