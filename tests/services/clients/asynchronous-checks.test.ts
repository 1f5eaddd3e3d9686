/** What a plugin says of clients after it has asked elsewhere: every way of registering waits for it, and holds nothing meanwhile. */
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { Type } from '../../../src/protocol/schema.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { REFUSED } from '../../support/asking-plugin.ts'
import { temporaryDirectory } from '../../support/cleanup.ts'
import { runCommandHere } from '../../support/command-here.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { register, ROOT, signedIn } from '../../plugins/admin/administrator.ts'

const PLUGINS = resolve(import.meta.dirname, '../../support/asking-plugin.ts')
const server = await startServer({ PLUGINS }, { seed: { users: [ROOT], clients: [{ client_id: 'known' }] } })
const { clients } = server.server.oauth
const refusal = { code: 'invalid_client_metadata', message: 'client_name is known to nobody' }

test('code waits for it', async () => {
  await expect(clients.create({ client_id: 'new', client_name: REFUSED })).rejects.toMatchObject(refusal)
  await expect(clients.check({ client_name: REFUSED })).rejects.toMatchObject(refusal)
  await expect(clients.update('known', { client_name: REFUSED })).rejects.toMatchObject(refusal)
  expect(await clients.find('new')).toBeNull()
  expect(await clients.find('known')).not.toHaveProperty('client_name')
})

test('the command line waits for it', async () => {
  const settings = { ...server.settings, LOG_LEVEL: 'error' }
  for (const command of [
    ['create', '--client-id', 'new'],
    ['update', 'known'],
  ]) {
    const { status, stderr } = await runCommandHere(
      ['client', ...command, '--client-name', REFUSED],
      settings,
    )
    expect([status, stderr]).toEqual([1, expect.stringContaining(refusal.message)])
  }
  expect(await clients.find('new')).toBeNull()
  expect(await clients.find('known')).not.toHaveProperty('client_name')
})

test('the administration waits for it', async () => {
  const page = await register(server, await signedIn(server), 'service', { client_name: REFUSED })
  expect([page.status, page.body]).toEqual([400, expect.stringContaining('Is known to nobody.')])
})

test.each([
  ['new', { client_id: 'new', client_name: REFUSED }],
  ['known', { client_id: 'known', client_secret: 'chosen by somebody', client_name: REFUSED }],
])('SEED_FILE waits for it: %s', async (_name, client) => {
  const file = join(await temporaryDirectory(), 'seed.json')
  await writeFile(file, JSON.stringify({ clients: [{ client_id: 'before' }, client] }))
  const started = startServer({ ...server.settings, SEED_FILE: file }, { database: server.database })
  await expect(started).rejects.toThrow(`${file}: clients[1]: client_name is known to nobody.`)
  expect(await clients.find('new')).toBeNull()
  expect(await clients.find('before')).toBeNull()
  expect(await clients.find('known')).not.toHaveProperty('client_name')
})

/** Two members that may not meet; while `asked` is answered, nothing waits for the one who asks. */
async function startAsked(): Promise<TestServer & { asked(): Promise<() => void> }> {
  const waiting: (() => void)[] = []
  const told: ((answer: () => void) => void)[] = []
  const started = await startServer(
    {},
    {
      extend({ oauth }) {
        oauth.extendClientMetadata(
          Type.Partial(Type.Object({ day: Type.Boolean(), night: Type.Boolean() })),
          async (metadata) => {
            if (metadata['client_name'] !== 'slow') return
            await new Promise<void>((answer) => {
              waiting.push(answer)
              told.shift()?.(waiting.shift()!)
            })
            if (metadata['day'] === true && metadata['night'] === true)
              throw new OAuthError('invalid_client_metadata', 'day and night are two')
          },
        )
      },
    },
  )
  const asked = async () =>
    new Promise<() => void>((tell) => {
      const answer = waiting.shift()
      if (answer === undefined) told.push(tell)
      else tell(answer)
    })
  return { ...started, asked }
}

test('while it is asked nothing is held; and of two changes that may not meet, one is refused', async () => {
  const { server: app, database, asked } = await startAsked()
  const registry = app.oauth.clients
  const making = registry.create({ client_id: 'c', client_name: 'slow' })
  ;(await asked())()
  await making
  const day = registry.update('c', { day: true })
  const first = await asked()
  const held = await database.query(
    `select state, query from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
  )
  expect(held).toEqual([])
  const night = registry.update('c', { night: true })
  ;(await asked())()
  expect(await night).toMatchObject({ night: true })
  first()
  ;(await asked())()
  await expect(day).rejects.toMatchObject({ message: 'day and night are two' })
  expect(await registry.find('c')).not.toHaveProperty('day')
})

test('a client that is deleted while it is asked for is not there', async () => {
  const { server: app, asked } = await startAsked()
  const registry = app.oauth.clients
  const making = registry.create({ client_id: 'c', client_name: 'slow' })
  ;(await asked())()
  await making
  const changing = registry.update('c', { day: true })
  const answer = await asked()
  await registry.delete('c')
  answer()
  await expect(changing).rejects.toMatchObject({ message: 'client_id is not registered' })
})
