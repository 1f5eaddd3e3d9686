import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBackgroundLoop } from '../../src/services/background-loop.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('the next time comes one delay after the last one ended, however long that took', async () => {
  let begun = 0
  let end = () => {}
  const work = async () => {
    begun++
    await new Promise<void>((resolve) => {
      end = resolve
    })
  }
  const loop = createBackgroundLoop(work, () => 100)
  loop.start()
  await vi.advanceTimersByTimeAsync(99)
  expect(begun).toBe(0)
  await vi.advanceTimersByTimeAsync(1000)
  expect(begun).toBe(1)
  end()
  await vi.advanceTimersByTimeAsync(99)
  expect(begun).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(begun).toBe(2)
})

test('stopping waits for what is under way, and nothing comes after it', async () => {
  const told: string[] = []
  const { promise: ending, resolve: end } = Promise.withResolvers<void>()
  const work = async () => {
    told.push('begun')
    await ending
    told.push('done')
  }
  const loop = createBackgroundLoop(work, () => 100)
  loop.start()
  await vi.advanceTimersByTimeAsync(100)
  const stopped = loop.stop().then(() => told.push('stopped'))
  await vi.advanceTimersByTimeAsync(1000)
  expect(told).toEqual(['begun'])
  end()
  await stopped
  await vi.advanceTimersByTimeAsync(1000)
  expect(told).toEqual(['begun', 'done', 'stopped'])
})
