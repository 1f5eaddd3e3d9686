/**
 * Authorization codes: made when a request is approved, read when one is presented; `code-redemption.ts` spends them. A spent one
 * is gone, and known again by its proof.
 */
import type { Client } from '../../doors/client.ts'
import { hash } from 'node:crypto'
import type { AuthorizationRequest } from '../../doors/approval.ts'
import type { Granted } from '../../doors/facts.ts'
import { endOf } from '../../doors/parents.ts'
import { grantedFromJson, grantedToJson } from '../../doors/stored-facts.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { createHandle, parseHandle } from '../../protocol/handle.ts'
import { createUuid } from '../../protocol/uuid.ts'
import { secondsLeft } from '../../protocol/seconds-left.ts'
import { statements } from '../../store/authorization-codes.ts'
import { statements as authorizations } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { statements as sessions } from '../../store/sessions.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import { createCodeRedemption } from './code-redemption.ts'
import type { Owed } from './owed.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import type { EndReplayed } from './replays.ts'
import type { ArtifactOf, SpendArtifact } from './spent-artifacts.ts'

const MOST_JOINED = 5000
/** Between the proofs of one code; `authorization-find-by-code` takes them apart. */
const BETWEEN = '.'

/** What a code is bound to. */
export interface CodeBinding {
  readonly clientId: string
  /** Null where none is shown. */
  readonly redirectUri: string | null
  /** RFC 7636; null when the request had none. */
  readonly codeChallenge: string | null
}

