/**
 * A process that was paused (a machine asleep, a container frozen, a turn of the event loop that took long) finds timers
 * that are due before it reads what has come meanwhile: its own pause is no silence of PostgreSQL.
 */
import { expect, test } from 'vitest'
import { borrow, createPool, endPool } from '../../src/store/connections.ts'
import { createRoundTrip } from '../../src/store/round-trip.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'

/** Longer than a request waits for a connection. */
const pause = (): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500)

const pool = createPool((await createDatabase()).url, 2)
atEndOfFile(async () => endPool(pool))

test('a connection that is being opened is waited for', async () => {
  const borrowed = borrow(pool)
  setImmediate(pause)
  ;(await borrowed).release()
})

test('a connection that comes back is waited for', async () => {
  const all = [await borrow(pool), await borrow(pool)]
  const borrowed = borrow(pool)
  setImmediate(() => {
    pause()
    setImmediate(() => all.forEach((client) => client.release()))
  })
  ;(await borrowed).release()
})

test('an answer that is there is read', async () => {
  const client = await borrow(pool)
  const trip = createRoundTrip([{ name: '', text: 'select 1 as one', shape: {}, parameters: [] }])
  const answer = trip.on(client, 2000)
  setImmediate(pause)
  expect(await answer).toEqual([[{ one: 1 }]])
  client.release()
})
