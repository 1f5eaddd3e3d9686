/**
 * What somebody decides of a request that a client polls for (RFC 8628 §3.5, CIBA §11): what the client is told until then, and what it is
 * given.
 */
import type { Granted, Spend } from '../../../src/doors/facts.ts'
import { grantedFromJson } from '../../../src/doors/stored-facts.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import type { StoredGranted } from '../../../src/protocol/facts.ts'
import type { OAuth } from '../../oauth/index.ts'
import { narrowed } from './narrowed.ts'

/** `unmet` is the error for which it could not be allowed; absent where somebody denied it. */
export type Decision =
  | { readonly denied: true; readonly unmet?: string }
  | { readonly granted: StoredGranted }

export interface Decided {
  /** Milliseconds since the epoch; until then somebody may decide. */
  readonly expiresAt: number
  readonly decision?: Decision
}

/** How it is asked for what came of it. */
export interface AskedFor {
  /** Narrows what was approved (RFC 8707 §2.2); undefined for all of it. */
  readonly resource: readonly string[] | undefined
  /** What the tokens are given once for. */
  readonly spend: Spend
  /** Notes that it was asked; false when that came too early. */
  poll(): Promise<boolean>
}

export function isOpen({ decision, expiresAt }: Decided): boolean {
  return decision === undefined && Date.now() < expiresAt
}

/**
 * What was allowed. Throws `authorization_pending`, `slow_down` or `expired_token` where nobody has decided, and `access_denied` where
 * somebody denied it, where it could not be allowed, or where the sign-in by which it was has ended.
 */
export async function grantedOf(
  oauth: OAuth,
  { decision, expiresAt }: Decided,
  { resource, spend, poll }: AskedFor,
): Promise<Granted> {
  if (decision === undefined) throw await undecided(expiresAt, poll)
  if ('denied' in decision) throw refused(decision.unmet)
  const granted = grantedFromJson(decision.granted)
  const sid = await signedInBy(oauth, granted)
  return { ...narrowed(granted, resource), whileSignedIn: sid, spends: [spend] }
}

function refused(unmet: string | undefined): OAuthError {
  const description =
    unmet === undefined ? 'the user denied the request' : `the request could not be allowed: ${unmet}`
  return new OAuthError('access_denied', description, { status: 400 })
}

async function undecided(expiresAt: number, poll: AskedFor['poll']): Promise<OAuthError> {
  if (expiresAt <= Date.now()) return new OAuthError('expired_token', 'nobody has decided in time')
  if (await poll()) return new OAuthError('authorization_pending', 'nobody has decided yet; ask again')
  return new OAuthError('slow_down', 'ask 5 seconds later from now on')
}

/** The session that is open still: who signed out, got a new password or was disabled since gives nothing any more. */
async function signedInBy({ sessions }: OAuth, { authentication }: Granted): Promise<string> {
  if (authentication === undefined || !(await sessions.isOpen(authentication.sid)))
    throw new OAuthError('access_denied', 'the sign-in by which it was allowed has ended', { status: 400 })
  return authentication.sid
}
