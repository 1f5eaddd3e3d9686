/** `/Groups`: who has which role (RFC 7644 §3), pushed by a directory. */
import type { FastifyInstance } from 'fastify'
import { answer, type Answer } from '../../src/doors/answer.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Group, Keeper } from '../../src/services/users/groups.ts'
import { notFound } from '../programs/refusals.ts'
import type { Members } from './attributes.ts'
import { assertMatches, assertSchema } from './conditions.ts'
import { scimError } from './errors.ts'
import { comparedAttribute, parseFilter, type Filter } from './filter.ts'
import { changeBy, groupResource, readGroup, versionOf } from './group-resource.ts'
import { GROUP_SCHEMA } from './group-schema.ts'
import { countOf, listResponse, lookedUp, startIndexOf, type ListQuery } from './lists.ts'
import { fitting } from './matching.ts'
import { GROUP, PATCH_OP, PATH } from './messages.ts'
import { operationsOf } from './patch.ts'
import { projectionOf } from './projection.ts'
import { listOperations } from './searches.ts'
import { sortOf, type Sort } from './sorting.ts'
import { createTurns } from './turns.ts'
import { queryOf, READ, scimAnswer, type ScimOperation, type ScimResources, WRITE } from './serving.ts'

/** In one answer. */
const MOST_MEMBERS = 10_000

export function createScimGroups(fastify: FastifyInstance): ScimResources {
  const { oauth } = fastify
  const { directory, groups } = kernelOf(fastify)
  const base = `${oauth.issuer}${PATH}`
  const inTurn = createTurns()

  /** Who asks, as it is registered now. */
  async function keeperOf(clientId: string): Promise<Keeper> {
    const client = await oauth.findClient(clientId)
    return { clientId, registeredAt: client?.registeredAt ?? 0 }
  }

  async function membersOf(all: readonly Group[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = await groups.membersOf(all, MOST_MEMBERS)
    if (found !== null) return found
    throw scimError(
      'tooMany',
      `there are more than ${MOST_MEMBERS} members: ask with excludedAttributes=members`,
    )
  }

  /** How the request wants to be answered: judged before anything of it is done. */
  async function answering({ token, request }: BearerCall) {
    const client = await keeperOf(token.clientId)
    const asked = queryOf(request)
    const project = projectionOf(GROUP_SCHEMA, asked)
    const tell = (group: Group, members: readonly string[] | undefined, status = 200): Answer => {
      const location = status === 201 ? { location: `${base}/Groups/${group.id}` } : {}
      const headers = { etag: versionOf(group), ...location }
      return scimAnswer(project(groupResource(group, members, { client, base })), { status, headers })
    }
    const members = async (group: Group) =>
      asksForMembers(asked) ? (await membersOf([group])).get(group.id) : undefined
    return {
      client,
      found: async (group: Group): Promise<Answer> => tell(group, await members(group)),
      /** What is done is told, also where its members are too many for that, or cannot be read any more. */
      done: async (group: Group, status?: number): Promise<Answer> =>
        tell(group, await members(group).catch(() => undefined), status),
    }
  }

  /** Those that may fit: what is named, or whose member somebody is who is named; else all. */
  async function candidates(filter: Filter | undefined): Promise<readonly Group[]> {
    const wanted =
      filter === undefined ? undefined : lookedUp(filter, ['id', 'displayName', 'members', 'members.value'])
    if (wanted?.is !== 'eq') return groups.list()
    const { name, value } = wanted
    if (name === 'id') return [await groups.get(value)].filter((one) => one !== null)
    if (name === 'displayName') return [await groups.find(value)].filter((one) => one !== null)
    const user = await directory.reloadUser(value)
    return user === null ? [] : groups.ofRoles(user.roles)
  }

  async function list(query: ListQuery, clientId: string): Promise<Members> {
    const project = projectionOf(GROUP_SCHEMA, query)
    const filter = query.filter === undefined ? undefined : parseFilter(GROUP_SCHEMA, query.filter)
    const [startIndex, count] = [startIndexOf(query), countOf(query)]
    const sort = sortOf(GROUP_SCHEMA, query, 'displayName')
    const client = await keeperOf(clientId)
    const shown = (await wantedBy(filter, client)).toSorted(byName)
    const ordered = sort === undefined ? shown : sorted(shown, sort, client)
    const page = ordered.slice(startIndex - 1, startIndex - 1 + count)
    const members = asksForMembers(query) ? await membersOf(page) : undefined
    const resources = page.map((group) => groupResource(group, members?.get(group.id), { client, base }))
    return listResponse({ totalResults: shown.length, startIndex }, resources.map(project))
  }

  function sorted(all: readonly Group[], sort: Sort, client: Keeper): readonly Group[] {
    const byId = new Map(all.map((group) => [group.id, group]))
    const resources = sort(all.map((group) => groupResource(group, undefined, { client, base })))
    return resources.map(({ id }) => byId.get(id as string)!)
  }

  async function wantedBy(filter: Filter | undefined, client: Keeper): Promise<readonly Group[]> {
    const all = await candidates(filter)
    if (filter === undefined) return all
    const fit = async (members?: ReadonlyMap<string, readonly string[]>): Promise<readonly Group[]> =>
      fitting(filter, all, (group) => groupResource(group, members?.get(group.id), { client, base }))
    if (!mentionsMembers(filter)) return fit()
    const named = membersNamed(filter)
    if (named !== undefined) return fit(await groups.membersAmong(all, named))
    // It reads through all that they have.
    return inTurn(client.clientId, async () => fit(await membersOf(all)))
  }

  const judging =
    ({ request }: BearerCall) =>
    (group: Group): void =>
      assertMatches(request, versionOf(group), 'group')

  async function change(call: BearerCall, read: () => Parameters<typeof groups.update>[2]): Promise<Answer> {
    const { done, client } = await answering(call)
    const group = await groups.update(call.path['id'] ?? '', client, read(), judging(call))
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
        return (await answering(call)).found(group)
      },
    },
    {
      method: 'POST',
      path: '/Groups',
      scope: WRITE,
      async handle(call) {
        assertSchema(call.body, GROUP)
        const { done, client } = await answering(call)
        // Who has the role already is in it from the beginning.
        const { members, ...rest } = readGroup(call.body)
        const made = await groups.create(client, { ...rest, added: members })
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

/** The ids with which the members are compared, where a filter asks nothing else of them; undefined where it does. */
function membersNamed(filter: Filter): readonly string[] | undefined {
  if ('all' in filter || 'any' in filter) {
    const each = ('all' in filter ? filter.all : filter.any).map(membersNamed)
    return each.every((one) => one !== undefined) ? each.flat() : undefined
  }
  if ('not' in filter) return membersNamed(filter.not)
  if (!mentionsMembers(filter)) return []
  const one = 'within' in filter ? filter.one : filter
  if (!('place' in one) || one.is !== 'eq' || typeof one.value !== 'string') return undefined
  return comparedAttribute(one.place).name === 'value' ? [one.value] : undefined
}

function mentionsMembers(filter: Filter): boolean {
  if ('all' in filter) return filter.all.some(mentionsMembers)
  if ('any' in filter) return filter.any.some(mentionsMembers)
  if ('not' in filter) return mentionsMembers(filter.not)
  const place = 'present' in filter ? filter.present : 'within' in filter ? filter.within : filter.place
  return place.attribute.name === 'members'
}
