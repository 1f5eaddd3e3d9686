/** Signing in by a verified address: whose it is, that it is one user's, and that no user name stands in its way. */
import { expect, test } from 'vitest'
import { Migration20261124000080_email_keys as EmailKeys } from '../../../src/migrations/Migration20261124000080_email_keys.ts'
import { openUsers } from '../../support/users.ts'

const { users, rows } = await openUsers()
const PASSWORD = 'a password of their own'
let count = 0

const keyOf = async (username: string) =>
  (await rows.query<{ key: string | null }>('select email_key as key from users where username = $1', [username]))[0]!.key // prettier-ignore

async function register(members: object = {}): Promise<{ username: string; email: string }> {
  const username = `person-${++count}`
  const email = `${username}@example.com`
  await users.create({ username, password: PASSWORD, email, email_verified: true, ...members })
  return { username, email }
}

/** Who is signed in by it. */
const nameOf = async (typed: string, password = PASSWORD) =>
  (await users.authenticate(typed, password))?.username ?? null

test('a verified address is as good as the name, in any case and form', async () => {
  const { username, email } = await register({ email: 'Ünï.Person@Example.com' })
  expect(email).toBeTruthy()
  for (const typed of [username, 'Ünï.Person@Example.com', 'üNÏ.PERSON@example.COM', ' ünï.person@example.com '.normalize('NFD')])
    expect([typed, await nameOf(typed)]).toEqual([typed, username])
  expect(await nameOf('ünï.person@example.com', 'another password')).toBeNull()
  expect((await users.findByEmail('ÜNÏ.person@example.com'))?.username).toBe(username)
}) // prettier-ignore

test('one that is not verified, or not any more, is no name', async () => {
  const { username, email } = await register({ email_verified: false })
  expect(await nameOf(email)).toBeNull()
  await users.update(username, { email_verified: true })
  expect(await nameOf(email)).toBe(username)
  await users.update(username, { email: `new-${email}`, email_verified: false })
  expect([await nameOf(email), await nameOf(`new-${email}`)]).toEqual([null, null])
  await users.update(username, { email_verified: true })
  await users.update(username, { email: `third-${email}` })
  expect([await nameOf(`new-${email}`), await nameOf(`third-${email}`)]).toEqual([null, username])
  await users.disable(username)
  expect(await nameOf(`third-${email}`)).toBeNull()
  await users.enable(username)
  await users.update(username, { email: null })
  expect([await nameOf(`third-${email}`), await keyOf(username)]).toEqual([null, null])
})

test('a process of the version before, which knows no keys, leaves none that opens anything', async () => {
  const { username, email } = await register()
  await rows.query(`update users set claims = claims || '{"email": "other@example.com"}' where username = $1`, [username])
  expect(await nameOf(email)).toBeNull()
  expect(await users.findByEmail(email)).toBeNull()
  expect(await nameOf('other@example.com')).toBeNull()
}) // prettier-ignore

test('a verified address is one user’s: who comes second is refused, and changes nothing', async () => {
  const [first, second] = [await register(), await register({ email_verified: false })]
  const taken = 'email is the verified address of another user'
  const wanted = { email: first.email.toUpperCase(), email_verified: true, name: 'Changed' }
  await expect(users.update(second.username, wanted)).rejects.toThrow(taken)
  expect((await users.find(second.username))!.claims).toMatchObject({ email: second.email })
  await expect(register({ email: first.email })).rejects.toThrow(taken)
  await expect(users.create({ username: first.username })).rejects.toThrow('username is already taken')
  // Whoever says so without being sure is not believed, and keeps nobody from it.
  await users.update(second.username, { email: first.email, email_verified: false })
  expect(await nameOf(first.email)).toBe(first.username)
  await users.delete(first.username)
  await users.update(second.username, { email_verified: true })
  expect(await nameOf(first.email)).toBe(second.username)
})

test('of many who verify one address at once, one has it', async () => {
  const people = await Promise.all(Array.from({ length: 6 }, async () => register({ email_verified: false })))
  const wanted = { email: 'contested@example.com', email_verified: true }
  const other = await openUsers(false, rows)
  const tries = await Promise.allSettled(
    people.map(async ({ username }, at) => [users, other.users][at % 2]!.update(username, wanted)),
  )
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const [found] = await rows.query(
    `select count(*)::int from users where email_key = 'contested@example.com'`,
  )
  expect(found).toEqual({ count: 1 })
})

