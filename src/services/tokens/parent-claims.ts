/**
 * What a token without an Authorization was granted for, in the token itself. Where that names people, it is encrypted: clients know
 * them by their `sub` alone, which may be another at each (docs/adr/0009).
 */
import type { AccessTokenClaims, ParentClaim } from '../../doors/facts.ts'
import { allBehind, parentClaim } from '../../doors/parents.ts'
import type { Bag } from '../../protocol/bag.ts'
import type { Parent } from '../../protocol/facts.ts'
import type { SecretBox } from '../keys/secret-box.ts'

export interface ParentClaims {
  /** The claim `parent`. */
  write(parent: Parent): ParentClaim | string
  /** The claims with `parent` to be read; null where no key opens it any more. */
  read(claims: AccessTokenClaims & Bag): AccessTokenClaims | null
}

const CONTEXT = 'parent of a token'

/** @internal */
export function createParentClaims(box: SecretBox): ParentClaims {
  return {
    write(parent) {
      const claim = parentClaim(parent)
      const namesPeople = allBehind(parent).some(({ user, link }) => (user ?? link) !== undefined)
      return namesPeople ? box.seal(JSON.stringify(claim), CONTEXT) : claim
    },
    read(claims) {
      const parent: unknown = claims.parent
      if (typeof parent !== 'string') return claims
      const opened = box.tryOpen(parent, CONTEXT)
      return opened === null ? null : { ...claims, parent: JSON.parse(opened) as ParentClaim }
    },
  }
}
