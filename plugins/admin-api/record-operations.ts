/**
 * Operations for records: things of a few members that have a name of their own. Each kind is listed, registered, read, changed and deleted
 * in one manner, and its registry judges the values.
 */
import type { TProperties } from 'typebox'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Laid } from '../../src/protocol/resource-information.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { ListOptions, SaveOptions } from '../../src/services/resource-registry.ts'
import type { ApiScope } from './access.ts'
import { cursorOf, limitOf, listAnswer, listed, ListQuery } from './lists.ts'
import { notFound, orConflict } from '../programs/refusals.ts'
import { assertAddressable, assertKnown, memberProblem } from './refusals.ts'
import type { AdminApi } from './operations.ts'

export interface RecordKind<Information extends object> {
  /** One of them in a sentence, such as `trusted issuer`; paths, members of answers and names of operations are made of it. */
  readonly noun: string
  /** The member that names it, in the path too. */
  readonly identifier: string & keyof Information
  /** All of them, the identifier too. What is `writeOnly` is never answered; what is `readOnly` may be sent, and changes nothing. */
  readonly members: TProperties
  /** What a token needs. */
  readonly scopes: { readonly read: ApiScope; readonly write: ApiScope }
  /** What `DELETE` does: one line, with what is lost. */
  readonly ending: string
  /** Throws `insufficient_scope` where to make these values of the one of this name needs more of a token than the scope that writes. */
  assertMayChange?(call: BearerCall, name: string, values: Bag): Promise<void>
  find(name: string): Promise<Information | null>
  /** In the order of their names. */
  list(options: ListOptions): Promise<readonly Information[]>
  /** Throws `invalid_client_metadata` that names the member. */
  save(members: Laid<Information>, options: SaveOptions): Promise<void>
  /** False where there is none. */
  delete(name: string): Promise<boolean>
}

export function addRecordOperations<Information extends object>(
  api: AdminApi,
  kind: RecordKind<Information>,
): void {
  const { noun, identifier, members, scopes } = kind
  const plural = `${noun}s`
  const title = noun.replaceAll(/(?:^| )([a-z])/g, (_all, letter: string) => letter.toUpperCase())
  const all = `/${plural.replaceAll(' ', '-')}` as const
  const one = `${all}/:${identifier}` as const
  const inAnswer = plural.replaceAll(' ', '_')
  const answered = Type.Object(without('writeOnly', members), { title })
  const sent = without('readOnly', members)
  const { [identifier]: _name, ...changed } = sent
  const nameOf = (information: Information): string => String(information[identifier])

  function nameIn({ path }: Pick<BearerCall, 'path'>): string {
    return path[identifier] ?? ''
  }

  async function assertMayChange(call: BearerCall, name: unknown, values: Bag = {}): Promise<void> {
    if (typeof name === 'string') await kind.assertMayChange?.(call, name, values)
  }

  /** What may be stored of a body. Throws for a member that is misspelt, as nobody would read a warning. */
  function read(body: Bag): Bag {
    assertKnown(body, (name) => Object.hasOwn(members, name))
    return Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(sent, name)))
  }

  async function get(name: string): Promise<Bag> {
    const found = await kind.find(name)
    if (found === null) throw notFound(noun)
    return found as Bag
  }

  /** Whatever was sent: the registry looks at the values. */
  async function save(values: Bag, options: SaveOptions): Promise<void> {
    await asRequest(kind.save(values as Laid<Information>, options))
  }

  api.serve({
    method: 'GET',
    path: all,
    name: `list${title}s`,
    summary: `All ${plural}, in the order of their names`,
    scope: scopes.read,
    query: ListQuery,
    answer: listAnswer(inAnswer, answered),
    async handle(query) {
      const more = await kind.list({ after: cursorOf(query), limit: limitOf(query) + 1 })
      return listed(inAnswer, query, more, { nameOf, toWire: (information) => information })
    },
  })
  api.serve({
    method: 'POST',
    path: all,
    name: `create${title}`,
    summary: `Registers ${oneOf(noun)}`,
    scope: scopes.write,
    judges: Type.Object(sent, { title: `New${title}` }),
    answer: { status: 201, schema: answered },
    async handle(_query, call) {
      const values = read(call.body)
      const name = values[identifier]
      await assertMayChange(call, name, values)
      assertAddressable(identifier, name)
      const isTaken = async () => typeof name === 'string' && (await kind.find(name)) !== null
      await orConflict(save(values, { isNew: true }), identifier, isTaken)
      return get(String(name))
    },
  })
  api.serve({
    method: 'GET',
    path: one,
    name: `get${title}`,
    summary: `One ${noun}`,
    scope: scopes.read,
    answer: { status: 200, schema: answered },
    handle: async (_query, call) => get(nameIn(call)),
  })
  api.serve({
    method: 'PATCH',
    path: one,
    name: `update${title}`,
    summary: `Changes members of ${oneOf(noun)}; one that is null is taken away`,
    scope: scopes.write,
    judges: Type.Object(Type.Partial(Type.Object(changed)).properties, { title: `${title}Changes` }),
    answer: { status: 200, schema: answered },
    async handle(_query, call) {
      const name = nameIn(call)
      const { [identifier]: named = name, ...values } = read(call.body)
      await assertMayChange(call, name, values)
      await get(name)
      if (named !== name) throw memberProblem(identifier, 'cannot be changed')
      await save({ ...values, [identifier]: name }, { isNew: false })
      return get(name)
    },
  })
  api.serve({
    method: 'DELETE',
    path: one,
    name: `delete${title}`,
    summary: kind.ending,
    scope: scopes.write,
    answer: { status: 204 },
    async handle(_query, call) {
      const name = nameIn(call)
      await assertMayChange(call, name)
      if (!(await asRequest(kind.delete(name)))) throw notFound(noun)
    },
  })
}

/** What the registry refuses is no metadata of a client. */
async function asRequest<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof OAuthError) || error.code !== 'invalid_client_metadata') throw error
    const { message, about, also, cause } = error
    throw new OAuthError('invalid_request', message, {
      cause,
      ...(about && { about }),
      ...(also && { also }),
    })
  })
}

/** Members that do not have this mark of JSON Schema. */
function without(mark: 'readOnly' | 'writeOnly', members: TProperties): TProperties {
  return Object.fromEntries(Object.entries(members).filter(([, schema]) => !Object.hasOwn(schema, mark)))
}

function oneOf(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}
