/** Groups by SCIM (RFC 7643 §4.2): roles of users, pushed by a directory. */
import { Client } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { program } from '../../support/admin-api.ts'
import { ERROR, GROUP, LIST, patchOf, PATCH_OP, scimAs, startScim, USER } from '../../support/scim.ts'
import { startBeside } from '../../support/server.ts'
import { until } from '../../support/until.ts'

const server = await startScim({ OIDC_ROLES_CLAIM: 'groups' })
const { oauth } = server.server
const { users } = oauth
const { groups } = kernelOf(server.server)
const [call, other, viewer] = await Promise.all(
  ['directory', 'other', 'viewer'].map(async (client) => scimAs(server, client)),
)
let count = 0

async function somebody(roles: readonly string[] = []): Promise<string> {
  return (await users.create({ username: `member-${++count}`, roles })).id
}
const membersOf = (...ids: readonly string[]) => ids.map((value) => ({ value }))

/** A new group, as SCIM answers. */
async function group(members: object = {}) {
  const sent = { schemas: [GROUP], displayName: `Group ${++count}`, ...members }
  const { status, body } = await call!('POST', '/Groups', sent)
  if (status !== 201) throw new Error(`no group: ${JSON.stringify(body)}`)
  return body as { id: string; displayName: string; meta: { version: string } }
}
const rolesOf = async (id: string): Promise<readonly string[]> => (await users.get(id)).roles
const patch = async (id: string, ...operations: object[]) =>
  call!('PATCH', `/Groups/${id}`, patchOf(...operations))
const find = async (filter: string, more = '') =>
  (await call!('GET', `/Groups?filter=${encodeURIComponent(filter)}${more}`)).body

