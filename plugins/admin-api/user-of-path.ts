/** The user whom an operation is about, and whether its token is good for that: one without `latchkey:admin` does nothing to administrators. */
import type { FastifyInstance } from 'fastify'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { ADMIN } from '../../src/services/users/user.ts'
import { assertAll } from './access.ts'
import { notFound } from './not-found.ts'

export interface UsersOfPaths {
  /** The one that the path names by `:sub`, as they are now. Throws `not_found`. */
  findUser(call: Pick<BearerCall, 'path'>): Promise<User>
  /** The same, to be changed. Throws `insufficient_scope` for an administrator, where the token does not hold all. */
  findUserToChange(call: BearerCall): Promise<User>
}

export function createUsersOfPaths(fastify: FastifyInstance): UsersOfPaths {
  const { directory } = kernelOf(fastify)

  async function findUser({ path }: Pick<BearerCall, 'path'>): Promise<User> {
    const user = await directory.reloadUser(path['sub'] ?? '')
    if (user === null) throw notFound('user')
    return user
  }

  return {
    findUser,
    async findUserToChange(call) {
      const user = await findUser(call)
      assertMayChange(call, user.roles)
      return user
    },
  }
}

/** For who has these roles, or shall have them. Throws `insufficient_scope`. */
export function assertMayChange(call: BearerCall, roles: readonly string[]): void {
  if (roles.includes(ADMIN)) assertAll(call, 'what is done to an administrator')
}
