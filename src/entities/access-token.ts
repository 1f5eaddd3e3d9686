/** Access tokens that need a row: opaque ones, and signed ones that were revoked before their end. */
import { defineEntity, p } from './define.ts'
import { NIL } from '../protocol/uuid.ts'

const AccessTokenSchema = defineEntity({
  name: 'AccessToken',
  tableName: 'access_tokens',
  properties: {
    /** SHA-256 of the token, base64url: the token itself is never stored. */
    hash: p.text().primary(),
    /** By which it is found, as it stands in the token; a random one for a token that has no Authorization. */
    authorizationId: p.uuid().primary().default(NIL),
    /** The claims that a signed token would carry (RFC 9068 §2.2). */
    claims: p.json<Record<string, unknown>>(),
    expiresAt: p.datetime().index(),
    revokedAt: p.datetime().nullable(),
  },
})

/** An opaque access token. */
export class AccessToken extends AccessTokenSchema.class {}
AccessTokenSchema.setClass(AccessToken)

const RevokedTokenSchema = defineEntity({
  name: 'RevokedToken',
  tableName: 'revoked_tokens',
  properties: {
    jti: p.text().primary(),
    expiresAt: p.datetime().index(),
  },
})

/** The `jti` of a signed token that was revoked, kept until the token has expired. */
export class RevokedToken extends RevokedTokenSchema.class {}
RevokedTokenSchema.setClass(RevokedToken)
