/** Who of ours somebody of a trusted issuer is, by what is registered of it. */
import type { Bag } from '../../protocol/bag.ts'
import { YES } from '../../protocol/claims.ts'
import { JwtError } from '../../protocol/signed-jwt.ts'
import { mappingOf } from '../../protocol/trusted-issuer-information.ts'
import { LINK_KIND, linkIdOf } from '../../protocol/upstream-link.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/user-records.ts'
import { ADMIN, endedSince, isInUse, type User } from '../users/user.ts'
import type { UserFinder } from '../users/user-finder.ts'
import { madeAt } from './assertions.ts'
import type { TrustedIssuer } from './trusted-issuer-registry.ts'

/** The client that asks, or a user; with the link by which it is theirs, whose end ends what came of it. */
export type Mapped = 'client' | { readonly user: User; readonly link?: string }

/**
 * For what was found good. Throws `JwtError` where nobody is meant, somebody for whom nobody else may speak, or somebody who was
 * signed out elsewhere, or of whom everything ended, since it was made.
 */
export type FindMapped = (from: TrustedIssuer, claims: Bag) => Promise<Mapped>

/** @internal */
export function createFindMapped(
  database: Database,
  users: Pick<UserFinder, 'find' | 'findByEmail' | 'get'>,
): FindMapped {
  async function linked(issuer: string, subject: string): Promise<{ user: User; link: string } | null> {
    // As the table has what is unique of its kind.
    const link = `${LINK_KIND} ${linkIdOf({ issuer, subject })}`
    const [row] = await database.query(statements.owner, [link])
    return row === undefined ? null : { user: await users.get(row.userId), link }
  }

  async function find(from: TrustedIssuer, claims: Bag): Promise<{ user: User; link?: string } | null> {
    const { by, claim } = mappingOf(from)
    const said = Object.hasOwn(claims, claim) ? claims[claim] : undefined
    if (typeof said !== 'string' || said === '') throw new JwtError(`it has no ${claim}`)
    if (by === 'link') return linked(from.issuer, said)
    if (by === 'email' && !isSaidVerified(claims)) throw new JwtError('its email is not verified')
    const user = by === 'email' ? await users.findByEmail(said) : await users.find(said)
    return user === null ? null : { user }
  }

  return async (from, claims) => {
    if (mappingOf(from).by === 'client') return 'client'
    const found = await find(from, claims)
    if (found === null) throw new JwtError('nobody here is its subject')
    const { user } = found
    if (!isInUse(user)) throw new JwtError('its subject may not sign in')
    // Of when it was made it says the second alone: it may have been at the end of that.
    if (endedSince(user, Math.floor(madeAt(from, claims)) * 1000, 999))
      throw new JwtError('its subject was signed out here since it was made')
    // Whoever holds the keys of the issuer would be one of them.
    if (user.roles.includes(ADMIN)) throw new JwtError('its subject is an administrator, who signs in here')
    return found
  }
}

/** An issuer that says nothing of it is registered as one whose addresses are good; what it says that is no yes is a no. */
function isSaidVerified({ email_verified: verified }: Bag): boolean {
  return verified === undefined || YES.includes(verified)
}
