/** How an authorization code is spent: by one statement that takes it away and stores its Authorization with its tokens. */
import { hashOf } from '../../protocol/handle.ts'
import { statements } from '../../store/authorization-codes.ts'
import type { Owed } from './owed.ts'
import { opaqueRow, type RedeemableSpend } from './redemption.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import { toRow } from './stored-authorization.ts'

/** What of `Granted.spends` stands for this code. */
export type SpendCode = (code: string) => RedeemableSpend

export function createCodeRedemption(refreshes: RefreshTokens, owed: Owed<string>): SpendCode {
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
          return 'replayed'
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
