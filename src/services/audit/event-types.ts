/** Whether there is a type of event that somebody listens to, for plugins that no compiler reads: a name that is mistyped is never told of. */
import { ConfigError } from '../../config.ts'
import type { OwnEventDetails } from '../../events.ts'
import { findNearest } from '../../protocol/nearest.ts'

/** The server's own. */
const OWN: Readonly<Record<keyof OwnEventDetails, true>> = {
  'user.registered': true,
  'user.changed': true,
  'user.password_changed': true,
  'user.password_removed': true,
  'user.password_link_made': true,
  'user.invited': true,
  'user.invitation_withdrawn': true,
  'user.link_refused': true,
  'user.passkey_added': true,
  'user.passkey_removed': true,
  'user.factor_added': true,
  'user.factor_removed': true,
  'user.recovery_codes_made': true,
  'user.recovery_code_used': true,
  'user.passkey_refused': true,
  'user.upstream_linked': true,
  'user.upstream_unlinked': true,
  'user.disabled': true,
  'user.enabled': true,
  'user.deletion_requested': true,
  'user.deletion_cancelled': true,
  'user.deleted': true,
  'user.signed_in': true,
  'user.sign_in_pending': true,
  'user.sign_in_failed': true,
  'user.signed_out': true,
  'session.ended': true,
  'consent.given': true,
  'consent.denied': true,
  'consent.withdrawn': true,
  'device.allowed': true,
  'device.denied': true,
  'device.code_refused': true,
  'ciba.asked': true,
  'ciba.allowed': true,
  'ciba.denied': true,
  'ciba.user_code_set': true,
  'ciba.user_code_removed': true,
  'client.registered': true,
  'client.changed': true,
  'client.secret_rotated': true,
  'client.deleted': true,
  'client.blocked': true,
  'client.unblocked': true,
  'client.authentication_failed': true,
  'limit.reached': true,
  'initial_token.created': true,
  'initial_token.deleted': true,
  'resource.registered': true,
  'resource.changed': true,
  'resource.deleted': true,
  'scope.registered': true,
  'scope.changed': true,
  'scope.deleted': true,
  'upstream.registered': true,
  'upstream.changed': true,
  'upstream.deleted': true,
  'trusted_issuer.registered': true,
  'trusted_issuer.changed': true,
  'trusted_issuer.deleted': true,
  'token.assertion_refused': true,
  'token.vouched': true,
  'key.created': true,
  'key.revoked': true,
  'token.issued': true,
  'token.exchange_refused': true,
  'token.revoked': true,
  'authorization.revoked': true,
  'authorization.replayed': true,
  'delivery.given_up': true,
  'delivery.retried': true,
}

/**
 * Throws `ConfigError` for what is no type of an event: a word alone, or one of the server's with a letter more, less or other, or with
 * its last ones left out. All others may be a plugin's own.
 */
export function assertEventType(type: unknown): void {
  if (typeof type === 'string' && Object.hasOwn(OWN, type)) return
  const { nearest, distance } = findNearest(String(type), Object.keys(OWN))
  const isShortened = distance === 2 && nearest.length === String(type).length + 2
  if (typeof type === 'string' && type.includes('.') && distance > 1 && !isShortened) return
  throw new ConfigError(`There is no event ${String(type).slice(0, 80)}: the nearest is ${nearest}.`)
}
