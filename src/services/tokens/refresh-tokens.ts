/**
 * Refresh tokens: what one that is presented is good for, and by what it is followed. A retry whose answer was lost
 * gets the same successor; any other use of a consumed one is a replay (RFC 9700 §4.14.2).
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Authorization } from '../../doors.ts'
import { authorizationIdOf, createHandle, hashOf, parseHandle } from '../../protocol/handle.ts'
import type { Database, Query } from '../../store/database.ts'
import { statements, type RefreshTokenRow } from '../../store/refresh-tokens.ts'
import { toAuthorization } from './authorizations.ts'

/** What a refresh token is good for now; a retry gets the `successor` that it was replaced by. */
export type Use = 'current' | 'expired' | 'revoked' | 'replayed' | { readonly successor: string }

export interface FoundRefreshToken {
  readonly authorization: Authorization
  readonly use: Use
}

export interface RefreshTokens {
  /** A new one, of the Authorization with this id. */
  create(authorizationId: string): string
  /** Null for what we never gave out. */
  find(token: string): Promise<FoundRefreshToken | null>
  /** Seconds that the first refresh token of an Authorization lives, or the next one after `createdAt`. */
  lifetime(createdAt?: number): number
  /**
   * Puts `successor` in the place of `token`, with an opaque access token where there is one (its hash, claims and end);
   * false when that is not current any more.
   * @internal
   */
  rotate(query: Query, rotation: Rotation): Promise<boolean>
  /** What a token is good for that could not be replaced. */
  useOf(token: string): Promise<Use>
}

/** @internal */
export interface Rotation {
  token: string
  successor: string
  /** Seconds. */
  lifetime: number
  /** The values of `insertAccessToken`. */
  opaque?: readonly unknown[] | undefined
}

/** @internal */
export interface RefreshTokensOptions {
  database: Database
  /** Seconds: how long a retry is answered, how long one lives unused, and how long all of a family. */
  reuseInterval: number
  idle: number
  expire: number
}

/** They begin like this, so that scanners find a leaked one. */
export const REFRESH_PREFIX = 'lkr_'

/** @internal */
export function createRefreshTokens(options: RefreshTokensOptions): RefreshTokens {
  const { database, reuseInterval, idle, expire } = options

  function judge(row: RefreshTokenRow, token: string): Use {
    if (row.revokedAt !== null) return 'revoked'
    if (row.consumedAt === null) return row.expiresAt.getTime() > Date.now() ? 'current' : 'expired'
    const retried = row.consumedFor !== null && row.consumedFor <= reuseInterval * 1000
    if (!retried || !row.successor || row.successorConsumedAt !== null) return 'replayed'
    return { successor: open(row.successor, token) }
  }

  async function find(token: string): Promise<FoundRefreshToken | null> {
    const handle = parseHandle(token, REFRESH_PREFIX)
    if (handle === null) return null
    const [row] = await database.query(statements.find, [handle.authorizationId, handle.hash])
    return row === undefined ? null : { authorization: toAuthorization(row), use: judge(row, token) }
  }

  return {
    create: (authorizationId) => createHandle(authorizationId, REFRESH_PREFIX),
    find,
    useOf: async (token) => (await find(token))?.use ?? 'revoked',
    lifetime(createdAt = Date.now()) {
      const left = (createdAt - Date.now()) / 1000 + expire
      return Math.max(0, Math.min(idle, left))
    },
    async rotate(query, { token, successor, lifetime, opaque }) {
      const id = authorizationIdOf(token, REFRESH_PREFIX)
      const values = [id, hashOf(token), hashOf(successor), seal(successor, token), lifetime]
      const rows =
        opaque === undefined
          ? await query(statements.rotate, values)
          : await query(statements.rotateForOpaque, [...values, ...opaque])
      return rows.length > 0
    },
  }
}

/** A key that only who holds the predecessor can derive: the database alone gives no refresh token away. */
function keyOf(predecessor: string): Buffer {
  return Buffer.from(hkdfSync('sha256', predecessor, '', 'latchkey refresh token successor', 32))
}

function seal(successor: string, predecessor: string): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keyOf(predecessor), iv)
  return Buffer.concat([iv, cipher.update(successor, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  )
}

function open(sealed: string, predecessor: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', keyOf(predecessor), bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(-16))
  return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8')
}
