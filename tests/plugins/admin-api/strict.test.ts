/** What the interface refuses that would else go unnoticed: misspelt filters and members, and what no address could name. */
import { describe, expect, test } from 'vitest'
import { buildServer } from '../../../src/server.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { callerAs, startApi } from '../../support/admin-api.ts'
import { isThere, rowsWith } from '../../support/left-out.ts'

const server = await startApi()
const { oauth } = server.server
const call = await callerAs(server, 'all')
const alice = (await oauth.users.find('alice'))!

test.each([
  ['GET', '/users?emial=alice@example.com', 'emial'],
  ['GET', '/users?email=', 'email'],
  ['GET', '/users?username', 'username'],
  ['GET', '/users?search=', 'search'],
  ['GET', '/users?search=%20', 'search'],
  ['GET', '/users?email=+', 'email'],
  ['GET', '/users?next=abc', 'next'],
  ['GET', '/users?username=alice&search=a', 'search'],
  ['GET', '/users?email=a@example.com&limit=5', 'limit'],
  ['GET', '/users?constructor=a', 'constructor'],
  ['GET', `/users/${alice.id}?deep=yes`, 'deep'],
  ['DELETE', `/users/${alice.id}?dry_run=yes`, 'dry_run'],
  ['GET', '/clients?client_id=web', 'client_id'],
  ['GET', '/scopes?search=read', 'search'],
  ['GET', '/audit-events?types=user.signed_in', 'types'],
  ['GET', '/keys?alg=RS256', 'alg'],
])('%s %s is refused by the parameter', async (method, path, member) => {
  const { status, body } = await call(method, path)
  expect([status, body.error, body.problems[0].member]).toEqual([400, 'invalid_request', member])
  expect((await oauth.users.get(alice.id)).username).toBe('alice')
})

test('a POST reads no query, and says so', async () => {
  const { status, body } = await call('POST', '/users?dry_run=yes', { username: 'real' })
  expect([status, body.problems[0].member]).toEqual([400, 'dry_run'])
  expect(await oauth.users.find('real')).toBeNull()
})

test('a limit is said to be between what and what', async () => {
  for (const limit of ['0', '101', 'all', '-1'])
    expect((await call('GET', `/users?limit=${limit}`)).body.error_description).toBe(
      'limit must be a whole number from 1 to 100',
    )
})

describe('a body', () => {
  test.each([
    ['POST', '/clients/web/secret', { overlapp: 3600 }, 'overlapp'],
    ['POST', '/clients/web/secret', { overlap: -1 }, 'overlap'],
    ['POST', '/keys', { alg: 'RS256', store: 'hsm' }, 'store'],
    ['POST', '/keys', {}, 'alg'],
    ['POST', `/users/${alice.id}/password-link`, { expires_in: 60 }, 'expires_in'],
    ...rowsWith('latchkey-invitation', [
      ['POST', `/users/${alice.id}/invitation`, { language: 'de' }, 'language'] as const,
    ]),
    ['PATCH', `/users/${alice.id}`, { roles: null }, 'roles'],
    ['PATCH', `/users/${alice.id}`, { password: null }, 'password'],
    ['PATCH', `/users/${alice.id}`, { disabled: null }, 'disabled'],
    ['PATCH', '/clients/web', { client_secret: 'a' }, 'client_secret'],
    ['PATCH', '/clients/web', { client_secret: null }, 'client_secret'],
    ['PATCH', '/clients/web', { client_id: null }, 'client_id'],
    ['POST', '/scopes', { name: '..' }, 'name'],
    ['POST', '/resources', { resource: `https://long.example/${'z'.repeat(500)}` }, 'resource'],
    ['POST', '/clients', { client_id: '.', redirect_uris: ['https://a.example/cb'] }, 'client_id'],
  ] as const)('%s %s with %j is refused by the member', async (method, path, sent, member) => {
    const before = (await oauth.audit.list({}, { limit: 1 })).events[0]!.id
    const { status, body } = await call(method, path, sent)
    expect([status, body.error, body.problems[0].member]).toEqual([400, 'invalid_request', member])
    expect((await oauth.audit.list({}, { limit: 1 })).events[0]!.id).toBe(before)
  })

  test('may say of a deletion that there is none, as it was read', async () => {
    expect((await call('PATCH', `/users/${alice.id}`, { deletes_at: null, sub: alice.id })).status).toBe(200)
  })
})

test('another address is not verified because the one before was', async () => {
  const { sub } = (
    await call('POST', '/users', { username: 'mover', email: 'one@example.com', email_verified: true })
  ).body
  const change = async (changes: object) => (await call('PATCH', `/users/${sub}`, changes)).body
  expect(await change({ email: 'two@example.com' })).toMatchObject({ email_verified: false })
  expect(await change({ email: 'three@example.com', email_verified: true })).toMatchObject({
    email_verified: true,
  })
  expect(await change({ email: 'three@example.com', nickname: 'Mo' })).toMatchObject({ email_verified: true })
  expect(await change({ email: null })).not.toHaveProperty('email_verified')
  await change({ phone_number: '+1 555 1', phone_number_verified: true })
  expect(await change({ phone_number: '+1 555 2' })).toMatchObject({ phone_number_verified: false })
  const taken = await call('PATCH', `/users/${sub}`, { email: 'alice@example.com', email_verified: true })
  expect([taken.status, taken.body.error]).toEqual([409, 'conflict'])
})

test('a list of what has long names, by whatever way they came, goes on to its end', async () => {
  for (const length of [400, 1900, 1950])
    await oauth.resources.saveResource({ resource: `https://long.example/${'y'.repeat(length)}` })
  let [seen, next]: [number, string | undefined] = [0, undefined]
  do {
    const { status, body } = await call(
      'GET',
      `/resources?limit=1${next === undefined ? '' : `&after=${next}`}`,
    )
    expect(status).toBe(200)
    seen += body.resources.length
    next = body.next
  } while (next !== undefined)
  expect(seen).toBe((await oauth.resources.listResources()).length)
})

test.runIf(isThere('latchkey-passkeys'))(
  'an operation of a plugin with no scope of ours, or with a name that is taken, ends the start',
  async () => {
    const { PORT: _port, ...settings } = server.settings
    const app = await buildServer({ ...settings, LOG_LEVEL: 'silent' })
    const operation = {
      method: 'GET',
      path: '/badges',
      name: 'listBadges',
      summary: 'Badges',
      scope: 'latchkey:users:read',
      answer: { status: 200, schema: Type.Object({}) },
      handle: async () => ({}),
    } as const
    const serve = (changes: object) => () => app.adminApi.serve({ ...operation, ...changes })
    expect(serve({ scope: 'badges' })).toThrow('needs one of the scopes latchkey:users:read')
    expect(serve({ name: 'listUsers' })).toThrow('listUsers of the administration is registered twice')
    expect(serve({ path: '/users' })).toThrow('/admin/api/v1/users')
    await app.close()
  },
)
