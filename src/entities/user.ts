/** An end-user: how they sign in, and the standard claims that are known of them (OpenID Connect Core §5.1). */
import { defineEntity, p } from '@mikro-orm/core'

const UserSchema = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    /** The public subject identifier. */
    id: p.uuid().primary(),
    /** As it was given, for people to read. */
    username: p.text(),
    /** The one form that is looked up: `protocol/username.ts`. */
    usernameKey: p.text().unique(),
    /** argon2id; null for who cannot sign in with a password. */
    passwordHash: p.text().nullable(),
    roles: p.array().columnType('text[]').default([]),
    claims: p.json<Record<string, unknown>>().defaultRaw(`'{}'`),
    disabledAt: p.datetime().nullable(),
    createdAt: p
      .datetime()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    updatedAt: p
      .datetime()
      .defaultRaw('now()')
      .onCreate(() => new Date())
      .onUpdate(() => new Date()),
  },
})

export class User extends UserSchema.class {}
UserSchema.setClass(User)
