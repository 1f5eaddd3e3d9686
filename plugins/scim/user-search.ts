/**
 * Lists of users (RFC 7644 §3.4.2, RFC 9865): those that fit a filter, by index or by cursor. What a filter names by an identifier, or begins with,
 * is looked up; for all else, so many users are looked through and no more.
 */
import type { User } from '../../src/doors/user.ts'
import { isObject, isStorable, parseJson } from '../../src/protocol/json.ts'
import { usernameKey } from '../../src/protocol/username.ts'
import type { ExternalIds } from '../../src/services/users/external-ids.ts'
import type { UserRegistry } from '../../src/services/users/user-registry.ts'
import type { Place as Behind } from '../../src/store/begins-with.ts'
import type { Members } from './attributes.ts'
import { scimError } from './errors.ts'
import { parseFilter, type Filter } from './filter.ts'
import { fitting } from './matching.ts'
import {
  countOf,
  listResponse,
  lookedUp,
  MOST_COUNT,
  startIndexOf,
  type List,
  type ListQuery,
} from './lists.ts'
import { projectionOf } from './projection.ts'
import { sortOf } from './sorting.ts'
import { createTurns } from './turns.ts'
import { USER_SCHEMA } from './user-schema.ts'

/** Users that one request looks through; in smaller batches, fewer. */
export const MOST_EXAMINED = 10_000
const BATCH = MOST_COUNT
const BY_IDENTIFIER = ['id', 'userName', 'externalId']
const BY_BEGINNING = ['userName', 'displayName', 'emails', 'emails.value']

export interface UserSearch {
  readonly list: List
}

export interface UserSearchOptions {
  readonly users: Pick<UserRegistry, 'find' | 'list' | 'page' | 'count' | 'search'>
  readonly externalIds: ExternalIds
  /** Null for none. */
  find(id: string): Promise<User | null>
  resourcesOf(users: readonly User[], clientId: string): Promise<readonly Members[]>
}

/** Where some go on, by the parts that a cursor is made of; null at the end. */
interface Batch {
  readonly users: readonly User[]
  readonly next: readonly string[] | null
}

type Source = (after: readonly string[], limit: number) => Promise<Batch>

