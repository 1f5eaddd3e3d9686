/** Client assertions where there are several processes, one dies, and the database does not answer: each is good once, over all of them. */
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { askWith, assertionOf, createAssertionKey, serviceWith } from '../support/client-assertions.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { spawnServer } from '../support/process.ts'
import type { Requests } from '../support/requests.ts'

const key = await createAssertionKey()
const clients = ['raced', 'dying', 'stalled'].map((clientId) => serviceWith(clientId, key.jwk))
const one = await spawnServer({ LOG_LEVEL: 'error' }, { seed: { clients } })
const two = await spawnBeside(one.settings, one.database)
const make = async (clientId: string): Promise<string> => assertionOf(key, clientId, one.url)
const good = async (assertion: string, ...servers: Requests[]): Promise<number> => {
  const answers = await Promise.all(servers.map(async (server) => askWith(assertion, server)))
  return answers.filter(({ status }) => status === 200).length
}

test('while the database does not answer, one is neither taken nor refused, and then good once at most', async () => {
  const proxy = await startDatabaseProxy(one.database.url)
  const behind = await spawnBeside({ ...one.settings, DATABASE_URL: proxy.url }, one.database)
  expect(await good(await make('stalled'), behind)).toBe(1)
  const assertion = await make('stalled')
  proxy.stall()
  expect(await askWith(assertion, behind)).toMatchObject({ status: 503, error: 'temporarily_unavailable' })
  await proxy.restore()
  await expect.poll(async () => good(await make('stalled'), behind)).toBe(1)
  expect(await good(assertion, behind, one, two)).toBeLessThanOrEqual(1)
})

test('what one process took, another refuses after SIGKILL, and so does its successor', async () => {
  const dying = await spawnBeside(one.settings, one.database)
  const assertions = await Promise.all(Array.from({ length: 8 }, async () => make('dying')))
  const taken: string[] = []
  const asking = assertions.map(async (assertion) => {
    const { status } = await askWith(assertion, dying).catch(() => ({ status: 0 }))
    if (status === 200) taken.push(assertion)
    // As soon as one was answered, in the middle of the others.
    if (taken.length === 1) await dying.stop('SIGKILL')
  })
  await Promise.all(asking)
  expect(taken.length).toBeGreaterThan(0)
  const successor = await spawnBeside(one.settings, one.database)
  for (const assertion of taken) expect(await good(assertion, one, successor)).toBe(0)
  // Each of the others is good once, or was used by what died.
  for (const assertion of assertions.filter((one) => !taken.includes(one)))
    expect(await good(assertion, one, two, successor)).toBeLessThanOrEqual(1)
})

// The last: whoever fails so often is asked to wait.
test('T7: of 50 uses of one assertion at two processes, one succeeds', async () => {
  const assertion = await make('raced')
  const servers = Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? one : two))
  expect(await good(assertion, ...servers)).toBe(1)
})
