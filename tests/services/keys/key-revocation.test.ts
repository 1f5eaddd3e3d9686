/** What follows when a signing key is revoked: which key signs then, whoever else changes keys meanwhile, and for good. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { RingKey } from '../../../src/services/keys/ring-key.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createDatabase } from '../../support/database.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const settings = { OIDC_KEY_PUBLISH: 3 }

const keysOf = ({ server }: TestServer) => kernelOf(server).keys
const states = (server: TestServer, algorithm: string): string[] =>
  keysOf(server).keys().filter((key) => key.algorithm === algorithm).map((key) => keysOf(server).stateOf(key)) // prettier-ignore

async function startTwo(): Promise<[TestServer, TestServer]> {
  const database = await createDatabase()
  const one = await startServer(settings, { database })
  return [one, await startServer({ ...one.settings, PORT: 0 }, { database })]
}

test('the key that waits signs at once where the one that signs is revoked', async () => {
  const server = await startServer(settings)
  const keys = keysOf(server)
  const [current, next] = [keys.signer('ES256'), await keys.rotate('ES256', 60)]
  await keys.revoke(current.kid)
  expect(keys.signer('ES256').kid).toBe(next.kid)
  expect(states(server, 'ES256')).toEqual(['current'])
  expect(keys.revoked().map((key) => keys.stateOf(key))).toEqual(['revoked'])
})

test('a key that waits is replaced by one that is published first, and the one that signs goes on meanwhile', async () => {
  const server = await startServer(settings)
  const keys = keysOf(server)
  const [current, next] = [keys.signer('ES256'), await keys.rotate('ES256')]
  await keys.revoke(next.kid)
  expect(states(server, 'ES256')).toEqual(['current', 'next'])
  const [former, successor] = keys.keys().filter(({ algorithm }) => algorithm === 'ES256') as [RingKey, RingKey]
  expect(former.kid).toBe(current.kid)
  expect(former.retiresAt).toBeGreaterThanOrEqual(successor.signsFrom + 3_600_000)
  expect(keys.mayHaveSigned(former.kid, successor.signsFrom)).toBe(true)
  await expect.poll(() => keys.signer('ES256').kid).toBe(successor.kid)
}) // prettier-ignore

test('a key that signs no more ends alone', async () => {
  const server = await startServer(settings)
  const keys = keysOf(server)
  const [former, current] = [keys.signer('ES256'), await keys.rotate('ES256', 0)]
  await keys.revoke(former.kid)
  expect(keys.keys().filter(({ algorithm }) => algorithm === 'ES256')).toEqual([current])
})

test('when a successor is revoked, the key before it does not sign again', async () => {
  const server = await startServer(settings)
  const keys = keysOf(server)
  const former = keys.signer('ES256')
  const leaked = await keys.rotate('ES256', 0)
  await keys.revoke(leaked.kid)
  const signer = keys.signer('ES256')
  expect([former.kid, leaked.kid]).not.toContain(signer.kid)
  expect(states(server, 'ES256')).toEqual(['retiring', 'current'])
  // Its time ended when the one that is revoked began.
  expect(keys.mayHaveSigned(former.kid, leaked.signsFrom)).toBe(true)
  expect(keys.mayHaveSigned(former.kid, leaked.signsFrom + 6_000)).toBe(false)
  expect(keys.mayHaveSigned(signer.kid, Date.now())).toBe(true)
})

test('a key that a clock which was ahead would have sign in a year is brought forward by the next rotation', async () => {
  const server = await startServer(settings)
  const keys = keysOf(server)
  const first = keys.signer('ES256')
  await keys.rotate('ES256')
  await server.database.query(`update signing_keys set
    signs_from = signs_from + case when retires_at is null then interval '1 year' else '0' end, retires_at = retires_at + interval '1 year'
    where algorithm = 'ES256'`)
  const next = await keys.rotate('ES256')
  expect(next.signsFrom).toBeLessThan(Date.now() + 60_000)
  expect(states(server, 'ES256')).toEqual(['current', 'next'])
  await expect.poll(() => keys.signer('ES256').kid).toBe(next.kid)
  expect(keys.mayHaveSigned(first.kid, next.signsFrom - 1)).toBe(true)
  // Nor does the one before stay until that year is over: its last token is dead an hour after.
  expect(keys.find(first.kid)!.retiresAt).toBeGreaterThanOrEqual(next.signsFrom + 3_600_000)
  expect(keys.find(first.kid)!.retiresAt).toBeLessThan(next.signsFrom + 4_000_000)
  // From then on a rotation makes one.
  expect((await keys.rotate('ES256', 0)).kid).not.toBe(next.kid)
})

test('a key that a host whose clock is behind makes signs by the clock of the database, and what was signed before stays good', async () => {
  const server = await startServer(settings)
  const keys = keysOf(server)
  const first = keys.signer('ES256')
  await server.database.query(`update signing_keys set signs_from = signs_from - interval '2 hours'`)
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  const next = await keys.rotate('ES256')
  vi.useRealTimers()
  expect(states(server, 'ES256')).toEqual(['current', 'next'])
  expect(keys.mayHaveSigned(first.kid, Date.now())).toBe(true)
  expect(keys.find(first.kid)!.retiresAt).toBeGreaterThanOrEqual(next.signsFrom + 3_600_000)
  const [event] = (await kernelOf(server.server).audit.list({ type: 'key.created' })).events
  expect(event!.details).toMatchObject({ kid: next.kid, signsFrom: new Date(next.signsFrom).toISOString() })
})

test('an algorithm that few use is never left without a key', async () => {
  const [one, two] = await startTwo()
  await keysOf(one).provide('EdDSA')
  const { kid } = keysOf(one).signer('EdDSA')
  await keysOf(one).revoke(kid)
  expect(keysOf(one).signer('EdDSA').kid).not.toBe(kid)
  const successor = keysOf(one).signer('EdDSA').kid
  await expect.poll(() => keysOf(two).find(successor)).toBeDefined()
  expect(keysOf(two).find(kid)).toBeUndefined()
  expect(keysOf(two).signer('EdDSA').kid).toBe(successor)
})

test('processes that rotate and revoke at the same moment come to the same key, and the revoked one stays so', async () => {
  const [one, two] = await startTwo()
  for (let round = 0; round < 5; round++) {
    const { kid } = keysOf(one).signer('ES256')
    await Promise.all([
      keysOf(one).revoke(kid),
      keysOf(two).revoke(kid),
      keysOf(two).rotate('ES256'),
      keysOf(one).rotate('ES256', 0),
    ])
    await sleep(1_200)
    for (const server of [one, two]) {
      expect(keysOf(server).find(kid)).toBeUndefined()
      expect(keysOf(server).signer('ES256').kid).toBe(keysOf(one).signer('ES256').kid)
      expect(states(server, 'ES256')).toContain('current')
    }
    const [row] = await one.database.query(
      'select revoked_at is not null and retires_at <= now() as ended from signing_keys where kid = $1',
      [kid],
    )
    expect(row).toEqual({ ended: true })
  }
  const { events } = await one.server.oauth.audit.list({ type: 'key.revoked' })
  expect(new Set(events.map(({ details }) => (details as { kid: string }).kid)).size).toBe(events.length)
  expect(events).toHaveLength(5)
})

test('it stays revoked over a start under another SECRET_KEY, and under none of those it was made with', async () => {
  const database = await createDatabase()
  const [former, fresh] = ['f'.repeat(40), 'g'.repeat(40)]
  const one = await startServer({ ...settings, SECRET_KEY: former }, { database })
  const { kid } = keysOf(one).signer('ES256')
  await keysOf(one).revoke(kid)
  const successor = keysOf(one).signer('ES256').kid
  await one.close()
  for (const SECRET_KEY of [`${fresh},${former}`, fresh]) {
    const again = await startServer({ ...settings, SECRET_KEY }, { database })
    expect(keysOf(again).find(kid)).toBeUndefined()
    expect(keysOf(again).signer('ES256').kid).toBe(successor)
    expect(await keysOf(again).revoke(kid)).toMatchObject({ kid })
    await again.close()
  }
})

test('a key that there is not cannot be revoked', async () => {
  const server = await startServer(settings)
  for (const kid of ['', 'unknown', '__proto__'])
    await expect(keysOf(server).revoke(kid)).rejects.toThrow('kid is not that of a published key')
})
