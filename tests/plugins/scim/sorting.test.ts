/** Lists in another order (RFC 7644 §3.4.2.3), and the user whom a token is of (§3.11). */
import { describe, expect, test } from 'vitest'
import { program, ROOT } from '../../support/admin-api.ts'
import { basic } from '../../support/requests.ts'
import { DIRECTORIES, GROUP, patchOf, scimAs, scimWith, startScim } from '../../support/scim.ts'
import { authorize, REDIRECT_URI, SEED, WEB } from '../../support/sign-in.ts'

const CONSOLE = { ...WEB, client_id: 'console', scope: ['latchkey:scim:write'] }
const seed = {
  ...SEED,
  users: [ROOT],
  clients: [
    ...SEED.clients,
    ...DIRECTORIES,
    CONSOLE,
    { ...CONSOLE, client_id: 'pairwise', subject_type: 'pairwise' },
    program('reader', 'scim:read'),
  ],
}
const server = await startScim({}, { seed })
const { users } = server.server.oauth
const call = await scimAs(server, 'directory')
for (const [username, nickname, roles] of [
  ['ann', 'zora', ['b']],
  ['Bob', 'Yuri', ['a', 'c']],
  ['cid', undefined, []],
  ['dan', 'yuri', []],
] as const)
  await users.create({ username, nickname, roles })
for (const [displayName, externalId] of [['Beta', 'x'], ['alpha', 'z'], ['Gamma', 'y']])
  await call('POST', '/Groups', { schemas: [GROUP], displayName, externalId }) // prettier-ignore

async function listed(path: string, query: Record<string, string>): Promise<string[]> {
  const { body } = await call('GET', `${path}?${new URLSearchParams(query).toString()}`)
  return (body.Resources as { userName?: string; displayName?: string }[]).map(
    ({ userName, displayName }) => userName ?? displayName!,
  )
}

describe('sorted', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['/Users', {}, ['ann', 'Bob', 'cid', 'dan', 'root']],
    ['/Users', { sortBy: 'userName' }, ['ann', 'Bob', 'cid', 'dan', 'root']],
    ['/Users', { sortBy: 'USERNAME', sortOrder: 'descending' }, ['root', 'dan', 'cid', 'Bob', 'ann']],
    // What is the same stays in the order of names; who has none comes last, and first the other way round.
    ['/Users', { sortBy: 'nickName' }, ['Bob', 'dan', 'ann', 'cid', 'root']],
    ['/Users', { sortBy: 'nickName', sortOrder: 'descending' }, ['cid', 'root', 'ann', 'Bob', 'dan']],
    ['/Users', { sortBy: 'roles.value' }, ['Bob', 'root', 'ann', 'cid', 'dan']],
    ['/Users', { sortBy: 'meta.created', sortOrder: 'descending', filter: 'nickName pr' }, ['dan', 'Bob', 'ann']],
    ['/Users', { sortBy: 'nickName', startIndex: '2', count: '2' }, ['dan', 'ann']],
    ['/Users', { sortOrder: 'descending' }, ['ann', 'Bob', 'cid', 'dan', 'root']],
    ['/Groups', { sortBy: 'displayName', sortOrder: 'descending' }, ['Gamma', 'Beta', 'alpha']],
    ['/Groups', { sortBy: 'externalId' }, ['Beta', 'Gamma', 'alpha']],
    ['/Groups', { sortBy: 'externalId', startIndex: '3' }, ['alpha']],
  ])('%s by %j', async (path, query, names) => {
    expect(await listed(path, query)).toEqual(names)
    const { body } = await call('POST', `${path}/.search`, query)
    expect(body.Resources).toHaveLength(names.length)
  }) // prettier-ignore

  test.each<[string, Record<string, string>, string]>([
    ['/Users', { sortBy: 'color' }, 'invalidValue'],
    ['/Users', { sortBy: 'name' }, 'invalidValue'],
    ['/Groups', { sortBy: 'members' }, 'invalidValue'],
    ['/Groups', { sortBy: 'displayName', sortOrder: 'up' }, 'invalidValue'],
    ['/Users', { sortBy: 'nickName', cursor: '' }, 'invalidCursor'],
  ])('%s by %j is refused', async (path, query, scimType) => {
    const { status, body } = await call('GET', `${path}?${new URLSearchParams(query).toString()}`)
    expect([status, body.scimType]).toEqual([400, scimType])
  })

  test('all kinds together are not', async () => {
    const { body } = await call('POST', '/.search', { sortBy: 'nickName', sortOrder: 'descending' })
    expect(body.totalResults).toBe(8)
    expect((await call('GET', '/ServiceProviderConfig')).body.sort).toEqual({ supported: true })
  })
})

describe('/Me', () => {
  test('is of nobody where a client got the token for itself', async () => {
    for (const [method, body] of [['GET'], ['PATCH', patchOf()], ['DELETE']] as const)
      expect((await call(method, '/Me', body)).status).toBe(404)
    expect((await (await scimAs(server, 'reader'))('DELETE', '/Me')).status).toBe(403)
  })

  test.each(['console', 'pairwise'])('is the administrator whose token it is, who is seen and never changed: %s', async (client_id) => {
    const asked = { client_id, scope: 'openid latchkey:scim:write', resource: `${server.url}/scim/v2` }
    const code = (await authorize(server, asked, undefined, ROOT)).get('code')!
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const answer = await server.post('/token', form, basic(client_id, CONSOLE.client_secret))
    const mine = scimWith(server, ((await answer.json()) as { access_token: string }).access_token)
    const { id } = (await users.find('root'))!
    const { status, headers, body } = await mine('GET', '/Me?attributes=userName')
    expect([status, body.id, body.userName]).toEqual([200, id, 'root'])
    expect(headers.get('content-location')).toBe(`${server.url}/scim/v2/Users/${id}`)
    const known = await mine('GET', '/Me', undefined, { 'if-none-match': headers.get('etag')! })
    expect(known.status).toBe(304)
    const change = patchOf({ op: 'add', path: 'nickName', value: 'R' })
    for (const [method, sent] of [['PATCH', change], ['PUT', { userName: 'root' }], ['DELETE', undefined]] as const)
      expect((await mine(method, '/Me', sent)).status).toBe(403)
    expect((await mine('POST', '/Me', {})).status).toBe(405)
  }) // prettier-ignore
})
