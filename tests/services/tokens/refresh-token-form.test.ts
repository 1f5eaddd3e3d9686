import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHandle, hashOf } from '../../../src/protocol/handle.ts'
import { createSecretBox } from '../../../src/services/keys/secret-box.ts'
import {
  createRefreshToken,
  followedBy,
  isTagged,
  parseRefreshToken,
  tailOf,
} from '../../../src/services/tokens/refresh-token-form.ts'
import { mutantsOf } from '../../support/code-flow.ts'

const [OLD, NEW] = ['o'.repeat(32), 'n'.repeat(32)]
const old = createSecretBox([OLD])

test('it says whose it is and which of its family, and that we made it', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.integer({ min: 0, max: 2 ** 48 - 1 }), (id, generation) => {
      const token = createRefreshToken(id, generation, old)
      expect(token).toMatch(/^lkr_[\w-]{88}$/)
      expect(parseRefreshToken(token)).toEqual({ authorizationId: id, generation, hash: hashOf(token) })
      expect(isTagged(token, old)).toBe(true)
      expect(createRefreshToken(id, generation, old)).not.toBe(token)
    }),
  )
})

test('256 bits of it are of the system, in every token anew', () => {
  const id = randomUUID()
  const secrets = Array.from({ length: 2000 }, () => tailOf(createRefreshToken(id, 1, old)).subarray(0, 32))
  for (let at = 0; at < 32; at++)
    expect(new Set(secrets.map((secret) => secret[at])).size).toBeGreaterThan(200)
})

test('with any other character it is none of ours', () => {
  const token = createRefreshToken(randomUUID(), 5, old)
  for (const mutant of mutantsOf(token)) {
    const ours = parseRefreshToken(mutant) !== null && isTagged(mutant, old)
    expect([mutant, ours]).toEqual([mutant, mutant === token])
  }
})

test('a tag is known as long as its SECRET_KEY is in the list', () => {
  const token = createRefreshToken(randomUUID(), 5, old)
  const known = [[OLD], [NEW, OLD], [OLD, NEW], [NEW]].map((keys) => isTagged(token, createSecretBox(keys)))
  expect(known).toEqual([true, true, true, false])
})

test('one from before tags is the first of its family, and may be made up', () => {
  const id = randomUUID()
  const token = createHandle(id, 'lkr_')
  expect(parseRefreshToken(token)).toEqual({ authorizationId: id, generation: 0, hash: hashOf(token) })
  expect(isTagged(token, old)).toBe(false)
})

test('its tail makes the one that follows it out of the one before', () => {
  const id = randomUUID()
  const [first, second] = [0, 1].map((generation) => createRefreshToken(id, generation, old))
  expect(followedBy(first!, tailOf(second!))).toBe(second)
  expect(followedBy(createHandle(id, 'lkr_'), tailOf(second!))).toBe(second)
})

test('nothing else is a refresh token', () => {
  const token = createRefreshToken(randomUUID(), 0, old)
  const others = [
    '',
    'lkr_',
    token.slice(4),
    `${token}A`,
    ` ${token}`,
    token.replace('lkr_', 'lka_'),
    `${token}=`,
  ]
  for (const other of [...others, `lkr_${randomBytes(33).toString('base64url').repeat(2)}é`])
    expect([other, parseRefreshToken(other)]).toEqual([other, null])
})
