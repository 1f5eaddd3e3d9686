/**
 * Whether what something was granted for still stands. It is asked whenever a token is looked at, and not written down when
 * something ends: so whoever ends an Authorization, in whatever way and process, ends all that came of it.
 */
import type { Parent } from '../../protocol/facts.ts'
import { statements } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import { statements as records } from '../../store/user-records.ts'
import { isOfClient } from '../clients/same-client.ts'
import type { Directory } from '../directory.ts'
import type { Revocations } from './revocations.ts'

export interface Parents {
  /** False once `parent`, or one before it, has ended. Throws 503 when it cannot be decided. */
  stand(parent: Parent): Promise<boolean>
}

/** Each is looked at: nobody needs more. */
const MOST = 8

/** Trusted issuers of this moment. */
export type ReadTrusted = () => Promise<readonly { readonly generation: string }[]>

export interface ParentsOptions {
  database: Database
  directory: Directory
  revocations: Revocations
  trusted: ReadTrusted
}

export function createParents({ database, directory, revocations, trusted }: ParentsOptions): Parents {
  /** Whether the issuer of an assertion is trusted still, and its subject linked. */
  async function isVouched({ trust, link }: Parent): Promise<boolean> {
    if (trust !== undefined && !(await trusted()).some(({ generation }) => generation === trust)) return false
    return link === undefined || (await database.query(records.owner, [link])).length > 0
  }

  async function stands(parent: Parent): Promise<boolean> {
    const { clientId, since, authorization, token, notAfter = Infinity } = parent
    if (Date.now() >= notAfter || (token !== undefined && revocations.isRevoked(token))) return false
    const client = await directory.findClient(clientId)
    if (client === null || !isOfClient(clientId, since, client)) return false
    if (!(await isVouched(parent))) return false
    if (authorization === undefined) return true
    const [row] = await database.query(statements.find, [authorization])
    return row !== undefined && row.revokedAt === null
  }

  return {
    async stand(parent) {
      const line = lineOf(parent)
      if (line.length > MOST) return false
      return (await Promise.all(line.map(stands))).every(Boolean)
    },
  }
}

/** All of them, the nearest first. */
function lineOf(parent: Parent): Parent[] {
  const line: Parent[] = []
  for (let at: Parent | undefined = parent; at !== undefined; at = at.parent) line.push(at)
  return line
}
