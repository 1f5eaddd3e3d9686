/**
 * Passkeys of users, as administrators see and delete them: on the page of the user, and by command.
 * @needs latchkey-passkeys
 */
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../../support/command-here.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { age, eventsOf, signedIn } from '../account/owner.ts'
import { addPasskey, signInWith, startAtLocalhost } from './passkeys.ts'

const ROOT = { username: 'root', password: 'the long password of root', roles: ['admin'] }
const server = await startAtLocalhost({}, { seed: { ...SEED, users: [ALICE, BOB, ROOT] } })
const { oauth, passkeys } = server.server
const settings = { ...server.settings, LOG_LEVEL: 'error' }
const { run, runJson } = commandsHere(settings, 'user')
const idOf = async (username: string): Promise<string> => (await oauth.users.find(username))!.id

test('the page of a user lists them, and says who has no password', async () => {
  const alice = await idOf('alice')
  const { passkey } = await addPasskey(server, await signedIn(server))
  await addPasskey(server, await signedIn(server))
  const admin = await signedIn(server, ROOT)
  const address = `${server.url}/admin/user?id=${alice}`
  const page = await admin.get(address)
  expect([page.status, findForm(page, 'delete-passkey-1') === undefined]).toEqual([200, false])
  expect(page.body).not.toContain('id="no-password"')
  const deleted = await admin.submit(page, 'delete-passkey-0')
  expect([deleted.url, deleted.body]).toEqual([`${address}&passkey=deleted#passkeys`, expect.stringContaining('The passkey is deleted')]) // prettier-ignore
  expect((await passkeys.list(alice)).map(({ id }) => id)).not.toContain(passkey.id)
  const [event] = await eventsOf(server, 'user.passkey_removed')
  expect(event).toMatchObject({ user: alice, actor: { kind: 'user', id: await idOf('root') } })
  const stranger = createUserAgent(server.url)
  expect((await signInWith(stranger, await stranger.get(`${server.url}/account`), passkey)).status).toBe(403)

  await oauth.users.removePassword(alice)
  const last = await admin.get(address)
  expect(last.body).toContain('This user has no password.')
  expect((await admin.submit(last, 'delete-passkey-0')).body).toContain('the only way by which the user can sign in') // prettier-ignore
  expect(await passkeys.list(alice)).toHaveLength(1)
})

test('nobody else deletes one, and not ten minutes after a sign-in', async () => {
  const bob = await idOf('bob')
  const own = await signedIn(server, BOB)
  await addPasskey(server, own)
  const admin = await signedIn(server, ROOT)
  const page = await admin.get(`${server.url}/admin/user?id=${bob}`)
  const { action, fields } = findForm(page, 'delete-passkey-0')!
  expect((await own.post(action, fields)).status).toBe(403)
  expect((await admin.post(action, { ...fields, passkey: 'another' })).status).toBe(403)
  await age(server, 700)
  expect((await admin.submit(page, 'delete-passkey-0')).url).toContain('/sign-in?')
  expect(await passkeys.list(bob)).toHaveLength(1)
})

test('commands list them and delete one, and say what there is none of', async () => {
  const bob = await idOf('bob')
  const [one] = await passkeys.list(bob)
  const listed = { id: one!.id, name: 'Passkey', created: new Date(one!.createdAt).toISOString() }
  expect(await runJson('passkeys', 'Bob')).toEqual([{ ...listed, last_used: null, synced: false }])
  expect(await run('passkeys', 'bob')).toContain('not used yet  on one device')
  expect(await runJson('delete-passkey', 'bob', one!.id)).toEqual({ id: one!.id, deleted: true })
  expect(await passkeys.list(bob)).toEqual([])
  const [event] = await eventsOf(server, 'user.passkey_removed')
  expect(event).toMatchObject({ user: bob, actor: { kind: 'command' }, details: { name: 'Passkey' } })
  const refused = async (args: string[], more: object = {}): Promise<unknown> =>
    runCommandHere(['user', ...args], { ...settings, ...more })
  const failure = (stderr: string) => ({ status: 1, stdout: '', stderr: `${stderr}\n` })
  expect(await refused(['delete-passkey', 'bob', one!.id])).toEqual(failure('passkey is not there.'))
  for (const id of ['-h4J0', '-BZQM2gTNoet', '--json-like'])
    expect(await refused(['delete-passkey', 'bob', id])).toEqual(failure('passkey is not there.'))
  expect(await refused(['passkeys', 'nobody'])).toEqual(
    failure('username is not registered: `latchkey user list` says what is.'),
  )
  expect(await refused(['passkeys', 'bob'], { WITHOUT: 'latchkey-passkeys' })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('There are no passkeys here: latchkey-passkeys is left out') as string,
  })
})
