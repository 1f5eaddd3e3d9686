/** METRICS_PORT: a listener of its own, also for several workers, whose metrics are one. */
import { createServer } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { childrenOf } from '../support/children.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { requestToken } from '../support/clients.ts'
import { createDatabase } from '../support/database.ts'
import { parseMetrics, sumOf } from '../support/metrics.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'
import { statusOf, toClient } from '../support/service.ts'

const service = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read'] }
const options = { seed: { clients: [service] } }
const client = toClient(service)

const TOKENS = ['latchkey_http_request_duration_seconds_count', { route: '/token', status: '2xx' }] as const

test('/metrics is on its port alone, and nothing else is there', async () => {
  const METRICS_PORT = await freePort()
  const server = await spawnServer({ METRICS_PORT }, options)
  const metrics = `http://127.0.0.1:${METRICS_PORT}`
  const response = await fetch(`${metrics}/metrics`)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(parseMetrics(await response.text()).length).toBeGreaterThan(50)
  expect(await statusOf(fetch(`${metrics}/token`))).toBe(404)
  expect(await statusOf(fetch(`${metrics}/metrics`, { method: 'POST' }))).toBe(405)
  expect(await statusOf(server.get('/metrics'))).toBe(404)

  const taken = { ...server.settings, PORT: await freePort() }
  const { status, stderr } = await runCommand(['serve'], taken)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `METRICS_PORT ${METRICS_PORT} on 127.0.0.1 is in use.\n`,
  })
  expect(await server.stop()).toBe(0)
})

test('a port that is taken ends the start of workers too', async () => {
  const blocker = createServer().listen(0, '127.0.0.1')
  await once(blocker, 'listening')
  atEndOfFile(async () => blocker.close())
  const { port } = blocker.address() as { port: number }
  const settings = {
    METRICS_PORT: port,
    WORKERS: 2,
    PORT: await freePort(),
    DATABASE_URL: (await createDatabase()).url,
  }
  const { status, stderr } = await runCommand(['serve'], settings)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `METRICS_PORT ${port} on 127.0.0.1 is in use.\n`,
  })
})

test('METRICS_PORT cannot be PORT', async () => {
  const { status, stderr } = await runCommand(['serve'], { PORT: 4000, METRICS_PORT: 4000 })
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'METRICS_PORT must be another port than PORT.\n' })
})

test.runIf(process.platform === 'linux')(
  'the metrics of workers are added up, and none is lost with one that dies',
  async () => {
    const METRICS_PORT = await freePort()
    const server = await spawnServer({ METRICS_PORT, WORKERS: 2 }, options)
    const text = async (): Promise<string> => (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text()
    await expect.poll(async () => sumOf(await text(), 'latchkey_processes')).toBe(2)
    for (let times = 0; times < 20; times++) expect(await statusOf(requestToken(server, client))).toBe(200)
    expect(sumOf(await text(), ...TOKENS)).toBe(20)

    const [first] = await childrenOf(server.pid)
    process.kill(first!, 'SIGKILL')
    await expect.poll(async () => sumOf(await text(), 'latchkey_processes')).toBe(1)
    expect(sumOf(await text(), ...TOKENS)).toBe(20)
    await expect.poll(async () => sumOf(await text(), 'latchkey_processes')).toBe(2)
    expect(await statusOf(requestToken(server, client))).toBe(200)
    expect(sumOf(await text(), ...TOKENS)).toBe(21)
    expect(await server.stop()).toBe(0)
  },
)
