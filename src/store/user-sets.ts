/** Users many at a time, for SEED_FILE: one statement whatever their number. */
import { User } from '../entities/user.ts'
import { insertGiven } from './given-rows.ts'
import { statement } from './statement.ts'
import { COLUMNS, type UserRow } from './users.ts'

export type UserSetRow = UserRow & Pick<User, 'usernameKey' | 'createdAt'>

const GIVEN = {
  id: 'uuid',
  username: 'text',
  usernameKey: 'text',
  passwordHash: 'text',
  roles: 'text[]',
  claims: 'jsonb',
} as const

export const statements = {
  /** Those whose lookup forms are among $1, for a change; each process in the same order. */
  lock: statement<UserSetRow>('users-lock', (table) => {
    const user = table(User)
    const key = user.column('usernameKey')
    return `select ${user.columns(...COLUMNS, 'usernameKey', 'createdAt')} from ${user.name}
      where ${key} = any($1) order by ${key} for update`
  }),
  /** Which lookup forms of $1 are there. */
  present: statement<{ key: string }>('users-present', (table) => {
    const user = table(User)
    const key = user.column('usernameKey')
    return `select ${key} as "key" from ${user.name} where ${key} = any($1)`
  }),
  insert: statement<UserRow>('users-insert', (table) => {
    const user = table(User)
    return `${insertGiven(user, GIVEN)} returning ${user.columns(...COLUMNS)}`
  }),
}
