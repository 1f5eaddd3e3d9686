/** Groups of very many: what is done to them goes in parts, each whole, and goes on where it stopped. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { GROUP, patchOf, scimAs, startScim } from '../../support/scim.ts'
import { startBeside } from '../../support/server.ts'

// What goes on where it stopped does so when it is asked to.
const server = await startScim({ OIDC_JANITOR_INTERVAL: 0 })
const { oauth } = server.server
const { groups } = kernelOf(server.server)
const call = await scimAs(server, 'directory')
/** Beyond two parts. */
const MANY = 2300

/** A group whose members were in its role before. */
async function crowd(displayName: string, more: readonly string[] = []) {
  const role = displayName.replaceAll(' ', '-')
  await server.database.query(
    `insert into users (id, username, username_key, roles)
      select gen_random_uuid(), $1 || n, lower($1 || n), $2 from generate_series(1, $3) n`,
    [`${role}-`, [role, ...more], MANY],
  )
  const sent = { schemas: [GROUP], displayName }
  const { body } = await call('POST', '/Groups?excludedAttributes=members', sent)
  return { id: body.id as string, role }
}

const withRole = async (role: string): Promise<number> =>
  (await server.database.query('select from users where roles @> array[$1]', [role])).length

/** As after a first part of it, when the process ended. */
async function stopped(id: string, from: string, to: string | null): Promise<void> {
  const value = to === null ? { isEnding: true } : { displayName: to, role: to, former: from }
  await server.database.query(
    `update plugin_records set value = value || $2::jsonb, record_key = coalesce($3, record_key) where kind = 'scim-group' and record_id = $1`,
    [id, JSON.stringify(value), to?.toLowerCase() ?? null],
  )
  await server.database.query(
    `insert into plugin_records (kind, record_id, record_key, value) values ('scim-group-work', $1, lower($2), $3)`,
    [id, from, JSON.stringify({ from, to, actor: { kind: 'client', id: 'directory' } })],
  )
}

async function goOnToTheEnd(): Promise<number[]> {
  const counts: number[] = []
  for (;;) {
    const count = await groups.goOn()
    if (count === 0) return counts
    counts.push(count)
  }
}

test('renamed and deleted, all of them are, and each is told', async () => {
  const { id, role } = await crowd('The Crowd', ['Other-Crowd'])
  const renamed = await call(
    'PATCH',
    `/Groups/${id}?excludedAttributes=members`,
    patchOf({ op: 'replace', path: 'displayName', value: 'Other Crowd' }),
  )
  expect([renamed.status, renamed.body.displayName]).toEqual([200, 'Other Crowd'])
  expect([await withRole(role), await withRole('Other-Crowd')]).toEqual([0, MANY])
  // Who had both is told to have had both.
  const { events } = await oauth.audit.list({ type: 'user.changed' })
  expect(events[0]!.details).toEqual({ changes: { roles: [[role, 'Other-Crowd'], ['Other-Crowd']] } })

  expect((await call('DELETE', `/Groups/${id}`)).status).toBe(204)
  expect(await withRole('Other-Crowd')).toBe(0)
  const told = (await oauth.audit.list({ type: 'user.changed' })).events
  expect(told.every(({ actor }) => actor.id === 'directory')).toBe(true)
  expect((await call('GET', `/Groups/${id}`)).status).toBe(404)
})

test('a deletion that stopped is not done until it is: it goes on behind, in any process, and by who asked', async () => {
  const { id, role } = await crowd('Leavers')
  await stopped(id, role, null)
  expect((await call('GET', `/Groups/${id}?excludedAttributes=members`)).body.displayName).toBe('Leavers')
  expect(await groups.goOn()).toBe(1000)
  expect(await withRole(role)).toBe(MANY - 1000)
  // Its name is nobody else's yet.
  const again = { schemas: [GROUP], displayName: 'LEAVERS' }
  expect((await call('POST', '/Groups', again)).status).toBe(409)

  const beside = await startBeside(server)
  expect(await kernelOf(beside.server).groups.goOn()).toBe(1000)
  expect(await goOnToTheEnd()).toEqual([MANY - 2000])
  expect([await withRole(role), (await call('GET', `/Groups/${id}`)).status]).toEqual([0, 404])
  const { events } = await oauth.audit.list({ type: 'role.deleted' })
  expect(events[0]).toMatchObject({ actor: { kind: 'client', id: 'directory' }, details: { role } })
  expect((await call('POST', '/Groups', again)).status).toBe(201)
})

test('who asks once more has it done', async () => {
  const { id, role } = await crowd('Asked')
  await stopped(id, role, null)
  expect((await call('DELETE', `/Groups/${id}`)).status).toBe(204)
  expect(await withRole(role)).toBe(0)
})

