/** `/users`: people, and what an administrator does to their accounts. */
import type { FastifyInstance } from 'fastify'
import type { Bag } from '../../src/protocol/bag.ts'
import { StandardClaims, withProofs } from '../../src/protocol/claims.ts'
import { Type } from '../../src/protocol/schema.ts'
import { parseUserMembers } from '../../src/protocol/user-members.ts'
import { ADMIN } from '../../src/services/users/user.ts'
import { userToWire } from '../../src/services/users/user-wire.ts'
import type { ApiScope } from './access.ts'
import { Instant } from './instants.ts'
import { listAnswer, listOrSearch, SearchQuery } from './lists.ts'
import type { AdminApi } from './operations.ts'
import { notFound, orConflict } from '../programs/refusals.ts'
import { assertKnown, memberProblem } from './refusals.ts'

const READ: ApiScope = 'latchkey:users:read'
const WRITE: ApiScope = 'latchkey:users:write'

const Roles = () =>
  Type.Array(Type.String({ maxLength: 64 }), {
    description: 'Without spaces and commas; admin is that of administrators.',
  })
const Username = () =>
  Type.String({ description: 'By which they sign in. Upper and lower case are the same.' })
export const UserSchema = Type.Object(
  {
    sub: Type.String({ description: 'By which tokens name them; it never changes.' }),
    username: Username(),
    roles: Roles(),
    disabled: Type.Boolean({ description: 'Whether they may not sign in.' }),
    deletes_at: Type.Optional(Instant('When they are deleted, where they asked for that.')),
    ...StandardClaims.properties,
  },
  { title: 'User' },
)
const Members = {
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
const Changes = {
  username: Type.Optional(
    Type.String({
      description: 'Another one renames them: sessions and tokens go on, and they sign in by it alone.',
    }),
  ),
  ...Members,
}
const ONE = { status: 200, schema: UserSchema } as const
/** Read with the rest, and changed by nobody here. */
const READ_ONLY = ['sub', 'deletes_at']

export function addUsers({ oauth }: FastifyInstance, api: AdminApi): void {
  const { users } = oauth
  const { findUser, findUserToChange, changeUser, assertMayGive } = api
  const isTaken = async ({ email }: Bag): Promise<boolean> =>
    typeof email === 'string' && (await users.findByEmail(email)) !== null
  const isNameTaken = async ({ username }: Bag): Promise<boolean> =>
    typeof username === 'string' && (await users.find(username)) !== null

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
      const [other] = Object.keys(query)
      if (other !== undefined) throw memberProblem(other, 'does not go together with username or email')
      const found = [
        ...(username === undefined ? [] : [await users.find(username)]),
        ...(email === undefined ? [] : [await users.findByEmail(email)]),
      ]
      const [one] = found
      return { users: one && found.every((user) => user?.id === one.id) ? [userToWire(one)] : [] }
    },
  })
  api.serve({
    method: 'POST',
    path: '/users',
    name: 'createUser',
    summary:
      'Registers a user; one without a password signs in by a link that was sent, or by something else',
    scope: WRITE,
    judges: Type.Object({ username: Username(), ...Members }, { title: 'NewUser' }),
    answer: { status: 201, schema: UserSchema },
    async handle(_query, { body, ...call }) {
      const { disabled = false, members, roles = [] } = read(body)
      await assertMayGive({ body, ...call }, roles)
      const creating = orConflict(users.create(members, { disabled }), 'username', async () =>
        isNameTaken(members),
      )
      return userToWire(await orConflict(creating, 'email', async () => isTaken(members)))
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
      'Changes claims, roles, the name or the password of a user, or whether they may sign in; a claim that is null is taken away',
    scope: WRITE,
    judges: Type.Object(Changes, { title: 'UserChanges' }),
    answer: ONE,
    handle: async (_query, call) =>
      changeUser(call, async (user, judge) => {
        const { disabled, members, roles = [] } = read(withoutReadOnly(call.body, userToWire(user)))
        await assertMayGive(call, roles)
        const enabled = disabled === undefined ? undefined : !disabled
        const options = { keepOneWith: ADMIN, mayRename: true, enabled, judge }
        const updating = users.update(user, withProofs(members, user.claims), options)
        const renaming = orConflict(updating, 'username', async () => isNameTaken(members))
        return userToWire(await orConflict(renaming, 'email', async () => isTaken(members)))
      }),
  })
  api.serve({
    method: 'DELETE',
    path: '/users/:sub',
    name: 'deleteUser',
    summary: 'Deletes a user, and ends and forgets all that was theirs',
    scope: WRITE,
    answer: { status: 204 },
    async handle(_query, call) {
      const isGone = await changeUser(call, async (user, judge) => users.delete(user, { judge }))
      if (!isGone) throw notFound('user')
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
      if (!(await users.resetFactors((await findUserToChange(call)).id)))
        throw notFound('second factor of this user')
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

/** Judges what was sent. Claims that are null are taken away; what cannot be is refused, as nobody would see that it stays. */
function read({ disabled, ...members }: Bag) {
  if (disabled !== undefined && typeof disabled !== 'boolean')
    throw memberProblem('disabled', 'must be true or false')
  for (const name of ['username', 'password', 'roles'])
    if (members[name] === null)
      throw memberProblem(name, 'cannot be taken away; a list of roles can be empty')
  const { unknown, roles } = parseUserMembers(members)
  assertKnown(members, (name) => !unknown.includes(name))
  return { disabled, members, roles }
}

/** Whoever sends back what they read means no change of what cannot be changed so. */
function withoutReadOnly(sent: Bag, had: Bag): Bag {
  const changed = READ_ONLY.find((name) => name in sent && (sent[name] ?? null) !== (had[name] ?? null))
  if (changed !== undefined) throw memberProblem(changed, 'cannot be changed')
  return Object.fromEntries(Object.entries(sent).filter(([name]) => !READ_ONLY.includes(name)))
}
