/**
 * What is stored when tokens are issued: what was presented is spent and what it gives is kept, in one transaction,
 * and in one statement where that serves. A crash leaves either everything as it was, or everything done.
 */
import type { Authorization, Continuation } from '../../doors/facts.ts'
import type { Bag } from '../../protocol/bag.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { hashOf } from '../../protocol/handle.ts'
import { statements as artifacts } from '../../store/artifacts.ts'
import { statements as codes } from '../../store/authorization-codes.ts'
import { statements as authorizations } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { isUnavailable } from '../../store/failures.ts'
import { statements as refreshTokens } from '../../store/refresh-tokens.ts'
import { statements as tokens } from '../../store/tokens.ts'
import { AUTHORIZATION_CODE } from './names.ts'
import { parseOpaqueToken } from './opaque-tokens.ts'
import type { OwedCodes } from './owed-codes.ts'
import type { RefreshTokens, Use } from './refresh-tokens.ts'
import type { EndReplayed } from './replays.ts'
import type { SecretBox } from '../keys/secret-box.ts'

export interface Issuance {
  /** Stored unless it is continued, or has no `id`. */
  readonly authorization: Authorization
  /** Whether its client has proven who it is. */
  readonly authenticated: boolean
  readonly audience: readonly string[]
  readonly spends: readonly { kind: string; handle: string }[]
  readonly continues?: Continuation | undefined
  /** A new one, to go with the Authorization. */
  readonly refreshToken?: string | undefined
  /** An access token that is looked up, with the claims it stands for. */
  readonly opaque?: Opaque | undefined
}