test('while a group is renamed its members are all in it, and its former name is nobody else’s', async () => {
  const { id, role } = await crowd('Before')
  await stopped(id, role, 'After')
  expect(await groups.goOn()).toBe(1000)
  const { body } = await call('GET', `/Groups/${id}`)
  expect([body.displayName, body.members.length]).toEqual(['After', MANY])
  const [member] = await server.database.query(`select id from users where roles = array[$1] limit 1`, [role])
  const theirs = (await call('GET', `/Users/${(member as { id: string }).id}`)).body
  expect(theirs).toMatchObject({ groups: [{ value: id, display: 'After' }] })
  expect(theirs).not.toHaveProperty('roles')
  const taken = await call('POST', '/Groups', { schemas: [GROUP], displayName: 'before' })
  expect([taken.status, taken.headers.get('retry-after')]).toEqual([503, '2'])
  // What is changed next comes after all of it.
  const change = patchOf({ op: 'remove', path: `members[value eq "${(member as { id: string }).id}"]` })
  expect((await call('PATCH', `/Groups/${id}?excludedAttributes=members`, change)).status).toBe(200)
  expect([await withRole(role), await withRole('After')]).toEqual([0, MANY - 1])
}) // prettier-ignore

test('of a group that a process of an earlier version deleted meanwhile nobody keeps the role, and the name is free', async () => {
  const { id } = await crowd('Left Behind')
  await stopped(id, 'Left-Behind', 'Going Away')
  await server.database.query(`delete from plugin_records where kind = 'scim-group' and record_id = $1`, [id])
  await goOnToTheEnd()
  expect(await withRole('Left-Behind')).toBe(0)
  const { status } = await call('POST', '/Groups', { schemas: [GROUP], displayName: 'Left Behind' })
  expect(status).toBe(201)
})

test('all but some are taken out in parts, each whole, and the rest of the change comes after', async () => {
  const { id, role } = await crowd('Emptied', ['Other'])
  const [first] = await server.database.query(`select id from users where roles @> array[$1] limit 1`, [role])
  const staying = (first as { id: string }).id
  const coming = (await oauth.users.create({ username: 'comes-to-the-emptied' })).id
  const answer = await call('GET', `/Groups/${id}?excludedAttributes=members`)
  const [before, since] = [answer.headers.get('etag')!, new Date()]
  const sent = {
    schemas: [GROUP],
    displayName: 'Emptied Now',
    members: [{ value: staying }, { value: coming }],
  }
  const put = async (etag: string, body: object) => call('PUT', `/Groups/${id}`, body, { 'if-match': etag })
  // What is refused is refused before anybody is taken out.
  expect((await put('W/"another"', sent)).status).toBe(412)
  expect((await put(before, { ...sent, members: [{ value: staying }, { value: id }] })).status).toBe(400)
  const roles = Array.from({ length: 500 }, (_, n) => `role-${n}`)
  const full = (await oauth.users.create({ username: 'has-as-many-as-may-be', roles })).id
  expect((await put(before, { ...sent, members: [{ value: staying }, { value: full }] })).status).toBe(400)
  expect(await withRole(role)).toBe(MANY)
  expect((await put(before, { ...sent, displayName: 'The Other One' })).status).toBe(200)
  expect(await withRole('The-Other-One')).toBe(2)
  const parts = await server.database.query(
    `select xmin from changes where kind = 'user' and changed_at > $1 group by xmin having count(*) > 1`,
    [since],
  )
  expect(parts.length).toBeGreaterThanOrEqual(3)
  expect([await withRole(role), await withRole('Other')]).toEqual([0, MANY])
})

test('of a group that is being emptied nothing else is changed until that is done, by whoever comes first', async () => {
  const { id, role } = await crowd('Half Empty')
  const [first] = await server.database.query(`select id from users where roles @> array[$1] limit 1`, [role])
  const staying = (first as { id: string }).id
  const work = { from: role, keeps: [staying], actor: { kind: 'client', id: 'directory' } }
  await server.database.query(
    `insert into plugin_records (kind, record_id, record_key, value) values ('scim-group-emptying', $1, lower($2), $3)`,
    [id, role, JSON.stringify(work)],
  )
  expect(await groups.goOn()).toBe(1000)
  expect(await withRole(role)).toBe(MANY - 1000)
  const added = (await oauth.users.create({ username: 'comes-to-the-half-empty' })).id
  const change = patchOf({ op: 'add', path: 'members', value: [{ value: added }] })
  expect((await call('PATCH', `/Groups/${id}`, change)).status).toBe(200)
  expect([await withRole(role), (await groups.membersOf([(await groups.get(id))!], 10))!.get(id)]).toEqual([2, [staying, added].toSorted()])
  const { events } = await oauth.audit.list({ type: 'user.changed' })
  expect(events.every(({ actor }) => actor.id === 'directory')).toBe(true)
  expect(await goOnToTheEnd()).toEqual([])
}) // prettier-ignore
