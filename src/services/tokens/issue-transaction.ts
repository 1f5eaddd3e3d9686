/**
 * What is stored when tokens are issued: what was presented is spent and what it gives is kept, in one transaction,
 * and in one statement where that serves. A crash leaves either everything as it was, or everything done.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Granted, Spend } from '../../doors/facts.ts'
import { OAuthError } from '../../protocol/errors.ts'
import type { Binding } from '../../protocol/facts.ts'
import { hashOf } from '../../protocol/handle.ts'
import { isUuid } from '../../protocol/uuid.ts'
import { statements as authorizations } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { isUnavailable } from '../../store/failures.ts'
import { statements as refreshTokens } from '../../store/refresh-tokens.ts'
import { statements as sessions } from '../../store/sessions.ts'
import { statements as tokens } from '../../store/tokens.ts'
import { isApproved } from './owed-approvals.ts'
import { isRedeemable, opaqueRow, type Issued, type Opaque, type Redemption } from './redemption.ts'
import { redemptionOf } from './refresh-redemption.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import type { EndReplayed } from './replays.ts'
import { toRow } from './stored-authorization.ts'
import type { SpendArtifact } from './spent-artifacts.ts'

export interface Issuance extends Issued {
  /** Whether its client has proven who it is. */
  readonly authenticated: boolean
  /** What the Authorization is bound to from now on, where it was bound to nothing. */
  readonly binds?: Binding | undefined
  readonly granted: Pick<Granted, 'spends' | 'continues' | 'whileSignedIn'>
}

/**
 * Returns the refresh token to hand out: for a retry, the one that was handed out before. A code or refresh token that
 * was used before takes the whole Authorization down (RFC 9700 §2.1.1, §4.14.2), whether by a second or by a day.
 */
export type StoreIssuance = (issuance: Issuance) => Promise<string | undefined>

/** One statement that an issuance needs, in the order in which it must run. */
type Write = (query: Query) => Promise<void>

/** The code or the refresh token is not as good as it was when it was looked at, or was not good then either. */
class NoLongerGood extends Error {}

