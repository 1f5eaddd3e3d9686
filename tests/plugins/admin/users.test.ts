/** Users on the pages of the administration: what is known of them, what is done to them, and who did it. */
import { beforeAll, expect, test } from 'vitest'
import type { EventType } from '../../../src/events.ts'
import { ALIVE, DEAD, lifeOf } from '../../support/code-flow.ts'
import type { TestClient } from '../../support/clients.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { alertOf, doneOn, ROOT, signedIn, textOf } from './administrator.ts'

const SECOND = { username: 'second', password: 'a password of the second', roles: ['admin'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { users, audit, sessions, clients } = server.server.oauth
const client: TestClient = { clientId: WEB.client_id, clientSecret: WEB.client_secret, basic: basic(WEB.client_id, WEB.client_secret) } // prettier-ignore
let agent: UserAgent
let root: string

beforeAll(async () => {
  agent = await signedIn(server)
  root = (await users.find(ROOT.username))!.id
})

const open = async (id: string, as: UserAgent = agent): Promise<Page> =>
  as.get(`${server.url}/admin/user?id=${id}`)
const find = async (username: string) => (await users.find(username))!

async function register(fields: Record<string, string>): Promise<Page> {
  return agent.submit(await agent.get(`${server.url}/admin/users/new`), 'user', fields)
}

/** By whom the last event of this type about the user was caused. */
async function lastEvent(id: string, type: EventType) {
  return (await audit.list({ user: id, type }, { limit: 1 })).events[0]
}

const byRoot = () => ({
  actor: { kind: 'user', id: root },
  address: '127.0.0.1',
  requestId: expect.any(String) as string,
})

test('a user is registered with a password, and signs in by it', async () => {
  const page = await register({ username: 'Carol', name: 'Carol Example', email: 'carol@example.com', roles: ' staff  lead ', password: 'the first password' })
  const carol = await find('carol')
  expect([page.status, doneOn(page), textOf(page, 'user-id')]).toEqual([200, 'The user is registered.', carol.id])
  expect(carol).toMatchObject({ username: 'Carol', roles: ['staff', 'lead'], claims: { name: 'Carol Example', email: 'carol@example.com' } })
  expect((await users.authenticate('carol', 'the first password'))?.id).toBe(carol.id)
  expect(await lastEvent(carol.id, 'user.registered')).toMatchObject({ ...byRoot(), details: { changes: { username: [null, 'Carol'] } } })
}) // prettier-ignore

test.each<[string, Record<string, string>]>([
  ['without a password', {}],
  ['with one', { password: 'a password of theirs' }],
])('by a form that is sent twice, a user is registered once, %s, and either answer leads there', async (_what, own) => {
  const username = `twice-${Object.keys(own).length}`
  const { action, fields } = findForm(await agent.get(`${server.url}/admin/users/new`), 'user')!
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const send = async (more = own) => {
    const { status, headers } = await server.post(action, { ...fields, ...more, username }, { cookie, origin: server.url })
    return [status, headers.get('location')]
  }
  const [one, other] = await Promise.all([send(), send()])
  expect([one[0], other]).toEqual([303, one])
  const page = await agent.get(`${server.url}${one[1]}`)
  const shown = { user: textOf(page, 'user-id'), hasLink: page.body.includes('/set-password?token=') }
  expect(shown).toEqual('password' in own ? { user: (await find(username)).id, hasLink: false } : { user: undefined, hasLink: true })
  // Not who sends something else.
  expect((await send({ ...own, password: 'another password' }))[0]).toBe(400)
}) // prettier-ignore

test('whoever is deleted and registered again by the same entries has a link that is shown, also to who sends that form twice', async () => {
  const username = 'wrongly typed'
  const { action, fields } = findForm(await agent.get(`${server.url}/admin/users/new`), 'user')!
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const send = async () => (await server.post(action, { ...fields, username }, { cookie, origin: server.url })).headers.get('location')
  const former = await agent.get(`${server.url}${await send()}`)
  expect(textOf(former, 'password-link')).toBeDefined()
  await users.delete(username)
  const [lost, again] = [await send(), await send()]
  expect(again).toBe(lost)
  const later = await agent.get(`${server.url}${again}`)
  expect([later.status, textOf(later, 'password-link')]).toEqual([200, expect.stringContaining('/set-password?token=')])
  expect(textOf(later, 'password-link')).not.toBe(textOf(former, 'password-link'))
}) // prettier-ignore

test('without a password a link is shown once, by which they set their own', async () => {
  const former = server.output().length
  const page = await register({ username: 'dora' })
  const dora = await find('dora')
  const link = textOf(page, 'password-link')!
  expect([page.status, link]).toEqual([200, expect.stringMatching(`^${server.url}/set-password\\?token=[\\w-]{43}$`)])
  expect((await agent.get(page.url)).status).toBe(410)
  expect((await (await signedIn(server)).get(page.url)).status).toBe(410)
  expect(await lastEvent(dora.id, 'user.password_link_made')).toMatchObject(byRoot())
  const stranger = createUserAgent(server.url)
  const form = await stranger.get(link)
  expect([form.status, findForm(form, 'set-password')?.fields]).toMatchObject([200, { token: new URL(link).searchParams.get('token') }])
  const done = await stranger.submit(form, 'set-password', { password: 'chosen by herself' })
  expect([done.status, done.url, done.body]).toEqual([200, `${server.url}/set-password?done=yes`, expect.stringContaining('Your password is set')])
  expect((await users.authenticate('dora', 'chosen by herself'))?.id).toBe(dora.id)
  const event = await lastEvent(dora.id, 'user.password_changed')
  expect(event).toMatchObject({ actor: { kind: 'user', id: dora.id }, address: '127.0.0.1' })
  expect((await stranger.get(link)).status).toBe(410)
  expect((await stranger.submit(form, 'set-password', { password: 'another password' })).status).toBe(410)
  expect(server.output().slice(former)).not.toContain(new URL(link).searchParams.get('token'))
}) // prettier-ignore

test('by a form that is sent twice, one link is made, and either answer leads to it; another form makes another', async () => {
  const { id } = await users.create({ username: 'linked-twice' })
  const open = async () => agent.get(`${server.url}/admin/user?id=${id}`)
  const { action, fields } = findForm(await open(), 'make-password-link')!
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const send = async () => {
    const { status, headers } = await server.post(action, fields, { cookie, origin: server.url })
    return [status, headers.get('location')] as const
  }
  const [one, other] = await Promise.all([send(), send()])
  expect([one[0], other, await send()]).toEqual([303, one, one])
  const made = async () => server.database.query(`select from audit_events where type = 'user.password_link_made' and user_id = $1`, [id])
  expect(await made()).toHaveLength(1)
  const link = textOf(await agent.get(`${server.url}${one[1]}`), 'password-link')!
  expect((await createUserAgent(server.url).get(link)).status).toBe(200)
  const next = await agent.submit(await open(), 'make-password-link')
  expect([textOf(next, 'password-link') === link, (await made()).length]).toEqual([false, 2])
}) // prettier-ignore

test('what is wrong is said at its field, and all that was typed but the password is kept', async () => {
  for (const [name, text, message] of [
    ['username', 'ALICE', 'Is already taken.'],
    ['username', '', 'Must not be empty.'],
    ['roles', 'x'.repeat(65), 'Must be a list of names without spaces or commas.'],
    ['password', 'x'.repeat(1025), 'Must have 1024 characters at most.'],
    ['name', 'x'.repeat(257), expect.any(String)],
  ] as const) {
    const typed = {
      username: 'typed',
      name: 'Typed <&"',
      email: 'a@example.com',
      roles: 'staff',
      [name]: text,
    }
    const page = await register({ password: 'a good password', ...typed })
    expect([name, page.status, textOf(page, `${name}-error`)]).toEqual([name, 400, message])
    expect(findForm(page, 'user')!.fields).toMatchObject({ ...typed, password: '' })
    expect(page.body).toMatch(/<title>Error: /)
    expect(await users.find('typed')).toBeNull()
  }
})

test('an edit changes what was changed; an address that is not theirs is not confirmed', async () => {
  const address = { formatted: 'All in one', country: 'IS' }
  const { id } = await users.create({ username: 'edited', 'name#de': 'Bearbeitet', address, email: 'a@example.com', email_verified: true, roles: ['staff'], password: 'a password of edited' })
  const page = await open(id)
  expect(findForm(page, 'user')!.fields).toMatchObject({ email: 'a@example.com', email_verified: 'yes', roles: 'staff', country: 'IS' })
  const saved = await agent.submit(page, 'user', { name: 'Edited', roles: 'staff lead', email_verified: 'no', website: 'https://example.com' })
  expect([saved.status, doneOn(saved)]).toEqual([200, 'Saved. Every endpoint knows it within two seconds.'])
  expect(await users.get(id)).toMatchObject({
    roles: ['staff', 'lead'],
    claims: { name: 'Edited', 'name#de': 'Bearbeitet', address, email: 'a@example.com', email_verified: false, website: 'https://example.com' },
  })
  const changes = { name: [null, 'Edited'], email_verified: [true, false], roles: [['staff'], ['staff', 'lead']], website: [null, 'https://example.com'] }
  expect(await lastEvent(id, 'user.changed')).toMatchObject({ ...byRoot(), details: { changes } })
  await agent.submit(saved, 'user', { email: '', roles: '' })
  const { claims, roles } = await users.get(id)
  expect([claims, roles]).toEqual([expect.not.objectContaining({ email: expect.anything() as unknown }), []])
}) // prettier-ignore

test('another user name is theirs at once, wherever the page leads on to', async () => {
  const password = 'a password of their own'
  const { id } = await users.create({ username: 'before', password, roles: ['staff'] })
  const them = await signedIn(server, { username: 'before', password })
  const page = await open(id)
  expect(findForm(page, 'user')!.fields).toMatchObject({ username: 'before' })
  const saved = await agent.submit(page, 'user', { username: ' After <&" ', nickname: 'Aft' })
  expect([saved.status, doneOn(saved), textOf(saved, 'user-id')]).toEqual([200, expect.stringContaining('Saved.'), id])
  expect(saved.body).toContain('<strong id="user-name"><bdi>After &lt;&amp;&quot;</bdi></strong>')
  expect(findForm(saved, 'user')!.fields).toMatchObject({ username: 'After <&"', nickname: 'Aft' })
  expect(await users.get(id)).toMatchObject({ username: 'After <&"', roles: ['staff'], claims: { nickname: 'Aft' } })
  const changes = { username: ['before', 'After <&"'], nickname: [null, 'Aft'] }
  expect(await lastEvent(id, 'user.changed')).toMatchObject({ ...byRoot(), details: { changes } })
  expect((await them.get(`${server.url}/account/profile`)).body).toContain('After &lt;&amp;&quot;')
  // What the page leads on to is still about them, and by the name that they have now.
  expect(doneOn(await agent.submit(saved, 'disable'))).toContain('The user is disabled')
  const former = await agent.submit(saved, 'delete-user', { confirm_username: 'before' })
  expect(textOf(former, 'confirm_username-error')).toBe('This is not the user name of this user.')
  const deleted = await agent.submit(former, 'delete-user', { confirm_username: 'After <&"' })
  expect(doneOn(deleted)).toBe('The user is deleted.')
}) // prettier-ignore

test('a user name that is taken, or none, is said at its field; in other letters it is their own', async () => {
  const { id } = await users.create({ username: 'wanting' })
  for (const [username, why] of [
    ['ALICE', 'Is already taken.'],
    ['', 'Must not be empty.'],
    ['x'.repeat(257), 'Must have 256 characters at most.'],
  ] as const) {
    const refused = await agent.submit(await open(id), 'user', { username, name: 'Typed' })
    expect([refused.status, textOf(refused, 'username-error')]).toEqual([400, why])
    expect(alertOf(refused)).toContain('<a href="#username">User name</a>')
    expect(findForm(refused, 'user')!.fields).toMatchObject({ username, name: 'Typed' })
    expect(await users.get(id)).toMatchObject({ username: 'wanting', claims: {} })
  }
  expect((await agent.submit(await open(id), 'user', { username: 'Wanting' })).status).toBe(200)
  expect((await users.get(id)).username).toBe('Wanting')
})

test('of two administrators who rename somebody at once, one is told; and what another did is not undone unseen', async () => {
  const { id } = await users.create({ username: 'contested' })
  const pages = [await open(id), await open(id)]
  const both = await Promise.all(pages.map(async (page, n) => agent.submit(page, 'user', { username: `mine-${n}` })))
  expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 400]))
  const lost = both.find(({ status }) => status === 400)!
  expect(lost.body).toContain('changed meanwhile')
  const { username } = await users.get(id)
  expect(username).toBe(`mine-${both.indexOf(both.find(({ status }) => status === 200)!)}`)
  // A form that was opened before the name was another would put the former one back.
  const late = await agent.submit(pages[0]!, 'user', { username: 'contested', name: 'Late' })
  expect([late.status, late.body]).toEqual([400, expect.stringContaining('changed meanwhile')])
  expect(await users.get(id)).toMatchObject({ username, claims: {} })
}) // prettier-ignore

