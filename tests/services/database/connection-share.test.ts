/** Connections of a process: no more than its share of what the database allows our role, whatever DATABASE_POOL_SIZE says. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { statement } from '../../../src/store/statement.ts'
import { createDatabase } from '../../support/database.ts'
import { startServer } from '../../support/server.ts'

const slow = statement<{ n: number }>('slow', () => 'select 1 as n from pg_sleep(0.02)')

test.each([
  [1, 12, 10],
  [2, 12, 5],
  [4, 12, 2],
  [8, 12, 2],
])('%i workers, of %i that are allowed: at most %i', async (WORKERS, allowed, most) => {
  const database = await createDatabase({ serializable: false, distributed: false })
  const [row] = await database.query<{ name: string }>('select current_database() as name')
  await database.query(`alter database ${row!.name} connection limit ${allowed}`)
  const server = await startServer({ WORKERS, DATABASE_POOL_SIZE: 10 }, { database })
  const { database: own, load } = kernelOf(server.server)
  await Promise.all(Array.from({ length: 40 }, async () => own.query(slow)))
  expect(load().connections.total).toBe(most)
  await server.close()
})
