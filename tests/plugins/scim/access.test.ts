/** Who may call SCIM, by which tokens, and what anybody may read of it. */
import { describe, expect, test } from 'vitest'
import { callerWith, program, PROGRAMS, ROOT, tokenOf } from '../../support/admin-api.ts'
import { basic } from '../../support/requests.ts'
import {
  DIRECTORIES,
  ERROR,
  GROUP,
  LIST,
  patchOf,
  scimAs,
  scimWith,
  startScim,
  USER,
} from '../../support/scim.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { ALICE, authorize, REDIRECT_URI, SEED, WEB } from '../../support/sign-in.ts'

const CONSOLE = { ...WEB, client_id: 'console', scope: ['latchkey:scim:write'] }
const MIXED = { ...program('mixed', 'scim:write'), scope: ['latchkey:scim:write', 'read_books'] }
const seed = {
  ...SEED,
  users: [...SEED.users, ROOT],
  clients: [...SEED.clients, ...DIRECTORIES, ...PROGRAMS, CONSOLE, MIXED],
}
const server = await startScim({ ADMIN_API: 'on' }, { seed })
const { oauth } = server.server
const [call, viewer] = await Promise.all(
  ['directory', 'viewer'].map(async (client) => scimAs(server, client)),
)
const alice = (await oauth.users.find('alice'))!

