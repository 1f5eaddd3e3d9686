/**
 * Refresh tokens: what one that is presented is good for, and by what it is followed. A retry whose answer was lost
 * gets the same successor; any other use of a consumed one is a replay (RFC 9700 §4.14.2).
 */
import { hash } from 'node:crypto'
import type { Authorization } from '../../doors.ts'
import {
  authorizationIdOf,
  createHandle,
  hashOf,
  parseHandle,
  secretOf,
  withSecret,
} from '../../protocol/handle.ts'
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
/** As long as a secret, and as a SHA-256. */
const PAD_BYTES = 32

/** @internal */
export function createRefreshTokens(options: RefreshTokensOptions): RefreshTokens {
  const { database, reuseInterval, idle, expire } = options

  function judge(row: RefreshTokenRow, token: string): Use {
    if (row.revokedAt !== null) return 'revoked'
    if (row.consumedAt === null) return row.expiresAt.getTime() > Date.now() ? 'current' : 'expired'
    const retried = row.consumedFor !== null && row.consumedFor <= reuseInterval * 1000
    if (!retried || !row.successor || row.successorConsumedAt !== null) return 'replayed'
    const successor = open(row.successor, token)
    return successor === null ? 'expired' : { successor }
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

/**
 * The successor's secret under a pad that only who holds the predecessor can make: the database alone gives no refresh
 * token away. Each pad is used once, since a predecessor is replaced once.
 */
function seal(successor: string, predecessor: string): string {
  return underPad(secretOf(successor, REFRESH_PREFIX), predecessor).toString('base64url')
}

/** Null for what an earlier version sealed in another way. */
function open(sealed: string, predecessor: string): string | null {
  const bytes = Buffer.from(sealed, 'base64url')
  return bytes.length === PAD_BYTES
    ? withSecret(predecessor, underPad(bytes, predecessor), REFRESH_PREFIX)
    : null
}

function underPad(secret: Buffer, predecessor: string): Buffer {
  const pad = hash('sha256', `latchkey refresh token successor\0${predecessor}`, 'buffer')
  for (let at = 0; at < PAD_BYTES; at++) pad[at]! ^= secret[at]!
  return pad
}
