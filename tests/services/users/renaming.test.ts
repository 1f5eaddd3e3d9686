/** Another user name: what changes with it, what goes on as it was, and who has a name where several want it at once. */
import { expect, test } from 'vitest'
import type { UserRegistry } from '../../../src/services/users/user-registry.ts'
import type { User } from '../../../src/services/users/user.ts'
import { giveEverything, openUsers, whatIsLeft } from '../../support/users.ts'

const { users, audit, directory, rows } = await openUsers()
const { users: beside, directory: there } = await openUsers(false, rows)
const PASSWORD = 'a password of their own'
const RENAMING = { mayRename: true }
const TAKEN = 'username is already taken'
let count = 0

async function somebody(members: object = {}): Promise<User> {
  return users.create({ username: `person-${++count}`, password: PASSWORD, ...members })
}

const rename = async (whom: User | string, username: string, registry: UserRegistry = users): Promise<User> =>
  registry.update(whom, { username }, RENAMING)

async function changesOf({ id }: User): Promise<unknown> {
  const { events } = await audit.list({ user: id, type: 'user.changed' }, { limit: 10 })
  return events.map(({ details }) => (details as { changes: unknown }).changes)
}

test('somebody is called otherwise, and is who they were, in every process', async () => {
  const user = await somebody({ roles: ['staff'], email: 'same@example.com', email_verified: true })
  await giveEverything(rows, user.id)
  expect((await there.findUser(user.id))?.username).toBe(user.username)
  const renamed = await rename(user.username, ' Zoë ')
  const { updatedAt } = renamed
  expect(renamed).toEqual({ ...user, username: 'Zoë', updatedAt })
  expect(await users.find('ZOË')).toEqual(renamed)
  expect(await users.find(user.username)).toBeNull()
  expect(await directory.findUser(user.id)).toEqual(renamed)
  await expect.poll(async () => there.findUser(user.id)).toEqual(renamed)
  expect((await users.authenticate('zoë', PASSWORD))?.id).toBe(user.id)
  expect((await users.authenticate('same@example.com', PASSWORD))?.id).toBe(user.id)
  expect(await users.authenticate(user.username, PASSWORD)).toBeNull()
  expect(await whatIsLeft(rows, user.id)).toEqual({ sessions: 1, codes: 1, authorizations: 2 })
  expect(await changesOf(user)).toEqual([{ username: [user.username, 'Zoë'] }])
})

test('another form of the same name is shown from then on, and taken by nobody else', async () => {
  const user = await somebody({ username: 'rené' })
  const forms = ['René', 'RENÉ'.normalize('NFD'), 'rené']
  for (const form of forms) expect((await rename(user, form)).username).toBe(form)
  expect(await changesOf(user)).toEqual([
    { username: [forms[1], forms[2]] },
    { username: [forms[0], forms[1]] },
    { username: ['rené', forms[0]] },
  ])
  expect((await users.authenticate('René', PASSWORD))?.id).toBe(user.id)
  await rename(user, 'rené')
  expect(await changesOf(user)).toHaveLength(3)
})

test('who does not say that they may rename is refused, as before; another form changes nothing', async () => {
  const user = await somebody()
  const refused = { code: 'invalid_request', message: 'username cannot be changed' }
  for (const options of [undefined, {}, { mayRename: false }])
    for (const whom of [user, user.username])
      await expect(
        users.update(whom, { username: 'another', name: 'Another' }, options),
      ).rejects.toMatchObject(refused)
  const kept = await users.update(user.username, { username: user.username.toUpperCase(), name: 'Kept' })
  expect(kept).toMatchObject({ username: user.username, claims: { name: 'Kept' } })
})

test.each([
  ['a name that somebody has', 'TAKEN', TAKEN],
  ['none', ' ', 'username must not be empty'],
  ['one with a line break', 'a\nb', 'username must not hold control characters or broken Unicode'],
  ['a long one', 'x'.repeat(257), 'username must have 256 characters at most'],
])('%s is refused, and nothing else of the change is done', async (_what, username, message) => {
  if ((await users.find('taken')) === null) await users.create({ username: 'taken' })
  const user = await somebody({ roles: ['staff'] })
  await giveEverything(rows, user.id)
  const members = { username, name: 'Another', roles: [], password: 'another password of theirs' }
  await expect(users.update(user, members, { ...RENAMING, enabled: false })).rejects.toMatchObject({
    code: 'invalid_request',
    about: { member: 'username' },
    message,
  })
  expect(await users.get(user.id)).toEqual(user)
  expect((await users.authenticate(user.username, PASSWORD))?.id).toBe(user.id)
  expect(await whatIsLeft(rows, user.id)).toMatchObject({ sessions: 1, codes: 1 })
  expect(await changesOf(user)).toEqual([])
})

