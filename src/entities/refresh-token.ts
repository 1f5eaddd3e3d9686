/** A refresh token (RFC 6749 §1.5). Those of one Authorization are a family: each is followed by its successor. */
import { defineEntity, p } from '@mikro-orm/core'

const RefreshTokenSchema = defineEntity({
  name: 'RefreshToken',
  tableName: 'refresh_tokens',
  properties: {
    authorizationId: p.uuid().primary(),
    /** SHA-256 of the token, base64url. */
    hash: p.text().primary(),
    createdAt: p.datetime().defaultRaw('now()'),
    expiresAt: p.datetime(),
    consumedAt: p.datetime().nullable(),
    successorHash: p.text().nullable(),
    /** The successor's secret, under a pad that only its predecessor yields: for a retry whose answer was lost. */
    successor: p.text().nullable(),
  },
  /** The one of a family that may be used next, however many came before it. */
  indexes: [
    {
      name: 'refresh_tokens_unconsumed_index',
      properties: ['authorizationId'],
      where: '"consumed_at" is null',
    },
  ],
})

export class RefreshToken extends RefreshTokenSchema.class {}
RefreshTokenSchema.setClass(RefreshToken)
