/** However many ask for a document that must be as it is now, its host is asked for one at a time. */
import { expect, test } from 'vitest'
import { createFreshReads } from '../../../../plugins/requests/fresh-reads.ts'

/** What answers each read that has begun, in their order. */
function host() {
  const begun: PromiseWithResolvers<string>[] = []
  const reads = createFreshReads(async () => {
    const one = Promise.withResolvers<string>()
    begun.push(one)
    return one.promise
  })
  return { begun, reads }
}

test('who comes while one is under way has an answer of a later one, which they share', async () => {
  const { begun, reads } = host()
  const [first, ...others] = Array.from({ length: 20 }, async () => reads('a'))
  expect(begun).toHaveLength(1)
  begun[0]!.resolve('as it was')
  expect(await first).toBe('as it was')
  await expect.poll(() => begun.length).toBe(2)
  begun[1]!.resolve('as it is')
  expect(new Set(await Promise.all(others))).toEqual(new Set(['as it is']))
  // Nobody waits any more.
  const later = reads('a')
  await expect.poll(() => begun.length).toBe(3)
  begun[2]!.resolve('later')
  expect(await later).toBe('later')
})

test('a failure is for who shared it, and other names wait for nobody', async () => {
  const { begun, reads } = host()
  const failing = [reads('a'), reads('a')].map(async (one) => one.catch((error: Error) => error.message))
  const other = reads('b')
  expect(begun).toHaveLength(2)
  begun[0]!.reject(new Error('away'))
  begun[1]!.resolve('b')
  expect(await other).toBe('b')
  expect(await failing[0]).toBe('away')
  await expect.poll(() => begun.length).toBe(3)
  begun[2]!.resolve('back')
  expect(await failing[1]).toBe('back')
})
