/**
 * What a token request presents that is good once and is spent by the very statement that stores what it gives: an
 * authorization code, a refresh token. Artifacts of plugins are spent beside that.
 */
import type { Authorization, Spend } from '../../doors/facts.ts'
import type { Bag } from '../../protocol/bag.ts'
import type { Query } from '../../store/statement.ts'
import type { OpaqueRow } from '../../store/tokens.ts'
import { parseOpaqueToken } from './opaque-tokens.ts'
import type { Use } from './refresh-tokens.ts'

/** What is issued and has to be stored. */
export interface Issued {
  readonly authorization: Authorization
  /** Identifiers of the resources that were approved. */
  readonly audience: readonly string[]
  /** A new one, to go with the Authorization. */
  readonly refreshToken?: string | undefined
  /** An access token that is looked up, with the claims it stands for. */
  readonly opaque?: Opaque | undefined
}

export interface Opaque {
  readonly token: string
  readonly claims: Bag
}

export interface Redemption {
  /** Spends it and stores what it gives; false when it is not as good as it was when it was looked at. */
  redeem(query: Query, issued: Issued): Promise<boolean>
  /**
   * What it is good for that could not be redeemed; `authenticated`: whether its client has proven who it is. Without a successor, what
   * was stored has no refresh token.
   */
  useOf(authenticated: boolean): Promise<Use | { readonly successor: undefined }>
  /** That nobody knows whether it was redeemed, or that the refresh token that it gave was not handed out. */
  noteUnanswered(refreshToken: string | undefined): void
}

/** One of `Granted.spends` that knows how it is spent. */
export interface RedeemableSpend extends Spend {
  readonly redemption: Redemption
}

export function isRedeemable(spend: Spend): spend is RedeemableSpend {
  return 'redemption' in spend
}

export function opaqueRow({ token, claims }: Opaque): OpaqueRow {
  const { authorizationId: id, hash: opaqueHash } = parseOpaqueToken(token)!
  const opaqueExpiresAt = new Date(((claims['exp'] as number) + 1) * 1000)
  return { id, opaqueHash, opaqueClaims: claims, opaqueExpiresAt }
}
