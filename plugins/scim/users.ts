/** `/Users`: people whom a directory elsewhere knows (RFC 7644 §3). Administrators are seen, and never changed. */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { answer, type Answer } from '../../src/doors/answer.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { User } from '../../src/doors/user.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { withProofs } from '../../src/protocol/claims.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { rolesOf } from '../../src/services/users/group-records.ts'
import { ADMIN } from '../../src/services/users/user.ts'
import { notFound, orConflict } from '../programs/refusals.ts'
import { changeUser } from '../programs/user-change.ts'
import type { Members, Value } from './attributes.ts'
import { assertMatches, assertSchema, namesVersion } from './conditions.ts'
import { PATCH_OP, PATH, USER } from './messages.ts'
import { operationsOf, patched } from './patch.ts'
import { projectionOf } from './projection.ts'
import { listOperations } from './searches.ts'
import { queryOf, READ, scimAnswer, type ScimOperation, type ScimResources, WRITE } from './serving.ts'
import { keptEmail, readUser, userResource, type GroupsByRole, type SentUser } from './user-resource.ts'
import { isForeign, USER_SCHEMA } from './user-schema.ts'
import { createUserSearch } from './user-search.ts'

export function createScimUsers(fastify: FastifyInstance): ScimResources {
  const { oauth } = fastify
  const { users } = oauth
  const { directory, externalIds, groups, config } = kernelOf(fastify)
  const base = `${oauth.issuer}${PATH}`

  async function groupsOf(roles: readonly string[]): Promise<GroupsByRole> {
    const found = await groups.ofRoles(roles)
    return new Map(found.flatMap((group) => rolesOf(group).map((role) => [role, group] as const)))
  }

  async function resourcesOf(all: readonly User[], clientId: string): Promise<readonly Members[]> {
    if (all.length === 0) return []
    const ids = all.map(({ id }) => id)
    const [known, theirs] = await Promise.all([
      externalIds.of(clientId, ids),
      groupsOf(all.flatMap(({ roles }) => roles)),
    ])
    return all.map((user) => userResource(user, { externalId: known.get(user.id), groups: theirs, base }))
  }

  const { list } = createUserSearch({
    users,
    externalIds,
    find: async (id) => directory.reloadUser(id),
    resourcesOf,
  })

  async function resourceOf(user: User, { token }: Pick<BearerCall, 'token'>): Promise<Members> {
    const [resource] = await resourcesOf([user], token.clientId)
    return resource!
  }

  async function findUser({ path }: Pick<BearerCall, 'path'>): Promise<User> {
    const user = await directory.reloadUser(path['id'] ?? '')
    if (user === null) throw notFound('user')
    return user
  }

  /** The one of the address, whom this may be done to, and who is as the client knows them (RFC 7644 §3.14). */
  async function findToChange(call: BearerCall): Promise<User> {
    const user = await findUser(call)
    if (user.roles.includes(ADMIN))
      throw new OAuthError('access_denied', 'administrators are not changed by SCIM')
    if (call.request.headers['if-match'] !== undefined)
      assertMatches(call.request, versionIn(await resourceOf(user, call)), 'user')
    return user
  }

  /** How the request wants to be answered: judged before anything of it is done. */
  function answering({ request }: BearerCall): (resource: Members, status?: number) => Answer {
    const project = projectionOf(USER_SCHEMA, queryOf(request))
    return (resource, status = 200) => {
      const location = status === 201 ? { location: `${base}/Users/${String(resource['id'])}` } : {}
      return scimAnswer(project(resource), { status, headers: { etag: versionIn(resource), ...location } })
    }
  }

  /** What was done is answered as it was done: to read it again could fail, and tell the client that nothing was. */
  async function done(work: Promise<User>, sent: SentUser, theirs: GroupsByRole): Promise<Members> {
    const user = await orUniqueness(work, sent)
    return userResource(user, { externalId: sent.externalId ?? undefined, groups: theirs, base })
  }

  /** That an address is verified, where directories are believed about that; not of one by which somebody else signs in as their user name. */
  async function proofOf({ email }: Bag, self?: User): Promise<Bag> {
    if (!config.SCIM_TRUST_EMAIL || typeof email !== 'string') return {}
    const named = await users.find(email)
    return named === null || named.id === self?.id ? { email_verified: true } : {}
  }

  async function orUniqueness<T>(work: Promise<T>, { username, claims }: SentUser): Promise<T> {
    const named = orConflict(work, 'username', async () => (await users.find(username)) !== null)
    const email = claims['email']
    return orConflict(
      named,
      'email',
      async () => typeof email === 'string' && (await users.findByEmail(email)) !== null,
    )
  }

  /** `read` says of a user as they are what was sent of them, and what that proves. */
  async function replace(
    call: BearerCall,
    read: (user: User) => Promise<{ sent: SentUser; proof: Bag }>,
  ): Promise<Answer> {
    const answerWith = answering(call)
    const changed = await changeUser(
      async () => findToChange(call),
      async (user, judge) => {
        const { sent, proof } = await read(user)
        assertNoAdministrator(sent)
        const { username, password, roles, active, externalId, claims } = sent
        const theirs = await groupsOf([...user.roles, ...(roles ?? [])])
        // What they have of groups is changed there.
        const ofGroups = user.roles.filter((role) => theirs.has(role))
        const members = {
          username,
          ...(password === undefined ? {} : { password }),
          ...(roles === undefined ? {} : { roles: [...roles, ...ofGroups] }),
          ...withProofs({ ...changesOf(claims, user.claims), ...proof }, user.claims),
        }
        const also = externalIds.setting(call.token.clientId, externalId)
        const updating = users.update(user, members, { mayRename: true, enabled: active, judge, also })
        return done(updating, sent, theirs)
      },
    )
    return answerWith(changed)
  }

  const operations: readonly ScimOperation[] = [
    ...listOperations('/Users', list),
    {
      method: 'GET',
      path: '/Users/:id',
      scope: READ,
      async handle(call) {
        const resource = await resourceOf(await findUser(call), call)
        const etag = versionIn(resource)
        const known = call.request.headers['if-none-match']
        if (known !== undefined && namesVersion(known, etag))
          return answer({ status: 304, headers: { etag } })
        return answering(call)(resource)
      },
    },
    {
      method: 'POST',
      path: '/Users',
      scope: WRITE,
      async handle(call) {
        assertSchema(call.body, USER)
        const answerWith = answering(call)
        const sent = readUser(call.body)
        assertNoAdministrator(sent)
        const { username, password, roles, active, externalId, claims } = sent
        const members = { username, password, roles, ...claims, ...(await proofOf(claims)) }
        const also = externalIds.setting(call.token.clientId, externalId)
        const theirs = await groupsOf(roles ?? [])
        const creating = users.create(members, { disabled: active === false, also })
        return answerWith(await done(creating, sent, theirs), 201)
      },
    },
    {
      method: 'PUT',
      path: '/Users/:id',
      scope: WRITE,
      async handle(call) {
        assertSchema(call.body, USER)
        const sent = readUser(call.body)
        return replace(call, async (user) => ({ sent, proof: await proofOf(sent.claims, user) }))
      },
    },
    {
      method: 'PATCH',
      path: '/Users/:id',
      scope: WRITE,
      async handle(call) {
        assertSchema(call.body, PATCH_OP)
        const operations = operationsOf(call.body)
        return replace(call, async (user) => {
          const had = await resourceOf(user, call)
          // Whoever says that they are disabled means it, also of who is so already, by a directory say; who says nothing disables nobody anew.
          const { active: _unsaid, ...told } = had
          const now = patched(told, operations, { schema: USER_SCHEMA, isForeign })
          const sent = readUser(now)
          const proof = keptEmail(now) === keptEmail(had) ? {} : await proofOf(sent.claims, user)
          const before = readUser(had)
          // What SCIM has no words for stays, and so do roles of which the patch says nothing. Whoever takes all of them means that there are none.
          const claims = changesOf(sent.claims, before.claims)
          const roles = isDeepStrictEqual(sent.roles, before.roles) ? undefined : (sent.roles ?? [])
          return { sent: { ...sent, roles, claims }, proof }
        })
      },
    },
    {
      method: 'DELETE',
      path: '/Users/:id',
      scope: WRITE,
      async handle(call) {
        const isGone = await changeUser(
          async () => findToChange(call),
          async (user, judge) => users.delete(user, { judge }),
        )
        if (!isGone) throw notFound('user')
        return answer({})
      },
    },
  ]
  return { list, operations }
}

function assertNoAdministrator({ roles = [] }: SentUser): void {
  if (roles.includes(ADMIN)) throw new OAuthError('access_denied', 'nobody is made an administrator by SCIM')
}

/** Those that are others than before. */
function changesOf(claims: Bag, had: Bag): Bag {
  const told = (value: Value): string => JSON.stringify(value ?? null)
  return Object.fromEntries(Object.entries(claims).filter(([name, value]) => told(value) !== told(had[name])))
}

function versionIn({ meta }: Members): string {
  return (meta as { readonly version: string }).version
}
