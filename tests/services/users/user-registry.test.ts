import argon2 from 'argon2'
import { expect, test } from 'vitest'
import type { User } from '../../../src/services/users/user.ts'
import { dump, findSecrets } from '../../support/traces.ts'
import { openUsers } from '../../support/users.ts'

const { users, directory, rows, hashed, output } = await openUsers()
const PASSWORD = 'correct horse battery'

test('a user is found by name in either case, by id, and in the directory; never with the hash', async () => {
  const created = await users.create({
    username: ' Alice ',
    password: PASSWORD,
    roles: ['admin', 'admin'],
    email: 'alice@example.com',
    email_verified: true,
    address: { country: 'IS' },
  })
  expect(created).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
    username: 'Alice',
    roles: ['admin'],
    claims: { email: 'alice@example.com', email_verified: true, address: { country: 'IS' } },
    disabled: false,
    disabledAt: null,
    deletesAt: null,
    endedAt: null,
    createdAt: expect.any(Number) as unknown,
    updatedAt: expect.any(Number) as unknown,
  })
  for (const found of [
    await users.find('ALICE'),
    await users.find('alice '),
    await users.get(created.id),
    await directory.findUser(created.id),
  ])
    expect(found).toEqual(created)
  expect(() => Object.assign(created.claims['address'] as object, { country: 'NO' })).toThrow(TypeError)
})

test('who is not there is not found, whatever was asked for', async () => {
  const nobody = '00000000-0000-4000-8000-000000000000'
  for (const name of ['', 'nobody', 'a\0b', '\ud800', 'x'.repeat(300)])
    expect(await users.find(name)).toBeNull()
  for (const id of ['', 'nobody', nobody, 'a\0b']) {
    expect(await directory.findUser(id)).toBeNull()
    await expect(users.get(id)).rejects.toThrow('id is not registered')
  }
  const refused = { code: 'invalid_request', message: 'username is not registered' }
  await expect(users.disable('nobody')).rejects.toMatchObject(refused)
  await expect(users.enable('a\0b')).rejects.toMatchObject(refused)
  await expect(users.setPassword('nobody', PASSWORD)).rejects.toMatchObject(refused)
  await expect(users.update('', { email: 'a@example.com' })).rejects.toMatchObject(refused)
})

test.for<[unknown, RegExp]>([
  [null, /^user must be an object/],
  [[], /^user must be an object/],
  [{}, /^username is missing/],
  [{ username: 7 }, /^username must be a text/],
  [{ username: ' ' }, /^username must not be empty/],
  [{ username: 'a\nb' }, /^username must not hold control characters/],
  [{ username: 'ALICE' }, /^username is already taken/],
  [{ username: 'b', password: 12345678 }, /^password must be a text/],
  [{ username: 'b', password: '' }, /^password must not be empty/],
  [{ username: 'b', password: 'x'.repeat(1025) }, /^password must have 1024/],
  [{ username: 'b', password: 'nul\0nul\0nul' }, /^password must not hold NUL/],
  [{ username: 'b', roles: 'admin' }, /^roles must be a list/],
  [{ username: 'b', roles: ['two words'] }, /^roles must be a list/],
  [{ username: 'b', roles: [''] }, /^roles must be a list/],
  [{ username: 'b', email: 7 }, /^email /],
  [{ username: 'b', email_verified: 'yes' }, /^email_verified /],
  [{ username: 'b', address: 'Street 1' }, /^address /],
  [{ username: 'b', name: 'a\0b' }, /^name must not hold NUL/],
])('%j is refused, and nothing is stored', async ([members, why]) => {
  await expect(users.create(members)).rejects.toMatchObject({ code: 'invalid_request' })
  await expect(users.create(members)).rejects.toThrow(why)
  expect(await users.find('b')).toBeNull()
})

test('a member that nobody knows is named in a warning, without its value', async () => {
  await users.create({
    username: 'typist',
    emial: 'hidden@example.com',
    passwrod: 'hidden-password',
    sub: 'hidden-subject',
  })
  expect(output()).toMatch(/"user":"typist","member":"emial"/)
  expect(output()).toMatch(/"user":"typist","member":"sub"/)
  expect(output()).not.toContain('hidden')
  expect((await users.find('typist'))?.claims).toEqual({})
})

test('a short password is warned of in a development start, and refused in production', async () => {
  await users.create({ username: 'short', password: 'hunter2' })
  expect(await users.authenticate('short', 'hunter2')).not.toBeNull()
  expect(output()).toMatch(/"user":"short".*fewer than 8/)
  const strict = await openUsers(true)
  await expect(strict.users.create({ username: 'short', password: 'hunter2' })).rejects.toThrow(
    'password must have 8 characters at least',
  )
  await strict.users.create({ username: 'short', password: 'eight ch' })
  await expect(strict.users.setPassword('short', '1234567')).rejects.toThrow('password must have 8')
  expect(await strict.users.authenticate('short', 'eight ch')).not.toBeNull()
})

