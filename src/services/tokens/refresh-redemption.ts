/** How a refresh token is spent: its successor takes its place, with what else is issued. */
import type { Continuation } from '../../doors/facts.ts'
import { opaqueRow, type Redemption } from './redemption.ts'
import type { RefreshTokens } from './refresh-tokens.ts'

export function redemptionOf(continues: Continuation, refreshes: RefreshTokens): Redemption {
  const { refreshToken: token, presentedAt, authorization: before } = continues
  return {
    async redeem(query, { authorization, refreshToken: successor, opaque }) {
      if (successor === undefined) throw new Error('a refresh token is replaced by another')
      const lifetime = refreshes.lifetime(authorization)
      return refreshes.rotate(query, { token, successor, lifetime, opaque: opaque && opaqueRow(opaque) })
    },
    async useOf(authenticated) {
      // Of a public client that was bound before, nobody comes so far without the key.
      const key = authenticated || before.binding === undefined ? undefined : 'shown'
      return refreshes.useOf(token, { authenticated, key, at: presentedAt ?? performance.now() })
    },
    noteUnanswered: () => refreshes.noteUnanswered(token),
  }
}
