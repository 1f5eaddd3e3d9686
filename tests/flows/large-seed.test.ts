/** A SEED_FILE of any size starts: it is applied in large steps, under no limit, and says how far it has come. */
import type { ChildProcess } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { generateClientSecret } from '../../src/services/clients/client-secrets.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { HASHING_SLOWLY, prepare } from '../support/settings.ts'
import { until } from '../support/until.ts'

const SECRET_KEY = 'k'.repeat(40)

/** Of what the start wrote. */
function seconds(output: string): number {
  return Number(/"seconds":([\d.]+).*"SEED_FILE is applied/.exec(output)?.[1])
}

test('10,000 clients, with secrets as we make them: applied, usable, and nothing to do the next time', async () => {
  const database = await createDatabase()
  const clients = Array.from({ length: 10_000 }, (_, at) => ({
    client_id: `client-${at}`,
    client_secret: generateClientSecret(),
    client_name: `Client ${at}`,
    redirect_uris: [`https://client-${at}.example/cb`],
    scope: ['read'],
  }))
  const first = await spawnServer({ SECRET_KEY }, { seed: { scopes: [{ name: 'read' }], clients }, database })
  console.log(`10,000 clients: ${seconds(first.output())} s`)
  expect(seconds(first.output())).toBeLessThan(60)
  const { client_id, client_secret } = clients.at(-1)!
  const answer = await first.post(
    '/token',
    { grant_type: 'client_credentials' },
    { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` },
  )
  expect(await answer.json()).toMatchObject({ scope: 'read' })
  await first.stop()
  const began = performance.now()
  const second = await spawnServer(first.settings, { database })
  console.log(`again: ready after ${Math.round(performance.now() - began)} ms`)
  expect(second.output()).not.toContain('SEED_FILE is applied')
})

/** Milliseconds that Fastify gives a plugin or a hook, where it has not been told otherwise. */
const LIMIT = 10_000

test('chosen secrets and passwords that take longer to hash than a plugin may: it starts, by as many processes as share it, and says how far it is', async () => {
  const database = await createDatabase()
  const count = async (): Promise<number> =>
    (await database.query<{ count: number }>('select count(*)::int from client_secrets'))[0]!.count
  const children: ChildProcess[] = []
  /** On a machine that leaves them no time once they are in the middle of it: it takes too long without much to hash. */
  async function holdUp(): Promise<void> {
    await until(async () => expect(await count()).toBeGreaterThan(0))
    for (const child of children) child.kill('SIGSTOP')
    await sleep(LIMIT)
    for (const child of children) child.kill('SIGCONT')
  }
  const slow = { SECRET_KEY, ...HASHING_SLOWLY }
  const clients = Array.from({ length: 150 }, (_, at) => ({
    client_id: `client-${at}`,
    client_secret: `chosen secret ${at}`,
    scope: ['read'],
  }))
  const users = Array.from({ length: 20 }, (_, at) => ({
    username: `user-${at}`,
    password: `a password of ${at}`,
  }))
  const onLaunch = (child: ChildProcess) => children.push(child)
  const starting = [1, 2].map(async () =>
    spawnServer(slow, { seed: { clients, users }, database, onLaunch }),
  )
  const [servers] = await Promise.all([Promise.all(starting), holdUp()])
  const output = servers[0]!.output()
  console.log(`150 chosen secrets and 20 passwords, two processes on two cores: ${seconds(output)} s`)
  expect(output).toMatch(/"SEED_FILE: \d+ of 150 clients applied/)
  expect(output).not.toContain('chosen secret')
  for (const server of servers) expect(seconds(server.output())).toBeGreaterThan(LIMIT / 1000)
  const hashed = servers.map((one) => [...one.output().matchAll(/"hashed":(\d+)/g)].length)
  expect(Math.min(...hashed)).toBeGreaterThan(0)
  expect(await count()).toBe(150)
  for (const [id, secret] of [['client-0', 'chosen secret 0'], ['client-149', 'chosen secret 149']] as const) {
    const headers = { authorization: `Basic ${btoa(`${id}:${secret}`)}` }
    expect((await servers[1]!.post('/token', { grant_type: 'client_credentials' }, headers)).status).toBe(200)
  }
}) // prettier-ignore

test.each([
  ['a database that is ready', createDatabase],
  // There, a process of its own applies it, before the server begins.
  ['an empty one', createEmptyDatabase],
] as const)(
  'SIGTERM in the middle of it, on %s: what is stored stays, the next start does the rest',
  async (_, create) => {
    const database = await create()
    const users = Array.from({ length: 600 }, (_, at) => ({
      username: `user-${at}`,
      password: `a password of ${at}`,
    }))
    const count = async (): Promise<number> =>
      (await database.query<{ count: number }>('select count(*)::int from users'))[0]!.count
    const ended = Promise.withResolvers<number | null>()
    async function stopOnceStored(child: ChildProcess): Promise<void> {
      child.once('close', ended.resolve)
      await until(async () => expect(await count()).toBeGreaterThan(0))
      child.kill('SIGTERM')
    }
    let stopping: Promise<void> | undefined
    const onLaunch = (child: ChildProcess): void => void (stopping = stopOnceStored(child))
    const options = { seed: { users }, database, onLaunch }
    const starting = spawnServer({ SECRET_KEY, ...HASHING_SLOWLY }, options)
    await expect(starting).rejects.toThrow('stopping')
    await stopping
    expect(await ended.promise).toBe(0)
    const stored = await count()
    expect(stored % 100).toBe(0)
    expect(stored).toBeLessThan(600)
    const open = `select from pg_stat_activity where datname = current_database() and application_name = 'latchkey'`
    await expect.poll(async () => database.query(open)).toHaveLength(0)
    const again = await spawnServer({ SECRET_KEY }, { seed: { users }, database })
    expect(await count()).toBe(600)
    expect(again.output()).toContain(`"entries":${600 - stored}`)
  },
)

test.concurrent.for([
  ['its registration', `export default () => new Promise(() => {})`],
  [
    'an onReady hook',
    `export default async (app) => { app.addHook('onReady', () => new Promise(() => {})) }`,
  ],
  ['an onReady hook', `export default async (app) => { app.addHook('onReady', (done) => {}) }`],
] as const)('a plugin that never ends %s is named', async ([what, source], { expect }) => {
  const plugin = join(await temporaryDirectory(), 'plugin.mjs')
  await writeFile(plugin, source)
  const { settings } = await prepare({ PLUGINS: plugin, LOG_LEVEL: 'silent' }, {})
  const { status, stderr } = await runCommand(['serve'], settings)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `PLUGINS: ${plugin} has not ended ${what} after 10 s.\n`,
  })
})
