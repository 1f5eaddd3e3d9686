/** Clients that never finish: hundreds of them cost nobody else an answer, and nothing is left of them. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { requestToken } from '../support/clients.ts'
import { type Load, underLoad } from '../support/load.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import { statusOf, toClient } from '../support/service.ts'

const SERVICE = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read_books'] }
const HEAP = resolve(import.meta.dirname, '../support/fuzz-heap-plugin.ts')
const HEAD = 'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n'
const MIB = 2 ** 20

const seed = { scopes: [{ name: 'read_books' }], clients: [SERVICE] }
const server = await spawnServer({ PLUGINS: HEAP }, { seed })
const token = async (): Promise<number> => statusOf(requestToken(server, toClient(SERVICE)))

interface SlowClient {
  socket: Socket
  /** Resolves to all that came, when the server has ended the connection. */
  ended: Promise<string>
}

async function begin(bytes: string): Promise<SlowClient> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  // It was closed while we were still sending.
  socket.on('error', () => {})
  const ended = new Promise<string>((done) => {
    socket.once('close', () => done(text))
  })
  socket.write(bytes)
  return { socket, ended }
}

const many = async (count: number, bytes: string): Promise<SlowClient[]> =>
  Promise.all(Array.from({ length: count }, async () => begin(bytes)))

/** One more byte from each, for as long as it lives. */
function trickle(clients: readonly SlowClient[]): Load<void> {
  let at = 0
  return underLoad(
    async () => {
      clients[at++ % clients.length]!.socket.write('x')
      expect(await token()).toBe(200)
    },
    4,
    20,
  )
}

/** By the server, which says why: who goes on sending may not get to hear it. */
async function assertEnded(clients: readonly SlowClient[]): Promise<void> {
  const texts = await Promise.all(clients.map(async ({ ended }) => ended))
  const kinds = new Set(texts.map((text) => text.split(' ', 2)[1] ?? 'nothing'))
  expect(['408', 'nothing', '408,nothing']).toContain([...kinds].toSorted((a, b) => (a < b ? -1 : 1)).join())
}

async function heapOf(): Promise<number> {
  const { used } = (await (await server.get('/heap')).json()) as { used: number }
  return used
}

const descriptorsOf = ({ pid }: SpawnedServer): number => readdirSync(`/proc/${pid}/fd`).length

test('hundreds that trickle, stop half-way or go away', async () => {
  for (let times = 0; times < 50; times++) expect(await token()).toBe(200)
  const [heap, descriptors] = [await heapOf(), descriptorsOf(server)]

  const trickling = await many(500, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
  const half = await many(200, `${HEAD}Content-Length: 500\r\n\r\ngrant_type=client_credentials`)
  await expect.poll(() => descriptorsOf(server)).toBeGreaterThanOrEqual(descriptors + 700)
  const load = trickle(trickling)
  await load.more(100)
  expect(await heapOf()).toBeLessThan(heap + 50 * MIB)

  for (let round = 0; round < 2; round++) {
    const aborted = await many(100, `${HEAD}Content-Length: 60000\r\n\r\n${'a=1&'.repeat(5000)}`)
    await load.more(10)
    for (const { socket } of aborted) socket.resetAndDestroy()
  }
  await assertEnded(trickling)
  await assertEnded(half)
  await load.stop()

  await expect.poll(() => descriptorsOf(server)).toBeLessThan(descriptors + 20)
  expect(await heapOf()).toBeLessThan(heap + 10 * MIB)
  expect(await token()).toBe(200)
  expect(server.output().split('the request was cut off').length - 1).toBeGreaterThan(100)
  expect(server.output()).not.toMatch(/"level":"(?:warn|error|fatal)"/)
  expect(await server.stop()).toBe(0)
})
