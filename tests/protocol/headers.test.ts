import { expect, test } from 'vitest'
import { isRepeated } from '../../src/protocol/headers.ts'

test('a header is repeated when its name comes twice, in any case', () => {
  expect(isRepeated(['Host', 'a', 'X', 'b', 'hOST', 'a'], 'host')).toBe(true)
  expect(isRepeated(['Host', 'a', 'X', 'b'], 'host')).toBe(false)
  expect(isRepeated([], 'host')).toBe(false)
})

test('values and longer names do not count', () => {
  expect(isRepeated(['X', 'host', 'Y', 'host', 'Hosts', 'a', 'Host', 'b'], 'host')).toBe(false)
})
