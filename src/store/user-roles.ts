/** Roles of users: who has one, and many who get or lose it at once. */
import { User } from '../entities/user.ts'
import { shown, statement, type Table } from './statement.ts'
import { COLUMNS, maySignIn, type UserRow } from './users.ts'

/** Whose roles a statement has changed. */
export interface ChangedRolesRow {
  readonly id: string
  readonly before: readonly string[]
  readonly roles: readonly string[]
}

/** Changes the roles of those that `which` selects: their ids and roles, locked, so that what was before is told as it was. */
function changeRole(
  name: string,
  set: (had: string) => string,
  which: (user: Table<User>, columns: string) => string,
) {
  return statement<ChangedRolesRow>(name, (table) => {
    const user = table(User)
    const [id, roles] = [user.column('id'), user.column('roles')]
    return `with had as materialized (${which(user, user.columns('id', 'roles'))} for update)
      update ${user.name} now set ${roles} = ${set('had."roles"')}, ${user.column('updatedAt')} = now()
      from had where now.${id} = had."id" returning had."id", had."roles" as "before", now.${roles} as "roles"`
  })
}

/** Those that `where` says, in the order of their ids, so that none waits for one who waits for it. */
const those =
  (where: (roles: string, id: string) => string) =>
  (user: Table<User>, columns: string): string =>
    `select ${columns} from ${user.name} where ${where(user.column('roles'), user.column('id'))} order by ${user.column('id')}`

/** Some of those with the role $1, at most `limit`; none of `others`. As if all were wanted: for a few, the whole table might be read. */
const some =
  (limit: string, others?: string) =>
  (user: Table<User>, columns: string): string => {
    const [roles, id] = [user.column('roles'), user.column('id')]
    const isOther = others === undefined ? '' : ` and not ${id} = any(${others}::uuid[])`
    return `with held as materialized (select ${user.columns('id')} from ${user.name} where ${roles} @> array[$1::text]${isOther})
      select ${columns} from ${user.name}
      where ${id} = any(array(select "id" from held limit ${limit})) and $1::text = any(${roles})`
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
  /** Those with one of the roles $1, behind the id $2, at most $3. */
  ofRoles: statement<Pick<User, 'id'>>('users-of-roles', (table) => {
    const user = table(User)
    // As if all were wanted: in the order of ids, the whole table might be read.
    return `with held as materialized (select ${user.columns('id')} from ${user.name}
        where ${user.column('roles')} && $1::text[])
      select "id" from held where "id" > $2 order by "id" limit $3`
  }),
  /** The same with which of them each has; the first $2 that are found. */
  inRoles: statement<Pick<User, 'id' | 'roles'>>('users-in-roles', (table) => {
    const user = table(User)
    const roles = user.column('roles')
    return `with held as materialized (select ${user.columns('id', 'roles')} from ${user.name} where ${roles} && $1::text[])
      select "id", array(select unnest("roles") intersect select unnest($1::text[])) as "roles" from held limit $2`
  }),
  /**
   * At most $4 users with one of the roles $1, in the order of lookup forms behind $3: those whose lookup form begins with $5, or whose name or
   * email address begins with $2 in any case; all where that is empty.
   */
  holders: shown(
    statement<UserRow>('users-holding-roles', (table) => {
      const user = table(User)
      const [id, key, claims] = [user.column('id'), user.column('usernameKey'), user.column('claims')]
      const begins = ['name', 'email'].map(
        (claim) => `starts_with(lower(${claims}->>'${claim}'), lower($2::text))`,
      )
      return `with held as materialized (select ${id} as "id", ${key} as "key" from ${user.name}
          where ${user.column('roles')} && $1::text[]
            and ($2::text = '' or starts_with(${key}, $5::text) or ${begins.join(' or ')})),
        page as materialized (select "id" from held where "key" > $3 order by "key" limit $4)
        select ${user.columns(...COLUMNS)} from ${user.name} where ${id} = any(array(select "id" from page)) order by ${key}`
    }),
  ),
  /** How many have each of the roles $1, up to $2. */
  countRoles: shown(
    statement<{ role: string; count: number }>('users-count-roles', (table) => {
      const user = table(User)
      return `select given."role", (
          with held as materialized (select from ${user.name} where ${user.column('roles')} @> array[given."role"])
          select count(*)::int from (select from held limit $2) counted) as "count"
        from unnest($1::text[]) as given ("role")`
    }),
  ),
  /** Roles of users: of the first $1 who have any, those that begin with $2 in any case. */
  inUse: shown(
    statement<{ role: string }>('users-roles-in-use', (table) => {
      const user = table(User)
      const roles = user.column('roles')
      return `with first as materialized (select ${roles} as "roles" from ${user.name}
          where ${roles} <> '{}' order by ${user.column('id')} limit $1)
        select distinct "role" from first, unnest("roles") as "role" where starts_with(lower("role"), $2::text)`
    }),
  ),
  /** Whether somebody has both the roles $1 and $2. */
  hasBoth: statement<{ found: boolean }>('users-have-both-roles', (table) => {
    const user = table(User)
    return `with found as materialized (select from ${user.name} where ${user.column('roles')} @> array[$1::text, $2::text])
      select exists (select from found) as "found"`
  }),
  /** Those of the ids $1 that are of users. */
  known: statement<Pick<User, 'id' | 'roles'>>('users-known', (table) => {
    const user = table(User)
    return `select ${user.columns('id', 'roles')} from ${user.name} where ${user.column('id')} = any($1::uuid[])`
  }),
  /** Gives the role $2 to the users $1 who have it not. */
  giveRole: changeRole(
    'users-give-role',
    (had) => `array_append(${had}, $2::text)`,
    those((roles, id) => `${id} = any($1::uuid[]) and not ${roles} @> array[$2::text]`),
  ),
  /** Takes the role $2 from the users $1: found by their ids, and not among all who have it. */
  takeRole: changeRole(
    'users-take-role',
    (had) => `array_remove(${had}, $2::text)`,
    those((roles, id) => `${id} = any($1::uuid[]) and $2::text = any(${roles})`),
  ),
  /** Takes the role $2 from all but the users $1. */
  takeRoleFromOthers: changeRole(
    'users-take-role-from-others',
    (had) => `array_remove(${had}, $2::text)`,
    those((roles, id) => `not ${id} = any($1::uuid[]) and ${roles} @> array[$2::text]`),
  ),
  /** Takes the role $1 from some, at most $2. */
  takeRoleFromSome: changeRole(
    'users-take-role-from-some',
    (had) => `array_remove(${had}, $1::text)`,
    some('$2'),
  ),
  /** The same, but from none of the users $3. */
  takeRoleFromSomeOthers: changeRole(
    'users-take-role-from-some-others',
    (had) => `array_remove(${had}, $1::text)`,
    some('$2', '$3'),
  ),
  /** The role $1 of some, at most $3, is called $2 from then on. */
  renameRoleOfSome: changeRole(
    'users-rename-role-of-some',
    (had) => `case when ${had} @> array[$2::text] then array_remove(${had}, $1::text)
      else array_replace(${had}, $1::text, $2::text) end`,
    some('$3'),
  ),
}

/** Who may sign in and has the role $1. */
function having(user: Table<User>): string {
  return `${user.column('roles')} @> array[$1::text] and ${maySignIn(user)}`
}
