/** What was granted for something else: it is no better than that, and ends with it. */
import type { AccessTokenClaims, Authorization, Granted, ParentClaim, Verified } from './facts.ts'
import type { Parent } from '../protocol/facts.ts'
import { instantsOf } from '../protocol/token-instants.ts'

/**
 * For `Granted.parent`. What is granted for an access token ends when that is revoked or expires, and with its
 * Authorization; what is granted for an Authorization alone ends when that is revoked, or when nothing of it lives any more.
 * Throws for an Authorization that is not stored.
 */
export function parentOf(found: Verified | Authorization): Parent {
  if ('claims' in found) return parentOfToken(found)
  const { id, clientId, createdAt, notAfter, parent } = found
  if (id === undefined || createdAt === undefined)
    throw new TypeError('an Authorization that is not stored can be no parent')
  return {
    clientId,
    since: createdAt,
    authorization: id,
    ...(notAfter === undefined ? {} : { notAfter }),
    ...(parent === undefined ? {} : { parent }),
  }
}

function parentOfToken({ claims, authorization }: Verified): Parent {
  const { id, parent } = authorization ?? { id: undefined, parent: parentInClaims(claims) }
  const { issuedAt, expiresAt } = instantsOf(claims)
  return {
    clientId: claims.client_id,
    since: authorization?.createdAt ?? issuedAt,
    token: claims.jti,
    notAfter: expiresAt,
    ...(id === undefined ? {} : { authorization: id }),
    ...(parent === undefined ? {} : { parent }),
  }
}

/** When the last token ends, in milliseconds since the epoch; undefined where nothing says. */
export function endOf({ notAfter, parent }: Pick<Granted, 'notAfter' | 'parent'>): number | undefined {
  if (notAfter === undefined && parent === undefined) return undefined
  let end = notAfter ?? Infinity
  for (let at = parent; at !== undefined; at = at.parent) end = Math.min(end, at.notAfter ?? Infinity)
  return end === Infinity ? undefined : end
}

/** A token without an Authorization says itself what it was granted for. */
export function parentClaim({ clientId, since, authorization, token, trust, parent }: Parent): ParentClaim {
  return {
    client_id: clientId,
    iat: Math.floor(since / 1000),
    ...(authorization === undefined ? {} : { authorization_id: authorization }),
    ...(token === undefined ? {} : { jti: token }),
    ...(trust === undefined ? {} : { trust }),
    ...(parent === undefined ? {} : { parent: parentClaim(parent) }),
  }
}

/** Of claims that we signed or stored. */
export function parentInClaims({ parent }: Pick<AccessTokenClaims, 'parent'>): Parent | undefined {
  if (parent === undefined) return undefined
  const { client_id: clientId, iat, authorization_id: authorization, jti: token, trust } = parent
  const before = parentInClaims(parent)
  return {
    clientId,
    since: iat * 1000,
    ...(authorization === undefined ? {} : { authorization }),
    ...(token === undefined ? {} : { token }),
    ...(trust === undefined ? {} : { trust }),
    ...(before === undefined ? {} : { parent: before }),
  }
}
