/** WORKERS: several processes on one port serve as one, outlive one another, and end together. */
import { expect, test } from 'vitest'
import { childrenOf } from '../support/children.ts'
import { basic } from '../support/requests.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { freePort } from '../support/settings.ts'

const client = { client_id: 'service', client_secret: 'a secret that somebody chose', scope: ['read'] }
const server = await spawnServer({ WORKERS: 2 }, { seed: { clients: [client] } })
const credentials = basic(client.client_id, client.client_secret)

const workers = async (): Promise<number[]> => childrenOf(server.pid)

/** 0 for no answer: a connection that was given to a worker in the moment of its death has none. */
async function token(): Promise<number> {
  const response = await fetch(`${server.url}/token`, {
    method: 'POST',
    headers: credentials,
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
    signal: AbortSignal.timeout(5000),
  }).catch(() => undefined)
  return response?.status ?? 0
}

const ENDED = 'a worker has ended, and is replaced'
/** Lines of the log that say so. */
const endings = (): unknown[] =>
  server
    .output()
    .split('\n')
    .filter((line) => line.includes(ENDED))
    .map((line) => JSON.parse(line) as unknown)

test.runIf(process.platform === 'linux')(
  'a worker that dies is replaced, which the log says, and tokens go on being issued',
  async () => {
    await expect.poll(async () => (await workers()).length).toBe(2)
    const [first] = await workers()
    process.kill(first!, 'SIGKILL')
    await expect.poll(token).toBe(200)
    await expect.poll(async () => (await workers()).filter((pid) => pid !== first).length).toBe(2)
    await expect.poll(token).toBe(200)
    expect(endings()).toEqual([
      { level: 'warn', time: expect.any(String), pid: first, status: null, signal: 'SIGKILL', msg: ENDED },
    ])
  },
)

test('workers that cannot start end the start, and say why', async () => {
  const settings = { ...server.settings, PORT: await freePort(), WORKERS: 2, SEED_FILE: '/nowhere/seed.json' }
  const { status, stderr } = await runCommand(['serve'], settings)
  expect(status).toBe(1)
  expect(stderr).toContain('SEED_FILE /nowhere/seed.json cannot be read (ENOENT).')
})

test('SIGTERM ends all of them in order', async () => {
  expect(await server.stop('SIGTERM')).toBe(0)
  expect(await workers()).toEqual([])
  expect(endings().length).toBeLessThan(2)
})
