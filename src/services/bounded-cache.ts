/** What was used last, so many at most. Its memory grows with what it holds. */
import { LRUCache } from 'lru-cache'

/** `ttl`: milliseconds from when something was put in, where it has an end. */
export function createBoundedCache<T extends object | number | boolean>(
  most: number,
  { ttl }: { ttl?: number } = {},
): LRUCache<string, T> {
  // With `max` it would take room for all of them at once: half a megabyte of each process, for each cache.
  return new LRUCache({ maxSize: most, sizeCalculation: () => 1, ...(ttl === undefined ? {} : { ttl }) })
}
