/** The description of the interface in OpenAPI: what it says of each operation is what is answered. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { callerAs, startApi } from '../../support/admin-api.ts'
import { createAssertionKey } from '../../support/client-assertions.ts'
import { isThere } from '../../support/left-out.ts'
import * as signals from '../../support/shared-signals.ts'
import { getTokens } from '../../support/sign-in.ts'
import { signedIn } from '../account/owner.ts'

const server = await startApi({ OIDC_SHARED_SIGNALS: 'on' })
const { oauth } = server.server
const call = await callerAs(server, 'all')
interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: boolean
  readonly type?: string | readonly string[]
}
interface Described {
  readonly operationId: string
  readonly summary: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: object
  readonly responses: Readonly<
    Record<string, { readonly content?: { 'application/json': { schema: object } } }>
  >
}
const description = (await (await server.get('/admin/api/v1/openapi.json')).json()) as {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Described>>
  components: {
    schemas: Record<string, Schema>
    securitySchemes: { oauth: { flows: { clientCredentials: { scopes: object } } } }
  }
}
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => ({
    path,
    method: method.toUpperCase(),
    ...described,
  })),
)

test('it names each once, with what it needs, and one place for all', () => {
  expect([description.openapi, description.servers]).toEqual([
    '3.1.0',
    [{ url: `${server.url}/admin/api/v1` }],
  ])
  const names = operations.map(({ operationId }) => operationId)
  expect(names.length).toBeGreaterThan(30)
  expect(new Set(names).size).toBe(names.length)
  const scopes = Object.keys(description.components.securitySchemes.oauth.flows.clientCredentials.scopes)
  for (const { path, security, parameters = [], summary } of operations) {
    expect(scopes).toEqual(expect.arrayContaining([...security[0]!['oauth']!]))
    expect(summary).not.toBe('')
    const named = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
    expect(named).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
  }
})

test('each that it names is served, and nobody without a token gets in', async () => {
  for (const { method, path } of operations) {
    const body =
      method === 'POST' || method === 'PATCH'
        ? { body: '{}', headers: { 'content-type': 'application/json' } }
        : {}
    const answer = await server.request(`/admin/api/v1${path.replaceAll(/\{\w+\}/g, 'x')}`, {
      method,
      ...body,
    })
    expect([method, path, answer.status]).toEqual([method, path, 401])
  }
})

test('a member that a plugin adds is described, changes may take each away, and what is used twice has a name', () => {
  const { Client, ClientChanges, UserChanges, User } = description.components.schemas
  expect(Client!.properties).toHaveProperty('require_consent')
  expect(ClientChanges!.properties!['client_name']!.type).toEqual(['string', 'null'])
  expect(UserChanges!.properties!['nickname']!.type).toEqual(['string', 'null'])
  expect(User!.properties!['nickname']!.type).toBe('string')
  expect(Object.keys(description.components.schemas)).toEqual(
    expect.arrayContaining(['Session', 'Key', 'AuditEvent', 'Error']),
  )
})

test('what is answered to whoever looks at all that there is fits what it says', async () => {
  const alice = (await oauth.users.find('alice'))!
  const agent = await signedIn(server)
  await getTokens(server, { scope: 'openid offline_access' }, agent)
  await oauth.clients.update('web', {
    require_consent: true,
    post_logout_redirect_uris: ['https://app.example/'],
  })
  const issuer = 'https://workloads.example'
  const jwks = { keys: [(await createAssertionKey()).jwk] }
  await call('POST', '/trusted-issuers', { issuer, jwks, claims: { repository: ['org/app', 'org/api'] } })
  // It stands for a scope's name, too.
  await oauth.users.update('alice', { roles: ['read_books'] })
  const corp = { id: 'corp', issuer: 'https://id.corp.example', client_id: 'us', claims: { email: 'mail' } }
  if (isThere('latchkey-upstreams')) await call('POST', '/upstreams', { ...corp, client_secret: 'of corp' })
  const hears = isThere('latchkey-shared-signals')
  if (hears) await oauth.clients.create(signals.app('hears'))
  const delivery = { method: signals.PUSH, endpoint_url: 'https://hears.example/events' }
  const stream_id = hears ? await signals.streamOf(await signals.signalsAs(server, 'hears'), delivery) : ''
  await server.database.query(
    `insert into removed_subjects (stream, subject) values ('${stream_id}', 'somebody')`,
  )
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const examples: Record<string, string> = {
    sub: alice.id,
    client_id: 'web',
    name: 'read_books',
    resource: encodeURIComponent(`${server.url}/admin/api/v1`),
    id: 'corp',
    issuer: encodeURIComponent(issuer),
    stream_id,
  }
  let looked = 0
  for (const { method, path, responses } of operations) {
    if (method !== 'GET') continue
    const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => examples[name]!)
    const { status, body } = await call('GET', address)
    const { content } = responses['200']!
    const validate = ajv.compile(closed(content!['application/json'].schema))
    expect([path, status, validate(body), validate.errors]).toEqual([path, 200, true, null])
    looked++
  }
  expect(looked).toBeGreaterThan(14)
})

/** Refuses members that are not described, but where it describes none. */
function closed(schema: Schema): Schema {
  if (schema.$ref !== undefined)
    return closed(description.components.schemas[schema.$ref.split('/').at(-1)!]!)
  const { properties, items, ...rest } = schema
  const own = Object.entries(properties ?? {}).map(([name, one]) => [name, closed(one)] as const)
  return {
    ...rest,
    ...(items === undefined ? {} : { items: closed(items) }),
    ...(own.length === 0 ? {} : { properties: Object.fromEntries(own), additionalProperties: false }),
  }
}
