/** `/users`: people, and what an administrator does to their accounts. */
import type { FastifyInstance } from 'fastify'
import { answer } from '../../src/doors/answer.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { StandardClaims } from '../../src/protocol/claims.ts'
import { Type } from '../../src/protocol/schema.ts'
import { parseUserMembers, userError } from '../../src/protocol/user-members.ts'
import { ADMIN } from '../../src/services/users/user.ts'
import { userToWire } from '../../src/services/users/user-wire.ts'
import type { ApiScope } from './access.ts'
import { listAnswer, listOrSearch, SearchQuery } from './lists.ts'
import type { AdminApi } from './operations.ts'
import { notFound } from './not-found.ts'
import { assertMayChange } from './user-of-path.ts'

const READ: ApiScope = 'latchkey:users:read'
const WRITE: ApiScope = 'latchkey:users:write'

const Roles = () =>
  Type.Array(Type.String({ maxLength: 64 }), {
    description: 'Without spaces; admin is that of administrators.',
  })
const Username = () =>
  Type.String({ description: 'By which they sign in. Upper and lower case are the same.' })
const UserSchema = Type.Object(
  {
    sub: Type.String({ description: 'By which tokens name them; it never changes.' }),
    username: Username(),
    roles: Roles(),
    disabled: Type.Boolean({ description: 'Whether they may not sign in.' }),
    deletes_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'When they are deleted, where they asked for that.' }),
    ),
    ...StandardClaims.properties,
  },
  { title: 'User' },
)
const Changes = {
  password: Type.Optional(
    Type.String({ description: 'A new one ends every session and token of the user.', writeOnly: true }),
  ),
  roles: Type.Optional(Roles()),
  disabled: Type.Optional(
    Type.Boolean({
      description: 'True ends every session and token of the user, who cannot sign in any more.',
    }),
  ),
  ...StandardClaims.properties,
}
const ONE = { status: 200, schema: UserSchema } as const
/** Read with the rest, and changed by nobody here. */
const READ_ONLY = ['sub', 'deletes_at']

export function addUsers({ oauth }: FastifyInstance, api: AdminApi): void {
  const { users } = oauth
  const { findUser, findUserToChange } = api

  api.serve({
    method: 'GET',
    path: '/users',
    name: 'listUsers',
    summary: 'Users by user name, or those whose user name, name or email address begins with a text',
    scope: READ,
    query: Type.Object({
      ...SearchQuery.properties,
      username: Type.Optional(Type.String({ maxLength: 256, description: 'The one of this user name.' })),
      email: Type.Optional(
        Type.String({ maxLength: 256, description: 'The one whose verified address this is.' }),
      ),
    }),
    answer: listAnswer('users', UserSchema),
    async handle({ username, email, ...query }) {
      if (username === undefined && email === undefined)
        return listOrSearch('users', query, {
          list: async (after, limit) => users.list({ after, limit }),
          search: users.search,
          nameOf: (user) => user.username,
          toWire: userToWire,
        })
      const named = username === undefined ? null : await users.find(username)
      const addressed = email === undefined ? named : await users.findByEmail(email)
      const isBoth = username === undefined || named?.id === addressed?.id
      return { users: addressed === null || !isBoth ? [] : [userToWire(addressed)] }
    },
  })
  api.serve({
    method: 'POST',
    path: '/users',
    name: 'createUser',
    summary:
      'Registers a user; one without a password signs in by a link that was sent, or by something else',
    scope: WRITE,
    body: Type.Object({ username: Username(), ...Changes }, { title: 'NewUser' }),
    answer: { status: 201, schema: UserSchema },
    async handle(_query, call) {
      const { disabled = false, members, roles = [] } = read(call.body)
      assertMayChange(call, roles)
      return answer({ status: 201, body: userToWire(await users.create(members, { disabled })) })
    },
  })
  api.serve({
    method: 'GET',
    path: '/users/:sub',
    name: 'getUser',
    summary: 'One user',
    scope: READ,
    answer: ONE,
    handle: async (_query, call) => userToWire(await findUser(call)),
  })
  api.serve({
    method: 'PATCH',
    path: '/users/:sub',
    name: 'updateUser',
    summary:
      'Changes claims, roles or the password of a user, or whether they may sign in; a claim that is null is taken away',
    scope: WRITE,
    body: Type.Object(Changes, { title: 'UserChanges' }),
    answer: ONE,
    async handle(_query, call) {
      const user = await findUserToChange(call)
      const { disabled, members, roles = [] } = read(withoutReadOnly(call.body, userToWire(user)))
      assertMayChange(call, roles)
      const enabled = disabled === undefined ? undefined : !disabled
      return userToWire(await users.update(user.username, members, { keepOneWith: ADMIN, enabled }))
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/users/:sub',
    name: 'deleteUser',
    summary: 'Deletes a user, and ends and forgets all that was theirs',
    scope: WRITE,
    answer: { status: 204 },
    async handle(_query, call) {
      const { username } = await findUserToChange(call)
      if (!(await users.delete(username))) throw notFound('user')
      return answer({ status: 204 })
    },
  })
  api.serve({
    method: 'DELETE',
    path: '/users/:sub/second-factor',
    name: 'resetFactors',
    summary: 'Takes second factor and recovery codes from a user who has lost them',
    scope: WRITE,
    answer: { status: 204 },
    async handle(_query, call) {
      await users.resetFactors((await findUserToChange(call)).id)
      return answer({ status: 204 })
    },
  })
  api.serve({
    method: 'GET',
    path: '/users/:sub/data',
    name: 'exportUser',
    summary: 'All that is kept of a user; no secret is',
    scope: READ,
    answer: { status: 200, schema: Type.Object({}) },
    handle: async (_query, call) => users.export((await findUser(call)).id),
  })
}

/** Judges what was sent; a misspelt member is refused, as nobody would read a warning. */
function read({ disabled, ...members }: Bag) {
  if (disabled !== undefined && typeof disabled !== 'boolean')
    throw userError('disabled', 'must be true or false')
  const { unknown, roles } = parseUserMembers(members)
  if (unknown[0] !== undefined) throw userError(unknown[0].slice(0, 100), 'is not known')
  return { disabled, members, roles }
}

/** Whoever sends back what they read means no change of what cannot be changed so. */
function withoutReadOnly(sent: Bag, had: Bag): Bag {
  const changed = READ_ONLY.find((name) => sent[name] !== undefined && sent[name] !== had[name])
  if (changed !== undefined) throw userError(changed, 'cannot be changed')
  return Object.fromEntries(Object.entries(sent).filter(([name]) => !READ_ONLY.includes(name)))
}
