/** Roles of users: who has one, and many who get or lose it at once. */
import { User } from '../entities/user.ts'
import { statement, type Table } from './statement.ts'
import { maySignIn } from './users.ts'

/** Changes the roles of those that `where` says. */
function changeRole(
  name: string,
  set: (roles: string) => string,
  where: (roles: string, id: string) => string,
) {
  return statement<Pick<User, 'id' | 'roles'>>(name, (table) => {
    const user = table(User)
    const roles = user.column('roles')
    return `update ${user.name} set ${roles} = ${set(roles)}, ${user.column('updatedAt')} = now()
      where ${where(roles, user.column('id'))} returning ${user.columns('id', 'roles')}`
  })
}

export const statements = {
  /** Whether anybody who may sign in has the role $1. As if all were wanted: for any one, the whole table might be read. */
  hasRole: statement<{ found: boolean }>('users-has-role', (table) => {
    const user = table(User)
    return `with found as materialized (select from ${user.name} where ${having(user)})
      select exists (select from found) as "found"`
  }),
  /** All of them, locked; each process in the same order, so that none waits for one who waits for it. */
  lockRole: statement<Pick<User, 'id'>>('users-lock-role', (table) => {
    const user = table(User)
    return `select ${user.columns('id')} from ${user.name} where ${having(user)} order by ${user.column('id')} for update`
  }),
  /** The users $1, and all with the role $2, locked in the same order. */
  lockThose: statement<Pick<User, 'id'>>('users-lock-those', (table) => {
    const user = table(User)
    return `with those as materialized (select unnest($1::uuid[]) as "id"
        union select ${user.column('id')} from ${user.name} where ${user.column('roles')} @> array[$2::text])
      select ${user.columns('id')} from ${user.name} where ${user.column('id')} = any(array(select "id" from those))
      order by ${user.column('id')} for update`
  }),
  /** Those with the role $1, behind the id $2, at most $3. */
  ofRole: statement<Pick<User, 'id'>>('users-of-role', (table) => {
    const user = table(User)
    // As if all were wanted: in the order of ids, the whole table might be read.
    return `with held as materialized (select ${user.columns('id')} from ${user.name}
        where ${user.column('roles')} @> array[$1::text])
      select "id" from held where "id" > $2 order by "id" limit $3`
  }),
  /** Which of the ids $1 are of users. */
  known: statement<Pick<User, 'id'>>('users-known', (table) => {
    const user = table(User)
    return `select ${user.columns('id')} from ${user.name} where ${user.column('id')} = any($1::uuid[])`
  }),
  /** Gives the role $2 to the users $1 who have it not. */
  giveRole: changeRole(
    'users-give-role',
    (roles) => `array_append(${roles}, $2::text)`,
    (roles, id) => `${id} = any($1::uuid[]) and not ${roles} @> array[$2::text]`,
  ),
  /** Takes the role $2 from the users $1: found by their ids, and not among all who have it. */
  takeRole: changeRole(
    'users-take-role',
    (roles) => `array_remove(${roles}, $2::text)`,
    (roles, id) => `${id} = any($1::uuid[]) and $2::text = any(${roles})`,
  ),
  /** Takes the role $2 from all but the users $1. */
  takeRoleFromOthers: changeRole(
    'users-take-role-from-others',
    (roles) => `array_remove(${roles}, $2::text)`,
    (roles, id) => `not ${id} = any($1::uuid[]) and ${roles} @> array[$2::text]`,
  ),
  /** The role $1 is called $2 from then on. */
  renameRole: changeRole(
    'users-rename-role',
    (roles) => `case when ${roles} @> array[$2::text] then array_remove(${roles}, $1::text)
      else array_replace(${roles}, $1::text, $2::text) end`,
    (roles) => `${roles} @> array[$1::text]`,
  ),
}

/** Who may sign in and has the role $1. */
function having(user: Table<User>): string {
  return `${user.column('roles')} @> array[$1::text] and ${maySignIn(user)}`
}
