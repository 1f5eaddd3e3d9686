/** SIGTERM: what is under way is finished, the exit status is 0, and nothing is left behind. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { requestsTo } from '../support/requests.ts'
import { GUARDED_SCOPE, getAccessToken, statusOf, toClient } from '../support/service.ts'
import { HASHING_SLOWLY, prepare } from '../support/settings.ts'
import { until } from '../support/until.ts'

const root = resolve(import.meta.dirname, '../..')
const service = {
  client_id: 'service',
  client_secret: `lks_${'s'.repeat(43)}`,
  scope: [GUARDED_SCOPE],
  access_token_format: 'opaque',
}

/** The server has the head of the request, and waits for its body. The connection is one that the client keeps. */
async function begin(url: string, body: string, headers: Record<string, string>) {
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }
  const agent = new Agent({ keepAlive: true })
  const options = { agent, method: 'POST', headers: { ...headers, ...form, expect: '100-continue' } }
  const begun = request(url, options)
  const response = once(begun, 'response') as Promise<[IncomingMessage]>
  begun.flushHeaders()
  await once(begun, 'continue')
  return async () => {
    begun.end(body)
    const [answer] = await response
    return { status: answer.statusCode, body: JSON.parse((await answer.toArray()).join('')) as unknown }
  }
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s: a request that has begun is answered in full, then the server ends with status 0',
  async (signal) => {
    const settings = { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }
    const server = await spawnServer(settings, { seed: { clients: [service] } })
    const client = toClient(service)
    const token = await getAccessToken(server, client)
    const finish = await begin(`${server.url}/introspect`, `token=${token}`, client.basic)
    const status = server.stop(signal)
    await expect.poll(() => server.get('/healthz').then(String, () => 'refused')).toBe('refused')
    expect(await finish()).toMatchObject({ status: 200, body: { active: true } })
    expect(await status).toBe(0)
  },
)

test('npm start hands SIGTERM on, ends with status 0 and leaves no process', async () => {
  const { settings, url } = await prepare({}, { database: await createDatabase() })
  const given = Object.entries(settings).map(([name, value]) => [name, String(value)])
  const { PATH, HOME } = process.env
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: { PATH, HOME, ...(Object.fromEntries(given) as Record<string, string>) },
    stdio: 'ignore',
    // A group of its own, so that whoever is left in it can be found.
    detached: true,
  })
  const exit = once(npm, 'exit')
  const group = -npm.pid!
  const isGroupAlive = () => {
    try {
      return process.kill(group, 0)
    } catch {
      return false
    }
  }
  atEndOfFile(async () => isGroupAlive() && process.kill(group, 'SIGKILL'))
  const server = requestsTo(url)
  await expect.poll(() => statusOf(server.get('/readyz')).catch(() => 0)).toBe(200)
  npm.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
  expect(isGroupAlive()).toBe(false)
  await expect(server.get('/healthz')).rejects.toThrow('fetch failed')
})

/** NODE_OPTIONS with which the process runs this, as it begins. */
function beginningWith(program: string): string {
  return `--import data:text/javascript,${encodeURIComponent(program)}`
}

/**
 * NODE_OPTIONS with which the server is asked to stop, as its operator would, so many milliseconds after it began to listen for that. With workers, a
 * worker's listening counts, and the supervisor is asked. What prepares the database is not the server.
 */
function stoppedAfter(ms: number): string {
  return beginningWith(`import cluster from 'node:cluster'
    const { on } = process
    let isAsked = process.argv[2] !== 'serve' || !(cluster.isWorker || process.env.WORKERS === '1')
    process.on = function (event, listener) {
      on.call(this, event, listener)
      if (event === 'SIGTERM' && !isAsked) {
        isAsked = true
        setTimeout(() => process.kill(cluster.isWorker ? process.ppid : process.pid, 'SIGTERM'), ${ms})
      }
      return this
    }`)
}

test.each([1, 2].flatMap((WORKERS) => [0, 30, 150, 300, 600].map((ms) => ({ WORKERS, ms }))))(
  'asked to stop while it starts, it ends with status 0: $WORKERS worker(s), after $ms ms',
  async ({ WORKERS, ms }) => {
    const given = { WORKERS, NODE_OPTIONS: stoppedAfter(ms) }
    const { settings } = await prepare(given, { database: await createDatabase() })
    const { status, stdout, stderr } = await runCommand(['serve'], settings)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('stopping')
  },
)

test.each([0, 50, 150])('asked to stop %d ms after it first asked a prepared database, it ends with status 0', async (ms) => {
  const NODE_OPTIONS = beginningWith(`import { Socket } from 'node:net'
    const { connect } = Socket.prototype
    let isAsked = process.argv[2] !== 'serve'
    Socket.prototype.connect = function (...given) {
      if (!isAsked) setTimeout(() => process.kill(process.pid, 'SIGTERM'), ${ms})
      isAsked = true
      return connect.apply(this, given)
    }`)
  const { settings } = await prepare({ WORKERS: 1, NODE_OPTIONS }, { database: await createDatabase() })
  const { status, stdout, stderr } = await runCommand(['serve'], settings)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('stopping')
}) // prettier-ignore

test('asked to stop while it prepares the database, in turn at later moments: each time it ends with status 0, and the database is prepared in the end', async () => {
  const database = await createEmptyDatabase()
  const SECRET_KEY = 'k'.repeat(40)
  const { settings } = await prepare({ SECRET_KEY, WORKERS: 1 }, { database })
  for (const ms of [0, 250, 500, 750, 1000, 1500, 2000]) {
    const { status, stderr } = await runCommand(['serve'], { ...settings, NODE_OPTIONS: stoppedAfter(ms) })
    expect({ ms, status, stderr }).toEqual({ ms, status: 0, stderr: '' })
    const open = `select from pg_stat_activity where datname = current_database() and application_name = 'latchkey'`
    await expect.poll(async () => database.query(open)).toHaveLength(0)
  }
  const server = await spawnServer({ SECRET_KEY }, { database })
  expect(await statusOf(server.get('/readyz'))).toBe(200)
}) // prettier-ignore

test('whoever prepares the database stops when the process that began it is killed', async () => {
  const database = await createEmptyDatabase()
  const { query } = database
  const users = Array.from({ length: 600 }, (_, at) => ({ username: `user-${at}`, password: `a password of ${at}` }))
  const launched = Promise.withResolvers<ChildProcess>()
  const settings = { SECRET_KEY: 'k'.repeat(40), WORKERS: 1, ...HASHING_SLOWLY }
  const starting = spawnServer(settings, { database, seed: { users }, onLaunch: launched.resolve })
  const parent = await launched.promise
  const count = async () => (await query<{ count: number }>('select count(*)::int from users'))[0]!.count
  await until(async () => expect(await query(`select to_regclass('users') as name`)).not.toEqual([{ name: null }]))
  parent.kill('SIGKILL')
  await expect(starting).rejects.toThrow('')
  const open = `select from pg_stat_activity where datname = current_database() and application_name = 'latchkey'`
  await expect.poll(async () => query(open)).toHaveLength(0)
  expect(await count()).toBeLessThan(600)
}) // prettier-ignore
