/** Distribution over other servers by postgres_fdw: there and back with rows, again, refused, and after a try that failed. */
import pg from 'pg'
import { expect, test } from 'vitest'
import { distribute, gather, mirror, shardsOf } from '../../../src/store/distribution/foreign.ts'
import type { Shard } from '../../../src/store/distribution/shards.ts'
import { atEndOfFile } from '../../support/cleanup.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../support/database.ts'

const TABLES = ['authorizations', 'authorization_codes', 'refresh_tokens', 'access_tokens']

async function connected(database: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  atEndOfFile(async () => client.end())
  return client
}

async function shards(count: number): Promise<{ shards: Shard[]; databases: TestDatabase[] }> {
  const databases = await Promise.all(Array.from({ length: count }, async () => createEmptyDatabase()))
  return { databases, shards: databases.map(({ url }, at) => ({ number: at + 1, url })) }
}

/** 300 Authorizations, each with a refresh token, a code and an access token. */
async function fill(database: TestDatabase): Promise<void> {
  await database.query(
    `insert into authorizations (id, client_id, subject, scopes, resources, parameters)
    select gen_random_uuid(), 'web', 'alice', '{openid}', '{}', '{"at": ' || n || '}' from (select n::text::jsonb::text as n from generate_series(1, 300) n) s`.replace(
      `'{"at": ' || n || '}'`,
      `jsonb_build_object('at', n::int)`,
    ),
  )
  await database.query(
    `insert into refresh_tokens (authorization_id, hash, expires_at) select id, 'r' || id, now() + interval '1 day' from authorizations`,
  )
  await database.query(
    `insert into authorization_codes (authorization_id, hash, client_id, subject, redirect_uri, granted, expires_at)
      select id, 'c' || id, 'web', 'alice', 'https://app.example/', '{}', now() + interval '1 minute' from authorizations`,
  )
  await database.query(
    `insert into access_tokens (authorization_id, hash, claims, expires_at) select id, 'a' || id, '{}', now() + interval '1 hour' from authorizations`,
  )
}

const digest = async (database: TestDatabase): Promise<unknown[]> =>
  Promise.all(
    TABLES.map(async (table) => {
      const [row] = await database.query(
        `select count(*)::int as rows, md5(string_agg(t::text, ',' order by t::text)) as digest from ${table} t`,
      )
      return row
    }),
  )

/** What PostgreSQL says of the tables: columns, keys and indexes. */
const shape = async (database: TestDatabase): Promise<unknown[]> => [
  await database.query(
    `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
      where table_name = any($1) order by 1, ordinal_position`,
    [TABLES],
  ),
  await database.query(
    `select tablename, indexdef from pg_indexes where tablename = any($1) order by tablename, indexname`,
    [TABLES],
  ),
]

test('rows go to the shards and come back as they were, and so do keys and indexes', async () => {
  const database = await createDatabase()
  await fill(database)
  const [before, shapeBefore] = [await digest(database), await shape(database)]
  const client = await connected(database)
  const { shards: three, databases } = await shards(3)
  await distribute(client, three)
  expect(await digest(database)).toEqual(before)
  const held = await Promise.all(
    databases.map(
      async (one) => (await one.query<{ n: number }>('select count(*)::int as n from authorizations'))[0]!.n,
    ),
  )
  expect(held.reduce((sum, n) => sum + n, 0)).toBe(300)
  expect(Math.min(...held)).toBeGreaterThan(50)
  // What belongs to one Authorization lies with it.
  for (const one of databases)
    expect(
      await one.query(`select from refresh_tokens r left join authorizations a on a.id = r.authorization_id
        left join authorization_codes c using (authorization_id) left join access_tokens t using (authorization_id)
        where a.id is null or c.hash is null or t.hash is null`),
    ).toEqual([])
  expect(await shardsOf(client)).toEqual(three)

  await gather(client)
  expect([await digest(database), await shape(database)]).toEqual([before, shapeBefore])
  expect(await shardsOf(client)).toEqual([])
  for (const one of databases)
    expect(await one.query(`select to_regclass('authorizations') as t`)).toEqual([{ t: null }])
})

test('a shard with tables of another database is refused, and nothing is done', async () => {
  const [database, other] = [await createDatabase(), await createDatabase()]
  await fill(database)
  const before = await digest(database)
  const client = await connected(database)
  const {
    shards: [one, two],
  } = await shards(2)
  await expect(distribute(client, [one!, { number: 2, url: other.url }])).rejects.toThrow(
    /^shard 2 \(.*\) has a table authorizations that is not a share of this database: give it a database of its own\.$/,
  )
  expect([await digest(database), await shardsOf(client)]).toEqual([before, []])
  await distribute(client, [one!, two!])
  expect(await digest(database)).toEqual(before)
})

test('a try that failed in the middle has changed nothing here, and the next one starts anew', async () => {
  const database = await createDatabase()
  await fill(database)
  const [before, shapeBefore] = [await digest(database), await shape(database)]
  const client = await connected(database)
  const { shards: two, databases } = await shards(2)
  // The second one takes its tables, and then no rows.
  const refuse = `create function refuse() returns trigger language plpgsql as $$ begin raise 'full'; end $$;
    create or replace function watch() returns event_trigger language plpgsql as $$ begin
      if to_regclass('access_tokens') is not null then
        create or replace trigger refuse before insert on access_tokens execute function refuse();
      end if; end $$;
    create event trigger watch on ddl_command_end when tag in ('CREATE INDEX') execute function watch()`
  await databases[1]!.query(refuse)
  await expect(distribute(client, two)).rejects.toThrow('full')
  expect([await digest(database), await shape(database), await shardsOf(client)]).toEqual([
    before,
    shapeBefore,
    [],
  ])
  await databases[1]!.query('drop event trigger watch; drop trigger refuse on access_tokens')
  await distribute(client, two)
  expect(await digest(database)).toEqual(before)
})

test('what a migration changes of the tables, it changes on each shard', async () => {
  const database = await createDatabase()
  await fill(database)
  const client = await connected(database)
  const { shards: two, databases } = await shards(2)
  await distribute(client, two)
  await client.query('begin')
  await client.query(
    `alter table authorizations add column note text not null default 'none', add column more jsonb`,
  )
  await client.query('create index authorizations_note_index on authorizations (note)')
  await mirror(client)
  await client.query('commit')
  await client.query(
    `update authorizations set note = 'seen' where id = (select min(id::text)::uuid from authorizations)`,
  )
  const counted = await database.query<{ note: string; n: number }>(
    'select note, count(*)::int as n from authorizations group by note order by note',
  )
  expect(counted).toEqual([
    { note: 'none', n: 299 },
    { note: 'seen', n: 1 },
  ])
  for (const one of databases)
    expect(await one.query(`select to_regclass('authorizations_note_index') is not null as there`)).toEqual([
      { there: true },
    ])
  await client.query('alter table authorizations drop column note, drop column more')
  await mirror(client)
  expect(await database.query('select * from authorizations where false')).toEqual([])
  await gather(client)
  expect((await digest(database))[0]).toMatchObject({ rows: 300 })
})
