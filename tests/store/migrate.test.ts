import { MikroORM } from '@mikro-orm/postgresql'
import { inject, expect, test } from 'vitest'
import { migrations } from '../../src/migrations/all.ts'
import { migrationNames } from '../../src/migrations/names.ts'
import { migrate } from '../../src/store/migrate.ts'
import { migratorOptions } from '../../src/store/migrator.ts'
import { execute, withDatabase } from '../support/connection.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'

test('several processes that migrate an empty database at once do it once', async () => {
  const { url } = await createEmptyDatabase()
  await Promise.all([migrate(url), migrate(url), migrate(url), migrate(url)])
  const rows = await execute<{ name: string }>(url, 'select name from migrations')
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
  expect(rows.length).toBeGreaterThan(0)
  await migrate(url)
  expect(await execute(url, 'select name from migrations')).toHaveLength(rows.length)
})

test('the names by which a start knows what is missing are those of the migrations', () => {
  expect(migrations.map((one) => new one({} as never, {} as never).name)).toEqual(migrationNames)
})

test('entities and migrations agree: the schema generator has nothing to change', async () => {
  const { url } = await createDatabase({ refusing: false })
  const orm = await MikroORM.init({ ...migratorOptions(url), connect: false } as Parameters<
    typeof MikroORM.init
  >[0])
  try {
    expect(await orm.schema.getUpdateSchemaSQL({ wrap: false })).toBe('')
  } finally {
    await orm.close(true)
  }
})

test('the schema has no sequences and no triggers', async () => {
  const { query } = await createDatabase({ refusing: false })
  const sequences = await query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'S' and relname not like 'migrations%'`,
  )
  expect(sequences).toEqual([])
  expect(await query('select tgname from pg_trigger where not tgisinternal')).toEqual([])
})

test('a database that is not there is said so', async () => {
  const url = withDatabase(inject('templateUrl'), 'latchkey_nowhere')
  await expect(migrate(url)).rejects.toMatchObject({ code: '3D000' })
})