interface Opaque {
  readonly token: string
  readonly claims: Bag
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
  box: SecretBox,
  refreshes: RefreshTokens,
  owed: OwedCodes,
): StoreIssuance {
  const spendArtifact =
    (kind: string, handle: string): Write =>
    async (query) => {
      const [spent] = await query(artifacts.spend, [kind, box.hashes(handle)])
      if (spent === undefined) throw alreadySpent()
    }

  const exchangeCode =
    (code: string, { authorization, audience, refreshToken, opaque }: Issuance): Write =>
    async (query) => {
      const refresh = refreshToken === undefined ? null : hashOf(refreshToken)
      const values = [...valuesOf(authorization, audience), hashOf(code), refresh, refreshes.lifetime()]
      const rows =
        opaque === undefined
          ? await query(codes.exchange, values)
          : await query(codes.exchangeForOpaque, [...values, ...valuesOfOpaque(opaque)])
      if (rows.length === 0) throw new NoLongerGood()
    }

  const storeAuthorization =
    ({ authorization, audience }: Issuance): Write =>
    async (query) => {
      const [values, { consent }] = [valuesOf(authorization, audience), authorization]
      if (consent === undefined) await query(authorizations.insert, values)
      else if ((await query(authorizations.insertConsented, [...values, consent])).length === 0)
        throw new OAuthError('invalid_grant', 'what was allowed has been taken back')
    }

  const storeRefreshToken =
    (token: string, { authorization }: Issuance): Write =>
    async (query) => {
      await query(refreshTokens.insert, [authorization.id, hashOf(token), refreshes.lifetime()])
    }

  const replaceRefreshToken =
    ({ refreshToken: token, authorization }: Continuation, successor: string, { opaque }: Issuance): Write =>
    async (query) => {
      const lifetime = refreshes.lifetime(authorization.createdAt)
      const rotation = { token, successor, lifetime, opaque: opaque && valuesOfOpaque(opaque) }
      if (!(await refreshes.rotate(query, rotation))) throw new NoLongerGood()
    }

  const storeOpaque =
    (opaque: Opaque): Write =>
    async (query) => {
      await query(tokens.insertAccessToken, [
        parseOpaqueToken(opaque.token)!.authorizationId,
        ...valuesOfOpaque(opaque),
      ])
    }

  /** The ladder of what an issuance needs. */
  function writesOf(issuance: Issuance): Write[] {
    const { authorization, continues, refreshToken, opaque } = issuance
    const writes: Write[] = []
    const code = codeOf(issuance.spends)
    for (const { kind, handle } of issuance.spends) {
      if (kind !== AUTHORIZATION_CODE) writes.push(spendArtifact(kind, handle))
    }
    if (code !== undefined) {
      return [...writes, exchangeCode(code, issuance)]
    } else if (continues !== undefined && refreshToken !== undefined) {
      return [...writes, replaceRefreshToken(continues, refreshToken, issuance)]
    } else if (continues === undefined && authorization.id !== undefined) {
      writes.push(storeAuthorization(issuance))
      if (refreshToken !== undefined) writes.push(storeRefreshToken(refreshToken, issuance))
    }
    return opaque === undefined ? writes : [...writes, storeOpaque(opaque)]
  }

  async function commit(writes: readonly Write[]): Promise<void> {
    if (writes.length === 1) await writes[0]!(database.query)
    else if (writes.length > 1)
      await database.transaction(async (query) => {
        for (const write of writes) await write(query)
      })
  }

  async function useOf({ continues, authenticated, spends }: Issuance): Promise<Use> {
    if (continues === undefined) return useOfCode(codeOf(spends))
    const { refreshToken, presentedAt: at = performance.now() } = continues
    return refreshes.useOf(refreshToken, { authenticated, at })
  }

  /** A code that was spent is good for what was stored for it and never handed out. */
  async function useOfCode(code: string | undefined): Promise<Use> {
    const tokens = code === undefined ? [] : owed.take(code)
    try {
      for (const successor of tokens)
        if ((await refreshes.find(successor))?.use === 'current') return { successor }
      return 'replayed'
    } catch (error) {
      if (code !== undefined) owed.owe(code, tokens)
      throw error
    }
  }

  /** The refresh token that a retry gets once more; whoever else comes second ends what the first one got. */
  async function handOutAgain(issuance: Issuance): Promise<string> {
    const use = await useOf(issuance)
    if (use === 'replayed') await endReplayed(issuance.authorization)
    if (typeof use !== 'object') throw alreadySpent()
    const { successor } = use
    const confirm: Write = async (query) => {
      if (!(await refreshes.confirm(query, successor))) throw new NoLongerGood()
    }
    const spends = issuance.spends.filter(({ kind }) => kind !== AUTHORIZATION_CODE)
    const continues = { authorization: issuance.authorization, refreshToken: successor }
    try {
      await commit([confirm, ...writesOf({ ...issuance, spends, continues, refreshToken: undefined })])
    } catch (error) {
      if (error instanceof NoLongerGood) throw alreadySpent()
      // What was taken for a code is owed still, whatever kept it from being handed out.
      if (issuance.continues === undefined || isUnavailable(error))
        noteUnanswered({ ...issuance, refreshToken: successor })
      throw error
    }
    return successor
  }

  async function storeOnce(issuance: Issuance): Promise<string | undefined> {
    try {
      await commit(writesOf(issuance))
      return issuance.refreshToken
    } catch (error) {
      if (isUnavailable(error)) noteUnanswered(issuance)
      if (error instanceof NoLongerGood) return handOutAgain(issuance)
      throw error
    }
  }

  /** What of it is stored nobody knows, nor has anybody got it. */
  function noteUnanswered({ continues, spends, refreshToken }: Issuance): void {
    const code = codeOf(spends)
    if (continues !== undefined) refreshes.noteUnanswered(continues.refreshToken)
    else if (code !== undefined && refreshToken !== undefined) owed.owe(code, [refreshToken])
  }

  return storeOnce
}

function codeOf(spends: Issuance['spends']): string | undefined {
  return spends.find(({ kind }) => kind === AUTHORIZATION_CODE)?.handle
}

function valuesOf(authorization: Authorization, audience: readonly string[]): unknown[] {
  const { id, clientId, subject, scopes, parameters, authentication } = authorization
  return [id, clientId, subject, [...scopes], audience, parameters ?? {}, authentication ?? null]
}

/** Hash, claims and end. */
function valuesOfOpaque({ token, claims }: Opaque): unknown[] {
  return [parseOpaqueToken(token)!.hash, claims, new Date(((claims['exp'] as number) + 1) * 1000)]
}

function alreadySpent(): OAuthError {
  return new OAuthError('invalid_grant', 'it has expired or was used before')
}
