/** `user …`: what each command stores and prints, for programs (--json) and for people. */
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { runCommand } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { giveEverything, whatIsLeft } from '../support/users.ts'

const server = await startServer()
const { users } = server.server.oauth
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const { run, runJson } = commandsHere(settings, 'user')
const PASSWORD = 'correct horse battery'

test('create registers a user with standard claims by their names, and shows a generated password', async () => {
  // In a process of its own: what else might write to stdout there is seen too.
  const { status, stdout, stderr } = await runCommand([
    'user', 'create', '--json', '--role', 'admin', 'Alice', '--role', 'editor', '--email', 'alice@example.com',
    '--email-verified', 'true', '--given-name', 'Alice', '--address', '{"country": "IS"}', '--birthdate', '2000-01-01',
  ], settings) // prettier-ignore
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout.split('\n')).toHaveLength(2)
  const { sub, password, ...members } = JSON.parse(stdout) as Record<string, unknown>
  const claims = {
    email: 'alice@example.com',
    email_verified: true,
    given_name: 'Alice',
    address: { country: 'IS' },
    birthdate: '2000-01-01',
  }
  expect(members).toEqual({ username: 'Alice', roles: ['admin', 'editor'], disabled: false, ...claims })
  expect(password).toMatch(/^[\w-]{22}$/)
  expect(await users.authenticate('alice', password as string)).toMatchObject({ id: sub, claims })
})

test('an address that no mail could go to is refused, and nothing is stored', async () => {
  const REFUSED = 'email must be an email address, such as alice@example.com'
  for (const email of [
    'x',
    '',
    'a@b@example.com',
    'Bob <bob@example.com>',
    'bob@example.com, eve@example.com',
  ]) {
    const refused = { status: 1, stdout: '', stderr: expect.stringContaining(REFUSED) as string }
    expect(await runCommandHere(['user', 'create', 'addressed', '--email', email], settings)).toEqual(refused)
    expect(await users.find('addressed')).toBeNull()
    await users.create({ username: 'addressed', email: 'it@example.com' })
    expect(await runCommandHere(['user', 'update', 'addressed', '--email', email], settings)).toEqual(refused)
    expect((await users.find('addressed'))!.claims).toEqual({ email: 'it@example.com' })
    await users.delete('addressed')
  }
})

test('a password comes from the command line or from standard input, and is not repeated', async () => {
  const created = await run('create', 'given', '--password', PASSWORD)
  expect(created).not.toContain(PASSWORD)
  expect(await users.authenticate('given', PASSWORD)).not.toBeNull()
  const args = ['user', 'create', 'piped', '--password-stdin', '--json']
  const piped = await runCommand(args, settings, undefined, ` ${PASSWORD} \r\n`)
  expect(piped).toMatchObject({ status: 0, stderr: '' })
  expect(piped.stdout).not.toContain(PASSWORD)
  expect(await users.authenticate('piped', ` ${PASSWORD} `)).not.toBeNull()
  expect(await users.authenticate('piped', PASSWORD)).toBeNull()
  const empty = await runCommand(['user', 'create', 'empty', '--password-stdin'], settings)
  expect(empty).toEqual({ status: 1, stdout: '', stderr: 'password must not be empty.\n' })
})

test('show, list and update give users without their passwords, to programs and to people', async () => {
  await users.create({ username: 'shown-b', password: PASSWORD, roles: ['admin'], name: 'Shown' })
  const { id } = await users.create({ username: 'shown-a', email: 'a@example.com' })
  const wire = { sub: id, username: 'shown-a', roles: [], disabled: false }
  expect(await runJson('show', 'SHOWN-A')).toEqual({ ...wire, email: 'a@example.com' })
  expect(await runJson('update', 'shown-a', '--name', 'New Name')).toEqual({
    ...wire,
    email: 'a@example.com',
    name: 'New Name',
  })
  const lines = (await run('show', 'shown-b')).split('\n')
  expect(lines).toEqual(expect.arrayContaining(['username: shown-b', 'roles: admin', 'disabled: false']))
  // In the order of what begins with it: a name, and a user name.
  expect(await runJson('list', '--search', 'Shown')).toMatchObject([
    { username: 'shown-b', roles: ['admin'], name: 'Shown' },
    { username: 'shown-a', name: 'New Name' },
  ])
  expect(await runJson('list', '--search', 'A@Example')).toMatchObject([{ username: 'shown-a' }])
  expect(await run('list', '--search', 'shown-', '--limit', '1')).toBe('shown-a\n')
  expect(await run('list', '--after', 'shown-a', '--limit', '1')).toBe('shown-b  admin\n')
})

