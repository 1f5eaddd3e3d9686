/** Whether a client may do anything at all, by how it is registered. */
import type { Client } from '../../doors/client.ts'
import { OAuthError } from '../../protocol/errors.ts'

/** Throws `unauthorized_client` for one whose registration contradicts its profile. */
export function assertInOrder({ conflict }: Client): void {
  if (conflict !== undefined)
    throw new OAuthError(
      'unauthorized_client',
      `the registration of the client contradicts its profile: ${conflict}`,
    )
}