/** Whether it is still good is for the statement that spends it. */
export interface FoundCode extends CodeBinding {
  /** With what spends the code. */
  readonly granted: Granted
  /** By the rule under which it was made (`leavesOutRedirectUri`). */
  readonly mayComeWithoutRedirectUri: boolean
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

/** Whether a code of this client may come without its redirect URI, which PKCE protects as well (OAuth 2.1 §4.1.3). */
export function leavesOutRedirectUri({ metadata }: Client, codeChallenge: string | null): boolean {
  return codeChallenge !== null && metadata['require_redirect_uri_with_code'] === false
}

export interface AuthorizationCodes {
  /**
   * Stores what was approved, and spends what goes with it; returns the code. Throws `login_required` when the session has ended meanwhile, and
   * `consent_required` when what was allowed was taken back.
   */
  create(granted: Granted, request: AuthorizationRequest): Promise<string>
  /**
   * The same for who answers with tokens at once: a code that nobody is told, as what is granted with what spends it. So it
   * ends with the session and the consent up to the moment in which it is issued.
   */
  createOwn(granted: Granted, request: AuthorizationRequest): Promise<Granted>
  /** Null for what we never gave out, and for what was spent. */
  find(code: string): Promise<FoundCode | null>
  /**
   * For a code that is not found, if it was spent and was bound to just this: what was granted, where that was not handed out
   * (docs/adr/0032); else it ends what the code gave, and is null.
   */
  findOwedOrEnd(code: string, binding: CodeBinding): Promise<FoundCode | null>
}

/** @internal */
export interface AuthorizationCodesOptions {
  database: Database
  /** Seconds. */
  lifetime: number
  endReplayed: EndReplayed
  refreshTokens: RefreshTokens
  /** Refresh tokens, by their codes. */
  owed: Owed<string>
  spendArtifact: SpendArtifact
  artifactOf: ArtifactOf
}

/** @internal */
export function createAuthorizationCodes(options: AuthorizationCodesOptions): AuthorizationCodes {
  const { database, lifetime, endReplayed, refreshTokens, owed, spendArtifact, artifactOf } = options
  const spend = createCodeRedemption(database.query, refreshTokens, owed)
  /** What is noted at the sessions. */
  const joined = createBoundedCache<true>(MOST_JOINED)
  const lifetimeFor = ({ metadata }: Client): number =>
    Math.min(lifetime, (metadata['authorization_code_lifetime'] as number | undefined) ?? lifetime)

  /** Why there can be no code. */
  async function endedMeanwhile(sid: string | undefined): Promise<OAuthError> {
    const [open] = await database.query(sessions.isOpen, [sid])
    return open === undefined
      ? new OAuthError('login_required', 'the session ended meanwhile')
      : new OAuthError('consent_required', 'what was allowed has been taken back')
  }

  /**
   * Once for each session, client and consent that a process sees: who takes access back has the session forget the client. Where there is no
   * consent, nothing tells the time after that from the time before, and it is noted each time.
   */
  async function join(
    sid: string | undefined,
    { clientId, registeredAt }: Client,
    consent: string | null | undefined,
  ): Promise<void> {
    const key = `${sid} ${registeredAt} ${consent} ${clientId}`
    if (sid === undefined || joined.has(key)) return
    await database.query(sessions.join, [sid, clientId, registeredAt / 1000])
    if (consent != null) joined.set(key, true)
  }

  const create: AuthorizationCodes['create'] = async (approved, { client, redirectUri, parameters }) => {
    const code = createHandle(createUuid())
    const handle = parseHandle(code)!
    const { subject, consent, ...granted } = grantedToJson(approved)
    const sid = approved.authentication?.sid
    const binding = {
      clientId: client.clientId,
      redirectUri,
      codeChallenge: (parameters['code_challenge'] ?? null) as string | null,
    }
    const { insert } = statements
    const values = {
      ...handle,
      ...binding,
      subject,
      granted,
      sid,
      consent,
      proof: proofsOf(code, binding, client),
      lifetime: secondsLeft(endOf(approved), lifetimeFor(client)),
    }
    const store = async (query: Query): Promise<void> => {
      const rows = await query(insert, insert.values(values))
      if (rows.length === 0) throw await endedMeanwhile(sid)
    }
    const { spends = [] } = approved
    /** In one statement, where that can do it; whether it did. */
    const storeSpending = async (): Promise<boolean> => {
      const artifact = spends.length === 1 && database.distribution === null ? artifactOf(spends[0]!) : null
      if (artifact === null) return false
      const { insertSpending } = statements
      const rows = await database.query(insertSpending, insertSpending.values({ ...values, ...artifact }))
      return rows.length > 0
    }
    const joining = join(sid, client, consent)
    // At once, where nothing is spent: a code that nobody is told harms nobody.
    if (spends.length === 0) await Promise.all([store(database.query), joining])
    else {
      // Beside what is stored and not with it, which would hold a session that others come to from its consent.
      await joining
      if (!(await storeSpending()))
        await database.transaction(async (query) => {
          for (const one of spends) if (!(await spendArtifact(query, one))) throw answeredBefore()
          await store(query)
        })
    }
    return code
  }

  return {
    create,
    async createOwn(approved, request) {
      const code = await create(approved, request)
      const redeemable = spend(code)
      // Nobody was told it: where it is gone it has ended, and was not used by another.
      const redemption = { ...redeemable.redemption, useOf: async () => 'revoked' as const }
      const spends = [{ ...redeemable, redemption }]
      return { ...approved, id: parseHandle(code)!.authorizationId, spends }
    },
    async find(code) {
      const handle = parseHandle(code)
      if (handle === null) return null
      const [row] = await database.query(statements.find, [handle.authorizationId, handle.hash])
      if (row === undefined) return null
      const { clientId, redirectUri, codeChallenge = null, subject, granted, proof, createdAt } = row
      return {
        clientId,
        redirectUri,
        codeChallenge,
        mayComeWithoutRedirectUri: proof?.includes(BETWEEN) === true,
        granted: {
          ...grantedFromJson({ ...granted, subject }),
          id: handle.authorizationId,
          spends: [spend(code)],
        },
        createdAt: createdAt.getTime(),
      }
    },
    async findOwedOrEnd(code, binding) {
      const handle = parseHandle(code)
      if (handle === null) return null
      const values = [handle.authorizationId, proofOf(code, binding)]
      const [authorization] = await database.query(authorizations.findByCode, values)
      if (authorization === undefined) return null
      for (const token of owed.of(code)) {
        const found = await refreshTokens.find(token)
        if (found?.use !== 'current') continue
        const { clientId: _clientId, createdAt, ...granted } = found.authorization
        const mayComeWithoutRedirectUri = binding.redirectUri === null
        return {
          ...binding,
          mayComeWithoutRedirectUri,
          granted: { ...granted, spends: [spend(code)] },
          createdAt: createdAt!,
        }
      }
      await endReplayed(authorization)
      return null
    },
  }
}

function answeredBefore(): OAuthError {
  return new OAuthError('invalid_request_uri', 'the request has expired or was answered before')
}

/** One for each way in which it may be shown: that is settled here, whatever the client's rule is later. */
function proofsOf(code: string, binding: CodeBinding, client: Client): string {
  const proof = proofOf(code, binding)
  return leavesOutRedirectUri(client, binding.codeChallenge)
    ? `${proof}${BETWEEN}${proofOf(code, { ...binding, redirectUri: null })}`
    : proof
}

/** Only who holds the code, and knows all that it is bound to, can make it. */
function proofOf(code: string, { clientId, redirectUri, codeChallenge }: CodeBinding): string {
  return hash('sha256', JSON.stringify([code, clientId, redirectUri, codeChallenge]), 'base64url')
}
