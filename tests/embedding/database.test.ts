/** Whose database it is: their ORM or their pool, shared and never closed; who migrates it, and what is in the way. */
import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql'
import { randomUUID } from 'node:crypto'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { latchkey, type LatchkeyOptions } from '../../src/index.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createClient, getToken, introspect } from '../support/clients.ts'
import { execute } from '../support/connection.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createForeignApp, startForeignApp } from '../support/foreign-app.ts'
import { runCommand } from '../support/process.ts'
import { createApp, getTokensFor } from '../support/relying-party.ts'
import type { TestServer } from '../support/server.ts'
import { prepare, type Settings } from '../support/settings.ts'

/** A database that is theirs: with a table that has the name of one of ours. */
async function theirDatabase(): Promise<string> {
  const { url } = await createEmptyDatabase()
  await execute(url, 'create table users (id serial primary key, nickname text)')
  return url
}

/** A pool as people have it, with a parser of their own. */
function poolOf(connectionString: string): Pool {
  const types = { getTypeParser: () => (text: string) => `theirs: ${text}` }
  const pool = new Pool({ connectionString, max: 4, connectionTimeoutMillis: 5000, types })
  pool.on('error', () => {})
  atEndOfFile(async () => (pool.ended ? undefined : pool.end()))
  return pool
}

const UserSchema = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: { id: p.integer().primary(), nickname: p.text(), subject: p.uuid() },
})
/** A class of theirs that has the name of one of ours, and a foreign key to it. */
class TheirUser extends UserSchema.class {}
UserSchema.setClass(TheirUser)

const settings = { DATABASE_URL: undefined, DATABASE_SCHEMA: 'latchkey' }

async function expectWhole(server: TestServer): Promise<void> {
  const tokens = await getTokensFor(await createApp(server), { scope: 'openid profile' })
  expect(tokens.claims()).toMatchObject({ name: 'Alice Example' })
  const client = await createClient(server, { scope: ['read_books', 'token_introspection'] })
  const { access_token: token } = await getToken(server, client)
  expect(await introspect(server, client, token)).toEqual({ active: false })
}

test('their MikroORM: its connections, and in one transaction their rows beside ours', async () => {
  const url = await theirDatabase()
  const orm = await MikroORM.init({
    dbName: decodeURIComponent(new URL(url).pathname.slice(1)),
    driverOptions: { connectionString: url, connectionTimeoutMillis: 5000, application_name: 'theirs' },
    entities: [TheirUser],
  })
  atEndOfFile(async () => orm.close(true))
  const server = await startForeignApp({ settings, orm })
  await expectWhole(server)
  await execute(url, 'alter table users add subject uuid not null references latchkey.users (id)')

  const alice = await server.server.oauth.users.find('alice')
  const join = async (subject: string): Promise<unknown> =>
    orm.em.fork().transactional(async (em) => {
      const [ours] = await em.execute('select username from latchkey.users where id = ? for share', [subject])
      em.persist(em.create(TheirUser, { nickname: 'al', subject }))
      return ours
    })
  expect(await join(alice!.id)).toEqual({ username: 'alice' })
  await expect(join(randomUUID())).rejects.toThrow('foreign key')
  expect(await orm.em.fork().count(TheirUser)).toBe(1)

  const connections = await execute<{ application_name: string }>(
    url,
    `select distinct application_name from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  )
  expect(connections).toEqual([{ application_name: 'theirs' }])
  await server.close()
  expect(await orm.em.fork().count(TheirUser)).toBe(1)
})

test('their pool, whatever it makes of values: it serves everything, and stays open', async () => {
  const pool = poolOf(await theirDatabase())
  const server = await startForeignApp({ settings, pool })
  await expectWhole(server)
  await server.close()
  expect((await pool.query<{ one: string }>('select 1 as one')).rows).toEqual([{ one: 'theirs: 1' }])
})

test('two issuers on one pool, by schema: their prepared statements do not meet', async () => {
  const pool = poolOf(await theirDatabase())
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async (name) =>
      startForeignApp({ settings: { DATABASE_URL: undefined, DATABASE_SCHEMA: name }, pool }),
    ),
  )
  for (const server of [one!, two!, one!]) await expectWhole(server)
  await one!.close()
  await expectWhole(two!)
  const { app: again } = createForeignApp()
  await again.register(latchkey, { settings: one!.settings, pool })
  await again.close()
  const { rows } = await pool.query(
    `select from pg_database where datname = 'theirs: ' || current_database()`,
  )
  expect(rows).toEqual([])
})

test('a connection of their pool that is cut does not end the process, and all goes on', async () => {
  const url = await theirDatabase()
  const server = await startForeignApp({ settings, pool: poolOf(url) })
  await execute(
    url,
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await expect.poll(async () => (await server.get('/authorize?client_id=nobody')).status).toBe(400)
  await expectWhole(server)
})

async function refusalOf(
  options: Omit<LatchkeyOptions, 'settings'> & { settings?: Settings },
  url: string,
): Promise<string> {
  const { settings: own } = await prepare({ DATABASE_URL: url, ...options.settings }, {})
  const { app } = createForeignApp()
  const refused = await Promise.resolve(app.register(latchkey, { ...options, settings: own })).then(
    () => 'registered',
    (error: Error) => error.message,
  )
  await app.close()
  return refused
}

test('tables of theirs in the way: one sentence says what to set', async () => {
  const url = await theirDatabase()
  expect(await refusalOf({}, url)).toBe(
    "The database has tables of somebody else's by our names: set DATABASE_SCHEMA to a schema for ours alone.",
  )
  expect(
    await execute(
      url,
      "select table_name from information_schema.tables where table_schema = 'public' and table_name <> 'migrations'",
    ),
  ).toEqual([{ table_name: 'users' }])
})

test('migrate: false says what is missing, until the command has run', async () => {
  const url = await theirDatabase()
  const own = { DATABASE_SCHEMA: 'latchkey' }
  const options = { migrate: false, settings: own }
  expect(await refusalOf(options, url)).toMatch(
    /^The database lacks the migration Migration20261121000000_kernel and \d+ more: run `latchkey migrate` on it, or let this start do it with migrate: true\.$/,
  )
  const { settings: environment } = await prepare({ DATABASE_URL: url, ...own }, {})
  expect(await runCommand(['migrate'], environment)).toMatchObject({ status: 0 })
  expect(await refusalOf(options, url)).toBe('registered')
})

test('orm and pool at once, or an orm that has no pool, are refused', async () => {
  const url = await theirDatabase()
  const orm = { em: { getConnection: () => ({}) } }
  expect(await refusalOf({ orm, pool: poolOf(url) }, url)).toBe('Of orm and pool, only one can be used.')
  expect(await refusalOf({ orm }, url)).toBe(
    'The orm must be a MikroORM 7 on @mikro-orm/postgresql; or give its pool.',
  )
})