describe('made', () => {
  test('it is as it was said to be, and its members have the role', async () => {
    const [one, two] = [await somebody(['staff']), await somebody()]
    const sent = {
      schemas: [GROUP],
      displayName: 'Engineering Team',
      externalId: 'g-1',
      members: membersOf(one, two),
    }
    const { status, headers, body } = await call!('POST', '/Groups', sent)
    expect(status).toBe(201)
    expect(body).toEqual({
      schemas: [GROUP],
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      externalId: 'g-1',
      displayName: 'Engineering Team',
      members: expect.arrayContaining([
        {
          value: one,
          $ref: `${server.url}/scim/v2/Users/${one}`,
          type: 'User',
        },
      ]),
      meta: {
        resourceType: 'Group',
        created: expect.stringMatching(/Z$/),
        lastModified: expect.stringMatching(/Z$/),
        location: `${server.url}/scim/v2/Groups/${body.id}`,
        version: expect.stringMatching(/^W\/"/),
      },
    })
    expect([headers.get('location'), headers.get('etag')]).toEqual([body.meta.location, body.meta.version])
    expect(body.members).toHaveLength(2)
    expect((await call!('GET', `/Groups/${body.id}`)).body).toEqual(body)
    expect(await rolesOf(one)).toEqual(['staff', 'Engineering-Team'])
    const [event] = (await oauth.audit.list({ type: 'user.changed', user: two })).events
    expect(event).toMatchObject({
      actor: { kind: 'client', id: 'directory' },
      details: { changes: { roles: [[], ['Engineering-Team']] } },
    })
    // Another directory knows it by nothing, and may have an identifier of its own.
    expect((await other!('GET', `/Groups/${body.id}`)).body).not.toHaveProperty('externalId')
  })

  test('without members it is there all the same; who has the role already is in it', async () => {
    const { id } = await group({ displayName: 'Empty' })
    expect((await call!('GET', `/Groups/${id}`)).body).not.toHaveProperty('members')
    const had = await somebody(['Adopted'])
    const adopted = await group({ displayName: 'Adopted' })
    expect((await call!('GET', `/Groups/${adopted.id}`)).body.members).toMatchObject([{ value: had }])
  })

  test.each<[object, number, string | undefined, string]>([
    [{}, 400, 'invalidValue', 'displayName must be a text'],
    [{ displayName: ' ' }, 400, 'invalidValue', 'displayName must be a text that is not empty'],
    [{ displayName: 7 }, 400, 'invalidValue', 'displayName must be a text'],
    [{ displayName: 'x'.repeat(65) }, 400, 'invalidValue', 'displayName must have 1 to 64 characters'],
    [{ displayName: 'a\u200bb' }, 400, 'invalidValue', 'displayName must have 1 to 64 characters'],
    [{ displayName: 'a\nb' }, 400, 'invalidValue', 'displayName must have 1 to 64 characters'],
    [{ displayName: 'admin' }, 403, undefined, 'nobody is made an administrator by a group'],
    [{ displayName: ' Admin ' }, 403, undefined, 'nobody is made an administrator by a group'],
    [{ displayName: 'EMPTY' }, 409, 'uniqueness', 'displayName is that of another group'],
    [
      { displayName: 'New', members: [{ value: 'nobody' }] },
      400,
      'invalidValue',
      'members must be users here',
    ],
    [
      { displayName: 'New', members: [{ value: crypto.randomUUID() }] },
      400,
      'invalidValue',
      'members must be users here',
    ],
    [{ displayName: 'New', members: [7] }, 400, 'invalidValue', 'each of members must have a value'],
    [{ displayName: 'New', externalId: 7 }, 400, 'invalidValue', 'externalId must be a text'],
    [{ displayName: 'New', schemas: [USER] }, 400, 'invalidSyntax', `schemas must name ${GROUP}`],
  ])('%j is refused', async (members, status, scimType, detail) => {
    const answer = await call!('POST', '/Groups', { schemas: [GROUP], ...members })
    expect([answer.status, answer.body]).toEqual([
      status,
      {
        schemas: [ERROR],
        status: String(status),
        ...(scimType === undefined ? {} : { scimType }),
        detail: expect.stringContaining(detail),
      },
    ])
    expect(await groups.find('New')).toBeNull()
  })

  test('nothing is kept of it that has no end', async () => {
    const [name, identifier] = [`a${' '.repeat(63)}b`, 'x'.repeat(1025)]
    const { id } = await group()
    const { id: user } = (await users.find('alice'))!
    const externalId = { op: 'add', path: 'externalId', value: identifier }
    const answers = await Promise.all([
      call!('POST', '/Groups', { displayName: name }),
      patch(id, { op: 'replace', path: 'displayName', value: name }),
      call!('POST', '/Groups', { displayName: 'New', externalId: identifier }),
      patch(id, externalId),
      call!('POST', '/Users', { userName: 'new', externalId: identifier }),
      call!('PATCH', `/Users/${user}`, patchOf(externalId)),
    ])
    const [called, known] = ['displayName must have 1 to 64 characters that are seen', 'externalId must have 1024 characters at most']
    expect(answers.map(({ status, body }) => [status, body.detail])).toEqual([called, called, known, known, known, known].map((detail) => [400, detail]))
    expect((await call!('POST', '/Groups', { displayName: 'Long', externalId: 'x'.repeat(1024) })).status).toBe(201)
  }) // prettier-ignore

  test('of two at once of one name, one is; and who may read alone makes none', async () => {
    const sent = { schemas: [GROUP], displayName: 'Twins' }
    const all = await Promise.all([sent, { ...sent, displayName: 'twins' }].map(async (one) => call!('POST', '/Groups', one)))
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409])
    expect((await viewer!('POST', '/Groups', { ...sent, displayName: 'Viewed' })).status).toBe(403)
    expect((await viewer!('GET', '/Groups')).status).toBe(200)
  }) // prettier-ignore
})

test('a directory that is called as something that every object has knows only what it said', async () => {
  await oauth.clients.create({ ...program('constructor', 'scim:write') })
  const odd = await scimAs(server, 'constructor')
  const { id } = await group({ displayName: 'Odd' })
  expect((await odd('GET', `/Groups/${id}`)).body).not.toHaveProperty('externalId')
  const change = patchOf({ op: 'add', path: 'externalId', value: 'o1' })
  expect((await odd('PATCH', `/Groups/${id}`, change)).body.externalId).toBe('o1')
  expect((await odd('PUT', `/Groups/${id}`, { displayName: 'Odd' })).body).not.toHaveProperty('externalId')
})

