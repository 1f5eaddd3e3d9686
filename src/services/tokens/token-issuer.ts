/**
 * The only mint. It turns what a grant established into tokens: checks again that all of it is the client's,
 * prepares everything that can fail, and then spends and stores in one transaction. A crash leaves either
 * everything as it was, or everything done.
 */
import type { Call } from '../../doors/back-channel.ts'
import type { Client } from '../../doors/client.ts'
import type { Authorization, Granted } from '../../doors/facts.ts'
import type { Bag } from '../../protocol/bag.ts'
import type { NewEvent } from '../../events.ts'
import { OAuthError } from '../../protocol/errors.ts'
import { authorizationIdOf } from '../../protocol/handle.ts'
import { createUuid } from '../../protocol/uuid.ts'
import { formatScope, OPENID_SCOPES } from '../../protocol/scope.ts'
import type { SignAccessToken } from './access-token-signer.ts'
import type { Audiences } from './audiences.ts'
import type { AuditTrail } from '../audit/audit.ts'
import { AUTHORIZATION_CODE, AUTHORIZATION_ID } from './names.ts'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { StoreIssuance } from './issue-transaction.ts'
import { createOpaqueToken } from './opaque-tokens.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import type { SubjectOf } from './subjects.ts'

export interface TokenIssuer {
  /** The token response of RFC 6749 §5.1. Throws `OAuthError`; nothing is spent then. */
  issue(granted: Granted, call: Call): Promise<Bag>
}

export interface TokenIssuerOptions {
  issuer: string
  doors: DoorRegistry
  audiences: Audiences
  subjectOf: SubjectOf
  sign: SignAccessToken
  refreshTokens: RefreshTokens
  store: StoreIssuance
  audit: AuditTrail
}

export function createTokenIssuer(options: TokenIssuerOptions): TokenIssuer {
  const { issuer, doors, audiences, subjectOf, sign, refreshTokens, store, audit } = options

  const mayRefresh = ({ refreshable, subject }: Granted, client: Client): boolean =>
    refreshable === true &&
    subject !== undefined &&
    client.grantTypes.has('refresh_token') &&
    doors.grants.has('refresh_token')

  return {
    async issue(granted, call) {
      for (const policy of doors.all('policy')) await policy(granted, call)
      const { client } = call
      assertScopes(granted, call)
      const { scopes, resources, approvedResources = resources, continues } = granted
      const within = continues?.authorization.resources
      const approved = await audiences.resolve(client, scopes, approvedResources, within)
      const { audience, lifetime, format } =
        resources === approvedResources
          ? approved
          : await audiences.resolve(client, scopes, resources, approved.audience)
      const authorization = authorizationOf(granted, client)

      const now = Date.now()
      const iat = Math.floor(now / 1000)
      const scope = formatScope(scopes)
      const claims = await doors.withContributions('access_token', authorization, {
        iss: issuer,
        sub: granted.subject === undefined ? client.clientId : subjectOf(granted.subject, client),
        aud: audience.length === 1 ? audience[0] : audience,
        client_id: client.clientId,
        scope,
        iat,
        exp: iat + lifetime,
        jti: createUuid(now),
        // Owned also where there is none, so that no contribution can name one.
        [AUTHORIZATION_ID]: authorization.id,
      })
      const opaque = format === 'opaque' ? createOpaqueToken(authorization.id) : undefined
      const accessToken = opaque ?? (await sign(claims))
      const refreshToken = mayRefresh(granted, client)
        ? refreshTokens.create(authorization.id!, continues?.refreshToken)
        : undefined
      const response = await doors.withContributions('tokenResponse', authorization, {
        // In the two spellings of the seed specification (§2); it is compared without case (RFC 6749 §5.1).
        token_type: granted.subject === undefined ? 'Bearer' : 'bearer',
        access_token: accessToken,
        expires_in: lifetime,
        refresh_token: refreshToken,
        scope,
      })

      const handedOut = await store({
        authorization,
        authenticated: !client.isPublic(),
        audience: approved.audience,
        spends: granted.spends ?? [],
        continues,
        refreshToken,
        opaque: opaque === undefined ? undefined : { token: opaque, claims },
      })
      audit.observe(issued(authorization, call))
      return handedOut === refreshToken ? response : { ...response, refresh_token: handedOut }
    },
  }
}

function issued({ id, clientId, subject }: Authorization, { wire }: Call): NewEvent {
  const grantType = { grant_type: String(wire['grant_type'] ?? '') }
  const details = id === undefined ? grantType : { ...grantType, authorization: id }
  return { type: 'token.issued', client: clientId, user: subject, details }
}

/** The one that is continued, as far as it is granted again; the one that a code was made for; else a new one. */
function authorizationOf(granted: Granted, client: Client): Authorization {
  const { continues, subject, spends = [] } = granted
  const base = { ...granted, clientId: client.clientId }
  if (continues !== undefined) {
    const { id, clientId, createdAt } = continues.authorization
    if (id === undefined || clientId !== client.clientId || continues.authorization.subject !== subject)
      throw new Error('only the client and the user of an Authorization can go on from it')
    return { ...base, id, ...(createdAt === undefined ? {} : { createdAt }) }
  }
  if (subject === undefined) return base
  const code = spends.find(({ kind }) => kind === AUTHORIZATION_CODE)
  return { ...base, id: code === undefined ? createUuid() : authorizationIdOf(code.handle) }
}

/** No grant, ours or a stranger's, gives a client what is not registered for it. */
function assertScopes({ scopes, subject, continues }: Granted, { client }: Call): void {
  if (scopes.size === 0) throw new OAuthError('invalid_scope', 'nothing would be granted')
  for (const scope of scopes) {
    const ofUsers = subject !== undefined && OPENID_SCOPES.has(scope)
    const approved = continues === undefined || continues.authorization.scopes.has(scope)
    if (!approved || !(ofUsers || client.grantableScopes.has(scope)))
      throw new OAuthError('invalid_scope', 'the client may not have this scope')
  }
}