async function tokenOfUser(user: Pick<typeof ALICE, 'username' | 'password'>): Promise<string> {
  const asked = {
    client_id: CONSOLE.client_id,
    scope: 'openid latchkey:scim:write',
    resource: `${server.url}/scim/v2`,
  }
  const code = (await authorize(server, asked, undefined, user)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const answer = await server.post('/token', form, basic(CONSOLE.client_id, CONSOLE.client_secret))
  return ((await answer.json()) as { access_token: string }).access_token
}

/** What writes, on somebody who is there. */
const WRITES = [
  ['POST', '/Users', { schemas: [USER], userName: 'eve' }],
  ['PUT', `/Users/${alice.id}`, { schemas: [USER], userName: 'alice' }],
  ['PATCH', `/Users/${alice.id}`, patchOf({ op: 'add', path: 'nickName', value: 'E' })],
  ['DELETE', `/Users/${alice.id}`, undefined],
  ['POST', '/Groups', { schemas: [GROUP], displayName: 'Eve' }],
  ['PUT', `/Groups/${alice.id}`, { schemas: [GROUP], displayName: 'Eve' }],
  ['PATCH', `/Groups/${alice.id}`, patchOf({ op: 'remove', path: 'members' })],
  ['DELETE', `/Groups/${alice.id}`, undefined],
] as const
const READS = [
  ['GET', '/Users', undefined],
  ['GET', `/Users/${alice.id}`, undefined],
  ['POST', '/Users/.search', {}],
  ['POST', '/.search', {}],
  ['GET', '/Groups', undefined],
  ['POST', '/Groups/.search', {}],
] as const

test('nothing of it is there unless SCIM is on', async () => {
  const off = await startServer({}, { seed: SEED })
  for (const path of ['/Users', '/ServiceProviderConfig', '/Schemas'])
    expect((await off.get(`/scim/v2${path}`)).status).toBe(404)
  expect(await off.server.oauth.resources.listScopes()).toHaveLength(1)
})

test.each([...READS, ...WRITES])('%s %s needs a token', async (method, path, body) => {
  const { status, headers, body: told } = await scimWith(server)(method, path, body)
  expect([status, told.schemas, headers.get('content-type')]).toEqual([401, [ERROR], 'application/scim+json'])
  const scope = READS.some((one) => one[0] === method && one[1] === path) ? 'read' : 'write'
  expect(headers.get('www-authenticate')).toContain(`scope="latchkey:scim:${scope}"`)
  expect((await scimWith(server, 'x')(method, path, body)).status).toBe(401)
}) // prettier-ignore

test.each(READS)('%s %s is for who may read', async (method, path, body) => {
  expect((await viewer!(method, path, body)).status).toBe(200)
})

test.each(WRITES)('%s %s is not for who may read alone', async (method, path, body) => {
  const { status, body: told } = await viewer!(method, path, body)
  expect([status, told.schemas]).toEqual([403, [ERROR]])
})

test('tokens for something else are none here, nor are those of here for the administration', async () => {
  const [api, both] = await Promise.all([
    tokenOf(server, 'people'),
    tokenOf(server, 'mixed', { scope: 'latchkey:scim:write read_books' }),
  ])
  for (const token of [api, both]) expect((await scimWith(server, token)('GET', '/Users')).status).toBe(401)
  const own = await tokenOf(server, 'mixed', { scope: 'latchkey:scim:write' })
  expect((await scimWith(server, own)('GET', '/Users')).status).toBe(200)
  expect((await callerWith(server, own)('GET', '/users')).status).toBe(401)
})

test('a token of somebody is good where they are an administrator', async () => {
  expect((await scimWith(server, await tokenOfUser(ALICE))('GET', '/Users')).status).toBe(403)
  const root = scimWith(server, await tokenOfUser(ROOT))
  expect((await root('GET', '/Users')).status).toBe(200)
  const { status, body } = await root('POST', '/Users', { schemas: [USER], userName: 'by-root' })
  expect(status).toBe(201)
  const [event] = (await oauth.audit.list({ type: 'user.registered', user: body.id })).events
  expect(event!.actor).toEqual({ kind: 'user', id: (await oauth.users.find('root'))!.id })
})

test('a program that registers clients gives nobody these scopes', async () => {
  const apps = callerWith(server, await tokenOf(server, 'apps'))
  const client = { client_id: 'sneaky', grant_types: ['client_credentials'], scope: 'latchkey:scim:write' }
  expect((await apps('POST', '/clients', client)).status).toBe(403)
  const resource = encodeURIComponent(`${server.url}/scim/v2`)
  expect((await apps('PATCH', `/resources/${resource}`, { access_token_lifetime: 9 })).status).toBe(403)
  expect((await apps('DELETE', '/scopes/latchkey%3Ascim%3Awrite')).status).toBe(403)
  expect(await oauth.clients.find('sneaky')).toBeNull()
})

test('nor does it take the address of SCIM before that is switched on', async () => {
  const off = await startServer({ ADMIN_API: 'on' }, { seed: { ...SEED, users: [ROOT], clients: PROGRAMS } })
  const apps = callerWith(off, await tokenOf(off, 'apps'))
  for (const name of [`${off.url}/scim/v2`, `${off.url}/scim/v2/`]) {
    expect((await apps('POST', '/resources', { resource: name })).status).toBe(403)
    expect(
      (await apps('POST', '/resources', { resource: 'https://a.example', aliases: [name] })).status,
    ).toBe(403)
  }
  const other = { resource: 'https://a.example', aliases: ['https://b.example'] }
  expect((await apps('POST', '/resources', other)).status).toBe(201)
  await startBeside(off, { SCIM: 'on' })
})

test('what it needs is registered once, and what is removed of it stays so', async () => {
  await oauth.clients.delete('viewer')
  await oauth.resources.deleteScope('latchkey:scim:read')
  const beside = await startBeside(server)
  expect(await beside.server.oauth.resources.findScope('latchkey:scim:read')).toBeNull()
  expect(await beside.server.oauth.resources.findScope('latchkey:scim:write')).not.toBeNull()
})

describe('anybody may read', () => {
  const open = scimWith(server)

  test('what it can do', async () => {
    const { status, headers, body } = await open('GET', '/ServiceProviderConfig')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/scim+json'])
    expect(body).toMatchObject({
      patch: { supported: true },
      bulk: { supported: true },
      sort: { supported: true },
      filter: { supported: true, maxResults: 200 },
      changePassword: { supported: true },
      etag: { supported: true },
      pagination: { cursor: true, index: true, defaultPaginationMethod: 'index' },
    })
  })

  test('what there is', async () => {
    const types = (await open('GET', '/ResourceTypes')).body
    expect(types).toMatchObject({ schemas: [LIST], totalResults: 2, Resources: [{ id: 'User', endpoint: '/Users', schema: USER }, { id: 'Group', endpoint: '/Groups', schema: GROUP }] })
    expect((await open('GET', '/ResourceTypes/User')).body).toEqual(types.Resources[0])
    expect((await open('GET', '/ResourceTypes/Car')).status).toBe(404)
    const schemas = (await open('GET', '/Schemas')).body
    expect((await open('GET', `/Schemas/${USER}`)).body).toEqual(schemas.Resources[0])
    expect((await open('GET', '/Schemas/urn:none')).body).toMatchObject({ schemas: [ERROR], status: '404' })
  }) // prettier-ignore

  test('every attribute that is answered, with what it is', async () => {
    const { attributes } = (await open('GET', `/Schemas/${USER}`)).body as { attributes: { name: string }[] }
    const names = attributes.map(({ name }) => name)
    const sent = { nickName: 'A', emails: [{ value: 'a@b.example' }], addresses: [{ country: 'IS' }], roles: [{ value: 'staff' }], name: { givenName: 'A' } }
    const { body } = await call!('POST', '/Users', { schemas: [USER], userName: 'all-of-it', ...sent })
    const common = ['schemas', 'id', 'externalId', 'meta']
    expect(Object.keys(body).filter((name) => !common.includes(name) && !names.includes(name))).toEqual([])
    for (const attribute of attributes)
      expect(attribute).toMatchObject({
        type: expect.stringMatching(/^(?:string|boolean|reference|complex)$/),
        multiValued: expect.any(Boolean),
        required: attribute.name === 'userName',
        mutability: ({ password: 'writeOnly', groups: 'readOnly' } as Record<string, string>)[attribute.name] ?? 'readWrite',
        returned: attribute.name === 'password' ? 'never' : 'default',
        uniqueness: attribute.name === 'userName' ? 'server' : 'none',
      })
  }) // prettier-ignore
})

test.each([
  ['GET', '/Nothing', 404],
  ['GET', '/Users/a/b', 404],
  ['GET', '/', 404],
  ['PUT', '/Users', 405],
  ['POST', '/ServiceProviderConfig', 405],
  // RFC 7644 §4: nobody takes it for what the filter lets through.
  ['GET', '/ServiceProviderConfig?filter=patch.supported%20eq%20false', 403],
  ['GET', '/ResourceTypes?filter=name%20eq%20%22Group%22', 403],
  ['GET', '/Schemas?filter=id%20eq%20%22x%22', 403],
  ['GET', `/Schemas/${USER}?filter=id%20eq%20%22x%22`, 403],
])('%s %s is refused as SCIM refuses: %i', async (method, path, status) => {
  const answer = await call!(method, path)
  expect([answer.status, answer.body]).toEqual([
    status,
    { schemas: [ERROR], status: String(status), detail: expect.any(String) },
  ])
  expect(answer.headers.get('content-type')).toBe('application/scim+json')
})

test.each<[string, Record<string, string>, number]>([
  ['{', {}, 400],
  ['[]', {}, 400],
  ['{"userName":"a","userName":"b"}', {}, 400],
  ['{"userName":"a"}', { 'content-type': 'text/plain' }, 415],
  ['{"userName":"a\\u0000"}', {}, 400],
  [`{"userName":"a","more":"${'x'.repeat(70_000)}"}`, {}, 413],
])('the body %.40s with %j is refused: %i', async (body, headers, status) => {
  const answer = await call!('POST', '/Users', body, headers)
  expect([answer.status, answer.body.schemas, answer.body.status]).toEqual([status, [ERROR], String(status)])
})

test('plain JSON is taken, too', async () => {
  const body = { schemas: [USER], userName: 'plain' }
  expect((await call!('POST', '/Users', body, { 'content-type': 'application/json' })).status).toBe(201)
})
