/** Ends clients that registered themselves and to which no token was issued for long. The audit log knows. */
import type { Config } from '../../config.ts'
import { REGISTRAR } from '../../doors/self-registration.ts'
import { firstUuidAt } from '../../protocol/uuid.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/registrations.ts'
import type { ClientChanges } from '../clients/client-changes.ts'

/** Looked at by one call. */
const BATCH = 100

interface Options {
  config: Pick<Config, 'OIDC_REGISTRATION' | 'OIDC_REGISTRATION_UNUSED'>
  database: Database
  changes: ClientChanges
}

/** How many ended; none while nobody could register anew. @internal */
export function createEndUnused({ config, database, changes }: Options): () => Promise<number> {
  const { OIDC_REGISTRATION: mode, OIDC_REGISTRATION_UNUSED: unusedFor } = config
  return async () => {
    if (mode === 'off' || unusedFor === 0) return 0
    const since = firstUuidAt(Math.max(0, Date.now() - unusedFor * 1000))
    const due = await database.query(statements.unheard, [REGISTRAR, unusedFor, BATCH, since])
    let removed = 0
    for (const { clientId, usedAt } of due)
      if (usedAt !== null) await database.query(statements.heard, [clientId, usedAt])
      else if (await changes.remove(clientId, REGISTRAR)) removed++
    return removed
  }
}
