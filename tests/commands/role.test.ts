/** Roles on the command line. */
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'

const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { users, audit } = server.server.oauth
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const command = commandsHere(settings, 'role')

test('one is registered, given beside others, listed, renamed, taken and deleted', async () => {
  expect(await command.runJson('create', 'editor')).toEqual({ name: 'editor', members: 0, directories: [] })
  expect(await command.runJson('add', 'staff', 'bob')).toMatchObject({ username: 'bob', roles: ['staff'] })
  expect(await command.runJson('add', 'editor', 'bob')).toMatchObject({ roles: ['staff', 'editor'] })
  expect(await command.run('list')).toBe('admin  1\neditor  1\nstaff  1\n')
  expect(await command.runJson('list', '--search', 'ED', '--limit', '1')).toEqual([
    { name: 'editor', members: 1, directories: [] },
  ])
  expect(await command.run('list', '--after', 'editor')).toBe('staff  1\n')
  expect(await command.run('members', 'editor')).toBe('bob\n')
  expect(await command.runJson('members', 'editor', '--search', 'al')).toEqual([])
  expect(await command.run('rename', 'editor', 'author')).toBe('name: author\nmembers: 1\n')
  expect(await command.run('show', 'author')).toContain('members: 1\n')
  expect(await command.runJson('remove', 'author', 'bob')).toMatchObject({ roles: ['staff'] })
  expect(await command.runJson('delete', 'author', '--yes')).toEqual({ name: 'author', deleted: true })
  expect((await users.find('bob'))!.roles).toEqual(['staff'])
  const [event] = (await audit.list({ type: 'role.deleted' })).events
  expect(event).toMatchObject({ actor: { kind: 'command' }, details: { role: 'author' } })
})

test.each([
  [['delete', 'staff'], 'role delete takes staff from all who have it: add --yes.'],
  [['show', 'none'], 'name is that of no role.'],
  [['rename', 'none', 'x'], 'there is no role of this name'],
  [['create', 'a,b'], 'name must have 1 to 64 characters that are seen, without spaces or commas.'],
  [['add', 'a,b', 'bob'], 'roles must be a list of names without spaces or commas.'],
  [['add', 'staff', 'nobody'], 'username is not registered'],
  [['remove', 'admin', 'root'], 'roles must keep admin'],
  [['delete', 'admin', '--yes'], 'the role of administrators is neither renamed nor deleted'],
])('%j is refused', async (words, why) => {
  const { status, stdout, stderr } = await runCommandHere(['role', ...words], settings)
  expect([status, stdout, stderr]).toEqual([1, '', expect.stringContaining(why)])
})
