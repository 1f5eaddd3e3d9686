/**
 * Whether what something was granted for still stands. It is asked whenever a token is looked at, and not written down when
 * something ends: so whoever ends an Authorization, in whatever way and process, ends all that came of it.
 */
import { allBehind, MOST_BEHIND } from '../../doors/parents.ts'
import type { Parent } from '../../protocol/facts.ts'
import { statements } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import { statements as records } from '../../store/user-records.ts'
import { isOfClient } from '../clients/same-client.ts'
import type { Directory } from '../directory.ts'
import { isInUse } from '../users/user.ts'
import type { Revocations } from './revocations.ts'

export interface Parents {
  /** False once `parent`, or anything behind it, has ended. Throws 503 when it cannot be decided. */
  stand(parent: Parent): Promise<boolean>
  /** The trusted issuer that said it; undefined where it is something of ours, or that is trusted no more. */
  issuerOf(parent: Parent): Promise<string | undefined>
}

/** Trusted issuers of this moment. */
export type ReadTrusted = () => Promise<readonly { readonly generation: string; readonly issuer: string }[]>

export interface ParentsOptions {
  database: Database
  directory: Directory
  revocations: Revocations
  trusted: ReadTrusted
}

export function createParents({ database, directory, revocations, trusted }: ParentsOptions): Parents {
  /**
   * Whether the issuer of an assertion is trusted still, and its subject one who may sign in, and linked. Of who only acts by it (`acts`) nothing is
   * stored that could end with everything else of theirs: so it is good as long as none of that has ended.
   */
  async function isVouched(
    { trust, link, user, since, ended = since }: Parent,
    acts: boolean,
  ): Promise<boolean> {
    if (trust !== undefined && !(await trusted()).some(({ generation }) => generation === trust)) return false
    const found = user === undefined ? undefined : await directory.findUser(user)
    if (found === null || (found !== undefined && !isInUse(found))) return false
    // Two ends, not a beginning and an end: `endedSince` would take one that is ahead of our clock for ended.
    if (acts && (found?.endedAt ?? 0) > ended) return false
    return link === undefined || (await database.query(records.owner, [link])).length > 0
  }

  async function stands(parent: Parent, acts: boolean): Promise<boolean> {
    const { clientId, since, authorization, token, notAfter = Infinity } = parent
    if (Date.now() >= notAfter || (token !== undefined && revocations.isRevoked(token))) return false
    const client = await directory.findClient(clientId)
    if (client === null || !isOfClient(clientId, since, client)) return false
    if (!(await isVouched(parent, acts))) return false
    if (authorization === undefined) return true
    const [row] = await database.query(statements.find, [authorization])
    return row !== undefined && row.revokedAt === null
  }

  return {
    async stand(parent) {
      const all = allBehind(parent)
      if (all.length > MOST_BEHIND) return false
      const acting = new Set(all.map(({ actor }) => actor))
      return (await Promise.all(all.map(async (one) => stands(one, acting.has(one))))).every(Boolean)
    },
    async issuerOf({ trust }) {
      if (trust === undefined) return undefined
      return (await trusted()).find(({ generation }) => generation === trust)?.issuer
    },
  }
}