test('the last administrator may change their own name, and stays here', async () => {
  const saved = await agent.submit(await open(root), 'user', { username: 'Root' })
  expect([saved.status, doneOn(saved)]).toEqual([200, expect.stringContaining('Saved.')])
  expect(await users.get(root)).toMatchObject({ username: 'Root', roles: ['admin'] })
  await users.update(ROOT.username, { username: ROOT.username }, { mayRename: true })
})

test('an edit that is refused changes nothing, and says where', async () => {
  const { id } = await users.create({ username: 'refused', name: 'Was' })
  for (const [name, text] of [['email', 'nobody'], ['email', 'Bob <bob@example.com>'], ['website', 'javascript:alert(1)'], ['roles', 'x'.repeat(65)], ['locale', 'no language']] as const) {
    const refused = await agent.submit(await open(id), 'user', { name: 'Is', [name]: text })
    expect([name, refused.status, textOf(refused, `${name}-error`)]).toEqual([name, 400, expect.any(String)])
    expect(findForm(refused, 'user')!.fields).toMatchObject({ name: 'Is', [name]: text })
    expect((await users.get(id)).claims).toEqual({ name: 'Was' })
  }
}) // prettier-ignore

test('a form that was opened before somebody else saved undoes nothing unseen', async () => {
  const { id } = await users.create({ username: 'shared' })
  const page = await open(id)
  await users.update('shared', { roles: ['theirs'] })
  const asked = await agent.submit(page, 'user', { name: 'Mine' })
  expect([asked.status, asked.body]).toEqual([400, expect.stringContaining('changed meanwhile')])
  expect(await users.get(id)).toMatchObject({ roles: ['theirs'], claims: {} })
  expect((await agent.submit(asked, 'user', { roles: 'theirs mine' })).status).toBe(200)
  expect(await users.get(id)).toMatchObject({ roles: ['theirs', 'mine'], claims: { name: 'Mine' } })
})