export function createIssueTransaction(
  database: Database,
  endReplayed: EndReplayed,
  spendOne: SpendArtifact,
  refreshes: RefreshTokens,
): StoreIssuance {
  const spendArtifact =
    (spend: Spend): Write =>
    async (query) => {
      if (!(await spendOne(query, spend))) throw spend.refusal ?? alreadySpent()
    }

  const redeem =
    (redemption: Redemption, issued: Issued): Write =>
    async (query) => {
      if (!(await redemption.redeem(query, issued))) throw new NoLongerGood()
    }

  const storeAuthorization =
    ({ authorization, audience }: Issued): Write =>
    async (query) => {
      const { consent, subject = '', parent } = authorization
      // The users of a plugin may be elsewhere, and have ids of their own form.
      const user = isUuid(subject) ? subject : null
      const ended = parent?.ended === undefined || parent.user !== subject ? null : new Date(parent.ended)
      const row = { ...toRow(authorization, audience), user, ended }
      const { insert, insertConsented } = authorizations
      if (consent === undefined) {
        if ((await query(insert, insert.values(row))).length === 0)
          throw new OAuthError(
            'invalid_grant',
            `it was used before, or its user is not there, or may not sign in${ended === null ? '' : ', or was signed out just now'}`,
          )
      } else if ((await query(insertConsented, insertConsented.values({ ...row, consent }))).length === 0)
        throw new OAuthError('invalid_grant', 'what was allowed has been taken back, or was used before')
    }

  /** Behind the Authorization, whose user it locks first, as who ends everything does: that waits then, or has been faster. */
  const stillSignedIn =
    (sid: string): Write =>
    async (query) => {
      if ((await query(sessions.keepOpen, [sid])).length === 0)
        throw new OAuthError('invalid_grant', 'the sign-in by which it was allowed has ended')
    }

  const storeRefreshToken =
    (token: string, { authorization }: Issued): Write =>
    async (query) => {
      await query(refreshTokens.insert, [authorization.id, hashOf(token), refreshes.lifetime(authorization)])
    }

  const bind =
    ({ authorization: { id }, binds }: Issuance): Write =>
    async (query) => {
      if ((await query(authorizations.bind, [id, binds])).length === 0) throw new NoLongerGood()
    }

  const storeOpaque =
    (opaque: Opaque): Write =>
    async (query) => {
      const { insertAccessToken } = tokens
      await query(insertAccessToken, insertAccessToken.values(opaqueRow(opaque)))
    }

  const spendsOf = ({ granted: { spends = [] } }: Issuance): Write[] =>
    spends.filter((spend) => !isRedeemable(spend)).map(spendArtifact)

  /** Of what goes on from an Authorization that there is. */
  const additionsTo = ({ opaque }: Issued): Write[] => (opaque === undefined ? [] : [storeOpaque(opaque)])

  /** The ladder of what an issuance needs. */
  function writesOf(issuance: Issuance, redemption: Redemption | undefined): Write[] {
    const { authorization, refreshToken } = issuance
    const { continues, whileSignedIn: sid } = issuance.granted
    const writes = spendsOf(issuance)
    if (redemption !== undefined) {
      const bound = issuance.binds === undefined ? [] : [bind(issuance)]
      return [...writes, redeem(redemption, issuance), ...bound]
    }
    if (continues === undefined && authorization.id !== undefined) {
      writes.push(storeAuthorization(issuance))
      if (sid !== undefined) writes.push(stillSignedIn(sid))
      if (refreshToken !== undefined) writes.push(storeRefreshToken(refreshToken, issuance))
    }
    return [...writes, ...additionsTo(issuance)]
  }

  async function commit(writes: readonly Write[]): Promise<void> {
    if (writes.length === 1) await writes[0]!(database.query)
    else if (writes.length > 1)
      await database.transaction(async (query) => {
        for (const write of writes) await write(query)
      })
  }

  /** The one of a code; or of a refresh token, unless it stays as it is. */
  function redemptionIn({
    granted: { spends = [], continues },
    refreshToken,
  }: Issuance): Redemption | undefined {
    const spend = spends.find(isRedeemable)
    if (spend !== undefined) return spend.redemption
    return continues === undefined || refreshToken === undefined
      ? undefined
      : redemptionOf(continues, refreshes)
  }

  /**
   * Whether the first use left it bound as this one would, or as this one has found it: a retry gets what that got, no key of its own, and
   * nothing without the key (docs/adr/0042).
   */
  async function standsAsBound({ authenticated, binds, granted: { continues } }: Issuance): Promise<boolean> {
    if (authenticated || continues === undefined) return true
    const found = await refreshes.find(continues.refreshToken)
    return isDeepStrictEqual(found?.authorization.binding, binds ?? continues.authorization.binding)
  }

  const confirming =
    (successor: string): Write =>
    async (query) => {
      if (!(await refreshes.confirm(query, successor))) throw new NoLongerGood()
    }

  /** The refresh token that a retry gets once more; whoever else comes second ends what the first one got. */
  async function handOutAgain(issuance: Issuance, redemption: Redemption): Promise<string | undefined> {
    const use = await redemption.useOf(issuance.authenticated)
    if (use === 'replayed') await endReplayed(issuance.authorization)
    if (typeof use !== 'object' || !(await standsAsBound(issuance))) throw alreadySpent()
    const { successor } = use
    const confirm = successor === undefined ? [] : [confirming(successor)]
    try {
      await commit([...confirm, ...spendsOf(issuance), ...additionsTo(issuance)])
    } catch (error) {
      if (error instanceof NoLongerGood) throw alreadySpent()
      // What was taken for a code or an approval is owed still, whatever kept it from being handed out.
      if (issuance.granted.continues === undefined || isUnavailable(error))
        redemption.noteUnanswered(successor)
      throw error
    }
    return successor
  }

  function noteUnanswered(issuance: Issuance, redemption: Redemption | undefined): void {
    redemption?.noteUnanswered(issuance.refreshToken)
    for (const spend of issuance.granted.spends ?? []) if (isApproved(spend)) spend.noteUnanswered(issuance)
  }

  return async (issuance) => {
    const redemption = redemptionIn(issuance)
    try {
      await commit(writesOf(issuance, redemption))
      return issuance.refreshToken
    } catch (error) {
      if (isUnavailable(error)) noteUnanswered(issuance, redemption)
      if (redemption === undefined) throw error
      if (error instanceof NoLongerGood) return handOutAgain(issuance, redemption)
      throw error
    }
  }
}

function alreadySpent(): OAuthError {
  return new OAuthError('invalid_grant', 'it has expired or was used before')
}
