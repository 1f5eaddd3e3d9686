/** The pages of roles: all of them, and who has one. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { scimAs, startScim, GROUP } from '../../support/scim.ts'
import { ALICE, BOB } from '../../support/sign-in.ts'
import { isThere } from '../../support/left-out.ts'
import { findForm, type Page } from '../../support/user-agent.ts'
import { doneOn, signedIn, textOf } from './administrator.ts'

const server = await startScim()
const { users, audit, clients } = server.server.oauth
const { groups, roles } = kernelOf(server.server)
const agent = await signedIn(server)
const page = async (path: string): Promise<Page> => agent.get(`${server.url}/admin${path}`)
const role = async (name: string): Promise<Page> => page(`/role?${new URLSearchParams({ name }).toString()}`)
const idOf = async (username: string) => (await users.find(username))!.id
const rolesOf = async (username: string) => (await users.find(username))!.roles

/** What each row of the list says: role, members, directories. */
function rowsOn({ body }: Page): string[][] {
  const rows = body.match(/<tr>\s*<th scope="row">.*?<\/tr>/gs) ?? []
  return rows.map((row) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell]) =>
      cell!.replaceAll(/<[^>]*>/g, '').trim(),
    ),
  )
}
const membersOn = ({ body }: Page): string[] =>
  [...body.matchAll(/<li>\s*<div>\s*<h3><a [^>]*><bdi>([^<]*)</g)].map(([, name]) => name!)

test('a role is registered, given, taken, renamed and deleted', async () => {
  const made = await agent.submit(await page('/roles/new'), 'record', { name: ' editor ' })
  expect([made.url, doneOn(made)]).toEqual([
    `${server.url}/admin/role?name=editor&done=registered`,
    'The role is registered.',
  ])
  expect(made.body).toContain('Nobody has it.')
  expect(rowsOn(await page('/roles'))).toEqual([
    ['admin', '1', ''],
    ['editor', '0', ''],
  ])

  const given = await agent.submit(made, 'add', { user: ALICE.username.toUpperCase() })
  expect([doneOn(given), membersOn(given), await rolesOf('alice')]).toEqual([
    'The user has the role now. Every endpoint knows it within two seconds.',
    ['alice'],
    ['editor'],
  ])
  await users.update(BOB.username, { email: 'bob@example.com', email_verified: true, roles: ['staff'] })
  const both = await agent.submit(given, 'add', { user: 'bob@example.com' })
  expect([membersOn(both), await rolesOf('bob')]).toEqual([
    ['alice', 'bob'],
    ['staff', 'editor'],
  ])
  // Who has it already goes on having it.
  expect(membersOn(await agent.submit(both, 'add', { user: 'bob' }))).toEqual(['alice', 'bob'])

  const renamed = await agent.submit(both, 'rename', { to: 'author' })
  expect([doneOn(renamed), textOf(renamed, 'count')]).toEqual([
    'The role has another name now, and so have all who had it.',
    'How many have it: 2',
  ])
  expect([await rolesOf('alice'), await rolesOf('bob')]).toEqual([['author'], ['staff', 'author']])
  expect((await role('editor')).status).toBe(404)

  const left = await agent.submit(renamed, 'remove-0')
  expect([membersOn(left), await rolesOf('alice')]).toEqual([['bob'], []])
  const kept = await agent.submit(left, 'delete-role', { confirm: 'editor' })
  expect([kept.status, textOf(kept, 'confirm-error')]).toEqual([400, 'This is not the name of this role.'])
  const list = await agent.submit(kept, 'delete-role', { confirm: 'author' })
  expect(doneOn(list)).toBe('The role is deleted: nobody has it any more.')
  expect([await rolesOf('bob'), rowsOn(list).map(([name]) => name)]).toEqual([['staff'], ['admin', 'staff']])
  expect(await groups.list()).toEqual([])

  const root = await idOf('root')
  for (const [type, details] of [
    ['role.registered', { role: 'editor', changes: { name: [null, 'editor'] } }],
    ['role.changed', { role: 'author', changes: { name: ['editor', 'author'] } }],
    ['role.deleted', { role: 'author' }],
  ] as const) {
    const [event] = (await audit.list({ type })).events
    expect(event).toMatchObject({ actor: { kind: 'user', id: root }, details })
  }
  const [event] = (await audit.list({ type: 'user.changed', user: await idOf('alice') })).events
  expect(event!.details).toEqual({ changes: { roles: [['author'], []] } })
  expect((await page('/audit')).body).toContain('Role deleted')
})

