/** What a chosen secret costs: how often argon2id runs, and for whom. Verifications are counted, never timed. */
import { AsyncLocalStorage } from 'node:async_hooks'
import argon2 from 'argon2'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createClientSecrets, type StoredSecret } from '../../../src/services/clients/client-secrets.ts'
import { createSecretBox } from '../../../src/services/keys/secret-box.ts'
import { createArgon2id } from '../../../src/services/hashing/argon2id.ts'
import { createHashingQueue, type HashingQueue } from '../../../src/services/hashing/hashing-queue.ts'

const argon2id = createArgon2id(1024)
const MINUTE = 60_000
const verifications = vi.spyOn(argon2, 'verify')
const make = (queue: HashingQueue = createHashingQueue(1, 500)) =>
  createClientSecrets(createSecretBox(['k'.repeat(32)]), queue)
const stored = async (secret: string, expiresAt: number | null = null): Promise<StoredSecret> => {
  const hash = await argon2id.hash(secret)
  return { id: hash, hash, sealed: null, expiresAt }
}
const times = async <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work))

let late = 0
const now = performance.now.bind(performance)
vi.spyOn(performance, 'now').mockImplementation(() => now() + late)

/** For the memory of what was proven, which reads its clock once a millisecond. */
async function passes(milliseconds: number): Promise<void> {
  late += milliseconds
  await delay(5)
}

beforeEach(() => void verifications.mockClear())

test('a burst that finds a right secret unproven costs one verification', async () => {
  const secrets = make()
  const one = await stored('chosen')
  const found = await times(200, () => secrets.verify('chosen', [one], 0, 'client'))
  expect(new Set(found)).toEqual(new Set([one]))
  expect(verifications).toHaveBeenCalledTimes(1)
})

test('while it is in use a proven secret is never verified again', async () => {
  const secrets = make()
  const one = await stored('chosen')
  for (let minute = 0; minute < 12; minute++) {
    expect(await secrets.verify('chosen', [one], 0, 'client')).toBe(one)
    await passes(MINUTE)
  }
  await times(200, () => secrets.verify('chosen', [one], 0, 'client'))
  expect(verifications).toHaveBeenCalledTimes(1)
})

test('five minutes after its last use it is, once for all who come', async () => {
  const secrets = make()
  const one = await stored('chosen')
  await secrets.verify('chosen', [one], 0, 'client')
  await passes(5 * MINUTE)
  await times(200, () => secrets.verify('chosen', [one], 0, 'client'))
  expect(verifications).toHaveBeenCalledTimes(2)
})

test('wrong secrets in flight beside a right one are each judged by themselves', async () => {
  const secrets = make()
  const one = await stored('chosen')
  const presented = ['chosen', 'wrong', 'chosen', 'chosem', 'wrong', 'chosen ']
  const found = await Promise.all(presented.map((each) => secrets.verify(each, [one], 0, 'client')))
  expect(found.map((each) => each !== undefined)).toEqual([true, false, true, false, false, false])
  expect(verifications).toHaveBeenCalledTimes(4)
})

test('what was wrong is not remembered', async () => {
  const secrets = make()
  const one = await stored('chosen')
  expect(await secrets.verify('wrong', [one], 0, 'client')).toBeUndefined()
  expect(await secrets.verify('wrong', [one], 0, 'client')).toBeUndefined()
  expect(verifications).toHaveBeenCalledTimes(2)
})

test('a secret that is withdrawn or expires during a verification is refused to whoever comes then', async () => {
  const secrets = make()
  const one = await stored('chosen', 1000)
  const another = await stored('another')
  const early = secrets.verify('chosen', [one], 999, 'client')
  const late = [
    secrets.verify('chosen', [one], 1000, 'client'),
    secrets.verify('chosen', [another], 999, 'client'),
    secrets.verify('chosen', [], 999, 'client'),
  ]
  expect(await early).toBe(one)
  expect(await Promise.all(late)).toEqual([undefined, undefined, undefined])
})

