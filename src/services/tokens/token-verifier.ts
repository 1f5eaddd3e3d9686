/**
 * Decides whether an access token of ours is good at this moment: its signature or row, its time, its revocation,
 * its client and its Authorization. What it is good for (audience, scopes, the caller) is for who asks.
 */
import { hash } from 'node:crypto'
import { instantsOf } from '../../../plugins/require-scope/expiry.ts'
import type { AccessTokenClaims, Authorization, Verified } from '../../doors/facts.ts'
import { parentInClaims } from '../../doors/parents.ts'
import type { Bag } from '../../protocol/bag.ts'
import type { AuthorizationRow } from '../../store/authorization-row.ts'
import { statements as authorizations } from '../../store/authorizations.ts'
import type { Database } from '../../store/database.ts'
import { statements } from '../../store/tokens.ts'
import { toAuthorization } from './stored-authorization.ts'
import { createBoundedCache } from '../bounded-cache.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { Directory } from '../directory.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { OwnJwt, OwnJwtVerifier } from './own-jwt-verifier.ts'
import { parseOpaqueToken, type OpaqueHandle } from './opaque-tokens.ts'
import type { ParentClaims } from './parent-claims.ts'
import type { Parents } from './parents.ts'
import type { Revocations } from './revocations.ts'
import { isOfClient } from '../clients/same-client.ts'
import { AUTHORIZATION_ID } from './names.ts'

export interface TokenVerifier {
  /** Null for a token that is not ours, malformed, expired or revoked. Throws 503 when it cannot be decided. */
  verify(token: string): Promise<Verified | null>
  /** The claims of a token that we issued, good or not any more; null for all others. */
  read(token: string): Promise<AccessTokenClaims | null>
}

interface Opaque {
  claims: AccessTokenClaims
  revoked: boolean
  row: AuthorizationRow | undefined
}

export interface TokenVerifierOptions {
  database: Database
  feed: ChangeFeed
  directory: Directory
  keyRing: KeyRing
  ownJwts: OwnJwtVerifier
  revocations: Revocations
  parents: Parents
  parentClaims: ParentClaims
}

const MAX_LENGTH = 16_384
const CACHED = 10_000

export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { database, feed, directory, keyRing, ownJwts, revocations, parents, parentClaims } = options
  /** Signatures that were found good, by the token's hash: checking one costs more than all the rest. */
  const signatures = createBoundedCache<OwnJwt & { claims: AccessTokenClaims }>(CACHED)

  async function readSigned(token: string): Promise<AccessTokenClaims | null> {
    const digest = hash('sha256', token, 'base64url')
    const known = signatures.get(digest)
    if (known !== undefined && keyRing.mayHaveSigned(known.kid, known.issuedAt)) return known.claims
    const found = await ownJwts.read(token, 'at+jwt')
    if (found === null || !isAccessTokenClaims(found.claims)) return null
    const { kid, issuedAt } = found
    const claims = parentClaims.read(found.claims)
    if (claims === null) return null
    signatures.set(digest, { kid, issuedAt, claims })
    return claims
  }

  async function readOpaque({ authorizationId, hash: digest, alone }: OpaqueHandle): Promise<Opaque | null> {
    const find = alone ? statements.accessToken : statements.grantedToken
    const [row] = await database.query(find, [authorizationId, digest])
    if (row === undefined || !isAccessTokenClaims(row.claims)) return null
    const claims = parentClaims.read(row.claims)
    if (claims === null) return null
    return {
      claims,
      revoked: row.tokenRevokedAt !== null,
      row: row.id ? row : undefined,
    }
  }

  /** `read` with the token, as it may be; undefined for a token that has none. */
  async function findAuthorization(
    claims: AccessTokenClaims,
    read: AuthorizationRow | undefined,
  ): Promise<Authorization | null | undefined> {
    const id = claims[AUTHORIZATION_ID]
    if (typeof id !== 'string') return undefined
    const row = read ?? (await database.query(authorizations.find, [id]))[0]
    return row === undefined || row.revokedAt !== null ? null : toAuthorization(row)
  }

  async function finish(
    claims: AccessTokenClaims,
    revoked: boolean,
    read?: AuthorizationRow,
  ): Promise<Verified | null> {
    const { issuedAt, expiresAt } = instantsOf(claims)
    if (revoked || Date.now() >= expiresAt) return null
    const client = await directory.findClient(claims.client_id)
    if (client === null || !isOfClient(claims.client_id, issuedAt, client)) return null
    const authorization = await findAuthorization(claims, read)
    if (authorization === null) return null
    const parent = authorization === undefined ? parentInClaims(claims) : authorization.parent
    if (parent !== undefined && !(await parents.stand(parent))) return null
    return { claims, ...(authorization === undefined ? {} : { authorization }) }
  }

  return {
    async verify(token) {
      if (token.length > MAX_LENGTH) return null
      // Also asked by hooks, which come before anything of ours has.
      await feed.catchUp()
      const opaque = parseOpaqueToken(token)
      if (opaque !== null) {
        const found = await readOpaque(opaque)
        return found === null ? null : finish(found.claims, found.revoked, found.row)
      }
      const claims = await readSigned(token)
      return claims === null ? null : finish(claims, revocations.isRevoked(claims.jti))
    },
    async read(token) {
      if (token.length > MAX_LENGTH) return null
      const opaque = parseOpaqueToken(token)
      return opaque === null ? readSigned(token) : ((await readOpaque(opaque))?.claims ?? null)
    },
  }
}

function isAccessTokenClaims(claims: Bag): claims is AccessTokenClaims {
  return (
    [claims['iss'], claims['sub'], claims['client_id'], claims['jti']].every(
      (one) => typeof one === 'string',
    ) &&
    Number.isSafeInteger(claims['iat']) &&
    Number.isSafeInteger(claims['exp'])
  )
}