test('disable ends everything of a user, at every endpoint; enable lets them in again', async () => {
  const tokens = await getTokens(server)
  const { id } = await find('alice')
  const page = await agent.submit(await open(id), 'disable')
  expect([doneOn(page), textOf(page, 'disabled')]).toEqual([expect.stringContaining('disabled'), 'disabled'])
  expect([findForm(page, 'disable'), findForm(page, 'make-password-link')]).toEqual([undefined, undefined])
  expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
  expect(await users.authenticate(ALICE.username, ALICE.password)).toBeNull()
  expect(await lastEvent(id, 'user.disabled')).toMatchObject(byRoot())
  expect(doneOn(await agent.submit(page, 'enable'))).toBe('The user may sign in again.')
  expect((await users.authenticate(ALICE.username, ALICE.password))?.id).toBe(id)
  expect(await lastEvent(id, 'user.enabled')).toMatchObject(byRoot())
})

test('a user is deleted once their name was typed, with all that is theirs; the log goes on naming them', async () => {
  const tokens = await getTokens(server)
  const { id } = await find('alice')
  const page = await open(id)
  const wrong = await agent.submit(page, 'delete-user', { confirm_username: 'bob' })
  expect([wrong.status, textOf(wrong, 'confirm_username-error')]).toEqual([400, 'This is not the user name of this user.'])
  expect(alertOf(wrong)).toContain('This is not the user name of this user. <a href="#confirm_username">')
  expect(findForm(wrong, 'delete-user')!.fields).toMatchObject({ confirm_username: 'bob' })
  expect((await users.get(id)).username).toBe('alice')

  const done = await agent.submit(wrong, 'delete-user', { confirm_username: ' alice ' })
  expect([done.status, new URL(done.url).pathname]).toEqual([200, '/admin/users'])
  expect(doneOn(done)).toBe('The user is deleted.')
  expect(done.body).not.toContain('alice')
  expect(await users.find('alice')).toBeNull()
  expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
  expect(await lastEvent(id, 'user.deleted')).toMatchObject(byRoot())
  // From a page that was opened before: they are gone.
  expect((await agent.submit(page, 'delete-user', { confirm_username: 'alice' })).status).toBe(404)
  await users.create(ALICE)
}) // prettier-ignore

