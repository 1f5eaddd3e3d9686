/**
 * Requests that somebody approved, and that a client polls for (RFC 8628, CIBA): how one is spent, so that what was stored for it and never
 * handed out is given to the client that asks again (docs/adr/0032). The Authorization says which try was stored, for each has its own.
 */
import type { Client } from '../../doors/client.ts'
import type { Authorization, Granted, Spend } from '../../doors/facts.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { statements } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import { isOfClient } from '../clients/same-client.ts'
import type { Owed } from './owed.ts'
import type { Issued, Redemption, RedeemableSpend } from './redemption.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import { toAuthorization } from './stored-authorization.ts'

/** One try; without a refresh token, where the client gets none. */
export interface Try {
  readonly authorizationId: string
  readonly refreshToken: string | undefined
}

/** What of `Granted.spends` stands for an approved request, and is noted where nobody knows whether it was spent. */
export interface ApprovedSpend extends Spend {
  noteUnanswered(issued: Issued): void
}

export function isApproved(spend: Spend): spend is ApprovedSpend {
  return 'noteUnanswered' in spend
}

export interface OwedApprovals {
  spend(request: Pick<Spend, 'kind' | 'handle'>): ApprovedSpend
  /** For one that is not found: what was granted to this client and not handed out; null where there is none. */
  find(request: Pick<Spend, 'kind' | 'handle'>, client: Client): Promise<Granted | null>
}

/** @internal */
export function createOwedApprovals(
  database: Database,
  refreshes: RefreshTokens,
  owed: Owed<Try>,
): OwedApprovals {
  /** What was stored by it; null where that was not, has ended or was used. */
  async function storedBy({ authorizationId, refreshToken }: Try): Promise<Authorization | null> {
    if (refreshToken !== undefined) {
      const found = await refreshes.find(refreshToken)
      return found?.use === 'current' ? found.authorization : null
    }
    const [row] = await database.query(statements.find, [authorizationId])
    return row === undefined || row.revokedAt !== null ? null : toAuthorization(row)
  }

  /** It is spent: what is left is to hand out what was stored. */
  function redemptionOf(key: string, authorizationId: string): Redemption {
    return {
      redeem: async () => false,
      async useOf() {
        const tries = owed.take(key)
        try {
          for (const one of tries)
            if (one.authorizationId === authorizationId && (await storedBy(one)) !== null)
              return { successor: one.refreshToken }
          return 'revoked'
        } catch (error) {
          owed.owe(key, tries)
          throw error
        }
      },
      noteUnanswered: (refreshToken) => owed.owe(key, [{ authorizationId, refreshToken }]),
    }
  }

  return {
    spend({ kind, handle }) {
      const key = `${kind} ${handle}`
      return {
        kind,
        handle,
        // Stored at last, behind this very try.
        ...(owed.of(key).length === 0 ? {} : { refusal: tryAgain() }),
        noteUnanswered: ({ authorization: { id }, refreshToken }) =>
          owed.owe(key, [{ authorizationId: id!, refreshToken }]),
      }
    },
    async find({ kind, handle }, client) {
      const key = `${kind} ${handle}`
      for (const one of owed.of(key)) {
        const stored = await storedBy(one)
        if (stored === null || !isOfClient(stored.clientId, stored.createdAt!, client)) continue
        const { clientId: _clientId, createdAt: _createdAt, ...granted } = stored
        const spend: RedeemableSpend = { kind, handle, redemption: redemptionOf(key, one.authorizationId) }
        return { ...granted, spends: [spend] }
      }
      return null
    },
  }
}

function tryAgain(): OAuthError {
  return new OAuthError('temporarily_unavailable', 'what came of the request is being stored; try again')
}
