/** Authorization codes: made when a request is approved, read when one is presented; `issuance.ts` spends them. */
import { randomUUID } from 'node:crypto'
import type { AuthorizationRequest, Granted } from '../../doors.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { createHandle, parseHandle } from '../../protocol/handle.ts'
import { statements } from '../../store/authorization-codes.ts'
import type { Database } from '../../store/database.ts'

/** What spends an authorization code, as `Granted.spends` names it. */
export const AUTHORIZATION_CODE = 'authorization_code'

/** What a code is bound to; whether it is still good is for the statement that spends it. */
export interface FoundCode {
  readonly clientId: string
  readonly redirectUri: string
  /** RFC 7636; null when the request had none. */
  readonly codeChallenge: string | null
  readonly granted: Granted
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

export interface AuthorizationCodes {
  /** Stores what was approved; returns the code. Throws `login_required` when the session has ended meanwhile. */
  create(granted: Granted, request: AuthorizationRequest): Promise<string>
  /** Null for what we never gave out. */
  find(code: string): Promise<FoundCode | null>
}

/**
 * `lifetime` in seconds.
 * @internal
 */
export function createAuthorizationCodes(database: Database, lifetime: number): AuthorizationCodes {
  return {
    async create({ subject, scopes, ...granted }, { client, redirectUri, parameters }) {
      const code = createHandle(randomUUID())
      const { authorizationId, hash } = parseHandle(code)!
      const rows = await database.query(statements.insert, [
        authorizationId, hash, client.clientId, subject, redirectUri, parameters['code_challenge'] ?? null,
        { ...granted, scopes: [...scopes] }, lifetime, granted.authentication?.sid,
      ])
      if (rows.length === 0) throw new OAuthError('login_required', 'the session ended meanwhile')
      return code
    },
    async find(code) {
      const handle = parseHandle(code)
      if (handle === null) return null
      const [row] = await database.query(statements.find, [handle.authorizationId, handle.hash])
      if (row === undefined) return null
      const { clientId, redirectUri, codeChallenge = null, subject, granted, createdAt } = row
      const { scopes, ...more } = granted as unknown as Omit<Granted, 'scopes'> & { scopes: string[] }
      return {
        clientId,
        redirectUri,
        codeChallenge,
        granted: { ...more, subject, scopes: new Set(scopes) },
        createdAt: createdAt.getTime(),
      }
    },
  }
} // prettier-ignore
