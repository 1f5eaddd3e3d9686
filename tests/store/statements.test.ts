import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { EntityClass } from '@mikro-orm/core'
import { MikroORM } from '@mikro-orm/postgresql'
import { expect, test } from 'vitest'
import { entities } from '../../src/entities/all.ts'
import { Client, ClientSecret } from '../../src/entities/client.ts'
import { ormOptions } from '../../src/store/orm.ts'
import { tableOf, type Statement } from '../../src/store/statement.ts'
import { createDatabase } from '../support/database.ts'

const STORE = resolve(import.meta.dirname, '../../src/store')

/** The statements that a file of the store exports, by file and member. */
async function exported(): Promise<[string, Statement<unknown>][]> {
  const files = (await readdir(STORE)).filter((file) => file.endsWith('.ts'))
  const modules = await Promise.all(
    files.map(async (file) => [file, await import(join(STORE, file))] as const),
  )
  return modules.flatMap(([file, { statements = {} }]: readonly [string, { statements?: object }]) =>
    Object.entries(statements).map(
      ([member, one]) => [`${file} ${member}`, one as Statement<unknown>] as [string, Statement<unknown>],
    ),
  )
}

test('every statement of the store can be prepared on the migrated schema', async () => {
  const database = await createDatabase()
  const table = tableOf()
  const all = await exported()
  expect(all.length).toBeGreaterThan(20)
  for (const [where, { name, build }] of all) {
    const prepared = database.query(`prepare "${name}" as ${build(table)}`).then(
      () => 'prepared',
      (error: Error) => error.message,
    )
    expect([where, await prepared]).toEqual([where, 'prepared'])
  }
})

test('no two statements have the same name, and PostgreSQL does not cut one', async () => {
  const names = (await exported()).map(([, { name }]) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => name.length > 63)).toEqual([])
})

test('tables and columns are those that MikroORM uses', async () => {
  const orm = await MikroORM.init({
    ...ormOptions('postgresql://localhost/none'),
    connect: false,
  } as Parameters<typeof MikroORM.init>[0])
  const metadata = [...orm.getMetadata()]
  await orm.close(true)
  expect(metadata.map((meta) => meta.class).toSorted(byName)).toEqual([...entities].toSorted(byName))
  for (const { root, class: entity, tableName } of metadata) {
    const table = tableOf()(entity as EntityClass<Record<string, unknown>>)
    expect(table.name).toBe(`"${tableName}"`)
    const columns = Object.values(root.properties).filter(({ fieldNames }) => fieldNames !== undefined)
    expect(columns).not.toEqual([])
    for (const { name, fieldNames } of columns)
      expect([tableName, name, table.column(name)]).toEqual([tableName, name, `"${fieldNames[0]}"`])
  }
})

const byName = (one: { name: string }, other: { name: string }): number => one.name.localeCompare(other.name)

test('a property that is not there is found out when the statement is built', () => {
  const client = tableOf()(Client)
  expect([client.name, client.columns('clientId', 'scope')]).toEqual([
    '"clients"',
    '"client_id" as "clientId", "scope" as "scope"',
  ])
  expect(tableOf('elsewhere')(ClientSecret).name).toBe('"elsewhere"."client_secrets"')
  expect(() => client.column('nothing' as 'scope')).toThrow('Client has no column for nothing')
  expect(() => client.column('secrets')).toThrow('Client has no column for secrets')
})
