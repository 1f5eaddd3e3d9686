/** Users: looked up by id or by the lookup form of their name, and changed by their id, which alone stays the same. */
import { User } from '../entities/user.ts'
import { beginsWith, type FoundRow } from './begins-with.ts'
import type { Database } from './database.ts'
import { shown, statement, type Table } from './statement.ts'
import { isUuid, NIL } from '../protocol/uuid.ts'

export type UserRow = Pick<User, (typeof COLUMNS)[number]>

/** Who is to be deleted, and since when, as PostgreSQL writes it. */
export interface DueRow {
  readonly id: string
  readonly at: string
}

export const COLUMNS = [
  'id',
  'username',
  'roles',
  'claims',
  'passwordHash',
  'disabledAt',
  'deletionDueAt',
  'strangersBefore',
  'createdAt',
  'updatedAt',
] as const

/** Changes the user $1, and returns the row. */
const update = (name: string, set: (user: Table<User>) => string) =>
  statement<UserRow>(name, (table) => {
    const user = table(User)
    return `update ${user.name} set ${set(user)}, ${user.column('updatedAt')} = now()
      where ${user.column('id')} = $1 returning ${user.columns(...COLUMNS)}`
  })

export const statements = {
  byId: statement<UserRow>('user-by-id', (table) => {
    const user = table(User)
    return `select ${user.columns(...COLUMNS)} from ${user.name} where ${user.column('id')} = $1`
  }),
  byKey: statement<UserRow>('user-by-key', (table) => {
    const user = table(User)
    return `select ${user.columns(...COLUMNS)} from ${user.name} where ${user.column('usernameKey')} = $1`
  }),
  /** Who may sign in by what was typed: whose verified address it is, in any of the forms $1, and whose user name $2 is. */
  byNameOrEmail: statement<UserRow>('user-by-name-or-email', (table) => {
    const user = table(User)
    const whose = (key: 'emailKey' | 'usernameKey', wanted: string) =>
      `select ${user.columns(...COLUMNS)} from ${user.name} where ${user.column(key)} = ${wanted}`
    return `${whose('emailKey', 'any($1::text[])')} union all ${whose('usernameKey', '$2')}`
  }),
  /** Whose verified address is one of $1. */
  byEmail: statement<UserRow>('user-by-email', (table) => {
    const user = table(User)
    return `select ${user.columns(...COLUMNS)} from ${user.name} where ${user.column('emailKey')} = any($1::text[])`
  }),
  /** The address $2 (null for none) is that of the user $1 from now on. Fails where it is somebody else's. */
  claimEmail: statement('user-claim-email', (table) => {
    const user = table(User)
    const key = user.column('emailKey')
    return `update ${user.name} set ${key} = $2::text where ${user.column('id')} = $1 and ${key} is distinct from $2::text`
  }),
  /** The same of many: ids $1, addresses $2. One that is somebody else's is nobody's name. */
  claimEmails: statement('users-claim-emails', (table) => {
    const user = table(User)
    const [id, key] = [user.column('id'), user.column('emailKey')]
    return `update ${user.name} had set ${key} = given."key"
      from unnest($1::uuid[], $2::text[]) as given ("id", "key")
      where had.${id} = given."id" and had.${key} is distinct from given."key"
        and not exists (select from ${user.name} other where other.${key} = given."key" and other.${id} <> given."id")`
  }),
  /** Whose address is verified, and their name all the same not, since it is that of several; at most $1. */
  unclaimedEmails: statement<Pick<User, 'username'>>('users-unclaimed-emails', (table) => {
    const user = table(User)
    const claims = user.column('claims')
    return `select ${user.columns('username')} from ${user.name}
      where ${user.column('emailKey')} is null and ${claims}->'email_verified' = 'true'::jsonb
        and ${claims}->>'email' <> '' order by ${user.column('id')} limit $1`
  }),
  /** For a change of what is read: whoever is called so. */
  lock: statement<UserRow>('user-lock', (table) => {
    const user = table(User)
    return `select ${user.columns(...COLUMNS)} from ${user.name} where ${user.column('usernameKey')} = $1 for update`
  }),
  /** The same by the id. */
  lockById: statement<UserRow>('user-lock-by-id', (table) => {
    const user = table(User)
    return `select ${user.columns(...COLUMNS)} from ${user.name} where ${user.column('id')} = $1 for update`
  }),
  /** In the order of lookup forms, behind $1, at most $2. */
  list: shown(
    statement<UserRow>('users-list', (table) => {
      const user = table(User)
      const key = user.column('usernameKey')
      return `select ${user.columns(...COLUMNS)} from ${user.name} where ${key} > $1 order by ${key} limit $2`
    }),
  ),
  /** In the order of lookup forms, at most $2 behind the first $1. */
  page: shown(
    statement<UserRow>('users-page', (table) => {
      const user = table(User)
      const key = user.column('usernameKey')
      // What is passed over is counted in the index alone.
      const first = `select ${key} from ${user.name} order by ${key} offset $1 limit 1`
      return `select ${user.columns(...COLUMNS)} from ${user.name} where ${key} >= (${first}) order by ${key} limit $2`
    }),
  ),
  count: shown(
    statement<{ count: number }>('users-count', (table) => {
      const user = table(User)
      return `select count(*)::int as "count" from ${user.name}`
    }),
  ),
  /**
   * At most $2 users whose lookup form begins with $3, or whose name or email address begins with $1 in any case,
   * behind the place ($4, $5).
   */
  search: shown(
    statement<UserRow & FoundRow>('users-search', (table) => {
      const user = table(User)
      const [id, key, claims] = [user.column('id'), user.column('usernameKey'), user.column('claims')]
      const ways = [
        { value: key, text: '$3::text', unique: true },
        ...['name', 'email'].map((claim) => ({
          value: `lower(${claims}->>'${claim}')`,
          text: 'lower($1::text)',
        })),
      ]
      const place = { at: '$4::text', behind: '$5::uuid', least: `'${NIL}'::uuid` }
      return beginsWith({
        table: user.name,
        columns: user.columns(...COLUMNS),
        id,
        ways,
        ...place,
        limit: '$2',
      })
    }),
  ),
  insert: statement<UserRow>('user-insert', (table) => {
    const user = table(User)
    const columns = (
      ['id', 'username', 'usernameKey', 'passwordHash', 'roles', 'claims', 'disabledAt'] as const
    ).map((one) => user.column(one))
    return `insert into ${user.name} (${columns.join(', ')}) values ($1, $2, $3, $4, $5, $6, $7)
      returning ${user.columns(...COLUMNS)}`
  }),
  /** Lays the claims ($2, null takes one away) over those that are there; roles ($3) and password unless null. */
  update: update('user-update', (user) => {
    const [claims, roles, hash, link] = (
      ['claims', 'roles', 'passwordHash', 'passwordLinkHash'] as const
    ).map((one) => user.column(one))
    return `${claims} = jsonb_strip_nulls(${claims} || $2::jsonb), ${roles} = coalesce($3::text[], ${roles}),
      ${hash} = coalesce($4::text, ${hash}), ${link} = case when $4::text is null then ${link} end`
  }),
  /** From now on their name is $2, with the lookup form $3. Fails where that is somebody else's. */
  rename: update(
    'user-rename',
    (user) => `${user.column('username')} = $2, ${user.column('usernameKey')} = $3`,
  ),
  /** The link by which the password could be set is good for nothing any more. */
  endPasswordLink: update('user-end-password-link', (user) => `${user.column('passwordLinkHash')} = null`),
  disable: update(
    'user-disable',
    (user) => `${user.column('disabledAt')} = now(), ${user.column('passwordLinkHash')} = null`,
  ),
  enable: update('user-enable', (user) => `${user.column('disabledAt')} = null`),
  /** The user $1, who may sign in, is to be deleted in $2 seconds; with the link by which a password could be set. */
  beginDeletion: statement<UserRow>('user-begin-deletion', (table) => {
    const user = table(User)
    return `update ${user.name} set ${user.column('deletionDueAt')} = now() + make_interval(secs => $2),
        ${user.column('passwordLinkHash')} = null
      where ${user.column('id')} = $1 and ${maySignIn(user)} returning ${user.columns(...COLUMNS)}`
  }),
  /** It does not come to that. */
  cancelDeletion: statement<UserRow>('user-cancel-deletion', (table) => {
    const user = table(User)
    const due = user.column('deletionDueAt')
    return `update ${user.name} set ${due} = null
      where ${user.column('id')} = $1 and ${due} is not null returning ${user.columns(...COLUMNS)}`
  }),
  /** Those whose time has come, at most $1, the longest overdue first; behind the user $3, who was due at $2 (as text), or null for the first. */
  due: statement<DueRow>('users-deletion-due', (table) => {
    const user = table(User)
    const [due, id] = [user.column('deletionDueAt'), user.column('id')]
    return `select ${user.columns('id')}, ${due}::text as "at" from ${user.name}
      where ${due} <= now() and ($2::timestamptz is null or (${due}, ${id}) > ($2::timestamptz, $3::uuid))
      order by ${due}, ${id} limit $1`
  }),
  /** For their deletion, if that is still due. */
  lockDue: statement<UserRow>('user-lock-due', (table) => {
    const user = table(User)
    return `select ${user.columns(...COLUMNS)} from ${user.name}
      where ${user.column('id')} = $1 and ${user.column('deletionDueAt')} <= now() for update`
  }),
  /** With their sessions, consents and records. */
  delete: statement('user-delete', (table) => {
    const user = table(User)
    return `delete from ${user.name} where ${user.column('id')} = $1`
  }),
  /** From the user $1, who has one; with the link by which another could be set. */
  removePassword: statement<Pick<User, 'id'>>('user-remove-password', (table) => {
    const user = table(User)
    const hash = user.column('passwordHash')
    return `update ${user.name} set ${hash} = null, ${user.column('passwordLinkHash')} = null, ${user.column('updatedAt')} = now()
      where ${user.column('id')} = $1 and ${hash} is not null returning ${user.columns('id')}`
  }),
  /** Another hash ($3) for the one that was read ($2, null for none). */
  rehash: statement('user-rehash', (table) => {
    const user = table(User)
    return `update ${user.name} set ${user.column('passwordHash')} = $3
      where ${user.column('id')} = $1 and ${user.column('passwordHash')} is not distinct from $2`
  }),
}

/** Who is neither disabled nor about to be deleted; the latter may do no more than keep their account. */
export function maySignIn(user: Table<User>, prefix = ''): string {
  return `${prefix}${user.column('disabledAt')} is null and ${prefix}${user.column('deletionDueAt')} is null`
}

/** Null also for what is no id of ours. */
export async function findUserRow(database: Database, id: string): Promise<UserRow | null> {
  if (!isUuid(id)) return null
  const [row] = await database.query(statements.byId, [id])
  return row ?? null
}
