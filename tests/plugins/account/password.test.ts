/** A user's own password: what it takes to change it, what ends with the old one, and what does not. */
import { beforeEach, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { ALICE, BOB, getTokens, refresh, SEED } from '../../support/sign-in.ts'
import { findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { eventsOf, open, signedIn } from './owner.ts'

const server = await startServer({}, { seed: SEED })
const { users } = server.server.oauth
const WANTED = 'a new password of some length'
let agent: UserAgent

beforeEach(async () => {
  await users.setPassword('alice', ALICE.password)
  agent = await signedIn(server)
})

async function change(current_password: string, new_password: string, page?: Page): Promise<Page> {
  const at = page ?? (await open(server, agent, '/password'))
  return agent.submit(at, 'change-password', { current_password, new_password })
}

test('is changed by who knows the present one; this browser stays signed in, every other one and all tokens end', async () => {
  const { refresh_token: token } = await getTokens(server, { scope: 'openid offline_access' }, agent)
  const elsewhere = await signedIn(server)
  const before = agent.cookies.get('latchkey-session')
  const page = await change(ALICE.password, WANTED)
  expect([page.status, page.url]).toEqual([200, `${server.url}/account/password?saved=yes`])
  expect(page.body).toContain('Your password is changed')
  expect([await users.hasPassword('alice', WANTED), await users.hasPassword('alice', ALICE.password)]).toEqual([true, false])
  expect(agent.cookies.get('latchkey-session')).not.toBe(before)
  expect((await open(server, elsewhere)).url).toContain('/sign-in?')
  const refused = await refresh(server, token)
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_grant' }])
  const { id } = (await users.find('alice'))!
  expect(await server.server.oauth.sessions.list(id)).toHaveLength(1)
  const [changed] = await eventsOf(server, 'user.password_changed')
  const [signIn] = await eventsOf(server, 'user.signed_in')
  for (const event of [changed, signIn]) expect(event).toMatchObject({ user: id, actor: { kind: 'user', id } })
  expect(signIn!.id > changed!.id).toBe(true)
}) // prettier-ignore

test('is asked of whose account it is, also where their name is the verified address of somebody else', async () => {
  const called = { username: 'carol@example.com', password: 'a password of Carol' }
  const carol = await users.create({ username: 'carol', password: called.password })
  agent = await signedIn(server, { ...called, username: 'carol' })
  await users.update(carol, { username: called.username }, { mayRename: true })
  await users.update('bob', { email: called.username, email_verified: true })
  const refused = await change(BOB.password, WANTED)
  expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('This is not your password.')])
  expect((await change(called.password, WANTED)).url).toContain('saved=yes')
  expect(await users.hasPassword(called.username, WANTED)).toBe(true)
  expect(await users.hasPassword('bob', BOB.password)).toBe(true)
})

test('is asked for so that password managers know what is what', async () => {
  const { body } = await open(server, agent, '/password')
  const inputs = [...body.matchAll(/<input[^>]*name="(\w+)"[^>]*autocomplete="([\w-]+)"/g)]
  expect(inputs.map(([, name, autocomplete]) => [name, autocomplete])).toEqual([
    ['username', 'username'],
    ['current_password', 'current-password'],
    ['new_password', 'new-password'],
  ])
  expect(findForm({ body, url: server.url }, 'change-password')!.fields['username']).toBe('alice')
})

test.each([
  ['a wrong one', 'current_password', BOB.password, WANTED],
  ['none', 'current_password', '', WANTED],
  ['a short new one', 'new_password', ALICE.password, 'seven c'],
  ['no new one', 'new_password', ALICE.password, ''],
  ['the same once more', 'new_password', ALICE.password, ALICE.password],
  ['one that is too long', 'new_password', ALICE.password, 'x'.repeat(1025)],
])('%s is refused at its field, and nothing of it is shown again', async (_what, field, current, wanted) => {
  const sessions = [...agent.cookies]
  const page = await change(current, wanted)
  expect([page.status, page.body]).toEqual([400, expect.stringContaining(`id="${field}-error"`)])
  expect(page.body).toMatch(/<title>Error: /)
  expect(findForm(page, 'change-password')!.fields).toMatchObject({ current_password: '', new_password: '' })
  expect(await users.hasPassword('alice', ALICE.password)).toBe(true)
  expect([...agent.cookies]).toEqual(sessions)
  expect((await open(server, agent)).url).toBe(`${server.url}/account`)
})

test('a form from before another change of it is refused: its session has ended', async () => {
  const elsewhere = await signedIn(server)
  const page = await open(server, elsewhere, '/password')
  await change(ALICE.password, WANTED)
  const refused = await elsewhere.submit(page, 'change-password', { current_password: WANTED, new_password: 'the password of a thief' }) // prettier-ignore
  expect(refused.status).toBe(403)
  expect(await users.hasPassword('alice', WANTED)).toBe(true)
})

test('who has none is told so', async () => {
  await server.database.query(`update users set password_hash = null where username = 'alice'`)
  const page = await open(server, agent, '/password')
  expect([page.status, findForm(page, 'change-password')]).toEqual([200, undefined])
  expect(page.body).toContain('You have no password here')
})

test('guesses at it are those of every sign-in: 429, and then at the login too', async () => {
  const page = await open(server, agent, '/password')
  const tries = Array.from({ length: 60 }, async () => change('a guess', WANTED, page))
  expect(new Set((await Promise.all(tries)).map(({ status }) => status))).toEqual(new Set([400, 429]))
  const known = await change(ALICE.password, WANTED, page)
  expect([known.status, Number(known.headers.get('retry-after')) > 0]).toEqual([429, true])
  await expect(signedIn(server)).rejects.toThrow('429')
  expect(await users.hasPassword('alice', ALICE.password)).toBe(true)
})
