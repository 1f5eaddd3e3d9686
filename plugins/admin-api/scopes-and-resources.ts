/** `/scopes` and `/resources`: what clients may ask for, and for which API. Those of this interface are changed by who administers all. */
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { answer } from '../../src/doors/answer.ts'
import type { BearerCall } from '../../src/doors/endpoint.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { metadataError } from '../../src/protocol/errors.ts'
import type { ResourceInformation, ScopeInformation } from '../../src/protocol/resource-information.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { ListOptions, SaveOptions } from '../../src/services/resource-registry.ts'
import { assertAll, namesOurs, PATH } from './access.ts'
import { limitOf, listAnswer, listed, ListQuery, nameAfter } from './lists.ts'
import type { AdminApi } from './operations.ts'
import { notFound } from './not-found.ts'

const OWN = 'what is done to the scopes and the resource of the administration'
const Uri = () => Type.String({ description: 'An absolute URI without a fragment (RFC 8707 section 2).' })
const ScopeMembers = {
  description: Type.Optional(Type.String({ description: 'What people read where they allow it.' })),
  resource: Type.Optional(Uri()),
}
const ResourceMembers = {
  aliases: Type.Optional(Type.Array(Uri())),
  name: Type.Optional(Type.String({ description: 'What people read where they allow it.' })),
  access_token_format: Type.Optional(Type.Enum(['jwt', 'opaque'])),
  access_token_lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'Seconds.' })),
  dpop_bound_access_tokens: Type.Optional(Type.Boolean()),
  tls_client_certificate_bound_access_tokens: Type.Optional(Type.Boolean()),
}

/** What is registered under a name of its own, and has a few members. */
interface Kind<Information extends object> {
  /** In the path, and as the answer's member. */
  readonly plural: string
  /** As operations are called. */
  readonly title: string
  /** What is in a sentence. */
  readonly noun: string
  /** The member that names it. */
  readonly identifier: string & keyof Information
  readonly members: Readonly<Record<string, TSchema>>
  /** What is lost with it. */
  readonly ending: string
  isOurs(name: string): boolean
  find(name: string): Promise<Information | null>
  list(options: ListOptions): Promise<readonly Information[]>
  save(members: Bag, options: SaveOptions): Promise<void>
  delete(name: string): Promise<boolean>
}

export function addScopesAndResources({ oauth }: FastifyInstance, api: AdminApi): void {
  const { issuer, resources } = oauth
  addKind<ScopeInformation>(api, {
    plural: 'scopes',
    title: 'Scope',
    noun: 'scope',
    identifier: 'name',
    members: ScopeMembers,
    ending: 'Removes a scope that no client has in its list',
    isOurs: (name) => namesOurs([name]),
    find: resources.findScope,
    list: resources.listScopes,
    save: async (members, options) => resources.saveScope(members as never, options),
    delete: resources.deleteScope,
  })
  addKind<ResourceInformation>(api, {
    plural: 'resources',
    title: 'Resource',
    noun: 'resource',
    identifier: 'resource',
    members: ResourceMembers,
    ending: 'Removes a resource; its scopes belong to the default one from then on',
    isOurs: (name) => name === `${issuer}${PATH}`,
    find: resources.findResource,
    list: resources.listResources,
    save: async (members, options) => resources.saveResource(members as never, options),
    delete: resources.deleteResource,
  })
}

function addKind<Information extends object>(api: AdminApi, kind: Kind<Information>): void {
  const { plural, title, noun, identifier } = kind
  const Named = { [identifier]: identifier === 'resource' ? Uri() : Type.String() }
  const schema = Type.Object({ ...Named, ...kind.members }, { title })
  const one = `/${plural}/:${identifier}` as const
  const nameOf = (information: Information): string => String(information[identifier])

  function nameIn({ path }: Pick<BearerCall, 'path'>): string {
    return path[identifier] ?? ''
  }

  function assertMayChange(call: BearerCall, name: unknown): void {
    if (typeof name === 'string' && kind.isOurs(name)) assertAll(call, OWN)
  }

  /** Throws for a member that is misspelt, as nobody would read a warning. */
  function read(sent: Bag): Bag {
    const unknown = Object.keys(sent).find(
      (name) => name !== identifier && !Object.hasOwn(kind.members, name),
    )
    if (unknown !== undefined) throw metadataError(unknown.slice(0, 100), 'is not known')
    return sent
  }

  async function get(name: string): Promise<Bag> {
    const found = await kind.find(name)
    if (found === null) throw notFound(noun)
    return found as Bag
  }

  api.serve({
    method: 'GET',
    path: `/${plural}`,
    name: `list${title}s`,
    summary: `All ${plural}, in the order of their names`,
    scope: 'latchkey:clients:read',
    query: ListQuery,
    answer: listAnswer(plural, schema),
    async handle(query) {
      const more = await kind.list({ after: nameAfter(query), limit: limitOf(query) + 1 })
      return listed(plural, query, more, { nameOf, toWire: (information) => information })
    },
  })
  api.serve({
    method: 'POST',
    path: `/${plural}`,
    name: `create${title}`,
    summary: `Registers a ${noun}`,
    scope: 'latchkey:clients:write',
    body: schema,
    answer: { status: 201, schema },
    async handle(_query, call) {
      const sent = read(call.body)
      assertMayChange(call, sent[identifier])
      await kind.save(sent, { isNew: true })
      return answer({ status: 201, body: await get(String(sent[identifier])) })
    },
  })
  api.serve({
    method: 'GET',
    path: one,
    name: `get${title}`,
    summary: `One ${noun}`,
    scope: 'latchkey:clients:read',
    answer: { status: 200, schema },
    handle: async (_query, call) => get(nameIn(call)),
  })
  api.serve({
    method: 'PATCH',
    path: one,
    name: `update${title}`,
    summary: `Changes members of a ${noun}; one that is null is taken away`,
    scope: 'latchkey:clients:write',
    body: Type.Object(kind.members, { title: `${title}Changes` }),
    answer: { status: 200, schema },
    async handle(_query, call) {
      const name = nameIn(call)
      const { [identifier]: sent = name, ...members } = read(call.body)
      assertMayChange(call, name)
      await get(name)
      if (sent !== name) throw metadataError(identifier, 'cannot be changed')
      await kind.save({ ...members, [identifier]: name }, { isNew: false })
      return get(name)
    },
  })
  api.serve({
    method: 'DELETE',
    path: one,
    name: `delete${title}`,
    summary: kind.ending,
    scope: 'latchkey:clients:write',
    answer: { status: 204 },
    async handle(_query, call) {
      assertMayChange(call, nameIn(call))
      if (!(await kind.delete(nameIn(call)))) throw notFound(noun)
      return answer({ status: 204 })
    },
  })
}
