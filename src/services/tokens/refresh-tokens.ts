/**
 * Refresh tokens: what one that is presented is good for, and by what it is followed. A retry whose answer was lost
 * gets the same successor (docs/adr/0032); any other use of a consumed one is a replay (RFC 9700 §4.14.2).
 */
import { hash } from 'node:crypto'
import type { Authorization } from '../../doors/facts.ts'
import { hashOf, isSameHash } from '../../protocol/handle.ts'
import { secondsLeft } from '../../protocol/seconds-left.ts'
import type { Database } from '../../store/database.ts'
import type { Query } from '../../store/statement.ts'
import { isUnavailable } from '../../store/failures.ts'
import { statements, type RefreshTokenRow } from '../../store/refresh-tokens.ts'
import type { OpaqueRow } from '../../store/tokens.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import { toAuthorization } from './stored-authorization.ts'
import {
  createRefreshToken,
  followedBy,
  isTagged,
  parseRefreshToken,
  TAIL_BYTES,
  tailOf,
  type RefreshTokenForm,
} from './refresh-token-form.ts'

/**
 * What a refresh token is good for now; a retry gets the `successor` that it was replaced by. One that is `overtaken` was
 * sent before the last one was used that is spent now, or with its key: that proves nothing against anybody.
 */
export type Use =
  | 'current'
  | 'expired'
  | 'revoked'
  | 'replayed'
  | 'overtaken'
  | { readonly successor: string }

/** Who presents a refresh token, and since when. */
export interface Presentation {
  /** By a client that has proven who it is. */
  readonly authenticated: boolean
  /** Of a public client's that is bound by now: whether the key is shown. Who lacks it tries nothing again; who has it is no thief. */
  readonly key?: 'shown' | 'missing' | undefined
  /** When it came, by `performance.now()`. */
  readonly at: number
}

/** Tokens: a database that is away leaves so many retries at most without their bound. */
const MAX_UNANSWERED = 10_000
/** Milliseconds in which a client that tries again does so once more, here and not at another process. */
const UNANSWERED_FOR = 60_000

export interface FoundRefreshToken {
  readonly authorization: Authorization
  readonly use: Use
}

export interface RefreshTokens {
  /** A new one, of the Authorization with this id: its first, or the one that follows `predecessor`. */
  create(authorizationId: string, predecessor?: string): string
  /** Null for what we never gave out. */
  find(token: string): Promise<FoundRefreshToken | null>
  /** Seconds that the next refresh token of the Authorization lives. */
  lifetime(of: Pick<Authorization, 'createdAt' | 'notAfter'>): number
  /**
   * Puts `successor` in the place of `token`, with an opaque access token where there is one (its hash, claims and end);
   * false when that is not current any more. A token that follows itself goes on living.
   * @internal
   */
  rotate(query: Query, rotation: Rotation): Promise<boolean>
  /**
   * Writes a current one once more, so that it is stored wherever commits wait to be; false when it was used.
   * @internal
   */
  confirm(query: Query, token: string): Promise<boolean>
  /** What a token is good for that could not be replaced. */
  useOf(token: string, by: Presentation): Promise<Use>
  /** That nobody knows what became of a token, since whoever presented it is told 503. */
  noteUnanswered(token: string): void
}

/** @internal */
export interface Rotation {
  token: string
  successor: string
  /** Seconds. */
  lifetime: number
  opaque?: OpaqueRow | undefined
}

/** @internal */
export interface RefreshTokensOptions {
  database: Database
  box: SecretBox
  /** Seconds: how long a public client's retry is answered (0: nobody's is), how long one lives unused, and how long all of a family. */
  reuseInterval: number
  idle: number
  expire: number
}

/** @internal */
export function createRefreshTokens(options: RefreshTokensOptions): RefreshTokens {
  const { database, box, reuseInterval, idle, expire } = options
  /** By their hashes. However long a database takes to find its tongue again, what it kept us from saying is no theft. */
  const unanswered = createBoundedCache<true>(MAX_UNANSWERED, {
    ttl: Math.max(UNANSWERED_FOR, reuseInterval * 1000),
  })

  /** Null for one that the family does not know, and that we may not have made: nothing follows from it. */
  function judge(
    row: RefreshTokenRow,
    token: string,
    form: RefreshTokenForm,
    { authenticated, key, waited }: Omit<Presentation, 'at'> & { waited: number },
  ): Use | null {
    if (isSameHash(row.hash, form.hash)) {
      if (row.revokedAt !== null) return 'revoked'
      return row.expiresAt.getTime() > Date.now() ? 'current' : 'expired'
    }
    const successor = row.sealed ? open(row.sealed, token) : null
    const isPredecessor = successor !== null && isSameHash(hashOf(successor), row.hash)
    const isAncestor = form.generation < row.generation && isTagged(token, box)
    if (!isPredecessor && !isAncestor) return null
    if (row.revokedAt !== null) return 'revoked'
    if (reuseInterval === 0) return 'replayed'
    // Of a read that began before the token was replaced, the age is less than nothing.
    const cameBefore = row.age <= waited
    if (!isPredecessor) return cameBefore || key === 'shown' ? 'overtaken' : 'replayed'
    const isEarly = key !== 'missing' && row.age <= reuseInterval * 1000
    const isRetry = authenticated || key === 'shown' || cameBefore || isEarly || unanswered.has(form.hash)
    if (!isRetry) return 'replayed'
    return row.expiresAt.getTime() > Date.now() ? { successor } : 'expired'
  }

  async function find(token: string, by: Presentation): Promise<FoundRefreshToken | null> {
    const form = parseRefreshToken(token)
    if (form === null) return null
    // Before it is asked: PostgreSQL's clock stands still for all that is asked at once.
    const waited = performance.now() - by.at
    const [row] = await database.query(statements.find, [form.authorizationId]).catch((error: unknown) => {
      if (isUnavailable(error)) noteUnanswered(token)
      throw error
    })
    if (row === undefined) return null
    const use = judge(row, token, form, { ...by, waited })
    return use === null ? null : { authorization: toAuthorization(row), use }
  }

  function noteUnanswered(token: string): void {
    unanswered.set(hashOf(token), true)
  }

  return {
    create(authorizationId, predecessor) {
      const before = predecessor === undefined ? null : parseRefreshToken(predecessor)
      return createRefreshToken(authorizationId, before === null ? 0 : before.generation + 1, box)
    },
    find: async (token) => find(token, { authenticated: false, at: performance.now() }),
    useOf: async (token, by) => (await find(token, by))?.use ?? 'revoked',
    noteUnanswered,
    async confirm(query, token) {
      const { authorizationId, hash } = parseRefreshToken(token)!
      return (await query(statements.confirm, [authorizationId, hash])).length > 0
    },
    lifetime: ({ createdAt = Date.now(), notAfter }) =>
      secondsLeft(notAfter, secondsLeft(createdAt + expire * 1000, idle)),
    async rotate(query, { token, successor, lifetime, opaque }) {
      const form = parseRefreshToken(token)
      if (form === null) return false
      const given = {
        id: form.authorizationId,
        hash: form.hash,
        successor: hashOf(successor),
        sealed: successor === token ? null : seal(successor, token),
        lifetime,
      }
      const { rotate, rotateForOpaque } = statements
      const rows =
        opaque === undefined
          ? await query(rotate, rotate.values(given))
          : await query(rotateForOpaque, rotateForOpaque.values({ ...opaque, ...given }))
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
