/** What was allowed in a sign-in, and is fetched later, gives nothing any more once that has ended. */
import type { Granted } from '../../../src/doors/facts.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import type { OAuth } from '../../oauth.ts'

/** Throws `access_denied` where whoever allowed it signed out, got a new password or was disabled since. */
export async function assertSignedIn({ sessions }: OAuth, { authentication }: Granted): Promise<void> {
  if (authentication === undefined || !(await sessions.isOpen(authentication.sid)))
    throw new OAuthError('access_denied', 'the sign-in by which it was allowed has ended', { status: 400 })
}
