/** `/Groups`: who has which role (RFC 7644 §3), pushed by a directory. */
import type { FastifyInstance } from 'fastify'
import { answer, type Answer } from '../../src/doors/answer.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Group } from '../../src/services/users/groups.ts'
import { notFound } from '../programs/refusals.ts'
import { NIL } from '../../src/protocol/uuid.ts'
import type { Members } from './attributes.ts'
import { assertMatches, assertSchema } from './conditions.ts'
import { scimError } from './errors.ts'
import { parseFilter, type Filter } from './filter.ts'
import { changeBy, groupResource, readGroup, versionOf } from './group-resource.ts'
import { GROUP_SCHEMA } from './group-schema.ts'
import { countOf, listResponse, lookedUp, startIndexOf, type ListQuery } from './lists.ts'
import { fitting } from './matching.ts'
import { GROUP, PATCH_OP, PATH } from './messages.ts'
import { operationsOf } from './patch.ts'
import { projectionOf } from './projection.ts'
import { listOperations } from './searches.ts'
import { createTurns } from './turns.ts'
import { queryOf, scimAnswer, type ScimOperation, type ScimResources } from './serving.ts'

const READ = 'latchkey:scim:read'
const WRITE = 'latchkey:scim:write'
/** In one answer. */
const MOST_MEMBERS = 10_000
const BATCH = 1000
const GROUPS = 100

