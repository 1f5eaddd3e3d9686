/** What a directory knows groups and users by, and what is seen of who changes it: also where a client of the same id is made anew. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { program } from '../../support/admin-api.ts'
import { GROUP, patchOf, scimAs, startScim, USER } from '../../support/scim.ts'

const server = await startScim({ OIDC_ROLES_CLAIM: 'groups' })
const { users, audit, clients } = server.server.oauth
const call = await scimAs(server, 'directory')
const group = async (displayName: string, more: object = {}) =>
  (await call('POST', '/Groups', { schemas: [GROUP], displayName, ...more })).body as {
    id: string
    meta: { version: string; lastModified: string }
  }

test('a change of the identifier alone is told, and so is each of the name', async () => {
  const { id } = await group('Told', { externalId: 'g-1' })
  await call('PATCH', `/Groups/${id}`, patchOf({ op: 'replace', path: 'externalId', value: 'g-2' }))
  await call('PATCH', `/Groups/${id}`, patchOf({ op: 'replace', path: 'displayName', value: 'Told Anew' }))
  await call('PATCH', `/Groups/${id}`, patchOf({ op: 'replace', path: 'displayName', value: 'Told Anew' }))
  await call('DELETE', `/Groups/${id}`)
  const told = (type: string) => audit.list({ type })
  expect((await told('role.registered')).events[0]).toMatchObject({
    actor: { kind: 'client', id: 'directory' },
    details: { role: 'Told', changes: { name: [null, 'Told'], external_id: [null, 'g-1'] } },
  })
  expect((await told('role.changed')).events.map(({ details }) => details)).toEqual([
    { role: 'Told-Anew', changes: { name: ['Told', 'Told-Anew'], display_name: [null, 'Told Anew'] } },
    { role: 'Told', changes: { external_id: ['g-1', 'g-2'] } },
  ])
  expect((await told('role.deleted')).events[0]).toMatchObject({ details: { role: 'Told-Anew' } })
})

test('whoever changes who is in a group elsewhere makes it another version', async () => {
  const { id, meta } = await group('Watched')
  const versions = [meta.version]
  const next = async (work: () => Promise<unknown>): Promise<void> => {
    await work()
    versions.push((await call('GET', `/Groups/${id}`)).body.meta.version as string)
  }
  const one = await users.create({ username: 'of-watched' })
  await next(async () => users.update(one, { roles: ['Watched'] }))
  await next(async () => users.update(one, { roles: ['Watched', 'other'] }))
  await next(async () => users.update(one, { roles: ['other'] }))
  await next(async () => users.create({ username: 'in-watched', roles: ['Watched'] }))
  await next(async () => users.delete('in-watched'))
  await next(async () => users.update(one, { nickname: 'One' }))
  const isOther = versions.slice(1).map((version, at) => version !== versions[at])
  expect(isOther).toEqual([true, false, true, true, true, false])
  const stale = { 'if-match': meta.version }
  const put = { schemas: [GROUP], displayName: 'Watched' }
  expect((await call('PUT', `/Groups/${id}`, put, stale)).status).toBe(412)
  expect((await call('PUT', `/Groups/${id}`, put, { 'if-match': versions.at(-1)! })).status).toBe(200)
})

test('what settings register is told to be of these settings', async () => {
  const { events } = await audit.list({ type: 'scope.registered' })
  const by = (scope: string) =>
    events.find(({ details }) => (details as { scope: string }).scope === scope)?.actor
  expect([by('latchkey:scim:read'), by('groups'), by('read_books')]).toEqual([
    { kind: 'setting', id: 'SCIM' },
    { kind: 'setting', id: 'OIDC_ROLES_CLAIM' },
    { kind: 'seed', id: null },
  ])
})

test('a directory of the same id that is made anew knows nothing of the former one', async () => {
  const former = await scimAs(server, 'other')
  const sent = { schemas: [USER], userName: 'moved', externalId: 'e-1' }
  const user = (await former('POST', '/Users', sent)).body.id as string
  const { id } = await group('Moved')
  const known = patchOf({ op: 'add', path: 'externalId', value: 'g-1' })
  expect((await former('PATCH', `/Groups/${id}`, known)).body.externalId).toBe('g-1')
  await clients.delete('other')
  await clients.create(program('other', 'scim:write'))
  const again = await scimAs(server, 'other')

  const find = async (kind: string, externalId: string) =>
    (await again('GET', `/${kind}?filter=${encodeURIComponent(`externalId eq "${externalId}"`)}`)).body
      .totalResults as number
  expect([await find('Users', 'e-1'), await find('Groups', 'g-1')]).toEqual([0, 0])
  for (const path of [`/Users/${user}`, `/Groups/${id}`])
    expect((await again('GET', path)).body).not.toHaveProperty('externalId')
  // It may be somebody else's there.
  const other = { schemas: [USER], userName: 'newcomer', externalId: 'e-1' }
  expect((await again('POST', '/Users', other)).status).toBe(201)
  const taken = patchOf({ op: 'add', path: 'externalId', value: 'e-1' })
  expect((await again('PATCH', `/Users/${user}`, taken)).status).toBe(409)
  const own = patchOf({ op: 'add', path: 'externalId', value: 'e-2' })
  expect((await again('PATCH', `/Users/${user}`, own)).body.externalId).toBe('e-2')
  expect([await find('Users', 'e-1'), await find('Users', 'e-2')]).toEqual([1, 1])
  const { externalIds } = kernelOf(server.server)
  expect((await externalIds.ofUser(user)).map(({ externalId }) => externalId)).toEqual(['e-2'])
})

test('what was stored before it was kept when clients were registered goes on', async () => {
  const one = (await call('POST', '/Users', { schemas: [USER], userName: 'old', externalId: 'old-1' })).body
  const { id } = await group('Old, Role', { externalId: 'g-old' })
  // As the version before stored them.
  await server.database.query(
    `update user_records set value = value - 'registeredAt', record_id = $2, unique_id = 'external-id ' || $2 where user_id = $1`,
    [one.id, (await import('node:crypto')).createHash('sha256').update('["directory","old-1"]').digest('base64url')],
  )
  await server.database.query(
    `update plugin_records set value = '{"displayName":"Old, Role","externalIds":{"directory":"g-old"}}', record_key = 'old,-role' where record_id = $1`,
    [id],
  )
  await server.database.query(`update users set roles = '{"Old,-Role"}' where id = $1`, [one.id])
  const find = async (path: string, filter: string) =>
    (await call('GET', `${path}?filter=${encodeURIComponent(filter)}`)).body
  expect((await find('/Users', 'externalId eq "old-1"')).totalResults).toBe(1)
  const found = (await find('/Groups', 'displayName eq "old, role"')).Resources[0]
  expect(found).toMatchObject({ id, externalId: 'g-old', members: [{ value: one.id }] })
  const twin = { schemas: [USER], userName: 'twin', externalId: 'old-1' }
  expect((await call('POST', '/Users', twin)).status).toBe(409)
  const same = { schemas: [USER], userName: 'old', externalId: 'old-1' }
  expect((await call('PUT', `/Users/${one.id}`, same)).body.groups).toMatchObject([{ value: id }])
  await call('PATCH', `/Groups/${id}`, patchOf({ op: 'add', path: 'externalId', value: 'g-new' }))
  expect((await users.get(one.id as string)).roles).toEqual(['Old,-Role'])
}) // prettier-ignore
