import { expect, test } from 'vitest'
import { createBoundedCache } from '../../src/services/bounded-cache.ts'

test('it holds so many at most: what was not used the longest goes first', () => {
  const cache = createBoundedCache<number>(3)
  for (const key of ['a', 'b', 'c']) cache.set(key, 1)
  cache.get('a')
  cache.set('d', 1)
  expect([...cache.keys()].toSorted()).toEqual(['a', 'c', 'd'])
})

test('what it holds has an end, where it is given one', async () => {
  const cache = createBoundedCache<number>(3, { ttl: 1 })
  cache.set('a', 1)
  await expect.poll(() => cache.get('a')).toBeUndefined()
})
