/** What plugins keep of a user, and its end with them. */
import { describe, expect, test } from 'vitest'
import type { UserRecords } from '../../../src/doors/user-records.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, BOB, getTokens, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'
import { bearer } from '../../support/requests.ts'

interface Key {
  name: string
  secret?: string
}

interface Tie {
  leads: boolean
}

let notes!: UserRecords<Key>
let sealed!: UserRecords<Key>
let links!: UserRecords<Key>
let hidden!: UserRecords<Key>
let keys!: UserRecords<Key>
let ties!: UserRecords<Tie>
const server = await startServer(
  {},
  {
    seed: SEED,
    extend({ oauth: { users: declared } }) {
      notes = declared.records<Key>('note')
      sealed = declared.records<Key>('factor', { sealed: true, describe: ({ name }) => ({ name }) })
      links = declared.records<Key>('link', { unique: true })
      keys = declared.records<Key>('key', { signsIn: true })
      ties = declared.records<Tie>('tie', { sealed: true, signsIn: ({ leads }) => leads })
      hidden = declared.records<Key>('hidden', { sealed: true })
    },
  },
)
const { oauth } = server.server
const { users } = oauth
const alice = (await users.find(ALICE.username))!.id
const bob = (await users.find(BOB.username))!.id
const NOBODY = '00000000-0000-4000-8000-000000000000'

describe('records of a user', () => {
  test('are put once, read, replaced by whom has read them, and deleted', async () => {
    expect(await notes.put(alice, 'one', { name: 'a' })).toBe(true)
    expect(await notes.put(alice, 'one', { name: 'b' })).toBe(false)
    expect(await notes.put(bob, 'one', { name: 'b' })).toBe(true)
    const read = (await notes.get(alice, 'one'))!
    expect(read).toMatchObject({ id: 'one', value: { name: 'a' }, revision: 0 })
    const both = await Promise.all(['x', 'y'].map(async (name) => notes.replace(alice, read, { name })))
    expect(new Set(both)).toEqual(new Set([false, true]))
    expect((await notes.list(alice)).map(({ revision }) => revision)).toEqual([1])
    expect([await notes.delete(alice, 'one'), await notes.delete(alice, 'one')]).toEqual([true, false])
    expect([await notes.get(alice, 'one'), (await notes.get(bob, 'one'))?.value]).toEqual([
      null,
      { name: 'b' },
    ])
  })

  test('have a kind with one owner, and a name that can stand anywhere', () => {
    expect(() => users.records('note')).toThrow('The records note are registered twice.')
    expect(() => users.records('Not a kind')).toThrow('small letters')
  })

  test('are of users that there are', async () => {
    for (const id of [NOBODY, 'not an id']) {
      expect(await notes.put(id, 'one', { name: 'a' })).toBe(false)
      expect([await notes.list(id), await notes.get(id, 'one'), await notes.delete(id, 'one')]).toEqual([
        [],
        null,
        false,
      ])
    }
  })

  test('are encrypted at rest where the kind asks for it, each for its own place', async () => {
    await sealed.put(alice, 'totp', { name: 'phone', secret: 'JBSWY3DPEHPK3PXP' })
    const rows = JSON.stringify(await server.database.query('select * from user_records'))
    expect(rows).not.toMatch(/JBSWY3DPEHPK3PXP|phone/)
    expect((await sealed.get(alice, 'totp'))?.value).toEqual({ name: 'phone', secret: 'JBSWY3DPEHPK3PXP' })
    await sealed.put(bob, 'totp', { name: 'his', secret: 'his' })
    await server.database.query(`update user_records set value = (select value from user_records
      where kind = 'factor' and user_id = '${alice}') where kind = 'factor' and user_id = '${bob}'`)
    await expect(sealed.get(bob, 'totp')).rejects.toThrow('cannot be decrypted')
    await sealed.delete(bob, 'totp')
  })

  test('are sealed anew under another SECRET_KEY when they are read, and the count of what needs the old one says so', async () => {
    const { SECRET_KEY, PORT: _port, ...settings } = server.settings
    const keys = `${'k'.repeat(40)},${String(SECRET_KEY)}`
    let rotated!: UserRecords<Key>
    const second = await startServer({ ...settings, SECRET_KEY: keys }, {
      database: server.database,
      extend: ({ oauth: { users: declared } }) => (rotated = declared.records<Key>('factor', { sealed: true })),
    }) // prettier-ignore
    const read = async (): Promise<unknown> => server.database.query(`select value, revision from user_records where kind = 'factor'`)
    const before = await read()
    expect((await rotated.get(alice, 'totp'))?.value.secret).toBe('JBSWY3DPEHPK3PXP')
    expect(await read()).not.toEqual(before)
    expect((await rotated.get(alice, 'totp'))?.revision).toBe(0)
    await rotated.delete(alice, 'totp')
    await sealed.put(alice, 'totp', { name: 'phone', secret: 'JBSWY3DPEHPK3PXP' })
    await second.close()
  }) // prettier-ignore

  test('of a unique kind have one owner, also of two who ask at once', async () => {
    const both = await Promise.all([alice, bob].map(async (id) => links.put(id, 'issuer sub', { name: id })))
    expect(new Set(both)).toEqual(new Set([false, true]))
    expect(await links.owner('issuer sub')).toBe(both[0] ? alice : bob)
    expect(await links.owner('another')).toBeNull()
    await expect(notes.owner('one')).rejects.toThrow(TypeError)
  })

  test('are in the export as their kind describes them, and no secret is', async () => {
    const exported = await users.export(alice)
    expect(exported).toMatchObject({
      sub: alice, username: ALICE.username, email: ALICE.email,
      records: { factor: [{ name: 'phone', created_at: expect.any(String) }] },
    }) // prettier-ignore
    expect(JSON.stringify(exported)).not.toContain('JBSWY3DPEHPK3PXP')
    await expect(users.export(NOBODY)).rejects.toThrow('not registered')
  })
})