test('update gives another user name, and says why it cannot be', async () => {
  const { id } = await users.create({ username: 'former', password: PASSWORD })
  await users.create({ username: 'taken' })
  await giveEverything(server.database, id)
  const wire = { sub: id, username: 'Latter', roles: [], disabled: false, nickname: 'Lat' }
  expect(await runJson('update', 'FORMER', '--username', 'Latter', '--nickname', 'Lat')).toEqual(wire)
  expect(await whatIsLeft(server.database, id)).toEqual({ sessions: 1, codes: 1, authorizations: 2 })
  expect((await users.authenticate('latter', PASSWORD))?.id).toBe(id)
  expect(await run('update', 'latter', '--username', 'LATTER')).toContain('username: LATTER')
  const refused = async (...args: string[]) => runCommandHere(['user', 'update', ...args], settings)
  const failure = (stderr: string) => ({ status: 1, stdout: '', stderr: `${stderr}\n` })
  expect(await refused('latter', '--username', 'Taken', '--name', 'Not kept')).toEqual(
    failure('username is already taken.'),
  )
  expect(await refused('latter', '--username', ' ')).toEqual(failure('username must not be empty.'))
  expect(await refused('former', '--username', 'another')).toEqual(
    failure('username is not registered: `latchkey user list` says what is.'),
  )
  expect(await users.get(id)).toMatchObject({ username: 'LATTER', claims: { nickname: 'Lat' } })
})

test('disable ends everything of the user, who signs in again after enable', async () => {
  const { id } = await users.create({ username: 'leaving', password: PASSWORD })
  await giveEverything(server.database, id)
  expect(await runJson('disable', 'Leaving')).toMatchObject({ username: 'leaving', disabled: true })
  expect(await whatIsLeft(server.database, id)).toEqual({ sessions: 0, codes: 0, authorizations: 0 })
  expect(await users.authenticate('leaving', PASSWORD)).toBeNull()
  expect(await run('list', '--search', 'leaving')).toBe('leaving  disabled\n')
  expect(await runJson('enable', 'leaving')).toMatchObject({ disabled: false })
  expect(await users.authenticate('leaving', PASSWORD)).not.toBeNull()
})

test('revoke-tokens ends everything of the user, who signs in again at once', async () => {
  const { id } = await users.create({ username: 'signed-out', password: PASSWORD })
  await giveEverything(server.database, id)
  expect(await runJson('revoke-tokens', 'Signed-out')).toMatchObject({ sub: id, disabled: false })
  expect(await whatIsLeft(server.database, id)).toEqual({ sessions: 0, codes: 0, authorizations: 0 })
  expect(await users.authenticate('signed-out', PASSWORD)).not.toBeNull()
  expect(await runCommandHere(['user', 'revoke-tokens', 'nobody'], settings)).toMatchObject({ status: 1, stdout: '' })
}) // prettier-ignore

test('set-password shows the new one once where it was generated, and ends everything of the user', async () => {
  const { id } = await users.create({ username: 'renewed', password: PASSWORD })
  await giveEverything(server.database, id)
  const { password } = await runJson('set-password', 'renewed')
  expect(await whatIsLeft(server.database, id)).toEqual({ sessions: 0, codes: 0, authorizations: 0 })
  expect(await users.authenticate('renewed', PASSWORD)).toBeNull()
  expect(await users.authenticate('renewed', password as string)).not.toBeNull()
  expect(await runJson('set-password', 'renewed', '--password', PASSWORD)).not.toHaveProperty('password')
  expect(await users.authenticate('renewed', PASSWORD)).not.toBeNull()
})

test('delete forgets a user, once it is meant; export shows before what is kept', async () => {
  const { id } = await users.create({ username: 'forgotten', password: PASSWORD, nickname: 'Forgotten' })
  await giveEverything(server.database, id)
  expect(await runJson('export', 'forgotten')).toMatchObject({
    sub: id,
    nickname: 'Forgotten',
    records: {},
    artifacts: {},
  })
  const hesitant = await runCommandHere(['user', 'delete', 'forgotten'], settings)
  expect([hesitant.status, hesitant.stderr]).toEqual([
    1,
    'user delete removes forgotten for good: add --yes.\n',
  ])
  expect(await runJson('delete', 'Forgotten', '--yes')).toEqual({ username: 'Forgotten', deleted: true })
  expect(await whatIsLeft(server.database, id)).toEqual({ sessions: 0, codes: 0, authorizations: 0 })
  expect(await users.find('forgotten')).toBeNull()
  const again = await runCommandHere(['user', 'delete', 'forgotten', '--yes'], settings)
  expect([again.status, again.stderr]).toEqual([
    1,
    'username is not registered: `latchkey user list` says what is.\n',
  ])
})

test('update takes roles away: all by an empty text', async () => {
  await users.create({ username: 'demoted', roles: ['editor', 'staff'] })
  expect(await runJson('update', 'demoted', '--role', 'staff')).toMatchObject({ roles: ['staff'] })
  expect(await runJson('update', 'demoted', '--role', '')).toMatchObject({ roles: [] })
})

test('--help names every claim and what becomes of the password', async () => {
  const { status, stdout } = await runCommand(['user', 'create', '--help'], settings)
  expect(status).toBe(0)
  for (const words of [
    '--given-name <text>',
    '--email-verified <json>',
    '--role <name>',
    '--password-stdin',
    'shown this once',
  ])
    expect(stdout).toContain(words)
})
