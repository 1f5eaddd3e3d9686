import argon2 from 'argon2'
import { expect, test } from 'vitest'
import { createHashingQueue, type HashingQueue } from '../../../src/services/hashing/hashing-queue.ts'
import { inEnglish } from '../../../src/protocol/message.ts'
import { createPasswords, generatePassword } from '../../../src/services/users/passwords.ts'

const queue = createHashingQueue(1, 8)
let ran = 0
const counted: HashingQueue = {
  ...queue,
  run: async (work) => {
    ran++
    return queue.run(work)
  },
}
const passwords = createPasswords(counted)

test('a password is stored by argon2id, each time with another salt', async () => {
  const [one, other] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')]
  expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,(?:t=2,p=1|p=1,t=2)\$/)
  expect(one).not.toBe(other)
  expect(await Promise.all([one, other].map((hash) => passwords.verify('correct horse', hash)))).toEqual([
    true,
    true,
  ])
})

test('it is the same however its letters are composed, and nothing else is overlooked', async () => {
  const hash = await passwords.hash(' Zo\u00eb Pass ')
  expect(await passwords.verify(' Zoe\u0308 Pass ', hash)).toBe(true)
  for (const other of ['Zo\u00eb Pass', ' zo\u00eb pass ', ' Zoe Pass ', '', ' Zo\u00eb Pass \0'])
    expect([other, await passwords.verify(other, hash)]).toEqual([other, false])
})

test('where there is no hash, a comparison is made all the same, and fails', async () => {
  const hash = await passwords.hash('correct horse')
  for (const stored of [hash, null, '', 'plain', '$2b$10$abc']) {
    ran = 0
    expect(await passwords.verify('battery staple', stored)).toBe(false)
    expect([stored, ran]).toEqual([stored, 1])
  }
})

test('what is too long is hashed for nobody', async () => {
  const long = 'x'.repeat(1025)
  expect(inEnglish(passwords.problem(long)!)).toBe('must have 1024 characters at most')
  const hash = await passwords.hash(long)
  ran = 0
  expect([await passwords.verify(long, hash), await passwords.verify(long, null), ran]).toEqual([
    false,
    false,
    0,
  ])
})

test.for<[unknown, string | undefined]>([
  ['x'.repeat(1024), undefined],
  [' ', undefined],
  ['🙂🙂', undefined],
  ['', 'must not be empty'],
  [7, 'must be a text'],
  [null, 'must be a text'],
  ['a\0b', 'must not hold NUL or broken Unicode'],
  ['a\ud800', 'must not hold NUL or broken Unicode'],
])('%j as a password: %s', ([password, problem]) => {
  const found = passwords.problem(password)
  expect(found && inEnglish(found)).toBe(problem)
})

test('eight characters are enough, whatever they are made of', () => {
  expect(['1234567', '🙂🙂🙂🙂', 'e\u0308'.repeat(4)].map(passwords.isShort)).toEqual([true, true, true])
  expect(['12345678', '        ', '🙂'.repeat(8)].map(passwords.isShort)).toEqual([false, false, false])
})

test('a hash made with other parameters still works, and is to be replaced', async () => {
  const weaker = await argon2.hash('correct horse', { memoryCost: 1024, timeCost: 3, parallelism: 1 })
  expect(await passwords.verify('correct horse', weaker)).toBe(true)
  expect(passwords.isOutdated(weaker)).toBe(true)
  expect(passwords.isOutdated(await passwords.hash('correct horse'))).toBe(false)
})

test('an imported hash is verified by its own scheme, with what was typed, and is to be replaced', async () => {
  const typed: string[] = []
  const reversed = {
    recognizes: (hash: string) => hash.startsWith('reversed$'),
    verify: async (hash: string, password: string) => {
      typed.push(password)
      return hash === `reversed$${password.split('').toReversed().join('')}`
    },
  }
  const importing = createPasswords(queue, [reversed])
  expect(await importing.verify('abc', 'reversed$cba')).toBe(true)
  expect(await importing.verify('e\u0308', 'reversed$x')).toBe(false)
  expect(typed).toEqual(['abc', 'e\u0308'])
  expect(importing.isOutdated('reversed$cba')).toBe(true)
  expect(await importing.verify('abc', await importing.hash('abc'))).toBe(true)
})

test('a generated password has 128 bits', () => {
  const all = Array.from({ length: 1000 }, generatePassword)
  for (const one of all) expect(one).toMatch(/^[A-Za-z0-9_-]{22}$/)
  expect(new Set(all).size).toBe(1000)
})
