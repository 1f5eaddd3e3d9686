/** SIGTERM ends a server whatever stands in its way, in the time that systemd gives it; what it can still answer, it answers. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { childrenOf } from '../support/children.ts'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { requestsTo } from '../support/requests.ts'
import { statusOf } from '../support/service.ts'
import { prepare } from '../support/settings.ts'

const main = resolve(import.meta.dirname, '../../src/main.ts')
/** Milliseconds that deploy/latchkey@.service gives, for a server without SHUTDOWN_DELAY. */
const GIVEN = 60_000

test.each([1, 2])(
  'nobody reads its stdout, a pipe that is full: it serves, and ends with status 0: %i worker(s)',
  async (WORKERS) => {
    const pipe = join(await temporaryDirectory(), 'stdout')
    execFileSync('mkfifo', [pipe])
    const stdout = openSync(pipe, constants.O_RDWR)
    const { settings, url } = await prepare({ WORKERS }, { database: await createDatabase() })
    const given = Object.entries(settings).map(([name, value]) => [name, String(value)])
    const { PATH, HOME } = process.env
    const child = spawn(process.execPath, [main], {
      env: { PATH, HOME, ...(Object.fromEntries(given) as Record<string, string>) },
      stdio: ['ignore', stdout, 'ignore'],
    })
    atEndOfFile(async () => child.kill('SIGKILL'))
    const server = requestsTo(url)
    await expect.poll(() => statusOf(server.get('/readyz')).catch(() => 0)).toBe(200)
    // A line each, of more than a hundred bytes; a pipe takes 65,536.
    for (let count = 0; count < 20; count++)
      await Promise.all(Array.from({ length: 50 }, async () => statusOf(server.get('/healthz'))))
    expect(await statusOf(server.get('/readyz'))).toBe(200)
    const exit = once(child, 'exit', { signal: AbortSignal.timeout(GIVEN) })
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
  },
)

test('a worker that hangs is killed, after the others have ended in order: status 1', async () => {
  const server = await spawnServer({ WORKERS: 2 })
  const [hung] = await childrenOf(server.pid)
  const kill = atEndOfFile(async () => process.kill(hung!, 'SIGKILL'))
  process.kill(hung!, 'SIGSTOP')
  const begun = performance.now()
  expect(await server.stop()).toBe(1)
  expect(performance.now() - begun).toBeLessThan(GIVEN)
  expect(server.output()).toContain(`Worker ${hung} did not end in time and was killed.`)
  await expect(kill()).rejects.toThrow('ESRCH')
})

/** The second worker is gone before it hears what it has asked its supervisor, who is slow, in each of its lives. */
const GONE_WHILE_ASKING = `import { spawn } from 'node:child_process'
import cluster from 'node:cluster'
if (cluster.isWorker && process.env.LATCHKEY_FIRST_WORKER === '') {
  const { send } = process
  process.send = function (message, ...more) {
    if (message.act !== 'queryServer') return send.call(this, message, ...more)
    process.kill(process.ppid, 'SIGSTOP')
    send.call(this, message, ...more)
    spawn('sh', ['-c', 'sleep 0.5; kill -CONT ' + process.ppid], { detached: true, stdio: 'ignore' })
    process.kill(process.pid, 'SIGKILL')
  }
} else if (cluster.isPrimary) {
  let gone = 0
  cluster.on('exit', () => ++gone === 3 && process.kill(process.pid, 'SIGTERM'))
}`

test('a worker that is gone before it is answered does not end the first process', async () => {
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(GONE_WHILE_ASKING)}`
  const { settings } = await prepare({ WORKERS: 2, NODE_OPTIONS }, { database: await createDatabase() })
  const { status, stderr } = await runCommand(['serve'], settings)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
