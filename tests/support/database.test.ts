import { expect, test } from 'vitest'
import { clearAway } from './cleanup.ts'
import { execute, withDatabase } from './connection.ts'
import { createDatabase } from './database.ts'

test('databases are migrated clones that do not see each other', async () => {
  const [one, two] = await Promise.all([createDatabase(), createDatabase()])
  const tables = await one.query(`select tablename from pg_tables where schemaname = 'public'`)
  expect(tables.length).toBeGreaterThan(1)
  await one.query('create table mine (id int)')
  expect(await two.query(`select to_regclass('mine') as found`)).toEqual([{ found: null }])
})

test('what a file leaves behind is cleared away at its end', async () => {
  const database = await createDatabase()
  await database.query('select 1')
  const name = new URL(database.url).pathname.slice(1)
  await clearAway()
  const server = withDatabase(database.url, 'postgres')
  expect(await execute(server, `select from pg_database where datname = '${name}'`)).toHaveLength(0)
})
