/** How a user comes to be: with all that they begin with, in one transaction. */
import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { changesBetween } from '../../protocol/changes.ts'
import { reason } from '../../protocol/message.ts'
import { assertRoleNames } from '../../protocol/role-name.ts'
import { userError } from '../../protocol/user-members.ts'
import { usernameKey } from '../../protocol/username.ts'
import { isDuplicate } from '../../store/failures.ts'
import { statements } from '../../store/users.ts'
import type { HashChosen } from './chosen-passwords.ts'
import { readMembers } from './given-members.ts'
import { touchGroups } from './role-changes.ts'
import type { ImportedUser } from './update-options.ts'
import { membersOf, type UserChange } from './user-changes.ts'
import { nameTaken } from './user-names.ts'
import { toUser, type User } from './user.ts'
import { claimAddress, isOfAddress, toRefusal } from './verified-address.ts'

/** `imported.passwordHash` is taken as it is. Throws `OAuthError` (`invalid_request`) that names the member. */
export type RegisterUser = (members: unknown, imported: ImportedUser) => Promise<User>

/** @internal */
export interface RegisteringOptions {
  changeUser: UserChange
  hashChosen: HashChosen
  log: FastifyBaseLogger
}

/** @internal */
export function createRegisterUser({ changeUser, hashChosen, log }: RegisteringOptions): RegisterUser {
  return async (input, imported) => {
    const { username, password, roles = [], claims } = readMembers(input, log)
    if (username === undefined) throw userError('username', reason('is missing'))
    assertRoleNames(roles)
    const chosen = password === undefined ? null : await hashChosen(password, { username, roles })
    const passwordHash = chosen ?? imported.passwordHash ?? null
    const disabledAt = imported.disabled ? new Date() : null
    const known = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null))
    const values = [randomUUID(), username, usernameKey(username), passwordHash, roles, known, disabledAt]
    try {
      const registered = await changeUser(async (query, note) => {
        const [inserted] = await query(statements.insert, values)
        const row = inserted!
        await claimAddress(query, row, claims)
        note({
          type: 'user.registered',
          user: row.id,
          details: { changes: changesBetween({}, membersOf(row)) },
        })
        await imported.also?.(query, note, row.id)
        await touchGroups(query, [], roles)
        return row
      })
      return toUser(registered)
    } catch (error) {
      if (isDuplicate(error) && !isOfAddress(error)) throw nameTaken()
      throw toRefusal(error)
    }
  }
}
