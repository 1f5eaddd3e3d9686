/** The user whom an operation is about, and whether its token is good for that: one without `latchkey:admin` does nothing to administrators. */
import type { FastifyInstance } from 'fastify'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { ADMIN } from '../../src/services/users/user.ts'
import type { Judge } from '../../src/services/users/update-options.ts'
import type { Access } from './access.ts'
import { notFound } from '../programs/refusals.ts'
import { changeUser } from '../programs/user-change.ts'

export interface UsersOfPaths {
  /** The one that the path names by `:sub`, as they are now. Throws `not_found`. */
  findUser(call: Pick<BearerCall, 'path'>): Promise<User>
  /** The same, to be changed. Throws `insufficient_scope` for an administrator, where the token does not hold all. */
  findUserToChange(call: BearerCall): Promise<User>
  /** For who shall have these roles. Throws `insufficient_scope`. */
  assertMayGive(call: BearerCall, roles: readonly string[]): Promise<void>
  /**
   * Changes that user: `work` has `judge` asked where it is done, and is asked again where they have changed since they were found. Throws
   * `not_found` also where they are gone by then.
   */
  changeUser<T>(call: BearerCall, work: (user: User, judge: Judge) => Promise<T>): Promise<T>
}

export function createUsersOfPaths(fastify: FastifyInstance, assertAll: Access['assertAll']): UsersOfPaths {
  const { directory } = kernelOf(fastify)

  async function findUser({ path }: Pick<BearerCall, 'path'>): Promise<User> {
    const user = await directory.reloadUser(path['sub'] ?? '')
    if (user === null) throw notFound('user')
    return user
  }

  async function assertMayGive(call: BearerCall, roles: readonly string[]): Promise<void> {
    if (roles.includes(ADMIN)) await assertAll(call, 'what is done to an administrator')
  }

  async function findUserToChange(call: BearerCall): Promise<User> {
    const user = await findUser(call)
    await assertMayGive(call, user.roles)
    return user
  }

  return {
    findUser,
    assertMayGive,
    findUserToChange,
    changeUser: async (call, work) => changeUser(async () => findUserToChange(call), work),
  }
}