test('the last administrator is not deleted', async () => {
  const page = await open(root)
  const refused = await agent.submit(page, 'delete-user', { confirm_username: ROOT.username })
  expect([refused.status, textOf(refused, 'refused')]).toEqual([400, expect.stringContaining('the last administrator')])
  expect((await users.get(root)).roles).toContain('admin')
}) // prettier-ignore

test('a session is shown without what opens it, and ends; then all of them', async () => {
  const { id } = await find('bob')
  const agents = ['Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0', 'curl/8']
  for (const userAgent of agents) {
    const bob = createUserAgent(server.url, { 'user-agent': userAgent })
    await bob.submit(await bob.get(`${server.url}/sign-in`), 'login', { username: 'bob', password: 'another long password' })
  }
  const stored = await server.database.query('select hash from sessions')
  const page = await open(id)
  expect(page.body).toContain('Firefox on Linux')
  for (const { hash } of stored) expect(page.body).not.toContain(hash as string)
  const [sid] = [findForm(page, 'end-session-0')!.fields['sid']!]
  expect(doneOn(await agent.submit(page, 'end-session-0'))).toBe('The session has ended.')
  expect(await lastEvent(id, 'session.ended')).toMatchObject({ ...byRoot(), details: { sid } })
  expect(await sessions.list(id)).toHaveLength(1)
  // Again, from a page that was opened before: it is as it was wanted.
  expect(doneOn(await agent.submit(page, 'end-session-0'))).toBe('The session has ended.')
  const after = await agent.submit(page, 'end-sessions')
  expect([doneOn(after), findForm(after, 'end-sessions')]).toEqual(['All sessions have ended.', undefined])
  expect(await sessions.list(id)).toEqual([])
  expect(await lastEvent(id, 'session.ended')).toMatchObject({ ...byRoot(), details: {} })
}) // prettier-ignore