export function createUserSearch({ users, externalIds, find, resourcesOf }: UserSearchOptions): UserSearch {
  const inTurn = createTurns()

  const all: Source = async ([after = ''], limit) => {
    const found = await users.list({ after, limit })
    return { users: found, next: found.length < limit ? null : [found.at(-1)!.username] }
  }

  function beginningWith(text: string): Source {
    return async ([at, id], limit) => {
      const after: Behind | undefined = at === undefined || id === undefined ? undefined : { at, id }
      const { found, next } = await users.search(text, { limit, ...(after === undefined ? {} : { after }) })
      return { users: found, next: next === null ? null : [next.at, next.id] }
    }
  }

  /** Asked when it comes to that: of a promise that waits meanwhile, nobody would hear that it fails. */
  function only(ask: () => Promise<User | null>): Source {
    return async () => ({ users: [await ask()].filter((one) => one !== null), next: null })
  }

  async function owner(clientId: string, externalId: string): Promise<User | null> {
    const id = await externalIds.owner(clientId, externalId)
    return id === null ? null : find(id)
  }

  /** At least all that fit, and as few others as can be. */
  function sourceOf(filter: Filter, clientId: string): Source {
    const wanted = lookedUp(filter, BY_IDENTIFIER, BY_BEGINNING)
    if (wanted === undefined) return all
    const { name, is, value } = wanted
    if (is === 'eq' && name === 'id') return only(async () => find(value))
    if (is === 'eq' && name === 'userName') return only(async () => users.find(value))
    if (is === 'eq' && name === 'externalId') return only(async () => owner(clientId, value))
    return beginningWith(value)
  }

  async function among(
    batch: readonly User[],
    filter: Filter | undefined,
    clientId: string,
  ): Promise<readonly Members[]> {
    const resources = await resourcesOf(batch, clientId)
    return filter === undefined ? resources : fitting(filter, resources, (one) => one)
  }

  /** The first at once, the others when it is the client's turn, while `look` says where they go on. */
  async function throughBatches(
    clientId: string,
    from: readonly string[],
    look: (after: readonly string[]) => Promise<Batch['next']>,
  ): Promise<void> {
    const next = await look(from)
    if (next === null) return
    await inTurn(clientId, async () => {
      for (let after: Batch['next'] = next; after !== null;) after = await look(after)
    })
  }

  /** All of them, so that they can be counted. */
  async function allFitting(filter: Filter | undefined, clientId: string): Promise<readonly Members[]> {
    const source = filter === undefined ? all : sourceOf(filter, clientId)
    const found: Members[] = []
    let examined = 0
    await throughBatches(clientId, [], async (after) => {
      const { users: batch, next } = await source(after, BATCH)
      found.push(...(await among(batch, filter, clientId)))
      examined += batch.length
      if (next !== null && examined >= MOST_EXAMINED)
        throw scimError(
          'tooMany',
          `it would look through more than ${MOST_EXAMINED} users: name one, or go on by cursor`,
        )
      return next
    })
    return byName(found)
  }

  async function byIndex(query: ListQuery, filter: Filter | undefined, clientId: string): Promise<Members> {
    const [startIndex, count] = [startIndexOf(query), countOf(query)]
    const offset = startIndex - 1
    const sort = sortOf(USER_SCHEMA, query, 'userName')
    if (filter !== undefined || sort !== undefined) {
      const fit = await allFitting(filter, clientId)
      const found = sort === undefined ? fit : sort(fit)
      return listResponse({ totalResults: found.length, startIndex }, found.slice(offset, offset + count))
    }
    const page = count === 0 ? [] : await users.page({ offset, limit: count })
    return listResponse({ totalResults: await users.count(), startIndex }, await resourcesOf(page, clientId))
  }

  /** The last page is the one without `nextCursor`; others may have fewer than were asked for, and none. */
  async function byCursor(query: ListQuery, filter: Filter | undefined, clientId: string): Promise<Members> {
    if (sortOf(USER_SCHEMA, query, 'userName') !== undefined)
      throw scimError('invalidCursor', 'what is sorted is listed by startIndex')
    const count = Math.max(1, countOf(query))
    const source = filter === undefined ? all : sourceOf(filter, clientId)
    let page: { readonly found: readonly Members[]; readonly next: Batch['next'] } = { found: [], next: null }
    let batches = 0
    await throughBatches(clientId, partsOf(query.cursor ?? ''), async (after) => {
      const { users: batch, next } = await source(after, count)
      const found = await among(batch, filter, clientId)
      page = { found, next }
      batches++
      return found.length > 0 || batches >= MOST_EXAMINED / MOST_COUNT ? null : next
    })
    return listResponse(page.next === null ? {} : { nextCursor: cursorOf(page.next) }, page.found)
  }

  return {
    async list(query, clientId) {
      const project = projectionOf(USER_SCHEMA, query)
      const filter = query.filter === undefined ? undefined : parseFilter(USER_SCHEMA, query.filter)
      const listed = await (query.cursor === undefined ? byIndex : byCursor)(query, filter, clientId)
      const resources = listed['Resources'] as readonly Members[]
      return { ...listed, Resources: resources.map(project) }
    },
  }
}

/** As all users are listed, whatever some were found by. Of thousands, nobody is served meanwhile: each name is brought to its form once. */
function byName(found: readonly Members[]): readonly Members[] {
  return found
    .map((one) => ({ one, key: usernameKey(String(one['userName'])) ?? '' }))
    .toSorted((first, second) => (first.key < second.key ? -1 : 1))
    .map(({ one }) => one)
}

function cursorOf(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify({ after: parts })).toString('base64url')
}

/** None at the beginning. */
function partsOf(cursor: string): readonly string[] {
  if (cursor === '') return []
  const parsed = parseJson(Buffer.from(cursor, 'base64url').toString())
  const parts: unknown = isObject(parsed) ? parsed['after'] : undefined
  if (!Array.isArray(parts) || !parts.every((part) => typeof part === 'string' && isStorable(part)))
    throw scimError('invalidCursor', 'the cursor is not the nextCursor of an answer')
  return parts as readonly string[]
}
