import { expect, test } from 'vitest'
import { createClientSecrets, type StoredSecret } from '../../../src/services/clients/client-secrets.ts'
import { createHashingQueue } from '../../../src/services/hashing/hashing-queue.ts'
import { createSecretBox } from '../../../src/services/keys/secret-box.ts'

const OLD = 'o'.repeat(32)
const NEW = 'n'.repeat(32)
const secretsUnder = (...keys: string[]) =>
  createClientSecrets(createSecretBox(keys), createHashingQueue(1, 4))
const secrets = secretsUnder(OLD)
const stored = (hash: string, id = hash, expiresAt: number | null = null): StoredSecret => ({
  id,
  hash,
  sealed: null,
  expiresAt,
})

test('a generated secret has a prefix and 256 bits, and no two are equal', () => {
  const all = Array.from({ length: 1000 }, () => secrets.generate())
  for (const one of all) expect(one).toMatch(/^lks_[A-Za-z0-9_-]{43}$/)
  expect(new Set(all).size).toBe(1000)
})

test('a generated secret is stored as a keyed hash, a chosen one by argon2id', async () => {
  const generated = secrets.generate()
  expect(await secrets.hash(generated)).toBe(createSecretBox([OLD]).hash(generated))
  expect(await secrets.hash('chosen')).toMatch(/^\$argon2id\$v=19\$m=19456,(?:t=2,p=1|p=1,t=2)\$/)
  expect(await secrets.hash('chosen')).not.toBe(await secrets.hash('chosen'))
})

test('of several stored secrets, the one that was presented is found', async () => {
  const generated = secrets.generate()
  const all = [
    stored(await secrets.hash('a'), 'a'),
    stored(await secrets.hash(generated), 'g'),
    stored(await secrets.hash('b'), 'b'),
  ]
  const found = await Promise.all(
    ['a', 'b', generated, 'c', secrets.generate(), ''].map((one) => secrets.verify(one, all, 0)),
  )
  expect(found.map((one) => one?.id)).toEqual(['a', 'b', 'g', undefined, undefined, undefined])
})

test('an expired secret is no secret, to the millisecond', async () => {
  for (const secret of ['chosen', secrets.generate()]) {
    const one = stored(await secrets.hash(secret), 'x', 1000)
    expect((await secrets.verify(secret, [one], 999))?.id).toBe('x')
    expect(await secrets.verify(secret, [one], 1000)).toBeUndefined()
  }
})

test('a success that is remembered is forgotten with the hash it was for', async () => {
  const first = stored(await secrets.hash('chosen'))
  expect(await secrets.verify('chosen', [first], 0)).toBe(first)
  expect(await secrets.verify('chosen', [first], 0)).toBe(first)
  expect(await secrets.verify('chosen', [stored(await secrets.hash('another'))], 0)).toBeUndefined()
  expect(await secrets.verify('chosen', [], 0)).toBeUndefined()
})

test('what is stored in no known form matches nothing', async () => {
  for (const hash of ['', '$argon2id$broken', '$2b$10$abc', 'plain', 'a.b']) {
    const answers = ['plain', secrets.generate()].map((one) =>
      secrets.verify(one, [stored(hash)], 0).catch(() => undefined),
    )
    expect(await Promise.all(answers)).toEqual([undefined, undefined])
  }
})

test('after SECRET_KEY was rotated a generated secret works and is hashed anew, once', async () => {
  const generated = secrets.generate()
  const rotated = secretsUnder(NEW, OLD)
  const before = stored(await secrets.hash(generated))
  expect(await rotated.verify(generated, [before], 0)).toBe(before)
  const hash = rotated.rehash(generated, before)!
  expect(await secretsUnder(NEW).verify(generated, [stored(hash)], 0)).toBeDefined()
  expect(rotated.rehash(generated, stored(hash))).toBeUndefined()
  expect(rotated.rehash('chosen', stored(await secrets.hash('chosen')))).toBeUndefined()
  expect(await secretsUnder(NEW).verify(generated, [before], 0)).toBeUndefined()
})
