/** `/roles`: what users are for apps, and who has which. Those of administrators, and what is done to one, need a token that may do all. */
import type { FastifyInstance } from 'fastify'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { Type } from '../../src/protocol/schema.ts'
import { MOST_COUNTED, type CountedRole } from '../../src/services/users/role-lists.ts'
import { roleToWire } from '../../src/services/users/role-wire.ts'
import { userToWire } from '../../src/services/users/user-wire.ts'
import { notFound } from '../programs/refusals.ts'
import type { ApiScope } from './access.ts'
import { cursorOf, limitOf, listAnswer, listed, SearchQuery } from './lists.ts'
import type { AdminApi } from './operations.ts'
import { assertAddressable } from './refusals.ts'
import { UserSchema } from './users.ts'

const READ: ApiScope = 'latchkey:users:read'
const WRITE: ApiScope = 'latchkey:users:write'

const Name = () => Type.String({ maxLength: 64, description: 'Without spaces and commas.' })
const RoleSchema = Type.Object(
  {
    name: Name(),
    members: Type.Integer({ description: `How many users have it; ${MOST_COUNTED + 1} stands for more.` }),
    display_name: Type.Optional(
      Type.String({ description: 'What its directory calls it, where that is something else.' }),
    ),
    directories: Type.Array(Type.String(), {
      description:
        'The client_ids of directories that keep it: they rename and delete it, and nobody else does.',
    }),
    changing: Type.Optional(
      Type.Boolean({ description: 'True while it is being renamed or deleted; else absent.' }),
    ),
  },
  { title: 'Role' },
)
const ONE = { status: 200, schema: RoleSchema } as const

export function addRoles(fastify: FastifyInstance, api: AdminApi): void {
  const { roles } = kernelOf(fastify)
  const { assertAll, assertMayGive, changeUser } = api

  async function findRole({ path }: Pick<BearerCall, 'path'>): Promise<CountedRole> {
    const role = await roles.find(path['name'] ?? '')
    if (role === null) throw notFound('role')
    return role
  }

  /** The same, to be given to all who have it by another name, or to be taken from them. */
  async function findRoleToChange(call: BearerCall): Promise<CountedRole> {
    const role = await findRole(call)
    if (await roles.hasAdministrators(role.name)) await assertAll(call, 'what is done to an administrator')
    return role
  }

  api.serve({
    method: 'GET',
    path: '/roles',
    name: 'listRoles',
    summary: 'Roles by name: those that are registered, and those that somebody has',
    scope: READ,
    query: SearchQuery,
    answer: listAnswer('roles', RoleSchema),
    async handle(query) {
      const { search = '' } = query
      const place = { after: cursorOf(query) ?? '', limit: limitOf(query) + 1, search: search.trim() }
      return listed('roles', query, await roles.list(place), {
        nameOf: ({ name }) => name,
        toWire: roleToWire,
      })
    },
  })
  api.serve({
    method: 'POST',
    path: '/roles',
    name: 'createRole',
    summary: 'Registers a role, which nobody has yet',
    scope: WRITE,
    body: Type.Object({ name: Name() }, { title: 'NewRole' }),
    answer: { status: 201, schema: RoleSchema },
    async handle(_query, { body }) {
      assertAddressable('name', body['name'])
      return roleToWire(await roles.create(body['name'] as string))
    },
  })
  api.serve({
    method: 'GET',
    path: '/roles/:name',
    name: 'getRole',
    summary: 'One role',
    scope: READ,
    answer: ONE,
    handle: async (_query, call) => roleToWire(await findRole(call)),
  })
  api.serve({
    method: 'PATCH',
    path: '/roles/:name',
    name: 'renameRole',
    summary: 'Renames a role, for all who have it',
    scope: WRITE,
    body: Type.Object({ name: Name() }, { title: 'RoleChanges' }),
    answer: ONE,
    async handle(_query, call) {
      assertAddressable('name', call.body['name'])
      const role = await findRoleToChange(call)
      if (role.name === call.body['name']) return roleToWire(role)
      return roleToWire(await roles.rename(role.name, call.body['name'] as string))
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/roles/:name',
    name: 'deleteRole',
    summary: 'Deletes a role, and takes it from all who have it',
    scope: WRITE,
    answer: { status: 204 },
    async handle(_query, call) {
      await roles.delete((await findRoleToChange(call)).name)
    },
  })
  api.serve({
    method: 'GET',
    path: '/roles/:name/members',
    name: 'listMembers',
    summary:
      'Users who have a role, by user name, or those whose user name, name or email address begins with a text',
    scope: READ,
    query: SearchQuery,
    answer: listAnswer('users', UserSchema),
    async handle(query, call) {
      const { search = '' } = query
      const place = { after: cursorOf(query) ?? '', limit: limitOf(query) + 1, search: search.trim() }
      return listed('users', query, await roles.members(await findRole(call), place), {
        nameOf: ({ username }) => username,
        toWire: userToWire,
      })
    },
  })
  api.serve({
    method: 'POST',
    path: '/roles/:name/members',
    name: 'giveRole',
    summary: 'Gives a role to a user, who may have it already',
    scope: WRITE,
    body: Type.Object({ sub: Type.String({ maxLength: 64, description: 'Of the user.' }) }),
    answer: { status: 204 },
    async handle(_query, call) {
      const { name } = await findRole(call)
      await assertMayGive(call, [name])
      const path = { ...call.path, sub: call.body['sub'] as string }
      await changeUser({ ...call, path }, async ({ id }, judge) => roles.give(name, id, judge))
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/roles/:name/members/:sub',
    name: 'takeRole',
    summary: 'Takes a role from a user who has it',
    scope: WRITE,
    answer: { status: 204 },
    async handle(_query, call) {
      const { name } = await findRole(call)
      await changeUser(call, async ({ id, roles: had }, judge) => {
        if (!had.includes(name)) throw notFound('member of this role')
        return roles.take(name, id, judge)
      })
    },
  })
}
