/**
 * Ends clients that registered themselves and that nobody uses: the audit log and the Authorizations tell. One that an administrator has
 * made more of stays.
 */
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Config } from '../../config.ts'
import { REGISTRAR } from '../../doors/self-registration.ts'
import { Authorization } from '../../entities/authorization.ts'
import { AuthorizationCode } from '../../entities/authorization-code.ts'
import { Client } from '../../entities/client.ts'
import { Consent } from '../../entities/consent.ts'
import { firstUuidAt } from '../../protocol/uuid.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/registrations.ts'
import type { ClientChanges } from '../clients/client-changes.ts'
import type { ClientPolicies } from '../clients/client-policies.ts'

/** Looked at by one call. */
const BATCH = 100
/** Of the consents of one client, locked by one statement: an app may have more than there is memory for. */
const CHUNK = 500

interface Options {
  config: Pick<Config, 'OIDC_REGISTRATION' | 'OIDC_REGISTRATION_UNUSED'>
  database: Database
  changes: ClientChanges
  policies: Pick<ClientPolicies, 'isOpen'>
}

/** How many ended; none while nobody could register anew. @internal */
export function createEndUnused({ config, database, changes, policies }: Options): () => Promise<number> {
  const { OIDC_REGISTRATION: mode, OIDC_REGISTRATION_UNUSED: unusedFor } = config

  /**
   * In the transaction that would end it: somebody may have come meanwhile. Who allows it something needs its row, and then the consent, which they keep
   * as it is until what comes of that is stored: so they have been faster, and it is seen here, or find nothing to allow.
   */
  async function isKept(em: EntityManager, clientId: string, since: Date): Promise<boolean> {
    const { PESSIMISTIC_WRITE: lockMode } = (await import('@mikro-orm/core')).LockMode
    const { metadata = {} } = (await em.findOne(Client, { clientId }, { lockMode })) ?? {}
    if (!Object.keys(metadata).every((member) => policies.isOpen(member))) return true
    const isRecent = { client: clientId, grantedAt: { $gte: since } }
    if ((await em.count(Consent, isRecent)) > 0) return true
    await lockConsents(em, clientId)
    // Who held one of them may have been allowed something meanwhile.
    if ((await em.count(Consent, isRecent)) > 0) return true
    const isAhead = { $gt: new Date() }
    const codes = await em.count(AuthorizationCode, { clientId, spentAt: null, expiresAt: isAhead })
    if (codes > 0) return true
    return (await em.count(Authorization, { clientId, revokedAt: null, createdAt: { $gte: since } })) > 0
  }

  async function lockConsents(em: EntityManager, client: string): Promise<void> {
    const { PESSIMISTIC_WRITE: lockMode } = (await import('@mikro-orm/core')).LockMode
    const how = { lockMode, fields: ['user'], orderBy: { user: 'asc' }, limit: CHUNK, disableIdentityMap: true } as const // prettier-ignore
    let last: string | undefined
    do {
      const after = last === undefined ? {} : { user: { $gt: last } }
      const locked = await em.find(Consent, { client, ...after }, how)
      last = locked.length < CHUNK ? undefined : locked.at(-1)!.user.id
    } while (last !== undefined)
  }

  async function end(clientId: string, since: Date): Promise<boolean> {
    const [found] = await database.query(statements.holdsTokens, [clientId])
    if (found !== undefined) return false
    return changes.remove(clientId, REGISTRAR, async (em) => isKept(em, clientId, since))
  }

  return async () => {
    if (mode === 'off' || unusedFor === 0) return 0
    const since = new Date(Math.max(0, Date.now() - unusedFor * 1000))
    const known = firstUuidAt(since.getTime())
    const due = await database.query(statements.unheard, [REGISTRAR, unusedFor, BATCH, known])
    let removed = 0
    for (const { clientId, usedAt } of due) {
      if (usedAt === null && (await end(clientId, since))) removed++
      else await database.query(statements.heard, [clientId, usedAt ?? new Date()])
    }
    return removed
  }
}
