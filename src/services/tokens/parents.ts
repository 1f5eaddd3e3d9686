/**
 * Whether what something was granted for still stands. It is asked whenever a token is looked at, and not written down when
 * something ends: so whoever ends an Authorization, in whatever way and process, ends all that came of it.
 */
import type { Parent } from '../../protocol/facts.ts'
import { statements } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import { isOfClient } from '../clients/same-client.ts'
import type { Directory } from '../directory.ts'
import type { Revocations } from './revocations.ts'

export interface Parents {
  /** False once `parent`, or one before it, has ended. Throws 503 when it cannot be decided. */
  stand(parent: Parent): Promise<boolean>
}

/** Each is looked at: nobody needs more. */
const MOST = 8

export function createParents(database: Database, directory: Directory, revocations: Revocations): Parents {
  async function stands(parent: Parent): Promise<boolean> {
    const { clientId, since, authorization, token, notAfter = Infinity } = parent
    if (Date.now() >= notAfter || (token !== undefined && revocations.isRevoked(token))) return false
    const client = await directory.findClient(clientId)
    if (client === null || !isOfClient(clientId, since, client)) return false
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