test('a user is signed out everywhere: nothing that anybody holds of them goes on, and they sign in again', async () => {
  const { id, username } = await find('alice')
  const browser = createUserAgent(server.url)
  const tokens = await getTokens(server, { scope: 'openid offline_access read_books' }, browser)
  expect(await lifeOf(server, client, tokens)).toEqual(ALIVE)
  const page = await open(id)
  expect(doneOn(await agent.submit(page, 'revoke-tokens'))).toContain('signed out everywhere')
  expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
  expect([await sessions.list(id), (await users.get(id)).disabled]).toEqual([[], false])
  expect(await lastEvent(id, 'user.tokens_revoked')).toMatchObject({ ...byRoot(), details: { clients: [{ client: 'web' }] } })
  // Again, from a page that was opened before: what they have since then ends too.
  const anew = await getTokens(server, { scope: 'openid' }, createUserAgent(server.url))
  expect(doneOn(await agent.submit(page, 'revoke-tokens'))).toContain('signed out everywhere')
  expect(await lifeOf(server, client, anew)).toEqual(DEAD)
  await users.disable(username)
  expect(findForm(await open(id), 'revoke-tokens')).toBeUndefined()
  await users.enable(username)
}) // prettier-ignore

test('an authorization is shown with its client and scopes, and revoked', async () => {
  const tokens = await getTokens(server, { scope: 'openid read_books' })
  const { id } = await find('alice')
  const page = await open(id)
  expect(page.body).toContain('<code>openid read_books</code>')
  expect(page.body).toContain('href="/admin/client?client_id=web"')
  const { authorization } = findForm(page, 'revoke-0')!.fields
  expect(doneOn(await agent.submit(page, 'revoke-0'))).toBe('The authorization is revoked.')
  expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
  const event = { ...byRoot(), client: 'web', details: { authorization, cause: 'revoked by hand' } }
  expect(await lastEvent(id, 'authorization.revoked')).toMatchObject(event)
  expect(doneOn(await agent.submit(page, 'revoke-0'))).toBe('The authorization is revoked.')
})