test.each([
  ['two words', 'Must have 1 to 64 characters that are seen, without spaces or commas.'],
  ['a,b', 'Must have 1 to 64 characters that are seen, without spaces or commas.'],
  ['x'.repeat(65), 'Must have 1 to 64 characters that are seen, without spaces or commas.'],
  ['', 'Must have 1 to 64 characters that are seen, without spaces or commas.'],
  ['admin', 'Is that of another role.'],
  ['staff', 'Is that of another role.'],
])('%j is no name of a new role, nor of one that is renamed', async (name, problem) => {
  await users.update(BOB.username, { roles: ['staff', 'clerk'] })
  const refused = await agent.submit(await page('/roles/new'), 'record', { name })
  expect([refused.status, textOf(refused, 'name-error')]).toEqual([400, problem])
  const renamed = await agent.submit(await role('clerk'), 'rename', { to: name })
  expect([renamed.status, textOf(renamed, 'to-error')]).toEqual([400, problem])
  expect(findForm(renamed, 'rename')!.fields['to']).toBe(name)
  expect(await rolesOf('bob')).toEqual(['staff', 'clerk'])
})

test('a name is shown as it is, whatever it is made of, and found however it was composed', async () => {
  const name = `<b>"'&#%?/gérant`
  const made = await agent.submit(await page('/roles/new'), 'record', { name: name.normalize('NFD') })
  expect(doneOn(made)).toBe('The role is registered.')
  expect(new URL(made.url).searchParams.get('name')).toBe(name)
  for (const shown of [made, await page('/roles')]) expect(shown.body).not.toContain('<b>"')
  const renamed = await agent.submit(made, 'rename', { to: `${name}e`.normalize('NFD') })
  expect(new URL(renamed.url).searchParams.get('name')).toBe(`${name}e`)
  const gone = await agent.submit(renamed, 'delete-role', { confirm: `${name}e`.normalize('NFD') })
  expect([doneOn(gone), await roles.find(`${name}e`)]).toEqual([
    'The role is deleted: nobody has it any more.',
    null,
  ])
})

test('the role of administrators is given and taken here, and never renamed or deleted; the last one keeps it', async () => {
  const shown = await role('admin')
  expect([findForm(shown, 'rename'), findForm(shown, 'delete-role'), findForm(shown, 'remove-0')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(shown.body).toContain('This is you.')
  await agent.submit(shown, 'add', { user: 'alice' })
  const two = await role('admin')
  expect(membersOn(two)).toEqual(['alice', 'root'])
  // Whoever is on a page that was opened before.
  await users.disable('root')
  await users.enable('root')
  const second = await signedIn(server)
  const stale = await second.get(`${server.url}/admin/role?name=admin`)
  await users.disable('root')
  expect((await second.submit(stale, 'remove-0')).status).not.toBe(200)
  await users.enable('root')
  await users.update('alice', { roles: [] })
  await expect(roles.take('admin', await idOf('root'))).rejects.toThrow('nobody else who may sign in has it')
  for (const work of [async () => roles.rename('admin', 'boss'), async () => roles.delete('admin')])
    await expect(work()).rejects.toThrow('neither renamed nor deleted')
})

test.runIf(isThere('latchkey-scim'))(
  'what a directory keeps is said, and renamed and deleted there, as long as there is one',
  async () => {
    const again = await signedIn(server)
    const call = await scimAs(server, 'other')
    const sent = { schemas: [GROUP], displayName: 'Sales, EMEA', members: [{ value: await idOf('alice') }] }
    expect((await call('POST', '/Groups', sent)).status).toBe(201)
    const open = async (path: string) => again.get(`${server.url}/admin${path}`)
    expect(rowsOn(await open('/roles?search=SALES'))).toEqual([['Sales-EMEA', '1', 'other']])
    const shown = await open('/role?name=Sales-EMEA')
    expect(shown.body).toContain('The group “Sales, EMEA” of a directory')
    expect([findForm(shown, 'rename'), findForm(shown, 'delete-role')]).toEqual([undefined, undefined])
    await expect(roles.delete('Sales-EMEA')).rejects.toThrow('a directory keeps this role')
    await again.submit(shown, 'remove-0')
    expect(await rolesOf('alice')).toEqual([])

    await clients.delete('other')
    const ours = await open('/role?name=Sales-EMEA')
    expect(rowsOn(await open('/roles?search=sales'))).toEqual([['Sales-EMEA', '0', '']])
    await again.submit(ours, 'delete-role', { confirm: 'Sales-EMEA' })
    expect(await groups.list()).toEqual([])
  },
)

test('members and roles come a page at a time, and are searched', async () => {
  const again = await signedIn(server)
  const open = async (path: string) => again.get(`${server.url}/admin${path}`)
  for (let n = 100; n < 160; n++)
    await users.create({ username: `crowd-${n}`, name: `Name ${n}`, roles: ['crowd', `role-${n}`] })
  const first = await open('/role?name=crowd')
  expect([membersOn(first).length, membersOn(first)[0]]).toEqual([50, 'crowd-100'])
  const next = /<a class="button" rel="next" href="([^"]*)"/.exec(first.body)![1]!.replaceAll('&amp;', '&')
  expect(membersOn(await again.get(`${server.url}${next}`))).toHaveLength(10)
  expect(membersOn(await open('/role?name=crowd&search=NAME+15'))).toHaveLength(10)
  expect(membersOn(await open('/role?name=crowd&search=nobody'))).toEqual([])
  expect(rowsOn(await open('/roles?search=role-'))).toHaveLength(50)
  expect(rowsOn(await open('/roles?search=role-&at=role-149&after=role-149'))).toHaveLength(10)
  expect(rowsOn(await open('/roles?after=role-155')).slice(0, 2)).toEqual([
    ['role-156', '1', ''],
    ['role-157', '1', ''],
  ])
})

