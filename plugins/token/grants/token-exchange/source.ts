/** What is known of a token that is exchanged, whatever its kind, and how one is refused. */
import type { Granted, Spend } from '../../../../src/doors/facts.ts'
import type { Bag } from '../../../../src/protocol/bag.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import type { Actor, Authentication, Parent } from '../../../../src/protocol/facts.ts'

export const TYPE = 'urn:ietf:params:oauth:token-type:'
export const ACCESS_TOKEN = `${TYPE}access_token`

export interface Source {
  /** Who got it, where it is ours. */
  readonly clientId?: string
  /** Who signed it, where that is somebody else who is trusted. */
  readonly issuer?: string
  /** Its `sub`, as the client that exchanges it is told. */
  readonly sub: string
  readonly standsFor: Pick<Granted, 'subject' | 'subjectClient'>
  readonly scopes: ReadonlySet<string>
  readonly actor?: Actor | undefined
  readonly mayAct?: unknown
  readonly cnf?: Bag | undefined
  readonly authentication?: Authentication | undefined
  readonly parent: Parent
  /** What comes of it is within this; absent where the rules alone say. */
  readonly most?: { readonly scopes: ReadonlySet<string>; readonly resources: readonly string[] | undefined }
  /** Milliseconds since the epoch. */
  readonly notAfter: number
  /** How it is spent, where it is good once. */
  readonly spend?: Spend | undefined
}

/** Whether it was given to one of these clients, or signed by one of these issuers. */
export function isFrom(
  { clientId, issuer }: Source,
  clients: readonly string[] = [],
  issuers: readonly string[] = [],
): boolean {
  if (issuer !== undefined) return issuers.includes(issuer)
  return clientId !== undefined && clients.includes(clientId)
}

/** RFC 8693 §2.2.2. The reason is for the developer of a client that is allowed to have it: it tells nothing that the token does not. */
export function refused(reason: string): OAuthError {
  return new OAuthError('invalid_request', `the token cannot be exchanged: ${reason}`)
}

export const NOT_GOOD = 'it is not good here, or not for this client to exchange'