describe('a change of a record', () => {
  const event = { type: 'user.changed', user: alice, details: { changes: {} } } as const
  const noted = async (): Promise<number> =>
    (await oauth.audit.list({ user: alice, type: 'user.changed' })).events.length

  test('is noted with it, and not where nothing changes', async () => {
    const before = await noted()
    expect(await notes.put(alice, 'told', { name: 'a' }, event)).toBe(true)
    expect(await notes.put(alice, 'told', { name: 'b' }, event)).toBe(false)
    const read = (await notes.get(alice, 'told'))!
    expect(await notes.replace(alice, read, { name: 'c' }, event)).toBe(true)
    expect(await notes.replace(alice, read, { name: 'd' }, event)).toBe(false)
    expect(await notes.delete(alice, 'told', event)).toBe(true)
    expect(await notes.delete(alice, 'told', event)).toBe(false)
    expect((await noted()) - before).toBe(3)
  })

  test('is undone where it cannot be noted', async () => {
    await notes.put(alice, 'kept', { name: 'a' })
    await server.database.query('alter table audit_events rename to audit_events_away')
    await expect(notes.delete(alice, 'kept', event)).rejects.toThrow('audit_events')
    await server.database.query('alter table audit_events_away rename to audit_events')
    expect(await notes.delete(alice, 'kept')).toBe(true)
  })
})

describe('a way to sign in', () => {
  test('is each record of a kind that signs in, and a password where one is taken', async () => {
    const { id } = await users.create({ username: 'keyholder' })
    expect(await users.waysIn(id)).toEqual([])
    await keys.put(id, 'one', { name: 'a' })
    await notes.put(id, 'one', { name: 'no way in' })
    expect(await users.waysIn(id)).toEqual(['key'])
    await users.setPassword('keyholder', 'a password of some length')
    expect((await users.waysIn(id)).toSorted()).toEqual(['key', 'password'])
    expect([await users.waysIn(NOBODY), await users.waysIn('not an id')]).toEqual([[], []])
    expect(await keys.delete(id, 'one')).toBe(true)
    expect(await users.waysIn(id)).toEqual(['password'])
  })

  test('is none where its kind says that it leads nowhere: it may go, and what leads in may not', async () => {
    const { id } = await users.create({ username: 'linked' })
    await ties.put(id, 'of one that is there', { leads: true })
    await ties.put(id, 'of one that is gone', { leads: false })
    expect(await users.waysIn(id)).toEqual(['tie'])
    await expect(ties.delete(id, 'of one that is there')).rejects.toThrow('the only way to sign in')
    expect(await ties.delete(id, 'of one that is gone')).toBe(true)
    await ties.put(id, 'of one that is gone', { leads: false })
    await users.setPassword('linked', 'a password of some length')
    expect(await ties.delete(id, 'of one that is there')).toBe(true)
    await expect(users.removePassword(id)).rejects.toThrow('the only way to sign in')
    expect(await users.waysIn(id)).toEqual(['password'])
  })

  test('is not deleted where it is the last one, also by two who delete the last two at once, in two processes', async () => {
    const { id } = await users.create({ username: 'careless' })
    let there!: UserRecords<Key>
    const { SECRET_KEY, PORT: _port, ...settings } = server.settings
    // The signing keys were sealed anew above.
    const keysOfBoth = `${'k'.repeat(40)},${String(SECRET_KEY)}`
    const second = await startServer(
      { ...settings, SECRET_KEY: keysOfBoth },
      {
        database: server.database,
        extend: ({ oauth: { users: declared } }) => (there = declared.records<Key>('key', { signsIn: true })),
      },
    )
    for (let round = 0; round < 10; round++) {
      for (const one of ['one', 'two']) await keys.put(id, one, { name: one })
      const both = await Promise.allSettled([keys.delete(id, 'one'), there.delete(id, 'two')])
      expect(new Set(both.map(({ status }) => status))).toEqual(new Set(['fulfilled', 'rejected']))
      expect(await users.waysIn(id)).toEqual(['key'])
    }
    const [last] = await keys.list(id)
    await expect(keys.delete(id, last!.id)).rejects.toThrow('the only way to sign in that is left')
    expect(await keys.delete(id, 'not there')).toBe(false)
    expect(await users.delete('careless')).toBe(true)
    await second.close()
  })

  test('a password is none where nobody signs in by one', async () => {
    let alone!: UserRecords<Key>
    const less = await startServer({}, {
      build: { without: ['latchkey-password-sign-in'] },
      extend: ({ oauth: { users: declared } }) => (alone = declared.records<Key>('key', { signsIn: true })),
    }) // prettier-ignore
    const { id } = await less.server.oauth.users.create({ username: 'dora', password: 'a password of some length' })
    await alone.put(id, 'one', { name: 'a' })
    expect(await less.server.oauth.users.waysIn(id)).toEqual(['key'])
    await expect(alone.delete(id, 'one')).rejects.toThrow('the only way')
    await less.close()
  }) // prettier-ignore
})