test('somebody who is nobody here is not given a role, nor is one that was taken from all meanwhile', async () => {
  const again = await signedIn(server)
  await users.update(BOB.username, { roles: ['staff'] })
  const shown = await again.get(`${server.url}/admin/role?name=staff`)
  const refused = await again.submit(shown, 'add', { user: 'nobody' })
  expect([refused.status, textOf(refused, 'user-error')]).toEqual([400, 'There is no such user.'])
  await users.update(BOB.username, { roles: [] })
  expect((await again.submit(shown, 'add', { user: 'alice' })).status).toBe(404)
})

test('who has a comma in a role from before keeps it, and gets no other', async () => {
  await server.database.query(`update users set roles = '{"old,role"}' where username = 'bob'`)
  await users.update('bob', { roles: ['old,role', 'new'] })
  expect((await users.get(await idOf('bob'))).roles).toEqual(['old,role', 'new'])
  for (const names of [['other,role'], ['old,role', 'x,y']])
    await expect(users.update('bob', { roles: names })).rejects.toThrow('without spaces or commas')
  await expect(users.create({ username: 'comma', roles: ['a,b'] })).rejects.toThrow(
    'without spaces or commas',
  )
  await roles.rename('old,role', 'tidy')
  expect((await users.get(await idOf('bob'))).roles).toEqual(['tidy', 'new'])
})

test('one that is being taken from many says so, and is neither renamed nor deleted meanwhile', async () => {
  const again = await signedIn(server)
  await users.update(BOB.username, { roles: ['leaving'] })
  const { id } = await groups.adopt('leaving')
  const work = JSON.stringify({ from: 'leaving', to: null, actor: { kind: 'server', id: null } })
  const opened = await again.get(`${server.url}/admin/role?name=leaving`)
  // As after a first part, when the process ended.
  await server.database.query(
    `update plugin_records set value = value || '{"isEnding": true}' where kind = 'scim-group' and record_id = $1`,
    [id],
  )
  await server.database.query(
    `insert into plugin_records (kind, record_id, record_key, value) values ('scim-group-work', $1, 'leaving', $2)`,
    [id, work],
  )
  const shown = await again.get(`${server.url}/admin/role?name=leaving`)
  expect(textOf(shown, 'changing')).toContain('This role is being renamed or deleted.')
  expect([findForm(shown, 'rename'), findForm(shown, 'delete-role')]).toEqual([undefined, undefined])
  expect((await again.get(`${server.url}/admin/roles?search=leav`)).body).toContain('being changed')
  // Whoever asks for it once more has it done.
  const done = await again.submit(opened, 'delete-role', { confirm: 'leaving' })
  expect([done.url, await rolesOf('bob')]).toEqual([`${server.url}/admin/roles?removed=yes`, []])
})