test('bursts at a client that exists and at one that does not cost the same, and so do two clients at once', async () => {
  const secrets = make()
  const one = await stored('chosen')
  const costOf = async (...bursts: [readonly StoredSecret[], string][]): Promise<number> => {
    verifications.mockClear()
    await Promise.all(bursts.map(([all, client]) => times(30, () => secrets.verify('guess', all, 0, client))))
    return verifications.mock.calls.length
  }
  expect(await costOf([[one], 'client'])).toBe(1)
  expect(await costOf([[], 'nobody'])).toBe(1)
  expect(await costOf([[one], 'client'], [[], 'nobody'])).toBe(2)
  expect(await costOf([[], 'no one'], [[], 'nobody'])).toBe(2)
})

test('where the line is full all who wait for one verification are sent away, and the next one begins anew', async () => {
  const queue = createHashingQueue(1, 0)
  const secrets = make(queue)
  const one = await stored('chosen')
  let leave = (): void => {}
  const busy = queue.run(() => new Promise<void>((resolve) => (leave = resolve)))
  const refused = await Promise.allSettled([
    secrets.verify('chosen', [one], 0, 'client'),
    secrets.verify('chosen', [one], 0, 'client'),
  ])
  expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  leave()
  await busy
  expect(await secrets.verify('chosen', [one], 0, 'client')).toBe(one)
})

describe('of several networks', () => {
  const networks = new AsyncLocalStorage<string>()
  const createQueue = (most: number) => createHashingQueue(1, most, () => [networks.getStore() ?? 'server'])

  test('who is alone in theirs is not refused with those whose network floods the line', async () => {
    const queue = createQueue(3)
    const secrets = make(queue)
    const one = await stored('chosen')
    let leave = (): void => {}
    const busy = queue.run(() => new Promise<void>((resolve) => (leave = resolve)))
    const runIn = async (network: string) => networks.run(network, async () => queue.run(async () => 'ran'))
    const verifyIn = async (network: string) =>
      networks.run(network, async () => secrets.verify('chosen', [one], 0, 'client'))
    const flood = Promise.allSettled([runIn('A'), runIn('A')])
    const asked = Promise.allSettled([verifyIn('A'), verifyIn('A'), verifyIn('B')])
    const other = runIn('C')
    // Until who was refused has tried again, if it does.
    await delay(5)
    leave()
    await busy
    expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    expect((await asked)[2]).toMatchObject({ value: one })
    expect([await other, (await flood)[0]?.status]).toEqual(['ran', 'fulfilled'])
    expect(verifications).toHaveBeenCalledTimes(1)
  })

  test('a right secret is verified once in each at most, and no more when it is proven', async () => {
    const secrets = make(createQueue(500))
    const one = await stored('chosen')
    const asking = Array.from({ length: 200 }, async (_, index) =>
      networks.run(`network ${index % 50}`, async () => secrets.verify('chosen', [one], 0, 'client')),
    )
    expect(new Set(await Promise.all(asking))).toEqual(new Set([one]))
    expect(verifications.mock.calls.length).toBeLessThanOrEqual(2)
  })

  test('a wrong one costs a verification in each', async () => {
    const secrets = make(createQueue(500))
    const one = await stored('chosen')
    const asking = Array.from({ length: 12 }, async (_, index) =>
      networks.run(`network ${index % 3}`, async () => secrets.verify('wrong', [one], 0, 'client')),
    )
    expect(new Set(await Promise.all(asking))).toEqual(new Set([undefined]))
    expect(verifications).toHaveBeenCalledTimes(3)
  })
})

test('the same secret at two clients is verified for each', async () => {
  const secrets = make()
  const [one, two] = [await stored('chosen'), await stored('chosen')]
  const found = await Promise.all([
    secrets.verify('chosen', [one], 0, 'first'),
    secrets.verify('chosen', [two], 0, 'second'),
  ])
  expect(found).toEqual([one, two])
  expect(verifications).toHaveBeenCalledTimes(2)
})
