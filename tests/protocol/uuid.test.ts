import fc from 'fast-check'
import { expect, test } from 'vitest'
import { issueInstant } from '../../plugins/require-scope/expiry.ts'
import { createLoneUuid, createUuid, isLoneUuid } from '../../src/protocol/uuid.ts'

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('an identifier is a UUID of version 7 that carries its instant, to the millisecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (now) => {
      const jti = createUuid(now)
      expect(jti).toMatch(UUID7)
      expect(Number.parseInt(jti.replaceAll('-', '').slice(0, 12), 16)).toBe(now)
    }),
  )
})

test('whoever verifies a token reads the same instant', () => {
  const now = 1_795_000_000_987
  expect(issueInstant({ jti: createUuid(now), iat: Math.floor(now / 1000) })).toBe(now)
})

test('no two are equal within one instant, and later ones sort later', () => {
  const all = Array.from({ length: 5000 }, () => createUuid(1_795_000_000_000))
  expect(new Set(all).size).toBe(all.length)
  expect(createUuid(1_795_000_000_001) > all.toSorted().at(-1)!).toBe(true)
})

test('an identifier that is no row’s is of version 8, and told by it', () => {
  expect(createLoneUuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect([createLoneUuid(), createUuid()].map(isLoneUuid)).toEqual([true, false])
})