export function createScimGroups(fastify: FastifyInstance): ScimResources {
  const { directory, groups } = kernelOf(fastify)
  const base = `${fastify.oauth.issuer}${PATH}`
  const inTurn = createTurns()

  async function membersOf(group: Group, room: number): Promise<readonly string[]> {
    const found: string[] = []
    for (;;) {
      const batch = await groups.members(group, found.at(-1) ?? NIL, BATCH)
      found.push(...batch)
      if (found.length > room)
        throw scimError(
          'tooMany',
          `there are more than ${MOST_MEMBERS} members: ask with excludedAttributes=members`,
        )
      if (batch.length < BATCH) return found
    }
  }

  async function resourcesOf(
    all: readonly Group[],
    clientId: string,
    withMembers: boolean,
  ): Promise<readonly Members[]> {
    const resources: Members[] = []
    let room = MOST_MEMBERS
    for (const group of all) {
      const members = withMembers ? await membersOf(group, room) : undefined
      room -= members?.length ?? 0
      resources.push(groupResource(group, members, { clientId, base }))
    }
    return resources
  }

  /** How the request wants to be answered: judged before anything of it is done. */
  function answering({ token: { clientId }, request }: BearerCall) {
    const asked = queryOf(request)
    const project = projectionOf(GROUP_SCHEMA, asked)
    const tell = (group: Group, members: readonly string[] | undefined, status = 200): Answer => {
      const location = status === 201 ? { location: `${base}/Groups/${group.id}` } : {}
      const headers = { etag: versionOf(group), ...location }
      return scimAnswer(project(groupResource(group, members, { clientId, base })), { status, headers })
    }
    const members = async (group: Group) =>
      asksForMembers(asked) ? membersOf(group, MOST_MEMBERS) : undefined
    return {
      found: async (group: Group): Promise<Answer> => tell(group, await members(group)),
      /** What is done is told, also where its members are too many for that, or cannot be read any more. */
      done: async (group: Group, status?: number): Promise<Answer> =>
        tell(group, await members(group).catch(() => undefined), status),
    }
  }

  const only = (group: Group | null): readonly Group[] => (group === null ? [] : [group])
  const ofMember = async (id: string): Promise<readonly Group[]> =>
    groups.ofRoles((await directory.reloadUser(id))?.roles ?? [])
  const byIdentifier: Readonly<Record<string, (value: string) => Promise<readonly Group[]>>> = {
    id: async (value) => only(await groups.get(value)),
    displayName: async (value) => only(await groups.find(value)),
    members: ofMember,
    'members.value': ofMember,
  }

  async function candidates(filter: Filter | undefined): Promise<readonly Group[]> {
    const wanted = filter === undefined ? undefined : lookedUp(filter, Object.keys(byIdentifier))
    if (wanted?.is === 'eq') return byIdentifier[wanted.name]!(wanted.value)
    const all: Group[] = []
    for (;;) {
      const batch = await groups.list(all.at(-1)?.id, GROUPS)
      all.push(...batch)
      if (batch.length < GROUPS) return all
    }
  }

  async function list(query: ListQuery, clientId: string): Promise<Members> {
    const project = projectionOf(GROUP_SCHEMA, query)
    const filter = query.filter === undefined ? undefined : parseFilter(GROUP_SCHEMA, query.filter)
    const [startIndex, count] = [startIndexOf(query), countOf(query)]
    const shown = (await wantedBy(filter, clientId)).toSorted(byName)
    const page = shown.slice(startIndex - 1, startIndex - 1 + count)
    const resources = await resourcesOf(page, clientId, asksForMembers(query))
    return listResponse({ totalResults: shown.length, startIndex }, resources.map(project))
  }

  async function wantedBy(filter: Filter | undefined, clientId: string): Promise<readonly Group[]> {
    const all = await candidates(filter)
    if (filter === undefined) return all
    const look = async (): Promise<readonly Group[]> => {
      const resources = await resourcesOf(all, clientId, mentionsMembers(filter))
      return fitting(filter, all, (_group, at) => resources[at]!)
    }
    // For each of them the database is asked.
    return mentionsMembers(filter) && all.length > GROUPS ? inTurn(clientId, look) : look()
  }

  const judging =
    ({ request }: BearerCall) =>
    (group: Group): void =>
      assertMatches(request, versionOf(group), 'group')

  async function change(call: BearerCall, read: () => Parameters<typeof groups.update>[2]): Promise<Answer> {
    const { path, token } = call
    const { done } = answering(call)
    const group = await groups.update(path['id'] ?? '', token.clientId, read(), judging(call))
    if (group === null) throw notFound('group')
    return done(group)
  }

  const operations: readonly ScimOperation[] = [
    ...listOperations('/Groups', list),
    {
      method: 'GET',
      path: '/Groups/:id',
      scope: READ,
      async handle(call) {
        const group = await groups.get(call.path['id'] ?? '')
        if (group === null) throw notFound('group')
        return answering(call).found(group)
      },
    },
    {
      method: 'POST',
      path: '/Groups',
      scope: WRITE,
      async handle(call) {
        assertSchema(call.body, GROUP)
        const { done } = answering(call)
        // Who has the role already is in it from the beginning.
        const { members, ...rest } = readGroup(call.body)
        const made = await groups.create(call.token.clientId, { ...rest, added: members })
        return done(made, 201)
      },
    },
    {
      method: 'PUT',
      path: '/Groups/:id',
      scope: WRITE,
      async handle(call) {
        assertSchema(call.body, GROUP)
        return change(call, () => readGroup(call.body))
      },
    },
    {
      method: 'PATCH',
      path: '/Groups/:id',
      scope: WRITE,
      async handle(call) {
        assertSchema(call.body, PATCH_OP)
        return change(call, () => changeBy(operationsOf(call.body)))
      },
    },
    {
      method: 'DELETE',
      path: '/Groups/:id',
      scope: WRITE,
      async handle(call) {
        if (!(await groups.delete(call.path['id'] ?? '', judging(call)))) throw notFound('group')
        return answer({})
      },
    },
  ]
  return { list, operations }
}

function byName(one: Group, other: Group): number {
  const [first, second] = [one, other].map(({ displayName }) => displayName.toLowerCase())
  return first! < second! ? -1 : 1
}

/** Nobody reads through all of them for an answer that leaves them out. */
function asksForMembers({ attributes, excludedAttributes }: ListQuery): boolean {
  const named = (names: string): boolean =>
    names.split(',').some((name) => /^(?:urn:.*:)?members(?:\.|$)/i.test(name.trim()))
  if (attributes !== undefined) return named(attributes)
  return excludedAttributes === undefined || !/(?:^|[,:\s])members(?:[,\s]|$)/i.test(excludedAttributes)
}

function mentionsMembers(filter: Filter): boolean {
  if ('all' in filter) return filter.all.some(mentionsMembers)
  if ('any' in filter) return filter.any.some(mentionsMembers)
  if ('not' in filter) return mentionsMembers(filter.not)
  const place = 'present' in filter ? filter.present : 'within' in filter ? filter.within : filter.place
  return place.attribute.name === 'members'
}