test('an export says that a sealed record is there, also where its key is gone', async () => {
  await hidden.put(alice, 'one', { name: 'a' })
  await server.database.query(
    `update user_records set value = '{"sealed":"by no key"}' where kind = 'hidden'`,
  )
  const { records } = (await users.export(alice)) as { records: Record<string, unknown> }
  expect(records['hidden']).toEqual([{ created_at: expect.any(String) as string }])
  await hidden.delete(alice, 'one')
})

describe('the deletion of a user', () => {
  const rowsOf = async (id: string): Promise<unknown> =>
    server.database.query(`select
      (select count(*)::int from users where id = '${id}') as users,
      (select count(*)::int from sessions where user_id = '${id}') as sessions,
      (select count(*)::int from consents where user_id = '${id}') as consents,
      (select count(*)::int from user_records where user_id = '${id}') as records,
      (select count(*)::int from authorization_codes where subject = '${id}' and spent_at is null) as codes,
      (select count(*)::int from authorizations where subject = '${id}' and revoked_at is null) as authorizations`)

  test('takes all that is theirs along, at once; the log keeps their number', async () => {
    const agent = createUserAgent(server.url)
    const tokens = await getTokens(server, {}, agent)
    await goThrough(agent, await agent.get(authorizationUrl(server)))
    await notes.put(alice, 'last', { name: 'x' })
    expect(await users.delete(ALICE.username)).toBe(true)
    expect(await rowsOf(alice)).toEqual([
      { users: 0, sessions: 0, consents: 0, records: 0, codes: 0, authorizations: 0 },
    ])
    expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
    expect((await agent.get(`${server.url}/account`)).body).toContain('id="login"')
    const { events } = await oauth.audit.list({ user: alice })
    expect(events[0]).toMatchObject({ type: 'user.deleted', user: alice })
    expect(events.map(({ type }) => type)).toContain('user.signed_in')
    expect(await users.delete(ALICE.username)).toBe(false)
    // The name is free, for somebody with nothing of hers.
    const { id } = await users.create({ username: ALICE.username, password: ALICE.password })
    expect([id === alice, await notes.list(id)]).toEqual([false, []])
  })

  test('is refused for the last administrator, also where two go at once', async () => {
    await users.create({ username: 'first', roles: ['admin'] })
    await expect(users.delete('first')).rejects.toThrow('must keep admin')
    await users.create({ username: 'second', roles: ['admin'] })
    const both = await Promise.allSettled(['first', 'second'].map(async (name) => users.delete(name)))
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set(['fulfilled', 'rejected']))
    expect(await users.hasRole('admin')).toBe(true)
  })

  test('during a sign-in leaves nobody signed in', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server))
    const [page] = await Promise.all([
      agent.submit(login, 'login', { username: BOB.username, password: BOB.password }),
      users.delete(BOB.username),
    ])
    expect([200, 303, 403]).toContain(page.status)
    expect((await agent.get(`${server.url}/account`)).body).toContain('id="login"')
    expect(await rowsOf(bob)).toMatchObject([{ users: 0, sessions: 0, records: 0 }])
  })
})
