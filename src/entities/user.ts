/** An end-user: how they sign in, and the standard claims that are known of them (OpenID Connect Core §5.1). */
import { defineEntity, p } from './define.ts'

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
    /** The address by which they may sign in too, in the same form: it is verified, and nobody else's. Null for none. */
    emailKey: p.text().nullable().unique(),
    /** argon2id; null for who cannot sign in with a password. */
    passwordHash: p.text().nullable(),
    /** SHA-256, base64url, of the one link by which they may set a password; null when there is none. */
    passwordLinkHash: p.text().nullable(),
    passwordLinkEndsAt: p.datetime().nullable(),
    roles: p.array().columnType('text[]').default([]),
    claims: p.json<Record<string, unknown>>().defaultRaw(`'{}'`),
    disabledAt: p.datetime().nullable(),
    /** When it is deleted, as its user asked for: until then they can do nothing but keep it. Null where they did not. */
    deletionDueAt: p.datetime().nullable(),
    /** Browsers that they signed in with before count as any other; null when all since the beginning are known. */
    strangersBefore: p.datetime().nullable(),
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
  /** By bytes, for what begins with a text, whatever the language of the database; and for the few of a role. */
  indexes: [
    {
      name: 'users_username_search_index',
      expression: 'create index "users_username_search_index" on "users" (("username_key" collate "C"))',
    },
    {
      name: 'users_name_search_index',
      expression: `create index "users_name_search_index" on "users" ((lower("claims"->>'name') collate "C"), "id")`,
    },
    {
      name: 'users_email_search_index',
      expression: `create index "users_email_search_index" on "users" ((lower("claims"->>'email') collate "C"), "id")`,
    },
    {
      name: 'users_email_unclaimed_index',
      properties: ['id'],
      where: `"email_key" is null and "claims"->'email_verified' = 'true'::jsonb and "claims"->>'email' <> ''`,
    },
    {
      name: 'users_deletion_due_index',
      properties: ['deletionDueAt'],
      where: '"deletion_due_at" is not null',
    },
    {
      name: 'users_roles_index',
      expression: 'create index "users_roles_index" on "users" using gin ("roles")',
    },
    {
      name: 'users_with_roles_index',
      properties: ['id'],
      where: `"roles" <> '{}'`,
    },
    {
      name: 'users_password_link_index',
      properties: ['passwordLinkHash'],
      where: '"password_link_hash" is not null',
    },
  ],
})

export class User extends UserSchema.class {}
UserSchema.setClass(User)