describe('changed', () => {
  test('members come and go, as Entra ID and Okta say it', async () => {
    const [one, two, three] = [await somebody(), await somebody(), await somebody()]
    const { id, displayName } = await group()
    const role = displayName.replace(' ', '-')
    const inIt = async () => {
      const all = await Promise.all([one, two, three].map(rolesOf))
      return all.map((roles) => roles.includes(role))
    }
    await patch(id, { op: 'Add', path: 'members', value: membersOf(one, two) })
    expect(await inIt()).toEqual([true, true, false])
    await patch(id, { op: 'Remove', path: 'members', value: membersOf(one) })
    expect(await inIt()).toEqual([false, true, false])
    await patch(id, { op: 'remove', path: `members[value eq "${two}"]` }, { op: 'add', path: 'members', value: { value: three } })
    expect(await inIt()).toEqual([false, false, true])
    await patch(id, { op: 'add', value: { members: membersOf(one, two) } }, { op: 'remove', path: `members[value eq "${one}" or value eq "${three}"]` })
    expect(await inIt()).toEqual([false, true, false])
    await patch(id, { op: 'replace', path: 'members', value: membersOf(one, three) })
    expect(await inIt()).toEqual([true, false, true])
    await patch(id, { op: 'remove', path: 'members' }, { op: 'add', path: 'members', value: membersOf(two) })
    expect(await inIt()).toEqual([false, true, false])
    await patch(id, { op: 'replace', value: { id, schemas: [GROUP], displayName } })
    expect(await inIt()).toEqual([false, true, false])
    // What is so already, and who is nobody, leave nothing.
    const before = (await oauth.audit.list({ type: 'user.changed', user: two })).events.length
    expect((await patch(id, { op: 'add', path: 'members', value: membersOf(two) }, { op: 'remove', path: 'members', value: membersOf('nobody') })).status).toBe(200)
    expect((await oauth.audit.list({ type: 'user.changed', user: two })).events).toHaveLength(before)
    await call!('PUT', `/Groups/${id}`, { schemas: [GROUP], displayName })
    expect(await inIt()).toEqual([false, false, false])
  }) // prettier-ignore

  test('another name is another role of all its members', async () => {
    const [one, two] = [await somebody(), await somebody(['Sales-EU'])]
    const { id } = await group({ displayName: 'Sales', members: membersOf(one, two) })
    const { body } = await patch(id, { op: 'Replace', path: 'displayName', value: 'Sales EU' })
    expect(body).toMatchObject({ displayName: 'Sales EU', members: expect.any(Array) })
    expect([await rolesOf(one), await rolesOf(two)]).toEqual([['Sales-EU'], ['Sales-EU']])
    expect((await patch(id, { op: 'replace', path: 'displayName', value: 'sales eu' })).body.displayName).toBe('sales eu')
    expect(await rolesOf(one)).toEqual(['sales-eu'])
    await group({ displayName: 'Marketing' })
    expect((await patch(id, { op: 'replace', path: 'displayName', value: 'MARKETING' })).body.scimType).toBe('uniqueness')
    expect((await patch(id, { op: 'replace', path: 'displayName', value: 'admin' })).status).toBe(403)
    expect(await rolesOf(one)).toEqual(['sales-eu'])
  }) // prettier-ignore

  test('all of it, or nothing', async () => {
    const one = await somebody()
    const { id } = await group({ externalId: 'before' })
    const { status } = await patch(id, { op: 'add', path: 'members', value: membersOf(one) }, { op: 'replace', path: 'externalId', value: 'after' }, { op: 'add', path: 'members', value: membersOf(crypto.randomUUID()) })
    expect(status).toBe(400)
    expect([await rolesOf(one), (await call!('GET', `/Groups/${id}`)).body.externalId]).toEqual([[], 'before'])
  }) // prettier-ignore

  test.each<[object, string]>([
    [{ op: 'remove', path: 'displayName' }, 'mutability'],
    [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
    [{ op: 'replace', path: 'colour', value: 'x' }, 'invalidPath'],
    [{ op: 'add', path: 'members[value eq "x"]', value: [] }, 'noTarget'],
    [{ op: 'remove', path: 'members[display sw "x"]' }, 'invalidPath'],
    [{ op: 'replace', value: 'x' }, 'invalidValue'],
    [{ op: 'remove', path: 'members.type' }, 'mutability'],
    [{ op: 'replace', path: 'members.value', value: [] }, 'mutability'],
    [{ op: 'remove', path: 'members[value eq "x"].$ref' }, 'mutability'],
  ])('%j is refused, and nobody leaves by it', async (operation, scimType) => {
    const one = await somebody()
    const { id } = await group({ members: membersOf(one) })
    const { status, body } = await patch(id, operation)
    expect([status, body.scimType]).toEqual([400, scimType])
    expect(await rolesOf(one)).toHaveLength(1)
  })

  test('what is no longer so is not changed', async () => {
    const { id, meta } = await group()
    const change = { schemas: [PATCH_OP], Operations: [{ op: 'add', path: 'externalId', value: 'x' }] }
    const first = await call!('PATCH', `/Groups/${id}`, change, { 'if-match': meta.version })
    expect(first.status).toBe(200)
    for (const [method, body] of [['PATCH', change], ['PUT', { displayName: 'X' }], ['DELETE', undefined]] as const)
      expect((await call!(method, `/Groups/${id}`, body, { 'if-match': meta.version })).status).toBe(412)
    expect((await call!('DELETE', `/Groups/${id}`, undefined, { 'if-match': first.headers.get('etag')! })).status).toBe(204)
  }) // prettier-ignore

  test('groups of the same people are changed at once, and neither waits for one who waits for it', async () => {
    const [one, two] = [await somebody(), await somebody()]
    const here = await group({ members: membersOf(two) })
    const there = await group({ members: membersOf(one) })
    const judge = vi.fn<() => void>()
    const holder = new Client({ connectionString: server.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from users where id = any($1) for update', [[one, two]])
    const swapped = Promise.all([
      groups.update(here.id, null, { members: [one] }, judge),
      groups.update(there.id, null, { members: [two] }, judge),
    ])
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => expect(await server.database.query(waiting)).toHaveLength(2))
    await holder.query('commit')
    await swapped
    await holder.end()
    // One that PostgreSQL breaks off is begun again.
    expect(judge).toHaveBeenCalledTimes(2)
    const roles = [here, there].map(({ displayName }) => [displayName.replace(' ', '-')])
    expect([await rolesOf(one), await rolesOf(two)]).toEqual(roles)
  })

  test('a user and their group are changed at once, and neither waits for one who waits for it', async () => {
    const one = await somebody()
    const { id, displayName } = await group({ members: membersOf(one) })
    const [mine, theirs] = [vi.fn<() => void>(), vi.fn<() => void>()]
    const holder = new Client({ connectionString: server.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from users where id = $1 for update', [one])
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const left = users.update({ id: one }, { roles: [] }, { judge: mine })
    await until(async () => expect(await server.database.query(waiting)).toHaveLength(1))
    const added = groups.update(id, null, { added: [one] }, theirs)
    await until(async () => expect(await server.database.query(waiting)).toHaveLength(2))
    await holder.query('commit')
    await Promise.all([left, added])
    await holder.end()
    expect([mine.mock.calls.length, theirs.mock.calls.length]).toEqual([1, 1])
    expect(await rolesOf(one)).toEqual([displayName.replace(' ', '-')])
  })

  test('additions at once are all made, in any process', async () => {
    const beside = await startBeside(server)
    const there = await scimAs(beside, 'directory')
    const { id, displayName } = await group()
    const all = await Promise.all(Array.from({ length: 10 }, async () => somebody()))
    const add = async (one: string, at: number) =>
      (at % 2 === 0 ? call! : there)(
        'PATCH',
        `/Groups/${id}`,
        patchOf({ op: 'add', path: 'members', value: membersOf(one) }),
      )
    expect((await Promise.all(all.map(add))).map(({ status }) => status)).toEqual(all.map(() => 200))
    const members = (await there('GET', `/Groups/${id}`)).body.members as { value: string }[]
    expect(members.map(({ value }) => value).toSorted()).toEqual(all.toSorted())
    await until(async () =>
      expect((await beside.server.oauth.findUser(all[0]!))!.roles).toEqual([displayName.replace(' ', '-')]),
    )
  })
})

describe('of a user', () => {
  test('groups are told beside other roles, and stay when those are changed', async () => {
    const one = await somebody(['staff'])
    const { id } = await group({ displayName: 'The Band', members: membersOf(one) })
    const theirs = [
      { value: id, $ref: `${server.url}/scim/v2/Groups/${id}`, display: 'The Band', type: 'direct' },
    ]
    const read = async () => (await call!('GET', `/Users/${one}`)).body
    expect(await read()).toMatchObject({ roles: [{ value: 'staff' }], groups: theirs })
    const userName = (await users.get(one)).username
    for (const change of [
      async () => call!('PATCH', `/Users/${one}`, patchOf({ op: 'remove', path: 'roles' })),
      async () => call!('PUT', `/Users/${one}`, { schemas: [USER], userName, roles: [], groups: [] }),
      async () => call!('PATCH', `/Users/${one}`, patchOf({ op: 'remove', path: 'groups' })),
    ]) {
      expect((await change()).body.groups).toEqual(theirs)
      expect(await rolesOf(one)).toEqual(['The-Band'])
    }
    const had = await read()
    expect((await call!('PUT', `/Users/${one}`, had)).body).toEqual({ ...had, meta: expect.any(Object) })
    expect(
      (await call!('GET', `/Users?filter=${encodeURIComponent(`groups.value eq "${id}"`)}`)).body
        .totalResults,
    ).toBe(1)
    await patch(id, { op: 'remove', path: 'members' })
    expect(await read()).not.toHaveProperty('groups')
  })

  test('other roles are given and taken also of who is in very many groups', async () => {
    const one = await somebody(['staff'])
    const names = Array.from({ length: 51 }, (_, n) => `Crowd-${n}`)
    for (const displayName of names) await group({ displayName, members: membersOf(one) })
    const changed = await call!(
      'PATCH',
      `/Users/${one}`,
      patchOf({ op: 'replace', path: 'roles', value: [{ value: 'chief' }] }),
    )
    expect([changed.status, changed.body.roles]).toEqual([200, [{ value: 'chief' }]])
    expect((await rolesOf(one)).toSorted()).toEqual(['chief', ...names].toSorted())
    // As an administrator does on their page.
    expect((await users.update({ id: one }, { roles: ['staff', ...names] })).roles).toHaveLength(52)
  })

  test('nobody is in more than a user may have roles, or nothing of theirs could be changed any more', async () => {
    const roles = Array.from({ length: 499 }, (_, n) => `role-${n}`)
    const one = await somebody(roles)
    const last = await group({ displayName: 'Last', members: membersOf(one) })
    const { id } = await group({ displayName: 'Beyond' })
    const beyond = await patch(id, { op: 'add', path: 'members', value: membersOf(one) })
    expect([beyond.status, beyond.body.detail]).toEqual([400, 'members must have 500 roles at most'])
    expect(await rolesOf(one)).toHaveLength(500)
    await patch(last.id, { op: 'remove', path: 'members' })
    expect((await patch(id, { op: 'add', path: 'members', value: membersOf(one) })).status).toBe(200)
    const given = Array.from({ length: 501 }, (_, n) => ({ value: `role-${n}` }))
    const { body } = await call!('POST', '/Users', { userName: 'too-many', roles: given })
    expect(body.detail).toBe('roles must be 500 at most')
  })

  test('also an administrator is in a group, and stays one', async () => {
    const root = (await users.find('root'))!.id
    const { id } = await group({ displayName: 'Council', members: membersOf(root) })
    expect(await rolesOf(root)).toEqual(['admin', 'Council'])
    await call!('DELETE', `/Groups/${id}`)
    expect(await rolesOf(root)).toEqual(['admin'])
  })
})

describe('deleted', () => {
  test('nobody has the role any more, and the name is free', async () => {
    const one = await somebody(['kept'])
    const { id } = await group({ displayName: 'Gone', members: membersOf(one) })
    expect((await call!('DELETE', `/Groups/${id}`)).status).toBe(204)
    expect(await rolesOf(one)).toEqual(['kept'])
    for (const [method, body] of [['GET', undefined], ['DELETE', undefined], ['PUT', { displayName: 'X' }], ['PATCH', patchOf({ op: 'remove', path: 'members' })]] as const)
      expect((await call!(method, `/Groups/${id}`, body)).status).toBe(404)
    await group({ displayName: 'Gone' })
  }) // prettier-ignore

  test('a member who is deleted is in no group', async () => {
    const one = await somebody()
    const { id } = await group({ members: membersOf(one) })
    await users.delete({ id: one })
    expect((await call!('GET', `/Groups/${id}`)).body).not.toHaveProperty('members')
  })
})

describe('listed', () => {
  test('by name, identifier and member, without members where nobody wants them', async () => {
    const one = await somebody()
    const { id } = await group({ displayName: 'Findable One', externalId: 'find-1', members: membersOf(one) })
    for (const filter of ['displayName eq "findable one"', 'externalId eq "find-1"', `id eq "${id}"`, 'displayName sw "Findable"', `id eq "${id}" and members eq "${one}"`, `members[value eq "${one}"]`]) {
      const found = await find(filter, '&excludedAttributes=members')
      expect([filter, found.totalResults, found.Resources[0]?.id, found.Resources[0]?.members]).toEqual([filter, 1, id, undefined])
    }
    expect((await find('displayName eq "Findable One"')).Resources[0].members).toMatchObject([{ value: one }])
    expect((await find(`id eq "${id}" and members eq "nobody"`)).totalResults).toBe(0)
    // Of who is in few of very many, nobody else's groups are looked through.
    const asked = vi.spyOn(groups, 'membersOf')
    for (const filter of [`members eq "${one}"`, `members.value eq "${one}" and displayName pr`, `members[value eq "${one}"]`])
      expect((await find(filter)).Resources.map((found: { id: string }) => found.id)).toEqual([id])
    expect([...new Set(asked.mock.calls.flatMap(([all]) => all.map(({ role }) => role)))]).toEqual(['Findable-One'])
    asked.mockRestore()
    for (const nobodys of ['members eq "none"', `members eq "${crypto.randomUUID()}"`, 'externalId eq "none"', 'displayName eq "\\u0000"', 'displayName eq "\\ud800"'])
      expect([nobodys, (await find(nobodys)).Resources]).toEqual([nobodys, []])
    const posted = await call!('POST', '/Groups/.search', { filter: 'displayName eq "Findable One"', attributes: ['displayName'] })
    expect(posted.body.Resources).toEqual([{ schemas: [GROUP], id, displayName: 'Findable One' }])
  }) // prettier-ignore

  test('by index, in the order of their names', async () => {
    const { body: all } = await call!('GET', '/Groups?count=200&excludedAttributes=members')
    const names = (all.Resources as { displayName: string }[]).map(({ displayName }) => displayName.toLowerCase())
    expect(names).toEqual(names.toSorted())
    const { body } = await call!('GET', '/Groups?startIndex=2&count=3&attributes=displayName')
    expect(body).toMatchObject({ schemas: [LIST], totalResults: names.length, startIndex: 2, itemsPerPage: 3 })
    expect(body.Resources.map((one: { displayName: string }) => one.displayName.toLowerCase())).toEqual(names.slice(1, 4))
    expect((await find('colour eq "red"')).scimType).toBe('invalidFilter')
  }) // prettier-ignore
})

test('a search over everything finds people and groups, page by page', async () => {
  const one = await somebody()
  await users.update({ id: one }, { name: 'Everything Else' })
  const { id } = await group({ displayName: 'Everything' })
  const search = async (query: object) => (await call!('POST', '/.search', query)).body
  const found = await search({ filter: 'displayName sw "everything"' })
  expect([found.totalResults, found.Resources.map((each: { id: string }) => each.id)]).toEqual([2, [one, id]])
  const second = await search({ filter: 'displayName sw "everything"', startIndex: 2, count: 5 })
  expect([second.totalResults, second.startIndex, second.Resources.map((each: { id: string }) => each.id)]).toEqual([2, 2, [id]])
  expect((await search({ filter: 'displayName sw "everything"', count: 1 })).Resources).toHaveLength(1)
  // What groups have not, users have.
  expect((await search({ filter: `userName eq "${(await users.get(one)).username}"` })).totalResults).toBe(1)
  expect((await search({ filter: 'members pr and displayName eq "none"' })).totalResults).toBe(0)
  expect((await search({ filter: 'colour eq "red"' })).scimType).toBe('invalidFilter')
  expect((await search({ cursor: '' })).scimType).toBe('invalidCursor')
}) // prettier-ignore

test('a group with very many members is answered without them', async () => {
  const { id } = await group({ displayName: 'Everybody' })
  await server.database.query(
    `insert into users (id, username, username_key, claims, roles)
      select gen_random_uuid(), 'x' || n, 'x' || n, '{}', '{Everybody}' from generate_series(1, 10001) n`,
  )
  expect((await call!('GET', `/Groups/${id}`)).body.scimType).toBe('tooMany')
  expect((await call!('GET', `/Groups/${id}?excludedAttributes=members`)).body.displayName).toBe('Everybody')
  const one = await somebody()
  expect((await call!('PATCH', `/Groups/${id}?excludedAttributes=members`, patchOf({ op: 'add', path: 'members', value: membersOf(one) }))).status).toBe(200)
  expect(await rolesOf(one)).toEqual(['Everybody'])
}) // prettier-ignore
