import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { beforeEach, expect, test, vi } from 'vitest'
import { createChangeFeed, type ChangeFeed } from '../../src/services/change-feed.ts'
import { createDirectory, type Directory } from '../../src/services/directory.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { passTime } from '../support/clocks.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { recordingLog } from '../support/log.ts'

let testDatabase: TestDatabase
let feed: ChangeFeed
let directory: Directory
/** The statements that the directory has read the rows of, by name. */
let ran: string[]
/** What a statement of the directory waits for, after it has read. */
let gate: (() => Promise<void>) | undefined

beforeEach(async () => {
  testDatabase = await createDatabase()
  const database = await openDatabase({ url: testDatabase.url })
  const watched: Database = {
    ...database,
    async query(statement, values) {
      const rows = await database.query(statement, values)
      ran.push(statement.name)
      await gate?.()
      return rows
    },
  }
  feed = createChangeFeed(database, recordingLog().log)
  await feed.start()
  ran = []
  gate = undefined
  directory = createDirectory(watched, feed)
  atEndOfFile(async () => {
    await feed.stop()
    await database.close()
  })
  await testDatabase.query(
    `insert into clients (client_id, scope) values ('one', '{a,two,token_introspection}'), ('two', '{}')`,
  )
})

test('a client is read once, however many ask at once and afterwards', async () => {
  const found = await Promise.all(Array.from({ length: 50 }, () => directory.findClient('one')))
  expect(new Set(found).size).toBe(1)
  expect(await directory.findClient('one')).toBe(found[0])
  expect(ran).toEqual(['client-find'])
})

test('rights to introspect are in the scope list and are never granted', async () => {
  const client = (await directory.findClient('one'))!
  expect([client.scope, [...client.grantableScopes]]).toEqual([['a', 'two', 'token_introspection'], ['a']])
  expect(Object.isFrozen(client)).toBe(true)
})

test('what is not there is asked for again, so that made-up names fill nothing', async () => {
  expect(await directory.findClient('nobody')).toBeNull()
  await testDatabase.query(`insert into clients (client_id) values ('nobody')`)
  expect((await directory.findClient('nobody'))?.clientId).toBe('nobody')
  expect(await directory.findResource('https://nowhere.example')).toBeNull()
})

test('a change drops the client, and those in whose scope list it stands', async () => {
  await Promise.all([directory.findClient('one'), directory.findClient('two')])
  await testDatabase.query(`delete from clients where client_id = 'two'`)
  await feed.announce('client', 'two')
  expect(await directory.findClient('two')).toBeNull()
  expect([...(await directory.findClient('one'))!.grantableScopes]).toEqual(['a', 'two'])
})

test('what was read before a change and arrives after it is read again, for all who wait', async () => {
  const { promise, resolve: open } = Promise.withResolvers<void>()
  gate = () => promise
  const before = directory.findClient('one')
  await expect.poll(() => ran).toHaveLength(1)
  await testDatabase.query(`update clients set client_name = 'new' where client_id = 'one'`)
  await feed.announce('client', 'one')
  const after = directory.findClient('one')
  open()
  expect([await before.then(nameOf), await after.then(nameOf)]).toEqual(['new', 'new'])
  expect(nameOf(directory.cachedClient('one')!)).toBe('new')
})

test('a failed read is not remembered', async () => {
  gate = () => Promise.reject(new Error('gone'))
  await expect(directory.findClient('one')).rejects.toThrow('gone')
  gate = undefined
  expect((await directory.findClient('one'))?.clientId).toBe('one')
})

test('scopes know their resource, and follow when either changes', async () => {
  await testDatabase.query(`insert into resources (resource) values ('https://r.example')`)
  await testDatabase.query(`insert into scopes (name, resource) values ('far', 'https://r.example')`)
  const resourcesOf = async (): Promise<unknown> =>
    Object.fromEntries(await directory.resourcesOf(['far', 'unknown']))
  expect(await resourcesOf()).toEqual({ far: 'https://r.example', unknown: null })
  ran = []
  expect(await resourcesOf()).toEqual({ far: 'https://r.example', unknown: null })
  expect(ran).toEqual([])
  await testDatabase.query(`update resources set access_token_lifetime = 7`)
  await testDatabase.query(`update scopes set resource = null`)
  await feed.announce('resource', 'https://r.example')
  expect(await resourcesOf()).toEqual({ far: null, unknown: null })
  expect(await directory.findResource('https://r.example')).toMatchObject({ accessTokenLifetime: 7 })
  await testDatabase.query(`insert into scopes (name, resource) values ('unknown', 'https://r.example')`)
  await feed.announce('scope', 'unknown')
  expect(await resourcesOf()).toEqual({ far: null, unknown: 'https://r.example' })
})

