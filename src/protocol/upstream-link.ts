/**
 * By what somebody of another issuer is found again among users of ours: the link that sign-in by upstreams keeps, and that trusted issuers
 * are looked up by too.
 */
import { hash } from 'node:crypto'

/** Who somebody is there: OpenID Connect Core §5.7, `iss` and `sub` together; or what is there in the place of `sub`, with its name. */
export interface LinkedSubject {
  readonly issuer: string
  readonly subject: string
  /** What is registered to say the subject, where that is another member than `sub`: one that is registered later says other people. */
  readonly subjectClaim?: string
}

/** The kind of its record. */
export const LINK_KIND = 'upstream-link'

/** The id of its record: of one length, however long the subject is. */
export function linkIdOf({ issuer, subject, subjectClaim }: LinkedSubject): string {
  const parts = [issuer, subject, ...(subjectClaim === undefined ? [] : [subjectClaim])]
  return hash('sha256', parts.join('\0'), 'base64url')
}
