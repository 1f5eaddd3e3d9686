/** Who has waited too long for a connection and given up is in nobody's way when one is free, however many they are. */
import { expect, test } from 'vitest'
import { borrow, createPool, endPool } from '../../src/store/connections.ts'
import { createDatabase } from '../support/database.ts'

test('thousands that gave up behind one connection cost the next nothing', async () => {
  const pool = createPool((await createDatabase()).url, 1)
  const held = await borrow(pool)
  const waits = await Promise.allSettled(Array.from({ length: 5000 }, async () => borrow(pool)))
  expect(new Set(waits.map(({ status }) => status))).toEqual(new Set(['rejected']))
  held.release()
  const next = await borrow(pool)
  expect((await next.query<{ one: number }>('select 1 as one')).rows).toEqual([{ one: 1 }])
  next.release()
  expect(pool).toMatchObject({ totalCount: 1, idleCount: 1, waitingCount: 0 })
  await endPool(pool)
})
