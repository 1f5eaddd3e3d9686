/** A restart that nobody notices: what a server still does between SIGTERM and its end, and who asks twice. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { atEndOfFile } from '../support/cleanup.ts'
import { spawnBeside } from '../support/beside.ts'
import { requestToken } from '../support/clients.ts'
import { underLoad } from '../support/load.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import { statusOf, toClient } from '../support/service.ts'

const registered = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read'] }
const options = { seed: { clients: [registered] } }
const client = toClient(registered)
const UNTIL_ASKED_AGAIN = { SHUTDOWN_DELAY: 300 }

/** A token request up to its body, on a connection that is kept; `finish` sends the rest, and reads to the end. */
async function begin({ url }: SpawnedServer): Promise<{ finish(more?: string): Promise<string> }> {
  const body = 'grant_type=client_credentials'
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1')
  atEndOfFile(async () => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  socket.write(
    [
      'POST /token HTTP/1.1',
      `host: ${new URL(url).host}`,
      `authorization: ${client.basic.authorization}`,
      'content-type: application/x-www-form-urlencoded',
      `content-length: ${body.length}`,
      'expect: 100-continue',
      '\r\n',
    ].join('\r\n'),
  )
  await expect.poll(() => text).toContain('100 Continue')
  return {
    async finish(more = '') {
      socket.write(body + more)
      await once(socket, 'close')
      return text
    },
  }
}

/** Or kept by nobody: with workers, Node holds on to a connection that comes while the last of them closes. */
const isRefused = async (server: SpawnedServer) =>
  server.request('/healthz', { signal: AbortSignal.timeout(2000) }).then(String, () => 'refused')

/** Asks again until it ends. */
async function insist(server: SpawnedServer): Promise<number | null> {
  const end = server.stop()
  const again = setInterval(() => void server.stop(), 100)
  return end.finally(() => clearInterval(again))
}

test('a request on a connection that is open while the server stops is answered as any other', async () => {
  const server = await spawnServer({}, options)
  const { finish } = await begin(server)
  const status = server.stop()
  await expect.poll(async () => isRefused(server)).toBe('refused')
  const text = await finish('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\nGET /jwks HTTP/1.1\r\nhost: x\r\n\r\n')
  const [, , token, ready] = text.split('HTTP/1.1 ')
  expect(token).toMatch(/^200 OK[^]*"access_token":/)
  expect(ready).toMatch(/^503 [^]*connection: close[^]*"problems":\["stopping"\]/i)
  expect(await status).toBe(0)
})

test('SHUTDOWN_DELAY: not ready, and serving still, on connections that are kept', async () => {
  const server = await spawnServer(UNTIL_ASKED_AGAIN, options)
  const end = server.stop()
  await expect.poll(async () => statusOf(server.get('/readyz'))).toBe(503)
  const response = await requestToken(server, client)
  expect(response.status).toBe(200)
  expect(response.headers.get('connection')).toBe('keep-alive')
  expect(await (await server.get('/readyz')).json()).toEqual({ status: 'not ready', problems: ['stopping'] })
  expect(await statusOf(server.get('/healthz'))).toBe(200)
  expect(await insist(server)).toBe(1)
  expect(await end).toBe(1)
})

test('who asks again does not wait for requests under way: status 1', async () => {
  const server = await spawnServer({}, options)
  await begin(server)
  expect(await insist(server)).toBe(1)
})

test('workers: what has begun at any of them is finished, then all end with status 0', async () => {
  const server = await spawnServer({ WORKERS: 2 }, options)
  const begun = await Promise.all([begin(server), begin(server), begin(server), begin(server)])
  const status = server.stop()
  await expect.poll(async () => isRefused(server)).toBe('refused')
  for (const text of await Promise.all(begun.map(async ({ finish }) => finish())))
    expect(text).toMatch(/HTTP\/1\.1 200 OK[^]*"access_token":/)
  expect(await status).toBe(0)
})

test('workers: asked again, all end at once with status 1, and leave nobody on the port', async () => {
  const server = await spawnServer({ WORKERS: 2, ...UNTIL_ASKED_AGAIN }, options)
  await begin(server)
  expect(await insist(server)).toBe(1)
  await expect.poll(async () => isRefused(server)).toBe('refused')
})

test('a rolling restart behind a balancer that asks /readyz: no request fails', async () => {
  const settings = { SHUTDOWN_DELAY: 3 }
  const one = await spawnServer(settings, options)
  const two = await spawnBeside(one.settings, one.database)
  const ready = new Set<SpawnedServer>()
  const check = async (): Promise<void> => {
    for (const server of [one, two]) {
      const status = await statusOf(server.get('/readyz')).catch(() => 0)
      if (status === 200) ready.add(server)
      else ready.delete(server)
    }
  }
  await check()
  expect(ready.size).toBe(2)
  const health = underLoad(async () => check().then(async () => sleep(50)), 1)
  let turn = 0
  const load = underLoad(async () => statusOf(requestToken([...ready][turn++ % ready.size]!, client)), 6)
  await load.more(100)
  expect(await one.stop()).toBe(0)
  await load.more(100)
  expect(ready).toEqual(new Set([two]))
  const statuses = await load.stop()
  await health.stop()
  expect(new Set(statuses)).toEqual(new Set([200]))
})