test('an authorization of a client that was deleted is shown as one, and leads nowhere', async () => {
  const { id } = await users.create({ username: 'outlives' })
  await clients.create({ client_id: 'short-lived', client_name: 'Short', scope: ['a'] })
  await server.database.query(`insert into authorizations (id, client_id, subject, scopes, resources, parameters)
    values (gen_random_uuid(), 'short-lived', '${id}', '{openid}', '{}', '{}')`)
  const LINK = 'href="/admin/client?client_id=short-lived"'
  expect((await open(id)).body).toContain(LINK)
  await clients.delete('short-lived')
  const { body } = await open(id)
  expect([body.includes(LINK), body]).toEqual([false, expect.stringContaining('<bdi>short-lived</bdi> <span class="tag">Deleted</span>')])
  expect(body).toContain('and cannot be refreshed')
}) // prettier-ignore

test('authorizations go on from page to page, each once', async () => {
  const { id } = await users.create({ username: 'busy' })
  await server.database.query(
    `insert into authorizations (id, client_id, subject, scopes, resources, parameters)
     select gen_random_uuid(), 'app ' || n % 3, $1, '{openid}', '{}', '{}' from generate_series(1, 50) n`,
    [id],
  )
  const seen: string[] = []
  let next: string | undefined = `${server.url}/admin/user?id=${id}`
  while (next !== undefined) {
    const page = await agent.get(next)
    const ids = [...page.body.matchAll(/name="authorization" value="([^"]+)"/g)].map(([, one]) => one!)
    expect(ids.length).toBeLessThanOrEqual(20)
    seen.push(...ids)
    const path = /rel="next" href="([^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&')
    next = path && new URL(path, page.url).href
  }
  expect([seen.length, new Set(seen).size]).toEqual([50, 50])
})

test('an administrator is told before they do it to themselves', async () => {
  await users.create(SECOND)
  const second = await signedIn(server, SECOND)
  const { id } = await find('second')
  const page = await open(id, second)
  expect(page.body).toContain('id="own-account"')
  expect((await open(root, second)).body).not.toContain('id="own-account"')
  const asked = await second.submit(page, 'user', { roles: 'staff' })
  expect([asked.status, textOf(asked, 'roles-error')]).toEqual([
    400,
    expect.stringContaining('your own account'),
  ])
  expect((await users.get(id)).roles).toEqual(['admin'])
  expect((await second.submit(asked, 'user', { roles: 'staff' })).status).toBe(403)
  expect((await users.get(id)).roles).toEqual(['staff'])
  await users.update('second', { roles: ['admin'] })
  const left = await second.submit(await open(id, second), 'disable')
  expect([findForm(left, 'login') !== undefined, (await users.get(id)).disabled]).toEqual([true, true])
})

test('the last administrator keeps the role, and stays enabled', async () => {
  const page = await open(root)
  const refused = await agent.submit(page, 'disable')
  expect([refused.status, textOf(refused, 'refused')]).toEqual([
    400,
    expect.stringContaining('last administrator'),
  ])
  const asked = await agent.submit(page, 'user', { roles: '' })
  const kept = await agent.submit(asked, 'user', { roles: '' })
  expect([kept.status, textOf(kept, 'roles-error')]).toEqual([
    400,
    expect.stringContaining('Must keep admin'),
  ])
  expect(await users.get(root)).toMatchObject({ roles: ['admin'], disabled: false })
})

test('of two administrators who disable each other at the same moment, one is left', async () => {
  await users.enable('second')
  const { id } = await find('second')
  const second = await signedIn(server, SECOND)
  const pages = [await open(id), await open(root, second)] as const
  const answers = await Promise.all([agent.submit(pages[0], 'disable'), second.submit(pages[1], 'disable')])
  for (const { status } of answers) expect(status).toBeLessThan(500)
  const both = [await users.get(id), await users.get(root)]
  expect(both.filter(({ disabled }) => !disabled)).toHaveLength(1)
  for (const { username } of both) await users.enable(username)
  agent = await signedIn(server)
})