test('an empty id is a mistake of ours, not a lookup', async () => {
  await expect(directory.findClient('')).rejects.toThrow('needs an id')
})

function nameOf(client: Awaited<ReturnType<Directory['findClient']>>): unknown {
  return client?.metadata['client_name']
}

test('what changed is read again and not forgotten: where it cannot be read, the last that was known stands', async () => {
  const found = await directory.findClient('one')
  gate = () => Promise.reject(new Error('the database is away'))
  await feed.announce('client', 'one')
  expect(directory.cachedClient('one')).toBe(found)
  gate = undefined
  await testDatabase.query(`update clients set client_name = 'new' where client_id = 'one'`)
  await Promise.all([feed.announce('client', 'one'), feed.announce('client', 'two')])
  expect(nameOf(directory.cachedClient('one')!)).toBe('new')
})

test('a user is read once, and again when the feed says so', async () => {
  const id = '00000000-0000-4000-8000-000000000001'
  await testDatabase.query(`insert into users (id, username, username_key) values ($1, 'Ann', 'ann')`, [id])
  const found = await Promise.all(Array.from({ length: 50 }, () => directory.findUser(id)))
  expect(new Set(found).size).toBe(1)
  expect(found[0]).toMatchObject({ id, username: 'Ann', roles: [], claims: {}, disabled: false })
  expect(Object.isFrozen(found[0])).toBe(true)
  expect(ran).toEqual(['user-by-id'])
  await testDatabase.query('update users set disabled_at = now()')
  await feed.announce('user', id)
  expect(await directory.findUser(id)).toMatchObject({ disabled: true })
})

test('of thousands who change at once, none looks at all who are in memory', async () => {
  const ids = Array.from({ length: 60 }, () => randomUUID())
  await testDatabase.query(
    `insert into users (id, username, username_key) select id, id, id from unnest($1::uuid[]) id`,
    [ids],
  )
  await testDatabase.query(`insert into clients (client_id, scope) select id, array[id] from unnest($1::text[]) id`, [ids])
  for (const id of ids) await Promise.all([directory.findUser(id), directory.findClient(id)])
  await testDatabase.query(`update users set roles = '{b}'`)
  await testDatabase.query(`update clients set client_name = 'b'`)
  const looks = vi.spyOn(LRUCache.prototype, 'entries')
  ran = []
  await feed.announceAll('user', [...ids.slice(1), randomUUID()])
  expect([looks.mock.calls.length, ran.filter((name) => name === 'user-by-id').length]).toEqual([0, 59])
  // Who names a client in their scope list has to be found.
  await feed.announceAll('client', ids.slice(1))
  expect([looks.mock.calls.length, ran.filter((name) => name === 'client-find').length]).toEqual([1, 59])
  looks.mockRestore()
  const roles = await Promise.all(ids.map(async (id) => (await directory.findUser(id))!.roles))
  expect(roles).toEqual([[], ...Array.from({ length: 59 }, () => ['b'])])
  expect(nameOf(directory.cachedClient(ids[1]!)!)).toBe('b')
}) // prettier-ignore

test('what is no id of a user costs no statement', async () => {
  for (const id of ['', 'ann', 'x'.repeat(36), "'; --"]) expect(await directory.findUser(id)).toBeNull()
  expect(ran).toEqual([])
})

test.each<[string, () => Promise<unknown>]>([
  ['findClient', () => directory.findClient('one')],
  ['admitClient', () => directory.admitClient('one')],
  ['reloadClient', () => directory.reloadClient('one')],
  ['findUser', () => directory.findUser(randomUUID())],
  ['reloadUser', () => directory.reloadUser(randomUUID())],
  ['findScope', () => directory.findScope('a')],
  ['findResource', () => directory.findResource('https://nowhere.example')],
])('after standing still, %s waits for what changed meanwhile', async (_name, ask) => {
  let applied = 0
  feed.on('scope', () => void applied++)
  await testDatabase.query(
    `insert into changes (id, kind, key) values (gen_random_uuid(), 'scope', 'while it stood')`,
  )
  passTime(61_000)
  await ask()
  expect(applied).toBe(1)
})
