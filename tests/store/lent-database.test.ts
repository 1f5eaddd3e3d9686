/** A pool that is lent to us is used for the database that it leads to, and no other one is looked for or made. */
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { Client } from '../../src/entities/client.ts'
import { openDatabase } from '../../src/store/database.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'

test('MikroORM makes no database of its own', async () => {
  const { url, query } = await createDatabase()
  const pool = new Pool({ connectionString: url })
  pool.on('error', () => {})
  const database = await openDatabase({ pool })
  atEndOfFile(async () => {
    await database.close()
    await pool.end()
  })
  expect(await database.reading(async (em) => em.find(Client, {}))).toEqual([])
  const [made] = await query(`select datname from pg_database where datname = 'its own'`)
  expect(made).toBeUndefined()
})