test('an update lays claims over those that are there, null takes one away, and roles are replaced', async () => {
  await users.create({ username: 'changing', name: 'Name', email: 'a@example.com', roles: ['admin'] })
  const { id } = await users.update('Changing', { email: null, nickname: 'Nick' })
  expect(await users.get(id)).toMatchObject({ claims: { name: 'Name', nickname: 'Nick' }, roles: ['admin'] })
  expect((await users.get(id)).claims).not.toHaveProperty('email')
  expect(await users.update('changing', { roles: [], 'name#de': 'Der Name' })).toMatchObject({
    roles: [],
    claims: { name: 'Name', 'name#de': 'Der Name' },
  })
  await expect(users.update('changing', { username: 'another' })).rejects.toThrow('cannot be changed')
})

test('users are listed by name, in pages, and searched', async () => {
  for (const username of ['list-c', 'List-A', 'list-b', 'l_st-a'])
    await users.create({ username, name: `Ünal ${username}`, email: `mail-${username}@example.com` })
  const names = (found: readonly User[]) => found.map(({ username }) => username)
  expect(names(await users.list({ after: 'LIST-A', limit: 2 }))).toEqual(['list-b', 'list-c'])
  const all = ['List-A', 'list-b', 'list-c']
  for (const begin of ['LIST-', 'ünal LIST-', 'Mail-list'])
    expect([begin, names((await users.search(begin)).found)]).toEqual([begin, all])
  const { found, next } = await users.search('list-', { limit: 2 })
  expect(names(found)).toEqual(all.slice(0, 2))
  expect(await users.search('list-', { after: next!, limit: 2 })).toEqual({
    found: [await users.find('list-c')],
    next: null,
  })
  expect(names((await users.search('l_st')).found)).toEqual(['l_st-a'])
  for (const begin of ['%', 'st-a', '', ' ', '\0', '\ud800'])
    expect((await users.search(begin)).found).toEqual([])
})

test('each sign-in costs one comparison, whoever tries: unknown, wrong, disabled, without a password', async () => {
  await users.create({ username: 'signing', password: PASSWORD })
  await users.create({ username: 'disabled', password: PASSWORD })
  await users.disable('disabled')
  await users.create({ username: 'passwordless' })
  const cost = async (username: string, password: string) => {
    const before = hashed()
    const user = await users.authenticate(username, password)
    return [user?.username, hashed() - before]
  }
  expect(await cost('SIGNING', PASSWORD)).toEqual(['signing', 1])
  expect(await cost('signing', 'wrong horse battery')).toEqual([undefined, 1])
  expect(await cost('signing', '')).toEqual([undefined, 1])
  expect(await cost('unknown', PASSWORD)).toEqual([undefined, 1])
  expect(await cost('a\0b', PASSWORD)).toEqual([undefined, 1])
  expect(await cost('disabled', PASSWORD)).toEqual([undefined, 1])
  expect(await cost('disabled', 'wrong horse battery')).toEqual([undefined, 1])
  expect(await cost('passwordless', PASSWORD)).toEqual([undefined, 1])
  expect(await users.hasPassword('disabled', PASSWORD)).toBe(true)
  await users.enable('disabled')
  expect(await cost('disabled', PASSWORD)).toEqual(['disabled', 1])
})

test('a hash of former parameters is replaced behind the sign-in that proved it', async () => {
  const { id } = await users.create({ username: 'former' })
  const weaker = await argon2.hash(PASSWORD, { memoryCost: 1024, timeCost: 2, parallelism: 1 })
  await rows.query('update users set password_hash = $1 where id = $2', [weaker, id])
  const stored = async () =>
    (await rows.query('select password_hash from users where id = $1', [id]))[0]!['password_hash'] as string
  expect(await users.authenticate('former', 'wrong horse battery')).toBeNull()
  expect(await stored()).toBe(weaker)
  expect(await users.authenticate('former', PASSWORD)).not.toBeNull()
  await expect.poll(stored).toContain('m=19456')
  expect(await users.authenticate('former', PASSWORD)).not.toBeNull()
})

test('of several who take one name at once, one has it', async () => {
  const tries = Array.from({ length: 8 }, async (_, at) =>
    users.create({ username: at % 2 ? 'race' : 'RACE' }).then(
      () => 'created',
      (error: Error) => error.message,
    ),
  )
  expect((await Promise.all(tries)).toSorted()).toEqual([
    'created',
    ...Array.from({ length: 7 }, () => 'username is already taken'),
  ])
})

test('a change is in the directory of this process at once, and soon in that of another', async () => {
  const other = await openUsers(false, rows)
  const { id } = await users.create({ username: 'followed', name: 'First' })
  const seen = async (where: typeof directory) => {
    const user = await where.findUser(id)
    return [user?.claims['name'], user?.disabled]
  }
  expect([await seen(directory), await seen(other.directory)]).toEqual([
    ['First', false],
    ['First', false],
  ])
  await users.update('followed', { name: 'Second' })
  await users.disable('followed')
  expect(await seen(directory)).toEqual(['Second', true])
  await expect.poll(() => seen(other.directory)).toEqual(['Second', true])
  await users.enable('followed')
  expect(await seen(directory)).toEqual(['Second', false])
})

test('no password is in the database or the log', async () => {
  const secrets = new Map([['password', PASSWORD], ['wrong password', 'wrong horse battery']]) // prettier-ignore
  expect(findSecrets(`${PASSWORD} wrong horse battery`, secrets)).toHaveLength(2)
  expect(findSecrets(await dump(rows), secrets)).toEqual([])
  expect(findSecrets(output(), secrets)).toEqual([])
})
