/**
 * Refresh tokens: what one that is presented is good for, and by what it is followed. A retry whose answer was lost
 * gets the same successor; any other use of a consumed one is a replay (RFC 9700 §4.14.2).
 */
import { hash } from 'node:crypto'
import type { Authorization } from '../../doors.ts'
import { hashOf, isSameHash } from '../../protocol/handle.ts'
import type { Database, Query } from '../../store/database.ts'
import { statements, type RefreshTokenRow } from '../../store/refresh-tokens.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { toAuthorization } from './authorizations.ts'
import {
  createRefreshToken,
  followedBy,
  isTagged,
  parseRefreshToken,
  TAIL_BYTES,
  tailOf,
  type RefreshTokenForm,
} from './refresh-token-form.ts'

/** What a refresh token is good for now; a retry gets the `successor` that it was replaced by. */
export type Use = 'current' | 'expired' | 'revoked' | 'replayed' | { readonly successor: string }

export interface FoundRefreshToken {
  readonly authorization: Authorization
  readonly use: Use
}

export interface RefreshTokens {
  /** A new one, of the Authorization with this id: its first, or the one that follows `predecessor`. */
  create(authorizationId: string, predecessor?: string): string
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
  box: SecretBox
  /** Seconds: how long a retry is answered, how long one lives unused, and how long all of a family. */
  reuseInterval: number
  idle: number
  expire: number
}

/** @internal */
export function createRefreshTokens(options: RefreshTokensOptions): RefreshTokens {
  const { database, box, reuseInterval, idle, expire } = options

  /** Null for one that the family does not know, and that we may not have made: nothing follows from it. */
  function judge(row: RefreshTokenRow, token: string, form: RefreshTokenForm): Use | null {
    if (isSameHash(row.hash, form.hash)) {
      if (row.revokedAt !== null) return 'revoked'
      return row.expiresAt.getTime() > Date.now() ? 'current' : 'expired'
    }
    const successor = row.sealed ? open(row.sealed, token) : null
    const isPredecessor = successor !== null && isSameHash(hashOf(successor), row.hash)
    const isAncestor = form.generation < row.generation && isTagged(token, box)
    if (!isPredecessor && !isAncestor) return null
    if (row.revokedAt !== null) return 'revoked'
    // Of a read that began before the token was replaced, the age is less than nothing.
    const retried = reuseInterval > 0 && row.age <= reuseInterval * 1000
    return isPredecessor && retried ? { successor } : 'replayed'
  }

  async function find(token: string): Promise<FoundRefreshToken | null> {
    const form = parseRefreshToken(token)
    if (form === null) return null
    const [row] = await database.query(statements.find, [form.authorizationId])
    if (row === undefined) return null
    const use = judge(row, token, form)
    return use === null ? null : { authorization: toAuthorization(row), use }
  }

  return {
    create(authorizationId, predecessor) {
      const before = predecessor === undefined ? null : parseRefreshToken(predecessor)
      return createRefreshToken(authorizationId, before === null ? 0 : before.generation + 1, box)
    },
    find,
    useOf: async (token) => (await find(token))?.use ?? 'revoked',
    lifetime(createdAt = Date.now()) {
      const left = (createdAt - Date.now()) / 1000 + expire
      return Math.max(0, Math.min(idle, left))
    },
    async rotate(query, { token, successor, lifetime, opaque }) {
      const form = parseRefreshToken(token)
      if (form === null) return false
      const values = [form.authorizationId, form.hash, hashOf(successor), seal(successor, token), lifetime]
      const rows =
        opaque === undefined
          ? await query(statements.rotate, values)
          : await query(statements.rotateForOpaque, [...values, ...opaque])
      return rows.length > 0
    },
  }
}

/**
 * What only its holder has of the successor, under a pad that only who holds the predecessor can make: the database alone
 * gives no refresh token away. Each pad is used once, since a predecessor is replaced once.
 */
function seal(successor: string, predecessor: string): string {
  return underPad(tailOf(successor), predecessor).toString('base64url')
}

/** Something else for who does not hold the predecessor. */
function open(sealed: string, predecessor: string): string {
  return followedBy(predecessor, underPad(Buffer.from(sealed, 'base64url'), predecessor))
}

function underPad(tail: Buffer, predecessor: string): Buffer {
  const pad = hash('sha512', `latchkey refresh token successor\0${predecessor}`, 'buffer').subarray(
    0,
    TAIL_BYTES,
  )
  for (let at = 0; at < TAIL_BYTES; at++) pad[at]! ^= tail[at]!
  return pad
}
