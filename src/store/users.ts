/** Users: looked up by id or by the lookup form of their name, and changed by one statement each. */
import { User } from '../entities/user.ts'
import type { Database } from './database.ts'
import { statement, type Table } from './statement.ts'
import { isUuid } from './uuid.ts'

export type UserRow = Pick<User, (typeof COLUMNS)[number]>

const COLUMNS = ['id', 'username', 'roles', 'claims', 'passwordHash', 'disabledAt', 'updatedAt'] as const

/** Changes the user whose lookup form is $1, and returns the row. */
const update = (name: string, set: (user: Table<User>) => string) =>
  statement<UserRow>(name, (table) => {
    const user = table(User)
    return `update ${user.name} set ${set(user)}, ${user.column('updatedAt')} = now()
      where ${user.column('usernameKey')} = $1 returning ${user.columns(...COLUMNS)}`
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
  /** For a change of what is read. */
  lock: statement<UserRow>('user-lock', (table) => {
    const user = table(User)
    return `select ${user.columns(...COLUMNS)} from ${user.name} where ${user.column('usernameKey')} = $1 for update`
  }),
  /** In the order of lookup forms, behind $1, at most $2, whose lookup form holds $3. */
  list: statement<UserRow>('users-list', (table) => {
    const user = table(User)
    const key = user.column('usernameKey')
    return `select ${user.columns(...COLUMNS)} from ${user.name}
      where ${key} > $1 and strpos(${key}, $3) > 0 order by ${key} limit $2`
  }),
  /** Whether anybody who may sign in has the role $1. */
  hasRole: statement<{ found: boolean }>('users-has-role', (table) => {
    const user = table(User)
    return `select exists (select from ${user.name}
      where $1 = any(${user.column('roles')}) and ${user.column('disabledAt')} is null) as "found"`
  }),
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
    const [claims, roles, hash] = (['claims', 'roles', 'passwordHash'] as const).map((one) =>
      user.column(one),
    )
    return `${claims} = jsonb_strip_nulls(${claims} || $2::jsonb), ${roles} = coalesce($3::text[], ${roles}),
      ${hash} = coalesce($4::text, ${hash})`
  }),
  disable: update('user-disable', (user) => {
    const disabledAt = user.column('disabledAt')
    return `${disabledAt} = coalesce(${disabledAt}, now())`
  }),
  enable: update('user-enable', (user) => `${user.column('disabledAt')} = null`),
  /** Another hash ($3) for the one that was read ($2, null for none). */
  rehash: statement('user-rehash', (table) => {
    const user = table(User)
    return `update ${user.name} set ${user.column('passwordHash')} = $3
      where ${user.column('id')} = $1 and ${user.column('passwordHash')} is not distinct from $2`
  }),
}

/** Null also for what is no id of ours. */
export async function findUserRow(database: Database, id: string): Promise<UserRow | null> {
  if (!isUuid(id)) return null
  const [row] = await database.query(statements.byId, [id])
  return row ?? null
}
