/** Hashes that Django 5.2 wrote are the vectors: `make_password` with its defaults. */
import { expect, test } from 'vitest'
import { djangoPasswords } from '../../../src/services/users/django-passwords.ts'
import { createHashingQueue } from '../../../src/services/hashing/hashing-queue.ts'
import { createPasswords } from '../../../src/services/users/passwords.ts'

const passwords = createPasswords(createHashingQueue(1, 8), djangoPasswords)
const DIGEST = 'z0Hdyxm2zRFdSsHdH58nadg+ztRuT6qSWA61+uNvkuQ='
const PBKDF2 = `pbkdf2_sha256$1000000$Mu8iIOtgNZsA8ljFiDnzJ2$${DIGEST}`
const ARGON2 =
  'argon2$argon2id$v=19$m=102400,t=2,p=8$c2FsdHNhbHRzYWx0$kSBtRLhFaLIW3hlCdgwP6Z69cuu9XNgKRh3ZxKvlt28'

test.for<[string, string, boolean]>([
  [PBKDF2, 'correct horse battery', true],
  [PBKDF2, 'correct horse batterY', false],
  [PBKDF2, '', false],
  // As it was typed there, in two characters; composed, it is another.
  [ARGON2, 'Zoe\u0308 p\u00e4ss', true],
  [ARGON2, 'Zo\u00eb p\u00e4ss', false],
])('%s and %j: %s', async ([hash, password, right]) => {
  expect(await passwords.verify(password, hash)).toBe(right)
  expect([passwords.isImported(hash), passwords.isOutdated(hash)]).toEqual([true, true])
})

test.for([
  `pbkdf2_sha256$5000001$salt$${DIGEST}`,
  `pbkdf2_sha256$99999999999$salt$${DIGEST}`,
  `pbkdf2_sha256$0$salt$${DIGEST}`,
  `pbkdf2_sha256$-1$salt$${DIGEST}`,
  `pbkdf2_sha256$1000$$${DIGEST}`,
  `pbkdf2_sha256$1000$sa\0lt$${DIGEST}`,
  'pbkdf2_sha256$1000$salt$c2hvcnQ=',
  'pbkdf2_sha256$1000$salt',
  `pbkdf2_sha1$1000$salt$${DIGEST}`,
  ARGON2.replace('m=102400', 'm=4194304'),
  ARGON2.replace('t=2', 't=99'),
  ARGON2.replace('p=8', 'p=99'),
  ARGON2.replace('p=8', 'p=0'),
  ARGON2.replace('t=2', 't=0'),
  ARGON2.replace('m=102400', 'm=63'),
  ARGON2.replace('c2FsdHNhbHRzYWx0', 'c2Fs_HNhbHRzYWx0'),
  ARGON2.replace('argon2id', 'argon2d'),
  'md5$salt$180b0750cbc45c696cfa44683dea6db1',
  'bcrypt_sha256$$2b$12$abcdefghijklmnopqrstuv',
  '!CQF1MnR8vhF1aDDiCA5jgPUUkYPTbacOUgPvq9gl',
  'correct horse battery',
  '',
])('%j is not read: it costs the usual time, and fails', async (hash) => {
  expect(passwords.isImported(hash)).toBe(false)
  expect(await passwords.verify('correct horse battery', hash)).toBe(false)
})
