/** What ends with a user's password, with the user, and with one session. */
import { Client } from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { endSession } from '../../../src/store/endings.ts'
import { atEndOfFile } from '../../support/cleanup.ts'
import { giveEverything, openUsers, whatIsLeft } from '../../support/users.ts'

const { users, database, rows } = await openUsers()
const EVERYTHING = { sessions: 1, codes: 1, authorizations: 2 }
const NOTHING = { sessions: 0, codes: 0, authorizations: 0 }
let count = 0
let username: string
let id: string

beforeEach(async () => {
  username = `user-${++count}`
  id = (await users.create({ username, password: 'correct horse battery' })).id
  await giveEverything(rows, id)
})

test.for<[string, () => Promise<unknown>]>([
  ['user disabled', async () => users.disable(username)],
  ['password changed', async () => users.setPassword(username, 'another horse battery')],
  ['password changed', async () => users.update(username, { password: 'another horse battery' })],
])('%s: sessions, codes and Authorizations end in the transaction of the change', async ([cause, change]) => {
  const other = await users.create({ username: `other-${count}` })
  await giveEverything(rows, other.id)
  expect(await whatIsLeft(rows, id)).toEqual(EVERYTHING)
  await change()
  expect(await whatIsLeft(rows, id)).toEqual(NOTHING)
  expect(await whatIsLeft(rows, other.id)).toEqual(EVERYTHING)
  const written = await rows.query(
    `select xmin::text, null as cause from users where id::text = $1
     union select xmin::text, revocation_cause from authorizations where subject = $1
     union select xmin::text, null from authorization_codes where subject = $1`,
    [id],
  )
  expect(new Set(written.map(({ xmin }) => xmin as string)).size).toBe(1)
  expect(new Set(written.map(({ cause }) => cause as unknown))).toEqual(new Set([cause, null]))
})

test('other changes end nothing', async () => {
  await users.update(username, { name: 'Name', roles: ['admin'] })
  await users.enable(username)
  expect(await whatIsLeft(rows, id)).toEqual(EVERYTHING)
})

test('where the last of it cannot be done, none of it is', async () => {
  await rows.query(`alter table authorizations add constraint never check (revoked_at is null) not valid`)
  await expect(users.disable(username)).rejects.toThrow('never')
  await expect(users.setPassword(username, 'another horse battery')).rejects.toThrow('never')
  await rows.query('alter table authorizations drop constraint never')
  expect(await whatIsLeft(rows, id)).toEqual(EVERYTHING)
  expect(await users.authenticate(username, 'correct horse battery')).toMatchObject({ disabled: false })
})

test('several processes that disable and set passwords at once all succeed, and everything has ended', async () => {
  const other = await openUsers(false, rows)
  await Promise.all([
    users.disable(username),
    other.users.disable(username),
    users.setPassword(username, 'another horse battery'),
    other.users.disable(username),
  ])
  expect(await whatIsLeft(rows, id)).toEqual(NOTHING)
  expect(await users.find(username)).toMatchObject({ disabled: true })
  expect(await users.hasPassword(username, 'another horse battery')).toBe(true)
})

test('an exchange under way does not slip through: what it stores is revoked', async () => {
  const client = new Client({ connectionString: rows.url })
  await client.connect()
  atEndOfFile(async () => client.end())
  await client.query('begin')
  await client.query(
    `with spent as (delete from authorization_codes where subject = $1 and spent_at is null
       returning authorization_id)
     insert into authorizations (id, client_id, subject, scopes, resources, parameters)
     select authorization_id, 'client', $1, '{openid}', '{}', '{}' from spent`,
    [id],
  )
  const disabling = users.disable(username)
  const waiting = `select count(*)::int as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(async () => (await rows.query(waiting))[0]).toEqual({ waiting: 1 })
  await client.query('commit')
  await disabling
  expect(await whatIsLeft(rows, id)).toEqual(NOTHING)
  const [{ revoked } = {}] = await rows.query(
    'select count(*)::int as revoked from authorizations where subject = $1 and revoked_at is not null',
    [id],
  )
  expect(revoked).toBe(3)
})

test('a session ends with its code and its Authorizations; what has offline_access goes on', async () => {
  const second = await giveEverything(rows, id)
  const { id: strange } = await users.create({ username: `strange-${count}` })
  await database.transaction(async (query) => endSession(query, strange, 'signed out', second.sid))
  expect(await whatIsLeft(rows, id)).toEqual({ sessions: 2, codes: 2, authorizations: 4 })
  await database.transaction(async (query) => endSession(query, id, 'signed out', second.sid))
  expect(await whatIsLeft(rows, id)).toEqual({ sessions: 1, codes: 1, authorizations: 3 })
  const ended = await rows.query(
    'select scopes, revocation_cause from authorizations where subject = $1 and revoked_at is not null',
    [id],
  )
  expect(ended).toEqual([{ scopes: ['openid'], revocation_cause: 'signed out' }])
})
