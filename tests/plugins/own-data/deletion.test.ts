/**
 * A person deletes their account: at once everything ends, for a while they may keep it, and then they are forgotten.
 * @needs latchkey-own-data
 */
import { Client } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { applyUser } from '../../../src/import/users.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import {
  answerOf,
  authorizationUrl,
  authorize,
  exchange,
  getTokens,
  goThrough,
  refresh,
  SEED,
} from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'
import { age, eventsOf, open } from '../account/owner.ts'
import { askByPage, as, giveName, keepAccount, makeDue, PASSWORD, somebody } from './people.ts'
import { isThere } from '../../support/left-out.ts'

const SESSION = 'latchkey-session'
const ROOT = { username: 'root', password: PASSWORD, roles: ['admin'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { users, sessions, consents, accountDeletions, passwordResets, emailLinks } = kernelOf(server.server)
const silently = async (agent: ReturnType<typeof createUserAgent>) =>
  answerOf(await agent.get(authorizationUrl(server, { prompt: 'none' }))).get('error')
const tokensOf = async (agent: ReturnType<typeof createUserAgent>) =>
  getTokens(server, { scope: 'openid offline_access read_books' }, agent)
const eventOf = async (type: string, id: string) =>
  (await eventsOf(server, type)).find(({ user }) => user === id)

describe('asked for', () => {
  test('everything of theirs ends at once, and who had it is named to those who are told', async () => {
    const user = await somebody(server)
    const [agent, other] = [await as(server, user), await as(server, user)]
    const tokens = await tokensOf(agent)
    const { code } = Object.fromEntries(await authorize(server, {}, agent))
    const page = await askByPage(server, agent)
    expect([page.url, page.status]).toEqual([`${server.url}/account-deletion`, 200])
    expect(page.body).toContain('In 14 days')
    expect(page.body).not.toContain(user.username)
    expect([await silently(agent), await silently(other)]).toEqual(['login_required', 'login_required'])
    expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
    expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
    expect((await exchange(server, code!)).status).toBe(400)
    expect([await sessions.list(user.id), await consents.list(user.id)]).toEqual([[], []])
    const event = await eventOf('user.deletion_requested', user.id)
    expect(event).toMatchObject({ actor: { kind: 'user', id: user.id }, details: { clients: [{ client: 'web' }] } })
    const { due } = event!.details as { due: number }
    expect(Math.abs(due - Date.now() / 1000 - 14 * 86_400)).toBeLessThan(60)
  })

  test('asks those who signed in more than ten minutes ago once more, and does nothing before', async () => {
    const user = await somebody(server)
    const agent = await as(server, user)
    await age(server, 601)
    const asked = await askByPage(server, agent)
    expect(findForm(asked, 'login')).toBeDefined()
    expect((await users.get(user.id)).deletesAt).toBeNull()
    const back = await giveName(agent, asked, user)
    expect(back.url).toBe(`${server.url}/account/data/delete`)
    await agent.submit(back, 'delete-account')
    expect((await users.get(user.id)).deletesAt).not.toBeNull()
  })

  test('the last administrator who may sign in is told why not, and of two at once one is refused', async () => {
    const root = (await users.find('root'))!
    const agent = await as(server, root)
    const refused = await askByPage(server, agent)
    expect([refused.status, refused.body.includes('last administrator')]).toEqual([400, true])
    expect((await users.get(root.id)).deletesAt).toBeNull()
    const second = await somebody(server, { roles: ['admin'] })
    const both = [root, second].map(async ({ id }) => accountDeletions.request(id, 3600))
    expect((await Promise.allSettled(both)).map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    for (const { id } of [root, second]) await accountDeletions.cancel(id)
    await users.delete(second.username)
  })

  test('a form that is sent twice at once leads to the same page', async () => {
    const user = await somebody(server)
    const agent = await as(server, user)
    const page = await open(server, agent, '/data/delete')
    const holder = new Client({ connectionString: server.database.url })
    await holder.connect()
    await holder.query(`begin; select from users where id = '${user.id}' for update`)
    const sent = [agent, agent.clone()].map(async (one) => one.submit(page, 'delete-account'))
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(async () => (await server.database.query(waiting)).length).toBe(2)
    await holder.end()
    for (const { url, status } of await Promise.all(sent))
      expect([url, status]).toEqual([`${server.url}/account-deletion`, 200])
    expect((await eventsOf(server, 'user.deletion_requested')).filter((event) => event.user === user.id)).toHaveLength(1)
  })

  test('of two at once there is one event, and who is disabled cannot', async () => {
    const user = await somebody(server)
    const both = [1, 2].map(async () => accountDeletions.request(user.id, 3600))
    expect((await Promise.allSettled(both)).map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const disabled = await somebody(server)
    await users.disable(disabled.username)
    await expect(accountDeletions.request(disabled.id, 3600)).rejects.toThrow('nobody who may sign in')
  })
}) // prettier-ignore

describe('until it is due', () => {
  test('a sign-in leads to the page that keeps it, and to nothing else', async () => {
    const user = await somebody(server)
    await accountDeletions.request(user.id, 86_400)
    const agent = createUserAgent(server.url)
    const page = await giveName(agent, await agent.get(authorizationUrl(server)), user)
    expect(findForm(page, 'keep-account')).toBeDefined()
    expect(page.headers.get('location')).toBeNull()
    expect(await silently(agent)).toBe('login_required')
    for (const path of ['', '/data', '/data/download', '/security', '/apps'])
      expect(findForm(await open(server, agent, path), 'keep-account')).toBeDefined()
    expect((await server.database.query(`select from sessions where user_id = '${user.id}'`)).length).toBe(0)
    const left = await agent.get(`${server.url}/end-session`)
    expect(left.body).toContain('id="signed-out"')
    expect((await users.get(user.id)).deletesAt).not.toBeNull()
  })

  test('who keeps it is as before, and goes on to the app that they came from', async () => {
    const user = await somebody(server, { roles: ['staff'], nickname: 'Al' })
    const before = await users.get(user.id)
    await askByPage(server, await as(server, user))
    const agent = createUserAgent(server.url)
    const page = await giveName(agent, await agent.get(authorizationUrl(server)), user)
    const answer = answerOf(await goThrough(agent, await keepAccount(agent, page)))
    expect((await exchange(server, answer.get('code')!)).status).toBe(200)
    expect(await users.get(user.id)).toEqual({ ...before, endedAt: expect.any(Number) })
    expect((await open(server, agent)).status).toBe(200)
    expect(await eventOf('user.deletion_cancelled', user.id)).toMatchObject({ actor: { id: user.id } })
  })

  test('a form that keeps it, sent twice at once, leads to the page that says so, in one session', async () => {
    const user = await somebody(server)
    await askByPage(server, await as(server, user))
    const agent = createUserAgent(server.url)
    const page = await giveName(agent, await open(server, agent), user)
    const both = [agent, agent.clone(), agent.clone()]
    const pages = await Promise.all(both.map(async (one) => one.submit(page, 'keep-account')))
    const said = pages.map(({ status, body }) => [status, body.includes('id="kept"')])
    expect(said).toEqual(both.map(() => [200, true]))
    expect(new Set(both.map(({ cookies }) => cookies.get(SESSION))).size).toBe(1)
    const events = await eventsOf(server, 'user.deletion_cancelled')
    expect(events.filter((one) => one.user === user.id)).toHaveLength(1)
  })

  test('a form that keeps it and is sent once more while the first is being taken leads to the same session', async () => {
    const user = await somebody(server)
    await askByPage(server, await as(server, user))
    const agent = createUserAgent(server.url)
    const page = await giveName(agent, await open(server, agent), user)
    const [first, second] = [agent, agent.clone()]
    const { cancel } = accountDeletions
    const sentAgain = Promise.withResolvers<Page>()
    vi.spyOn(accountDeletions, 'cancel').mockImplementationOnce(async (id) => {
      const isCancelled = await cancel(id)
      sentAgain.resolve(await second.submit(page, 'keep-account'))
      return isCancelled
    })
    const pages = [await first.submit(page, 'keep-account'), await sentAgain.promise]
    expect(pages.map(({ body }) => body.includes('id="kept"'))).toEqual([true, true])
    expect(first.cookies.get(SESSION)).toBe(second.cookies.get(SESSION))
    expect(first.cookies.get(SESSION)).toBeDefined()
  })

  test('that it is kept is told to nobody else who signs in with the browser before they have read it', async () => {
    const [user, other] = [await somebody(server), await somebody(server)]
    await askByPage(server, await as(server, user))
    const agent = createUserAgent(server.url)
    const page = await giveName(agent, await open(server, agent), user)
    const kept = await agent.submit(page, 'keep-account')
    expect(kept.body).toContain('id="kept"')
    await agent.submit(await agent.get(`${server.url}/end-session`), 'end-session')
    await giveName(agent, await agent.get(`${server.url}/sign-in`), other)
    expect((await agent.get(kept.url)).body).not.toContain('id="kept"')
  })

  test('by who has the password alone it is not kept where a factor is asked for', async () => {
    const { addSecondFactor, CAREFUL, PIN } = await import('../../support/second-factor.ts')
    const careful = await startServer({}, { seed: SEED, extend: addSecondFactor })
    const user = await somebody(careful, { roles: [CAREFUL] })
    await kernelOf(careful.server).accountDeletions.request(user.id, 86_400)
    const agent = createUserAgent(careful.url)
    const factor = await giveName(agent, await agent.get(`${careful.url}/sign-in?return_to=/account`), user)
    expect([findForm(factor, 'pin') !== undefined, findForm(factor, 'keep-account')]).toEqual([true, undefined])
    const forged = new URL(findForm(factor, 'pin')!.action)
    forged.pathname = forged.pathname.replace(/\/pin$/, '/keep-account')
    await agent.post(forged.href, { csrf_token: findForm(factor, 'pin')!.fields['csrf_token']! })
    expect((await careful.server.oauth.users.get(user.id)).deletesAt).not.toBeNull()
    const page = await agent.submit(await agent.get(`${careful.url}/account`), 'pin', { pin: PIN })
    expect((await keepAccount(agent, page)).url).toBe(`${careful.url}/account`)
    expect((await careful.server.oauth.users.get(user.id)).deletesAt).toBeNull()
  })

  test('a factor that is given by a form sent at once leads each to the page that asks whether it is kept', async () => {
    const { addSecondFactor, CAREFUL, PIN } = await import('../../support/second-factor.ts')
    const careful = await startServer({}, { seed: SEED, extend: addSecondFactor })
    for (let round = 0; round < 3; round++) {
      const user = await somebody(careful, { roles: [CAREFUL] })
      await kernelOf(careful.server).accountDeletions.request(user.id, 86_400)
      const agent = createUserAgent(careful.url)
      const page = await giveName(agent, await agent.get(`${careful.url}/account`), user)
      const all = [agent, agent.clone(), agent.clone()]
      const shown = await Promise.all(all.map(async (one) => one.submit(page, 'pin', { pin: PIN })))
      for (const one of shown) expect([one.status, findForm(one, 'keep-account')]).toEqual([200, expect.anything()])
    }
  })

  test('a process that has not heard of it yet opens no session either', async () => {
    const user = await somebody(server)
    await kernelOf(server.server).directory.findUser(user.id)
    await server.database.query(`update users set deletion_due_at = now() + interval '1 day' where id = '${user.id}'`)
    const agent = createUserAgent(server.url)
    const page = await giveName(agent, await agent.get(`${server.url}/sign-in`), user)
    expect([agent.cookies.has('latchkey-session'), findForm(page, 'keep-account')]).toEqual([false, expect.anything()])
    await accountDeletions.cancel(user.id)
  })

  test("keeping it does not lift an administrator's ban, and enabling does not keep it", async () => {
    const user = await somebody(server)
    await accountDeletions.request(user.id, 86_400)
    await users.disable(user.username)
    const agent = createUserAgent(server.url)
    const refused = await giveName(agent, await agent.get(`${server.url}/sign-in`), user)
    expect([refused.status, findForm(refused, 'keep-account')]).toEqual([403, undefined])
    await accountDeletions.cancel(user.id)
    expect(await users.get(user.id)).toMatchObject({ disabled: true, deletesAt: null })
    await users.enable(user.username)
    await accountDeletions.request(user.id, 86_400)
    await users.disable(user.username)
    expect((await users.enable(user.username)).deletesAt).not.toBeNull()
  })

  test.runIf(isThere('latchkey-forgot-password'))('a forgotten password leads to the same page, and no link changes the address', async () => {
    const user = await somebody(server)
    const confirming = (await emailLinks.make(user.id, 'else@example.com'))!
    await accountDeletions.request(user.id, 86_400)
    expect([await emailLinks.find(confirming), await emailLinks.make(user.id, 'x@example.com')]).toEqual([null, null])
    const back = '/account'
    const token = await passwordResets.make(user.id, back)
    const agent = createUserAgent(server.url)
    const form = await agent.get(`${server.url}/reset-password?token=${token}`)
    await agent.submit(form, 'reset-password', { password: PASSWORD })
    expect(await silently(agent)).toBe('login_required')
    expect(findForm(await giveName(agent, await agent.get(`${server.url}/account`), user), 'keep-account')).toBeDefined()
  })

  test('name and address are taken, and say no more than those of anybody', async () => {
    const user = await somebody(server)
    const anybody = await somebody(server)
    await accountDeletions.request(user.id, 86_400)
    const refusals = async ({ username, claims: { email } }: typeof user) => {
      const tries = [{ username }, { username: `${username}-2`, email, email_verified: true }]
      const all = await Promise.allSettled(tries.map(async (members) => users.create(members)))
      return all.map((one) => (one.status === 'rejected' ? (one.reason as Error).message : 'made'))
    }
    expect(await refusals(user)).toEqual(await refusals(anybody))
    expect(await refusals(user)).not.toContain('made')
  })

  test('an import leaves them as they are', async () => {
    const user = await somebody(server)
    await accountDeletions.request(user.id, 86_400)
    const fields = { username: user.username, password: '', is_active: true, email: 'import@example.com' }
    const context = { users, options: { admins: 'none', update: true, dryRun: false } } as never
    const applied = await applyUser({ model: 'auth.user', pk: 1, fields } as never, context)
    expect(applied).toEqual({ action: 'keep', notes: ['has asked to be deleted'] })
    expect((await users.get(user.id)).claims).toEqual(user.claims)
  })

  test('an administrator sees it, and cancels it', async () => {
    const user = await somebody(server)
    await accountDeletions.request(user.id, 86_400)
    const root = await as(server, (await users.find('root'))!)
    const page = await root.get(`${server.url}/admin/user?id=${user.id}`)
    expect(page.body).toContain('id="will-be-deleted"')
    const after = await root.submit(page, 'keep-user')
    expect(after.body).not.toContain('id="will-be-deleted"')
    expect((await users.get(user.id)).deletesAt).toBeNull()
    expect(await eventOf('user.deletion_cancelled', user.id)).toMatchObject({ actor: { kind: 'user' } })
  })
}) // prettier-ignore

describe('when it is due', () => {
  test('they are forgotten: by one process of two, with one event, and the log has a number in place of the name', async () => {
    const { PORT: _port, ...settings } = server.settings
    const second = await startServer(settings, { database: server.database })
    const user = await somebody(server, { name: 'Nobody In Particular' })
    await users.update(user.username, { nickname: 'Old nickname' })
    await makeDue(server, user)
    const both = [accountDeletions, kernelOf(second.server).accountDeletions]
    const counts = await Promise.all(both.map(async ({ deleteDue }) => deleteDue()))
    expect(counts.reduce((all, one) => all + one)).toBe(1)
    expect(await users.find(user.username)).toBeNull()
    const all = (await eventsOf(server, 'user.deleted')).filter((event) => event.user === user.id)
    expect(all).toMatchObject([{ actor: { kind: 'server' } }])
    const { events } = await server.server.oauth.audit.list({ user: user.id }, { limit: 100 })
    expect(events.map(({ type }) => type)).toContain('user.registered')
    for (const known of [user.username, 'Nobody In Particular', 'Old nickname', '@example.com'])
      expect(JSON.stringify(events)).not.toContain(known)
    // And anybody may be called so.
    const next = await users.create({ username: user.username, email: user.claims['email'], email_verified: true })
    expect(next.id).not.toBe(user.id)
  })

  test('the janitor does it, and what was kept a moment before stays', async () => {
    const [gone, kept] = [await somebody(server), await somebody(server)]
    for (const user of [gone, kept]) await makeDue(server, user)
    await accountDeletions.cancel(kept.id)
    const { PORT: _port, ...settings } = server.settings
    const janitor = await startServer({ ...settings, OIDC_JANITOR_INTERVAL: 1 }, { database: server.database })
    await expect.poll(async () => users.find(gone.username)).toBeNull()
    expect(await users.find(kept.username)).not.toBeNull()
    await janitor.close()
  })

  test('who keeps it while it is being deleted is kept', async () => {
    const user = await somebody(server)
    await makeDue(server, user)
    const keeper = new Client({ connectionString: server.database.url })
    await keeper.connect()
    await keeper.query('begin')
    await keeper.query(`update users set deletion_due_at = null where id = '${user.id}'`)
    const deleting = accountDeletions.deleteDue()
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%deletion_due_at%for update%'`
    await expect.poll(async () => (await server.database.query(waiting)).length).toBeGreaterThan(0)
    await keeper.query('commit')
    await keeper.end()
    expect([await deleting, (await users.find(user.username))?.id]).toEqual([0, user.id])
  })

  test('an administrator who is the last one by then is kept', async () => {
    const second = await somebody(server, { roles: ['admin'] })
    await makeDue(server, second)
    await users.disable('root')
    await accountDeletions.deleteDue()
    await users.enable('root')
    expect((await users.get(second.id)).deletesAt).toBeNull()
    expect(await eventOf('user.deletion_cancelled', second.id)).toMatchObject({
      details: { reason: 'last administrator' },
    })
    await users.delete(second.username)
  })

  test('one whose deletion fails keeps nobody else', async () => {
    // More than are looked at in one go.
    const stuck = await Promise.all(Array.from({ length: 21 }, async () => somebody(server)))
    const next = await somebody(server)
    for (const user of [...stuck, next]) await makeDue(server, user)
    await server.database.query(`update users set deletion_due_at = now() where id = '${next.id}'`)
    await server.database.query(`create table holds (user_id uuid references users)`)
    for (const { id } of stuck) await server.database.query(`insert into holds values ('${id}')`)
    expect(await accountDeletions.deleteDue()).toBe(1)
    expect([await users.find(next.username), (await users.find(stuck[0]!.username))?.id]).toEqual([null, stuck[0]!.id])
    expect(server.output()).toContain('could not be deleted; this is tried again')
    await server.database.query('drop table holds')
    expect([await accountDeletions.deleteDue(), await accountDeletions.deleteDue()]).toEqual([20, 1])
  })

  test('SEED_FILE does not bring them back, and starts go on', async () => {
    const first = await startServer({}, { seed: SEED })
    const alice = (await first.server.oauth.users.find('alice'))!
    await kernelOf(first.server).accountDeletions.request(alice.id, 86_400)
    const { PORT: _port, ...settings } = first.settings
    const during = await startServer(settings, { database: first.database })
    expect((await during.server.oauth.users.get(alice.id)).deletesAt).not.toBeNull()
    await first.database.query(`update users set deletion_due_at = now() where id = '${alice.id}'`)
    expect(await kernelOf(during.server).accountDeletions.deleteDue()).toBe(1)
    const after = await startServer(settings, { database: first.database })
    expect(await after.server.oauth.users.find('alice')).toBeNull()
    expect(await after.server.oauth.users.find('bob')).not.toBeNull()
  })
}) // prettier-ignore

test('somebody with 10,000 apps asks for it by one form, and is forgotten in one go', async () => {
  const user = await somebody(server)
  const agent = await as(server, user)
  await server.database.query(`insert into clients (client_id) select 'many-' || n from generate_series(1, 10000) n`)
  await server.database.query(`insert into consents (user_id, client_id, scopes, resources)
    select '${user.id}', 'many-' || n, '{a}', '{}' from generate_series(1, 10000) n`)
  await server.database.query(`insert into authorizations (id, client_id, subject, scopes, resources, parameters)
    select gen_random_uuid(), 'many-' || n, '${user.id}', '{a}', '{}', '{}' from generate_series(1, 10000) n`)
  const file = JSON.parse((await open(server, agent, '/data/download')).body) as { apps: unknown[] }
  expect(file.apps).toHaveLength(10_000)
  expect((await askByPage(server, agent)).url).toBe(`${server.url}/account-deletion`)
  expect(await consents.list(user.id)).toEqual([])
  await server.database.query(`update users set deletion_due_at = now() where id = '${user.id}'`)
  expect(await accountDeletions.deleteDue()).toBe(1)
}) // prettier-ignore

test('without the pages of accounts, administrators or sign-out, it can be kept all the same', async () => {
  const without = [
    'latchkey-account',
    'latchkey-admin',
    'latchkey-end-session',
    'latchkey-frontchannel-logout',
    'latchkey-notices',
  ]
  const less = await startServer({}, { seed: SEED, build: { without } })
  const user = await somebody(less)
  await kernelOf(less.server).accountDeletions.request(user.id, 86_400)
  const agent = createUserAgent(less.url)
  const page = await giveName(agent, await agent.get(`${less.url}/sign-in`), user)
  expect(page.body).not.toContain('leave-deletion')
  await keepAccount(agent, page)
  expect((await less.server.oauth.users.get(user.id)).deletesAt).toBeNull()
})

test.runIf(isThere('latchkey-notices'))(
  'they hear of it by mail: that it was asked for, that it was kept, and that it is done',
  async () => {
    const alone = await startServer({}, { seed: SEED })
    const { accountDeletions: deletions } = kernelOf(alone.server)
    const user = await somebody(alone)
    const told = async () => {
      await expect.poll(async () => (await alone.database.query('select from outbox')).length).toBe(0)
      return alone.server.oauth.mail.kept().map(({ to, subject }) => `${to}: ${subject}`)
    }
    const to = String(user.claims['email'])
    await deletions.request(user.id, 86_400)
    expect(await told()).toEqual([`${to}: Your account will be deleted`])
    await deletions.cancel(user.id)
    expect((await told()).slice(1)).toEqual([`${to}: Your account is kept`])
    await makeDue(alone, user)
    await told()
    await deletions.deleteDue()
    expect((await told()).slice(3)).toEqual([`${to}: Your account is deleted`])
    expect(alone.server.oauth.mail.kept().at(-1)!.text).toContain(`Account: ${user.username}`)
  },
)

test('off, nobody can ask, and who has asked before may still keep theirs', async () => {
  const off = await startServer({ OIDC_ACCOUNT_DELETION: 'off' }, { seed: SEED })
  const user = await somebody(off)
  const agent = await as(off, user)
  expect((await open(off, agent, '/data')).body).not.toContain('/account/data/delete')
  expect((await open(off, agent, '/data/delete')).status).toBe(404)
  expect((await off.get('/account-deletion')).status).toBe(404)
  await kernelOf(off.server).accountDeletions.request(user.id, 86_400)
  const later = createUserAgent(off.url)
  const page = await giveName(later, await later.get(`${off.url}/sign-in?return_to=/account`), user)
  expect((await keepAccount(later, page)).url).toBe(`${off.url}/account`)
  await expect(startServer({ OIDC_ACCOUNT_DELETION: '0' })).rejects.toThrow('OIDC_ACCOUNT_DELETION')
})

test('left out, there is none of it, and who is due is deleted all the same', async () => {
  const less = await startServer({}, { seed: SEED, build: { without: ['latchkey-own-data'] } })
  const user = await somebody(less)
  expect((await open(less, await as(less, user), '/data/delete')).status).toBe(404)
  await makeDue(less, user)
  expect(await kernelOf(less.server).accountDeletions.deleteDue()).toBe(1)
})