test('spellings of one domain are one address: it is one user’s, who signs in as they spell it', async () => {
  const taken = 'email is the verified address of another user'
  const { username } = await register({ email: 'a@ｂücher.example' })
  const spellings = ['a@ｂücher.example', 'A@BÜCHER.example', 'a@xn--bcher-kva.example', 'a@bücher.example.']
  for (const email of spellings) {
    expect([email, (await users.findByEmail(email))?.username]).toEqual([email, username])
    await expect(register({ email })).rejects.toThrow(taken)
  }
  // Guesses are counted for what was typed, and there are many spellings.
  expect(await Promise.all(spellings.map(async (typed) => nameOf(typed)))).toEqual([
    username,
    null,
    null,
    null,
  ])
  await users.update(username, { email: 'a@bücher.example' })
  expect(await nameOf('a@Bücher.example')).toBe(username)
  await users.update(username, { email: 'b@bücher.example' })
  expect(await users.findByEmail('a@bücher.example')).toBeNull()
  expect((await register({ email: 'a@xn--bcher-kva.example' })).email).toBeTruthy()
})

test('who has an address in the form of an earlier version keeps it, and is found by it', async () => {
  const stored = async (email: string): Promise<string> => {
    const { username } = await register({ email: `${++count}@example.com` })
    const members = JSON.stringify({ email, email_verified: true })
    await rows.query('update users set email_key = $3, claims = claims || $2::jsonb where username = $1', [username, members, email]) // prettier-ignore
    return username
  }
  const name = await stored('c@bücher.example')
  for (const email of ['c@bücher.example', 'c@xn--bcher-kva.example', 'c@ＢÜCHER.example']) {
    expect([email, (await users.findByEmail(email))?.username]).toEqual([email, name])
    await expect(register({ email })).rejects.toThrow('email is the verified address of another user')
  }
  expect(await nameOf('c@bücher.example')).toBe(name)
  // Also where two have verified it, each in a spelling of their own.
  const other = await stored('c@xn--bcher-kva.example')
  for (const [email, whose] of [['c@bücher.example', name], ['c@xn--bcher-kva.example', other]] as const) {
    await users.update(whose, { email, email_verified: true, name: 'Changed' })
    expect([await nameOf(email), (await users.findByEmail(email))?.username]).toEqual([whose, whose])
  }
  expect(await users.findByEmail('c@ＢÜCHER.example')).toBeNull()
}) // prettier-ignore

test('a user name that looks like an address never stands in the way of whose it is', async () => {
  const { email, username } = await register()
  await users.create({ username: email, password: 'the password of who wants it' })
  expect(await nameOf(email)).toBe(username)
  expect(await nameOf(email, 'the password of who wants it')).toBeNull()
  // Nor is theirs taken away from whose both are, or where the address is nobody's.
  await users.create({ username: 'own@example.com', email: 'own@example.com', email_verified: true, password: PASSWORD })
  await users.create({ username: 'plain@example.com', password: PASSWORD })
  expect(await nameOf('OWN@example.com')).toBe('own@example.com')
  expect(await nameOf('plain@example.com')).toBe('plain@example.com')
}) // prettier-ignore

test('an address, known or not, takes one statement and one comparison', async () => {
  const { email, username } = await register()
  await users.create({ username: 'at@example.org', password: PASSWORD })
  const own = await openUsers(false, rows)
  const asked: string[] = []
  const { query } = own.database
  Object.assign(own.database, {
    query: async (...given: Parameters<typeof query>) => {
      asked.push(given[0].name)
      return query(...given)
    },
  })
  for (const typed of [email, 'nobody@example.com', 'at@example.org', `${username}@`, '@']) {
    const before = own.hashed()
    asked.length = 0
    expect(await own.users.authenticate(typed, 'wrong')).toBeNull()
    expect([typed, own.hashed() - before, asked.filter((name) => name.startsWith('user'))]).toEqual([
      typed,
      1,
      ['user-by-name-or-email'],
    ])
  }
})

test('where several had verified one address before, it is the name of none of them', async () => {
  const people = [await register(), await register(), await register()]
  // As it was before there were keys.
  await rows.query('update users set email_key = null')
  await rows.query(`update users set claims = claims || '{"email": "Shared@example.com"}' where username = any($1)`, [people.slice(0, 2).map(({ username }) => username)])
  const [, fill] = sqlOf()
  await rows.query(fill!)
  expect(await Promise.all(people.map(async ({ username }) => keyOf(username)))).toEqual([null, null, people[2]!.email])
  expect(await nameOf('shared@example.com')).toBeNull()
  expect(await nameOf(people[0]!.username)).toBe(people[0]!.username)
  // Once it is one's alone, that one says so again.
  await users.update(people[0]!.username, { email: 'moved@example.com' })
  await users.update(people[1]!.username, { email_verified: true })
  expect(await nameOf('shared@example.com')).toBe(people[1]!.username)
}) // prettier-ignore

/** What the migration runs. */
function sqlOf(): string[] {
  const statements: string[] = []
  void EmailKeys.prototype.up.call({ addSql: (sql: string) => void statements.push(sql) } as never)
  return statements
}
