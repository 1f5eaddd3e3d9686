/**
 * A sign-in that has begun and still lacks a factor: a row each, in a table apart from the sessions', so that nothing that asks
 * for a session, of this version or the one before, ever finds one.
 */
import { defineEntity, p } from './define.ts'
import { User } from './user.ts'

const PendingSessionSchema = defineEntity({
  name: 'PendingSession',
  tableName: 'pending_sessions',
  properties: {
    /** SHA-256 of the cookie's value, base64url. */
    hash: p.text().primary(),
    /** Of the session that it becomes, unless it renews one. */
    sid: p.uuid(),
    user: () => p.manyToOne(User).fieldName('user_id').deleteRule('cascade'),
    /** Of the user's row when they gave their first factor: what has changed since asks them once more. */
    userUpdatedAt: p.datetime(),
    authenticatedAt: p.datetime(),
    /** RFC 8176, of what was given so far. */
    amr: p.array().columnType('text[]'),
    acr: p.text().nullable(),
    userAgent: p.text().nullable(),
    address: p.text().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    expiresAt: p.datetime().index(),
  },
  indexes: [{ properties: ['user', 'createdAt'] }],
})

export class PendingSession extends PendingSessionSchema.class {}
PendingSessionSchema.setClass(PendingSession)