test('it goes with all else that is changed, and not without what judges that', async () => {
  const user = await somebody()
  const judge = (now: User): void => {
    expect(now.username).toBe(user.username)
    throw new Error('not now')
  }
  await expect(users.update(user, { username: 'judged' }, { ...RENAMING, judge })).rejects.toThrow('not now')
  expect(await users.find('judged')).toBeNull()
  const members = { username: 'judged', password: 'another password of theirs', email: 'j@example.com' }
  const changed = await users.update(user, members, { ...RENAMING, enabled: false })
  expect(changed).toMatchObject({ username: 'judged', disabled: true, claims: { email: 'j@example.com' } })
  await users.enable(changed)
  expect((await users.authenticate('judged', 'another password of theirs'))?.id).toBe(user.id)
})

test('of two who want one name at once, in two processes, one has it', async () => {
  for (let round = 0; round < 10; round++) {
    const name = `wanted-${round}`
    const [one, two] = [await somebody(), await somebody()]
    const third = await somebody({ username: `THIRD-${name}` })
    const results = await Promise.allSettled([
      rename(one, name),
      rename(two, name, beside),
      beside.create({ username: name }),
      rename(third, third.username.toLowerCase(), beside),
    ])
    const refused = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []))
    expect(refused.map(({ message }) => message)).toEqual([TAKEN, TAKEN])
    expect((await users.get(third.id)).username).toBe(third.username.toLowerCase())
  }
})

test('of two who rename one user at once, the later one sees what the first did', async () => {
  for (let round = 0; round < 10; round++) {
    const user = await somebody()
    const judge = ({ username }: User): void => {
      if (username !== user.username) throw new Error('changed meanwhile')
    }
    const results = await Promise.allSettled(
      [users, beside].map(async (registry, n) =>
        registry.update(user, { username: `${user.username}-${n}` }, { ...RENAMING, judge }),
      ),
    )
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const [lost] = results.filter((one) => one.status === 'rejected')
    expect((lost!.reason as Error).message).toBe('changed meanwhile')
    // By the name, there is nobody any more.
    await expect(rename(user.username, 'too-late')).rejects.toThrow('username is not registered')
  }
})

test('two who take each other’s names at once keep theirs; by a third name it can be done', async () => {
  const [one, two] = [await somebody(), await somebody()]
  const results = await Promise.allSettled([rename(one, two.username), rename(two, one.username, beside)])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  for (const { reason } of results as PromiseRejectedResult[]) expect((reason as Error).message).toBe(TAKEN)
  await rename(one, 'a third name')
  await rename(two, one.username)
  await rename('a third name', two.username)
  expect((await users.find(one.username))?.id).toBe(two.id)
  expect((await users.find(two.username))?.id).toBe(one.id)
})

test('what is done to somebody who was found is done to them, and to no one who has their name by then', async () => {
  const user = await somebody()
  const replace = await users.replacement(user)
  await rename(user, `${user.username}-renamed`)
  const namesake = await somebody({ username: user.username })
  await users.update(user, { name: 'Theirs' })
  await users.disable(user)
  await users.enable(user)
  expect((await replace('another password of theirs'))?.id).toBe(user.id)
  expect(await users.get(namesake.id)).toEqual(namesake)
  expect((await users.authenticate(namesake.username, PASSWORD))?.id).toBe(namesake.id)
  expect(await users.delete(user)).toBe(true)
  expect(await users.delete(user)).toBe(false)
  expect(await users.get(namesake.id)).toEqual(namesake)
  const refused = { code: 'invalid_request', message: 'username is not registered' }
  for (const gone of [user, { id: 'no id' }])
    await expect(users.update(gone, { name: 'Late' })).rejects.toMatchObject(refused)
})

test('a name that somebody left, or who was deleted had, is free', async () => {
  const [gone, renamed, user] = [await somebody(), await somebody(), await somebody()]
  await users.delete(gone)
  await rename(user, gone.username)
  await rename(renamed, 'elsewhere')
  await rename(user, renamed.username)
  expect(await users.find(renamed.username)).toMatchObject({ id: user.id })
  expect(await somebody({ username: gone.username })).not.toMatchObject({ id: gone.id })
})

test('the last administrator can be called otherwise, and stays one', async () => {
  const root = await somebody({ roles: ['admin'] })
  const renamed = await users.update(root, { username: 'keeper' }, { ...RENAMING, keepOneWith: 'admin' })
  expect(renamed.roles).toEqual(['admin'])
  expect(await users.hasRole('admin')).toBe(true)
})

test('whose verified address a name looks like signs in by it; who is called so does once it is free', async () => {
  const address = 'boss@example.com'
  const boss = await somebody({ email: address, email_verified: true })
  const other = await somebody({ username: 'other@example.com', password: 'the password of another' })
  await rename(other, 'BOSS@example.com')
  expect((await users.find(address))?.id).toBe(other.id)
  expect((await users.authenticate(address, PASSWORD))?.id).toBe(boss.id)
  expect(await users.authenticate(address, 'the password of another')).toBeNull()
  await users.update(boss, { email_verified: false })
  expect((await users.authenticate(address, 'the password of another'))?.id).toBe(other.id)
  // Who was called like an address of theirs goes on signing in by that.
  await users.update(other, { email: address, email_verified: true })
  await rename(other, 'no address')
  for (const name of [address, 'no address'])
    expect((await users.authenticate(name, 'the password of another'))?.id).toBe(other.id)
})
