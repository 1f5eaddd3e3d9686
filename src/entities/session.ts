/** A browser that someone is signed in with: a row each, gone when it ends. */
import { defineEntity, p } from './define.ts'
import { User } from './user.ts'

const SessionSchema = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    /** SHA-256 of the cookie's value, base64url: the value itself is never stored. */
    hash: p.text().primary(),
    /** What ID tokens name it by; it opens nothing. */
    sid: p.uuid().unique(),
    user: () => p.manyToOne(User).fieldName('user_id').deleteRule('cascade'),
    authenticatedAt: p.datetime(),
    /** RFC 8176. */
    amr: p.array().columnType('text[]'),
    acr: p.text().nullable(),
    /** Of the browser, for its owner to recognise it by. */
    userAgent: p.text().nullable(),
    address: p.text().nullable(),
    /** The clients that it signed in to, and when first, in seconds since the epoch: whom its end concerns, whatever became of their tokens. */
    clients: p.json<Record<string, number>>().defaultRaw(`'{}'`),
    createdAt: p.datetime().defaultRaw('now()'),
    lastSeenAt: p.datetime().defaultRaw('now()'),
    /** When it ends if it is not used before; never after `endsAt`. */
    expiresAt: p.datetime().index(),
    /** Until then its user can go on from it by signing in again. */
    endsAt: p.datetime().index(),
  },
  indexes: [{ properties: ['user', 'createdAt'] }],
})

export class Session extends SessionSchema.class {}
SessionSchema.setClass(Session)
