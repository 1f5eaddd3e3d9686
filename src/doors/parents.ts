/** What was granted for something else: it is no better than that, and ends with it. */
import type { AccessTokenClaims, Authorization, Granted, ParentClaim, Verified } from './facts.ts'
import type { Parent } from '../protocol/facts.ts'
import { instantsOf } from '../../plugins/require-scope/expiry.ts'

/**
 * For `Granted.parent`. What is granted for an access token ends when that is revoked or expires, and with its
 * Authorization; what is granted for an Authorization alone ends when that is revoked, or when nothing of it lives any more.
 * Throws `TypeError` for an Authorization that is not stored.
 */
export function parentOf(found: Verified | Authorization): Parent {
  if ('claims' in found) return parentOfToken(found)
  const { id, clientId, createdAt, notAfter, parent } = found
  const outlives = outlivedBy(found)
  if (id === undefined || createdAt === undefined)
    throw new TypeError('an Authorization that is not stored can be no parent')
  return {
    clientId,
    since: createdAt,
    authorization: id,
    ...(outlives === undefined ? {} : { outlives }),
    ...(notAfter === undefined ? {} : { notAfter }),
    ...(parent === undefined ? {} : { parent }),
  }
}

function parentOfToken({ claims, authorization }: Verified): Parent {
  const { id, parent } = authorization ?? { id: undefined, parent: parentInClaims(claims) }
  const { issuedAt, expiresAt } = instantsOf(claims)
  const outlives = authorization === undefined ? undefined : outlivedBy(authorization)
  return {
    clientId: claims.client_id,
    since: authorization?.createdAt ?? issuedAt,
    token: claims.jti,
    notAfter: expiresAt,
    ...(id === undefined ? {} : { authorization: id }),
    ...(outlives === undefined ? {} : { outlives }),
    ...(parent === undefined ? {} : { parent }),
  }
}

/** Its session, where that takes it along by no sign-out: by its own scopes, or as what it was granted for. */
function outlivedBy({ scopes, authentication, parent }: Authorization): string | undefined {
  const sid = authentication?.sid
  return scopes.has('offline_access') || parent?.outlives === sid ? sid : undefined
}

/** When the last token ends, in milliseconds since the epoch; undefined where nothing says. */
export function endOf({ notAfter, parent }: Pick<Granted, 'notAfter' | 'parent'>): number | undefined {
  if (notAfter === undefined && parent === undefined) return undefined
  const ends = parent === undefined ? [] : allBehind(parent).map((one) => one.notAfter ?? Infinity)
  const end = Math.min(notAfter ?? Infinity, ...ends)
  return end === Infinity ? undefined : end
}

/** Of how many things something may be granted at most: each is looked at whenever a token is. */
export const MOST_BEHIND = 8

/** All that something ends with, the nearest first: what it was granted for, what whoever acts came by, and what those were granted for. */
export function allBehind(nearest: Parent): Parent[] {
  const { parent, actor } = nearest
  return [nearest, ...[actor, parent].flatMap((one) => (one === undefined ? [] : allBehind(one)))]
}

/** The claim `parent`, of no RFC: a token without an Authorization says itself what it was granted for. `iat` is in seconds. */
export function parentClaim(of: Parent): ParentClaim {
  const { clientId, since, authorization, token, trust, link, user, ended, parent, actor } = of
  return {
    client_id: clientId,
    iat: Math.floor(since / 1000),
    ...(authorization === undefined ? {} : { authorization_id: authorization }),
    ...(token === undefined ? {} : { jti: token }),
    ...(trust === undefined ? {} : { trust }),
    ...(link === undefined ? {} : { link }),
    ...(user === undefined ? {} : { user }),
    ...(ended === undefined ? {} : { ended }),
    ...(parent === undefined ? {} : { parent: parentClaim(parent) }),
    ...(actor === undefined ? {} : { actor: parentClaim(actor) }),
  }
}

/** Of claims that we signed or stored. */
export function parentInClaims({ parent }: Pick<AccessTokenClaims, 'parent'>): Parent | undefined {
  return parent === undefined ? undefined : parentOfClaim(parent)
}

function parentOfClaim(claim: ParentClaim): Parent {
  const {
    client_id: clientId,
    iat,
    authorization_id: authorization,
    jti: token,
    trust,
    link,
    user,
    ended,
    parent,
    actor,
  } = claim
  return {
    clientId,
    since: iat * 1000,
    ...(authorization === undefined ? {} : { authorization }),
    ...(token === undefined ? {} : { token }),
    ...(trust === undefined ? {} : { trust }),
    ...(link === undefined ? {} : { link }),
    ...(user === undefined ? {} : { user }),
    ...(ended === undefined ? {} : { ended }),
    ...(parent === undefined ? {} : { parent: parentOfClaim(parent) }),
    ...(actor === undefined ? {} : { actor: parentOfClaim(actor) }),
  }
}
