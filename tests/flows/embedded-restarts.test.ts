/** The embedded PostgreSQL dies under a server: it is started again, nothing is lost, and the server goes on. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { startEmbeddedPostgres } from '../../src/services/database/embedded-postgres.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { execute } from '../support/connection.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import { getAccessToken, OPAQUE, statusOf, toClient } from '../support/service.ts'
import { until } from '../support/until.ts'

const client = toClient(OPAQUE)
const settings = { DATABASE_URL: undefined, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }

async function start(WORKERS = 1): Promise<{ server: SpawnedServer; DATA_DIR: string }> {
  const DATA_DIR = join(await temporaryDirectory(), 'data')
  const server = await spawnServer({ ...settings, WORKERS, DATA_DIR }, { seed: { clients: [OPAQUE] } })
  const listening = () => server.output().match(/"msg":"ready"/g)?.length
  await expect.poll(listening).toBe(WORKERS)
  return { server, DATA_DIR }
}

async function postmaster(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])
}

test.each([1, 2])(
  'killed, it is started again: 503 with Retry-After meanwhile, and nothing is lost: %i worker(s)',
  async (WORKERS) => {
    const { server, DATA_DIR } = await start(WORKERS)
    const token = await getAccessToken(server, client)
    const introspect = async (): Promise<Response> => server.post('/introspect', { token }, client.basic)
    const killed = await postmaster(DATA_DIR)
    process.kill(killed, 'SIGKILL')
    const away = await until(async () => {
      const response = await introspect()
      if (response.status === 200) throw new Error('It serves still, or again.')
      return response
    })
    expect(away.status).toBe(503)
    expect(away.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    await until(async () => expect(await statusOf(server.get('/readyz'))).toBe(200))
    expect(await (await introspect()).json()).toMatchObject({ active: true })
    expect(await postmaster(DATA_DIR)).not.toBe(killed)
    await expect.poll(server.output).toContain('the embedded PostgreSQL serves again')
    expect(server.output().match(/PostgreSQL has ended, and is started again/g)).toHaveLength(1)

    expect(await server.stop()).toBe(0)
    await expect(stat(join(DATA_DIR, 'postgres/postmaster.pid'))).rejects.toThrow('ENOENT')
  },
)

test('as long as a process of the old one lives, no new one can start: it is tried again, with growing pauses', async () => {
  const dataDir = join(await temporaryDirectory(), 'data')
  const postgres = await startEmbeddedPostgres({ dataDir })
  const client = new Client({ connectionString: postgres.url })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  // A process that computes notices nothing, and keeps the memory that all share.
  const busy = client.query('select count(*) from generate_series(1, 20000000)').catch(() => {})
  await until(async () => {
    const active = `select from pg_stat_activity where pid = ${rows[0]!.pid} and state = 'active'`
    expect(await execute(postgres.url, active)).toHaveLength(1)
  })
  process.kill(await postmaster(dataDir), 'SIGKILL')
  await busy
  await client.end()
  await until(async () => execute(postgres.url, 'select 1'))
  const log = await readFile(join(dataDir, 'postgres/server.log'), 'utf8')
  expect(log).toMatch(/pre-existing shared memory block .* is still in use/)
  await postgres.stop()
})

test('what would start it again is gone as well: the process ends, and its next start finds everything', async () => {
  const { server, DATA_DIR } = await start()
  const token = await getAccessToken(server, client)
  const pid = await postmaster(DATA_DIR)
  const [, supervisor] = /\) \S (\d+)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8')) ?? []
  process.kill(Number(supervisor), 'SIGKILL')
  process.kill(pid, 'SIGKILL')
  await expect.poll(async () => statusOf(server.get('/healthz')).catch(() => 'ended')).toBe('ended')
  await expect.poll(server.output).toContain('"level":"fatal"')
  const next = await spawnServer(server.settings)
  const introspected = await next.post('/introspect', { token }, client.basic)
  expect(await introspected.json()).toMatchObject({ active: true })
  expect(await next.stop()).toBe(0)
})

test('files in the place of the database, and an empty PG_VERSION, are named in a sentence', async () => {
  const dataDir = join(await temporaryDirectory(), 'data')
  const { stop } = await startEmbeddedPostgres({ dataDir })
  await stop()
  const version = join(dataDir, 'postgres/PG_VERSION')
  await writeFile(version, '')
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(
    /PG_VERSION is empty, .*: restore it from a backup/,
  )
})
