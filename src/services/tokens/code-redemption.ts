/** How an authorization code is spent: by one statement that takes it away and stores its Authorization with its tokens. */
import { hashOf, parseHandle } from '../../protocol/handle.ts'
import { statements } from '../../store/authorization-codes.ts'
import type { Query } from '../../store/statement.ts'
import type { Owed } from './owed.ts'
import { opaqueRow, type RedeemableSpend } from './redemption.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import { toRow } from './stored-authorization.ts'

/** What of `Granted.spends` stands for this code. */
export type SpendCode = (code: string) => RedeemableSpend

export function createCodeRedemption(query: Query, refreshes: RefreshTokens, owed: Owed<string>): SpendCode {
  /** Whether nobody has used it, so that it only came too late. A used one is gone; an earlier version kept it, with `spentAt`. */
  async function isUnused(code: string): Promise<boolean> {
    const { authorizationId, hash } = parseHandle(code)!
    const [row] = await query(statements.find, [authorizationId, hash])
    return row !== undefined && row.spentAt === null
  }

  return (code) => ({
    kind: 'authorization_code',
    handle: code,
    redemption: {
      async redeem(query, { authorization, audience, refreshToken, opaque }) {
        const given = {
          ...toRow(authorization, audience),
          code: hashOf(code),
          refreshToken: refreshToken === undefined ? null : hashOf(refreshToken),
          refreshLifetime: refreshes.lifetime(authorization),
        }
        const { exchange, exchangeForOpaque } = statements
        const rows =
          opaque === undefined
            ? await query(exchange, exchange.values(given))
            : await query(exchangeForOpaque, exchangeForOpaque.values({ ...given, ...opaqueRow(opaque) }))
        return rows.length > 0
      },
      /** One that was spent is good for what was stored for it and never handed out. */
      async useOf() {
        const tokens = owed.take(code)
        try {
          for (const successor of tokens)
            if ((await refreshes.find(successor))?.use === 'current') return { successor }
          return (await isUnused(code)) ? 'expired' : 'replayed'
        } catch (error) {
          owed.owe(code, tokens)
          throw error
        }
      },
      noteUnanswered(refreshToken) {
        if (refreshToken !== undefined) owed.owe(code, [refreshToken])
      },
    },
  })
}
