/** Connections that break in MikroORM's hands come back, wherever in its transaction it was. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { Client } from '../../src/entities/client.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'

const rows = await createDatabase()
const proxy = await startDatabaseProxy(rows.url)
const database = await openDatabase({ url: proxy.url, poolSize: 2 })
atEndOfFile(async () => database.close())

/** Registers a client, or thinks better of it. */
const register = async (kept = true): Promise<void> =>
  database.transactional(async (em) => {
    const members = { clientId: randomUUID(), redirectUris: [], scope: [], metadata: {} }
    em.create(Client, members, { persist: true })
    await em.flush()
    if (!kept) throw new Error('not kept')
  })

test.each(['begin', 'insert into', 'commit', 'rollback'])('one that breaks at `%s`', async (text) => {
  for (const when of ['before', 'after', 'before'] as const) {
    proxy.cutAt(text, when)
    await expect(register(text !== 'rollback')).rejects.toBeInstanceOf(Error)
  }
  const { total, idle, waiting } = database.connections()
  expect([idle, waiting]).toEqual([total, 0])
})

test('the pool serves as many as before', async () => {
  await Promise.all([1, 2, 3, 4].map(async () => register()))
})
