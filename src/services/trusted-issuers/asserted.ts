/** What a client may do with a JWT of a trusted issuer, and what ends with what came of it. */
import type { Call } from '../../doors/back-channel.ts'
import type { Client } from '../../doors/client.ts'
import type { Parent } from '../../protocol/facts.ts'
import { isObject } from '../../protocol/json.ts'
import { JwtError } from '../../protocol/signed-jwt.ts'
import { holds } from '../tokens/binding.ts'
import type { Assertion } from './assertions.ts'
import type { Mapped } from './mapped-subjects.ts'
import type { TrustedIssuer } from './trusted-issuer-registry.ts'

/**
 * Throws `JwtError` where its issuer names other clients, it is bound to a key that the request does not show (RFC 7800 §3), or somebody
 * acts by it: as if it were the subject alone, they would be left out of what is said.
 */
export function assertMayUse(
  { from: { clients }, claims }: Pick<Assertion, 'from' | 'claims'>,
  { client, binding }: Pick<Call, 'client' | 'binding'>,
): void {
  const { cnf = {} } = claims
  if (!isObject(cnf) || !holds(binding, { cnf }))
    throw new JwtError('it is bound to a key that the request does not show')
  if (clients !== undefined && !clients.includes(client.clientId))
    throw new JwtError('its issuer is not trusted for this client')
  if (claims['act'] !== undefined) throw new JwtError('its act names somebody of another server')
}

/** For `Granted.parent`: it stands while the issuer is trusted, its subject may sign in, and the link is there by which it was found. */
export function parentOfAssertion(
  { generation }: TrustedIssuer,
  mapped: Mapped,
  { clientId }: Client,
): Parent {
  const parent = { clientId, since: Date.now(), trust: generation }
  if (mapped === 'client') return parent
  const { user, link } = mapped
  return { ...parent, user: user.id, ended: user.endedAt ?? 0, ...(link === undefined ? {} : { link }) }
}
