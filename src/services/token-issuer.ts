/**
 * The only mint. It turns what a grant established into tokens: checks again that all of it is the client's,
 * prepares everything that can fail, and then spends and stores in one transaction. A crash leaves either
 * everything as it was, or everything done.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import type { Authorization, Bag, Call, Granted } from '../doors.ts'
import { OAuthError } from '../protocol/errors.ts'
import { createJti } from '../protocol/jti.ts'
import { formatScope } from '../protocol/scope.ts'
import { statements as artifacts } from '../store/artifacts.ts'
import type { Database, Query } from '../store/database.ts'
import { statements } from '../store/tokens.ts'
import type { SignAccessToken } from './access-token-signer.ts'
import type { Targets } from './audience.ts'
import type { DoorRegistry } from './door-registry.ts'
import type { SecretBox } from './secret-box.ts'

export interface TokenIssuer {
  /** The token response of RFC 6749 §5.1. Throws `OAuthError`; nothing is spent then. */
  issue(granted: Granted, call: Call): Promise<Bag>
}

export interface TokenIssuerOptions {
  issuer: string
  database: Database
  box: SecretBox
  doors: DoorRegistry
  targets: Targets
  sign: SignAccessToken
}

/** Opaque access tokens begin like this, so that scanners find a leaked one. */
export const OPAQUE_PREFIX = 'lka_'
/** The claim by which a token names its Authorization. */
export const AUTHORIZATION_ID = 'authorization_id'

/** How an opaque token is looked up: 256 random bits need no slower hash. */
export function hashOpaque(token: string): string {
  return hash('sha256', token, 'base64url')
}

/** One statement that an issuance needs, in the order in which it must run. */
type Write = (query: Query) => Promise<void>

export function createTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const { issuer, database, box, doors, targets, sign } = options

  const spend =
    (kind: string, handle: string): Write =>
    async (query) => {
      const [spent] = await query(artifacts.spend, [kind, box.hashes(handle)])
      if (spent === undefined) throw new OAuthError('invalid_grant', 'it has expired or was used before')
    }

  const storeAuthorization =
    (authorization: Authorization, audience: readonly string[]): Write =>
    async (query) => {
      const { id, clientId, subject, scopes, parameters, authentication } = authorization
      const values = [id, clientId, subject, [...scopes], audience, parameters ?? {}, authentication ?? null]
      await query(statements.insertAuthorization, values)
    }

  const storeOpaque =
    (token: string, claims: Bag): Write =>
    async (query) => {
      const expiresAt = new Date(((claims['exp'] as number) + 1) * 1000)
      await query(statements.insertAccessToken, [hashOpaque(token), claims, expiresAt])
    }

  async function commit(writes: readonly Write[]): Promise<void> {
    if (writes.length === 1) await writes[0]!(database.query)
    else if (writes.length > 1)
      await database.transaction(async (query) => {
        for (const write of writes) await write(query)
      })
  }

  return {
    async issue(granted, call) {
      for (const policy of doors.all('policy')) await policy(granted, call)
      const { client } = call
      assertScopes(granted, call)
      const { audience, lifetime, format } = await targets.resolve(client, granted.scopes, granted.resources)
      const authorization: Authorization = {
        ...granted,
        clientId: client.clientId,
        ...(granted.subject === undefined ? {} : { id: randomUUID() }),
      }

      const now = Date.now()
      const iat = Math.floor(now / 1000)
      const scope = formatScope(granted.scopes)
      const claims = await doors.extended('access_token', authorization, {
        iss: issuer,
        sub: granted.subject ?? client.clientId,
        aud: audience.length === 1 ? audience[0] : audience,
        client_id: client.clientId,
        scope,
        iat,
        exp: iat + lifetime,
        jti: createJti(now),
        // Owned also where there is none, so that no contribution can name one.
        [AUTHORIZATION_ID]: authorization.id,
      })
      const accessToken =
        format === 'jwt' ? await sign(claims) : OPAQUE_PREFIX + randomBytes(32).toString('base64url')
      const response = await doors.extended('tokenResponse', authorization, {
        token_type: granted.subject === undefined ? 'Bearer' : 'bearer',
        access_token: accessToken,
        expires_in: lifetime,
        scope,
      })

      await commit([
        ...(granted.spends ?? []).map(({ kind, handle }) => spend(kind, handle)),
        ...(authorization.id === undefined ? [] : [storeAuthorization(authorization, audience)]),
        ...(format === 'opaque' ? [storeOpaque(accessToken, claims)] : []),
      ])
      return response
    },
  }
}

/** No grant, ours or a stranger's, gives a client what is not registered for it. */
function assertScopes({ scopes }: Granted, { client }: Call): void {
  if (scopes.size === 0) throw new OAuthError('invalid_scope', 'nothing would be granted')
  for (const scope of scopes) {
    if (!client.grantableScopes.has(scope))
      throw new OAuthError('invalid_scope', 'the client may not have this scope')
  }
}
