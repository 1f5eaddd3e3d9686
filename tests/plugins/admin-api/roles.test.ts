/** `/roles` of the interface: as the pages have them, and what a token without `latchkey:admin` does not do. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { callerAs, startApi } from '../../support/admin-api.ts'

const server = await startApi()
const { users } = server.server.oauth
const { groups } = kernelOf(server.server)
const [all, people, reader, apps] = await Promise.all(
  ['all', 'people', 'reader', 'apps'].map(async (client) => callerAs(server, client)),
)
const alice = (await users.find('alice'))!.id
const root = (await users.find('root'))!.id
const rolesOf = async (id: string) => (await users.get(id)).roles

test('one is registered, given, renamed, taken and deleted', async () => {
  const made = await people!('POST', '/roles', { name: 'clerk/1' })
  expect([made.status, made.body]).toEqual([201, { name: 'clerk/1', members: 0, directories: [] }])
  const place = '/roles/clerk%2F1'
  expect((await people!('POST', `${place}/members`, { sub: alice })).status).toBe(204)
  expect((await people!('POST', `${place}/members`, { sub: alice })).status).toBe(204)
  expect((await reader!('GET', place)).body).toEqual({ name: 'clerk/1', members: 1, directories: [] })
  const { body } = await reader!('GET', `${place}/members?search=ALI`)
  expect(body).toMatchObject({ users: [{ sub: alice, username: 'alice', roles: ['clerk/1'] }] })
  expect((await reader!('GET', `${place}/members?search=bob`)).body).toEqual({ users: [] })
  const renamed = await people!('PATCH', place, { name: 'clerk' })
  expect([renamed.status, renamed.body.name, await rolesOf(alice)]).toEqual([200, 'clerk', ['clerk']])
  expect((await people!('GET', place)).status).toBe(404)
  expect((await people!('DELETE', `/roles/clerk/members/${alice}`)).status).toBe(204)
  expect((await people!('DELETE', `/roles/clerk/members/${alice}`)).status).toBe(404)
  expect((await people!('DELETE', '/roles/clerk')).status).toBe(204)
  expect(await groups.list()).toEqual([])
})

test('they are listed by name, some at a time, also those that nobody has registered', async () => {
  for (const name of ['a', 'B', 'c'])
    await users.create({ username: `of-${name}`, roles: [`list-${name}`, 'lists'] })
  const first = (await reader!('GET', '/roles?search=LIST&limit=2')).body
  expect(first.roles.map(({ name }: { name: string }) => name)).toEqual(['list-a', 'list-B'])
  const { roles, next } = (await reader!('GET', `/roles?search=list&limit=2&after=${first.next}`)).body
  expect([roles, next]).toEqual([
    [
      { name: 'list-c', members: 1, directories: [] },
      { name: 'lists', members: 3, directories: [] },
    ],
    undefined,
  ])
  const members = (await reader!('GET', '/roles/lists/members?limit=2')).body
  expect(members.users.map(({ username }: { username: string }) => username)).toEqual(['of-a', 'of-B'])
  expect((await reader!('GET', `/roles/lists/members?after=${members.next}`)).body.users).toHaveLength(1)
})

test('without latchkey:admin nothing is done to administrators, and nobody is made one', async () => {
  await users.update('root', { roles: ['admin', 'chief'] })
  for (const [method, path, body] of [
    ['POST', '/roles/admin/members', { sub: alice }],
    ['POST', '/roles/chief/members', { sub: root }],
    ['DELETE', `/roles/chief/members/${root}`],
    ['PATCH', '/roles/chief', { name: 'boss' }],
    ['DELETE', '/roles/chief'],
  ] as const) {
    const answer = await people!(method, path, body)
    expect([path, answer.status, answer.body.error]).toEqual([path, 403, 'insufficient_scope'])
  }
  expect((await all!('POST', '/roles/admin/members', { sub: alice })).status).toBe(204)
  expect((await all!('DELETE', `/roles/admin/members/${alice}`)).status).toBe(204)
  const last = await all!('DELETE', `/roles/admin/members/${root}`)
  expect([last.status, last.body.problems]).toEqual([400, [{ member: 'roles', reason: expect.stringContaining('must keep admin') }]]) // prettier-ignore
  expect((await all!('PATCH', '/roles/chief', { name: 'boss' })).status).toBe(200)
  expect(await rolesOf(root)).toEqual(['admin', 'boss'])
  for (const [method, body] of [['PATCH', { name: 'x' }], ['DELETE']] as const)
    expect((await all!(method, '/roles/admin', body)).status).toBe(403)
})

test.each([
  ['POST', '/roles', { name: 'a,b' }, 400, 'name'],
  ['POST', '/roles', { name: 'a b' }, 400, 'name'],
  ['POST', '/roles', { name: '..' }, 400, 'name'],
  ['POST', '/roles', {}, 400, 'name'],
  ['POST', '/roles', { name: 'admin' }, 409, 'name'],
  ['POST', '/roles', { name: 'ADMIN' }, 403, undefined],
  ['POST', '/roles', { name: 'LIST-b' }, 409, 'name'],
  ['PATCH', '/roles/lists', { name: 'list-a' }, 409, 'name'],
  ['PATCH', '/roles/lists', { name: 'no no' }, 400, 'name'],
  ['PATCH', '/roles/none', { name: 'x' }, 404, undefined],
  ['DELETE', '/roles/none', undefined, 404, undefined],
  ['GET', '/roles/none/members', undefined, 404, undefined],
  ['POST', '/roles/none/members', { sub: 'x' }, 404, undefined],
  ['POST', '/roles/lists/members', { sub: 'x' }, 404, undefined],
  ['POST', '/roles/lists/members', { sub: 7 }, 400, 'sub'],
] as const)('%s %s with %j is refused', async (method, path, body, status, member) => {
  if (JSON.stringify(body)?.includes('LIST-b')) await kernelOf(server.server).roles.create('list-b')
  const answer = await all!(method, path, body)
  expect([answer.status, answer.body.problems?.[0].member]).toEqual([status, member])
})

test('who may read alone changes nothing, and who is there for apps reads nothing', async () => {
  for (const [method, path, body] of [
    ['POST', '/roles', { name: 'new' }],
    ['PATCH', '/roles/lists', { name: 'new' }],
    ['DELETE', '/roles/lists'],
    ['POST', '/roles/lists/members', { sub: alice }],
    ['DELETE', `/roles/lists/members/${alice}`],
  ] as const)
    expect((await reader!(method, path, body)).status).toBe(403)
  expect((await apps!('GET', '/roles')).status).toBe(403)
})

test('a name is kept as Unicode composes it, however it was typed', async () => {
  const typed = 'gerée'.normalize('NFD')
  const made = await people!('POST', '/roles', { name: typed })
  expect([made.status, made.body.name]).toEqual([201, 'gerée'])
  expect((await people!('POST', '/roles', { name: typed })).status).toBe(409)
  const to = 'dirigée'.normalize('NFD')
  const renamed = await people!('PATCH', '/roles/gerée', { name: to })
  expect([renamed.status, renamed.body.name]).toEqual([200, 'dirigée'])
  expect((await people!('DELETE', '/roles/dirigée')).status).toBe(204)
})
