/**
 * What people hear by mail of what happened to their account.
 * @needs latchkey-notices
 */
import { expect, test } from 'vitest'
import type { EventType } from '../../../src/events.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { ALICE, BOB, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'

const server = await startServer({}, { seed: SEED })
const { oauth } = server.server

/** What came since it was asked last, once nothing waits any more. */
async function heard(of: TestServer = server): Promise<readonly string[]> {
  await expect.poll(async () => (await of.database.query('select from outbox')).length).toBe(0)
  const mails = of.server.oauth.mail.kept()
  const from = seen.get(of) ?? 0
  seen.set(of, mails.length)
  return mails.slice(from).map(({ to, subject }) => `${to}: ${subject}`).toSorted()
} // prettier-ignore
const seen = new WeakMap<TestServer, number>()

async function signIn(of: TestServer, agent: UserAgent, { username, password } = ALICE): Promise<void> {
  await goThrough(agent, await agent.get(`${of.url}/sign-in`), { username, password })
}

test('a new password is told to who has a verified address', async () => {
  await oauth.users.setPassword(ALICE.username, 'another password of alice')
  await oauth.users.setPassword(BOB.username, 'another password of bob')
  expect(await heard()).toEqual(['alice@example.com: Your password was changed'])
  const { text, html } = oauth.mail.kept().at(-1)!
  expect(text).toContain('Account: alice')
  expect(text).toContain(`${server.url}/account/activity`)
  expect(text).toContain('If this was you, there is nothing for you to do.')
  expect(html).toContain('Account: <bdi>alice</bdi>')
})

test('a changed address is told to the former one, and to the new one where that is verified', async () => {
  await oauth.users.update(ALICE.username, { email: 'alice@new.example', email_verified: false })
  expect(await heard()).toEqual(['alice@example.com: Your email address was changed'])
  await oauth.users.update(ALICE.username, { email: 'alice@third.example' })
  // The second was nobody's for sure.
  expect(await heard()).toEqual([])
  await oauth.users.update(ALICE.username, { email_verified: true })
  await oauth.users.update(ALICE.username, { email: 'alice@example.com' })
  expect(await heard()).toEqual([
    'alice@example.com: Your email address was changed',
    'alice@third.example: Your email address was changed',
  ])
  expect(oauth.mail.kept().find(({ to }) => to === 'alice@third.example')!.text).toContain('It was this one until now')
  await oauth.users.update(ALICE.username, { name: 'Another name' })
  expect(await heard()).toEqual([])
}) // prettier-ignore

test('another user name is told, as people sign in by it; another form of the same is not', async () => {
  const renaming = { mayRename: true }
  const { id } = (await oauth.users.find(ALICE.username))!
  await oauth.users.update({ id }, { username: 'Alice' }, renaming)
  expect(await heard()).toEqual([])
  await oauth.users.update({ id }, { username: 'alicia' }, renaming)
  expect(await heard()).toEqual(['alice@example.com: Your user name was changed'])
  const { text } = oauth.mail.kept().at(-1)!
  expect(text).toContain('Your user name is alicia from now on')
  expect(text).toContain('It was Alice until now.')
  expect(text).not.toContain('If this was you')
  // Whose address changes with it hears of both at both.
  await oauth.users.update({ id }, { username: 'alice', email: 'alice@new.example' }, renaming)
  const [changes, letters] = [['Your email address was changed', 'Your user name was changed'], await heard()]
  expect(letters).toEqual(['alice@example.com', 'alice@new.example'].flatMap((to) => changes.map((subject) => `${to}: ${subject}`)))
  await oauth.users.update({ id }, { email: ALICE.email }, renaming)
  await heard()
  await oauth.users.update(BOB.username, { username: 'bobby' }, renaming)
  await oauth.users.update('bobby', { username: BOB.username }, renaming)
  expect(await heard()).toEqual([])
}) // prettier-ignore

test.each([
  ['user.password_removed', 'Your password was removed'],
  ['user.passkey_added', 'A passkey was added'],
  ['user.passkey_removed', 'A passkey was removed'],
  ['user.upstream_linked', 'A sign-in was linked'],
  ['user.upstream_unlinked', 'A sign-in was unlinked'],
  ['user.factor_added', 'A second factor was added'],
  ['user.factor_removed', 'A second factor was removed'],
  ['user.recovery_code_used', 'A recovery code was used'],
  ['user.recovery_codes_made', 'You have new recovery codes'],
])('%s is told, whoever brings it', async (type, subject) => {
  const { id } = (await oauth.users.find(ALICE.username))!
  await kernelOf(server.server).audit.transaction(async (_query, note) =>
    note({ type: type as EventType, user: id, details: {} } as never),
  )
  expect(await heard()).toEqual([`alice@example.com: ${subject}`])
})

test('a change that fails tells nothing, and who is deleted meanwhile hears nothing', async () => {
  const kernel = kernelOf(server.server)
  const { id } = (await oauth.users.find(ALICE.username))!
  const failing = kernel.audit.transaction(async (_query, note) => {
    note({ type: 'user.password_changed', user: id, details: { clients: [] } })
    throw new Error('undone')
  })
  await expect(failing).rejects.toThrow('undone')
  await oauth.enqueue('notice', { type: 'user.password_changed', user: crypto.randomUUID(), at: 0 })
  expect(await heard()).toEqual([])
})

test('a sign-in from a new browser is told where the setting asks for it, once for each browser', async () => {
  const asking = await startServer({ NOTIFY_NEW_BROWSERS: true }, { seed: SEED })
  const [first, second] = [createUserAgent(asking.url), createUserAgent(asking.url)]
  await signIn(asking, first)
  expect(await heard(asking)).toEqual(['alice@example.com: A sign-in from a new browser'])
  await signIn(asking, second)
  expect(await heard(asking)).toEqual(['alice@example.com: A sign-in from a new browser'])
  for (const name of first.cookies.keys()) if (name.endsWith('session')) first.cookies.delete(name)
  await signIn(asking, first)
  expect(await heard(asking)).toEqual([])

  await signIn(server, createUserAgent(server.url), { ...ALICE, password: 'another password of alice' })
  expect(await heard()).toEqual([])
})

test('where no mail can be sent, nothing waits for it', async () => {
  const mute = await startServer({ OIDC_ISSUER: 'https://login.example.com', LOG_LEVEL: 'silent' }, { seed: SEED })
  await mute.server.oauth.users.setPassword(ALICE.username, 'another password of alice')
  expect(await mute.database.query('select * from outbox')).toEqual([])
}) // prettier-ignore
