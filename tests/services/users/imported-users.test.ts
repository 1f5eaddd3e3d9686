/** Users who come from elsewhere: with a hash that was made there, disabled from the first moment where they were. */
import { expect, test } from 'vitest'
import { djangoHash } from '../../support/django.ts'
import { giveEverything, openUsers, whatIsLeft } from '../../support/users.ts'

const { users, rows, hashed } = await openUsers()
const PASSWORD = 'correct horse battery'
const OTHER = 'another horse battery'

async function storedHash(id: string): Promise<string | null> {
  const [row] = await rows.query<{ hash: string | null }>(
    'select password_hash as hash from users where id = $1',
    [id],
  )
  return row!.hash
}

test('an imported password is right, and the sign-in that proved it replaces its hash by ours', async () => {
  const hash = djangoHash(PASSWORD)
  const { id } = await users.create({ username: 'imported' }, { passwordHash: hash })
  expect(await storedHash(id)).toBe(hash)
  const before = hashed()
  expect(await users.authenticate('imported', OTHER)).toBeNull()
  expect([hashed() - before, await storedHash(id)]).toEqual([1, hash])
  expect(await users.authenticate('imported', PASSWORD)).toMatchObject({ id })
  await expect.poll(() => storedHash(id)).toMatch(/^\$argon2id\$v=19\$m=19456,/)
  expect(await users.authenticate('imported', PASSWORD)).toMatchObject({ id })
  expect(await users.authenticate('imported', OTHER)).toBeNull()
})

test('a hash that cannot be read here is refused', async () => {
  for (const passwordHash of ['md5$salt$0', 'plain', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aaaa', ''])
    await expect(users.create({ username: 'unreadable' }, { passwordHash })).rejects.toThrow(
      'password has a hash of a form that is not read here',
    )
  expect(await users.find('unreadable')).toBeNull()
})

test('an imported password is laid over another imported one or none, and ends what was', async () => {
  const [first, second] = [djangoHash(PASSWORD), djangoHash(OTHER)]
  const { id } = await users.create({ username: 'again' })
  expect(await users.takesPassword('again', first)).toBe(true)
  await users.update('again', {}, { passwordHash: first })
  expect([await storedHash(id), await users.takesPassword('again', first)]).toEqual([first, false])
  await giveEverything(rows, id)
  await users.update('again', { name: 'New' }, { passwordHash: first })
  expect(await whatIsLeft(rows, id)).toMatchObject({ sessions: 1 })
  expect(await users.takesPassword('again', second)).toBe(true)
  await users.update('again', {}, { passwordHash: second })
  expect(await whatIsLeft(rows, id)).toEqual({ sessions: 0, codes: 0, authorizations: 0 })
  expect(await users.authenticate('again', OTHER)).toMatchObject({ id, claims: { name: 'New' } })
  await expect.poll(() => storedHash(id)).toContain('$argon2id$')
})

test('a password that was used or set here stays', async () => {
  const { id } = await users.create({ username: 'own', password: PASSWORD })
  const own = await storedHash(id)
  expect(await users.takesPassword('own', djangoHash(OTHER))).toBe(false)
  await users.update('own', {}, { passwordHash: djangoHash(OTHER) })
  expect(await storedHash(id)).toBe(own)
})

test('a user comes disabled, or is disabled by an update, which enables nobody', async () => {
  const { id } = await users.create(
    { username: 'away' },
    { disabled: true, passwordHash: djangoHash(PASSWORD) },
  )
  expect(await users.get(id)).toMatchObject({ disabled: true })
  expect(await users.authenticate('away', PASSWORD)).toBeNull()
  expect(await users.update('away', {}, { disabled: false })).toMatchObject({ disabled: true })
  const here = await users.create({ username: 'here' })
  await giveEverything(rows, here.id)
  expect(await users.update('here', {}, { disabled: true })).toMatchObject({ disabled: true })
  expect(await whatIsLeft(rows, here.id)).toEqual({ sessions: 0, codes: 0, authorizations: 0 })
})
