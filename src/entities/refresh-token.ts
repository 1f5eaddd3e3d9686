/**
 * The refresh token that an Authorization has (RFC 6749 §1.5): each is followed by its successor, in its place. Those that
 * came before are known by what they say themselves.
 */
import { defineEntity, p } from './define.ts'

const RefreshTokenSchema = defineEntity({
  name: 'RefreshToken',
  tableName: 'refresh_tokens',
  properties: {
    authorizationId: p.uuid().primary(),
    /** SHA-256 of the token, base64url. */
    hash: p.text(),
    /** How many came before it. */
    generation: p.integer().default(0),
    /** What only its holder has of it, under a pad that only its predecessor yields: for a retry whose answer was lost. */
    sealed: p.text().nullable(),
    /** When it took its predecessor's place. */
    createdAt: p.datetime().defaultRaw('now()'),
    expiresAt: p.datetime(),
  },
})

export class RefreshToken extends RefreshTokenSchema.class {}
RefreshTokenSchema.setClass(RefreshToken)
