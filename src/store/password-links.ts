/** Links by which users set their passwords: one for each, in their row, as a hash. */
import { User } from '../entities/user.ts'
import { statement, type Table } from './statement.ts'
import { COLUMNS, type UserRow } from './users.ts'

export const statements = {
  /** Gives the user $1, who may sign in, the link $2 for $3 seconds, in the place of any other. */
  put: statement<Pick<User, 'id'> & { endsAt: Date }>('user-put-password-link', (table) => {
    const user = table(User)
    const endsAt = user.column('passwordLinkEndsAt')
    return `update ${user.name}
      set ${user.column('passwordLinkHash')} = $2, ${endsAt} = now() + make_interval(secs => $3)
      where ${user.column('id')} = $1 and ${user.column('disabledAt')} is null
      returning ${user.columns('id')}, ${endsAt} as "endsAt"`
  }),
  /** Whose the link $1 is. */
  owner: statement<UserRow>('user-by-password-link', (table) => {
    const user = table(User)
    return `select ${user.columns(...COLUMNS)} from ${user.name} where ${linked(user)}`
  }),
  /** Uses up the link $1, and puts the password's hash $2 in the place of the former. */
  spend: statement<UserRow>('user-spend-password-link', (table) => {
    const user = table(User)
    return `update ${user.name} set ${user.column('passwordHash')} = $2, ${user.column('passwordLinkHash')} = null,
        ${user.column('updatedAt')} = now()
      where ${linked(user)} returning ${user.columns(...COLUMNS)}`
  }),
}

/** Whose link $1 is, and good now. */
function linked(user: Table<User>): string {
  return `${user.column('passwordLinkHash')} = $1 and ${user.column('passwordLinkEndsAt')} > now()
    and ${user.column('disabledAt')} is null`
}