test('the list goes on from page to page, and shows every user once; a search finds by all three names', async () => {
  for (let at = 0; at < 120; at++)
    await users.create({ username: `many-${String(at).padStart(3, '0')}`, name: `Many ${at}`, email: `m${at}@mail.example` })
  const namesOn = ({ body }: Page) => [...body.matchAll(/<th scope="row"><a [^>]*><bdi>([^<]*)<\/bdi>/g)].map(([, one]) => one!)
  const goOn = async (first: string): Promise<string[]> => {
    const seen: string[] = []
    let next: string | undefined = `${server.url}/admin/users${first}`
    while (next !== undefined) {
      const page = await agent.get(next)
      const names = namesOn(page)
      expect(names.length).toBeLessThanOrEqual(50)
      seen.push(...names)
      const path = /rel="next" href="([^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&')
      next = path && new URL(path, page.url).href
    }
    return seen
  }
  const seen = await goOn('')
  expect(seen).toEqual((await users.list({ limit: 1000 })).map(({ username }) => username))
  expect(seen.length).toBeGreaterThan(120)
  const search = async (text: string) => agent.get(`${server.url}/admin/users?${new URLSearchParams({ search: text }).toString()}`)
  for (const text of ['MANY-01', 'many 1', 'M1']) expect(namesOn(await search(text))).toContain('many-010')
  // Whoever is found by more than one name is still found once.
  const many = Array.from({ length: 120 }, (_, at) => `many-${String(at).padStart(3, '0')}`)
  for (const text of ['many-', 'MANY']) expect((await goOn(`?search=${text}`)).toSorted()).toEqual(many)
  const nothing = await search('"><b>')
  expect([nothing.status, nothing.body]).toEqual([200, expect.stringContaining('None was found.')])
}) // prettier-ignore

test('any name has a page, whatever characters it is made of', async () => {
  for (const username of ['..', '<b>bold', `it's "x"`, '\u202Eright to left', 'عربي', 'x'.repeat(256), 'a&b=c#d']) {
    const { id } = await users.create({ username, name: username, roles: ['ü<b>'] })
    const page = await open(id)
    expect([username, page.status]).toEqual([username, 200])
    expect(page.body).not.toContain('<b>')
    expect((await agent.submit(page, 'user', { nickname: 'saved' })).status).toBe(200)
    expect((await users.get(id)).claims).toMatchObject({ nickname: 'saved', name: username })
    expect((await agent.get(`${server.url}/admin/users?${new URLSearchParams({ after: username }).toString()}`)).status).toBe(200)
  }
}) // prettier-ignore

test('a user that is not there has no page, and nothing can be done to them', async () => {
  for (const id of ['', 'no id', '00000000-0000-0000-0000-000000000000'])
    expect((await open(id)).status).toBe(404)
})

test('an address by which alone a user gets in goes when it is asked for twice, and the audit log tells it; programs are not asked', async () => {
  const { id } = await users.create({ username: 'mailed', email: 'mailed@example.com', email_verified: true })
  const asked = await agent.submit(await open(id), 'user', { email: 'other@example.com', email_verified: 'no' })
  expect([asked.status, asked.body]).toEqual([400, expect.stringContaining('Without this verified address the user has no way to sign in.')])
  expect((await users.get(id)).claims['email']).toBe('mailed@example.com')
  const saved = await agent.submit(asked, 'user', {})
  expect([saved.status, doneOn(saved)]).toEqual([200, 'Saved. Every endpoint knows it within two seconds.'])
  expect((await users.get(id)).claims).toMatchObject({ email: 'other@example.com', email_verified: false })
  expect((await lastEvent(id, 'user.changed'))!.details).toMatchObject({ noWayIn: true })

  const other = await users.create({ username: 'directed', email: 'directed@example.com', email_verified: true })
  await users.update('directed', { email: 'moved@example.com', email_verified: true })
  expect((await lastEvent(other.id, 'user.changed'))!.details).not.toHaveProperty('noWayIn')
  await users.update('directed', { email: null })
  expect((await lastEvent(other.id, 'user.changed'))!.details).toMatchObject({ noWayIn: true, changes: { email: ['moved@example.com', null] } })
  // Who has a password can go without.
  const kept = await users.create({ username: 'typed', email: 'typed@example.com', email_verified: true, password: 'a password of typed' })
  expect((await agent.submit(await open(kept.id), 'user', { email: '' })).status).toBe(200)
  expect((await lastEvent(kept.id, 'user.changed'))!.details).not.toHaveProperty('noWayIn')
}) // prettier-ignore
