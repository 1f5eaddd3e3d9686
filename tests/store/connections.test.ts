/**
 * PostgreSQL that goes away in the moment in which a connection is ready: its last message may come in one piece with
 * that it is ready. That fails a statement, and never the process.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { borrow, createPool, withClient } from '../../src/store/connections.ts'
import { isUnavailable } from '../../src/store/failures.ts'
import { atEndOfFile } from '../support/cleanup.ts'

const message = (type: string, ...fields: Buffer[]): Buffer => {
  const body = Buffer.concat(fields)
  const head = Buffer.alloc(5, type, 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const SIGNED_IN = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const TERMINATING = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'))

/** What PostgreSQL says in a fast shutdown to who has just come, in one write. */
const server = createServer((socket) => {
  socket.on('error', () => {}).once('data', () => socket.end(Buffer.concat([SIGNED_IN, READY, TERMINATING])))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
atEndOfFile(async () => void server.close())
const url = `postgresql://somebody@127.0.0.1:${(server.address() as AddressInfo).port}/nowhere`

/** Errors that nobody heard: each would have ended a server. */
const unheard: unknown[] = []
const hear = (error: unknown): unknown => unheard.push(error)
process.on('uncaughtException', hear)
atEndOfFile(async () => void process.off('uncaughtException', hear))

test.each([
  ['a connection of a pool', async () => {
    const pool = createPool(url, 1)
    const client = await borrow(pool)
    try {
      await client.query('select 1')
    } finally {
      client.release()
      await pool.end()
    }
  }],
  ['a connection on its own', async () => withClient({ url }, async (client) => client.query('select 1'))],
] as const)('%s', async (_, ask) => {
  expect(isUnavailable(await ask().catch((error: unknown) => error))).toBe(true)
  expect(unheard).toEqual([])
}) // prettier-ignore
