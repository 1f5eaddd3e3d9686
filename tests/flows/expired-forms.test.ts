/** A form that is not genuine any more: its page says that it has expired, and what was typed comes again, but for secrets. */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { shownError } from '../support/error-page.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, BOB, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { ROOT, signedIn } from '../plugins/admin/administrator.ts'

const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { users, clients, resources } = server.server.oauth
const { box } = kernelOf(server.server)
await clients.create({ client_id: 'books', client_name: 'Books', scope: ['a'] })
const root = (await users.find(ROOT.username))!
const GUESS = 'what somebody typed'

async function assertExpired(page: Page): Promise<void> {
  expect(await shownError(page)).toEqual([403, 'access_denied'])
  expect(page.body).toContain('<h1>This page has expired</h1>')
  expect(page.body).toMatch(/<title>This page has expired /)
  expect(page.body).not.toContain(GUESS)
}

/** As after the secret of the tokens, or who is signed in, has changed. */
const spoiled = { csrf_token: box.hash('of a version before') }

describe('at sign-in', () => {
  const typed = { username: ALICE.username, password: GUESS }

  test.each([
    ['where a client asks', authorizationUrl(server), false],
    ['where a client asks, in a browser that has lost its cookies', authorizationUrl(server), true],
    ['where a page of ours asks', `${server.url}/sign-in?return_to=/account/apps`, false],
    ['where a page of ours asks, in a browser that has lost its cookies', `${server.url}/sign-in?return_to=/account/apps`, true],
  ])('%s: the name stays, the password does not, and it goes on', async (_where, url, lost) => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(url)
    if (lost) agent.cookies.clear()
    const expired = await agent.submit(login, 'login', { ...typed, ...(lost ? {} : spoiled) })
    await assertExpired(expired)
    const again = await agent.submit(expired, 'again')
    expect([again.status, again.body.includes('login-error')]).toEqual([200, false])
    expect(findForm(again, 'login')!.fields).toMatchObject({ username: ALICE.username, password: '' })
    const end = await agent.submit(again, 'login', { password: ALICE.password })
    const isThere = url.includes('/sign-in')
      ? end.url === `${server.url}/account/apps`
      : answerOf(await goThrough(agent, end)).get('state') === 'a state'
    expect(isThere).toBe(true)
  })

  test('a page that was opened in another browser leads to one of this browser', async () => {
    const login = await createUserAgent(server.url).get(authorizationUrl(server))
    const other = createUserAgent(server.url)
    const expired = await other.get(login.url)
    await assertExpired(expired)
    const [, way = ''] = /<a class="button primary" href="([^"]*)"/.exec(expired.body) ?? []
    const again = await other.get(new URL(way.replaceAll('&amp;', '&'), server.url))
    expect(answerOf(await goThrough(other, again)).get('state')).toBe('a state')
  })
}) // prettier-ignore

test('the first administrator’s keeps the link and what was typed', async () => {
  const other = await startServer({}, { seed: SEED })
  const token = await kernelOf(other.server).firstAdministrator.invite()
  const agent = createUserAgent(other.url)
  const typed = { username: 'ruth', name: 'Ruth Root', email: 'ruth@example.com' }
  const page = await agent.get(`${other.url}/setup?token=${token}`)
  const expired = await agent.submit(page, 'setup', { ...typed, password: GUESS, ...spoiled })
  await assertExpired(expired)
  const again = await agent.submit(expired, 'again')
  expect(findForm(again, 'setup')!.fields).toMatchObject({ ...typed, token, password: '' })
  const done = await agent.submit(again, 'setup', { password: 'a password of an administrator' })
  expect(done.body).toContain('All set')
})

describe('of who is signed in', () => {
  interface Typed {
    path: string
    form: string
    field: string
    /** What is so afterwards. */
    stored: () => Promise<unknown>
  }
  const FORMS: Record<string, Typed> = {
    profile: { path: '/account/profile', form: 'profile', field: 'nickname', stored: async () => (await users.find(ROOT.username))!.claims['nickname'] },
    client: { path: '/admin/client?client_id=books', form: 'client', field: 'client_name', stored: async () => (await clients.find('books'))!.client_name },
    'new client': { path: '/admin/clients/new?type=service', form: 'client', field: 'client_id', stored: async () => (await clients.find('typed-client'))?.client_id },
    user: { path: `/admin/user?id=${root.id}`, form: 'user', field: 'nickname', stored: async () => (await users.find(ROOT.username))!.claims['nickname'] },
    'new user': { path: '/admin/users/new', form: 'user', field: 'username', stored: async () => (await users.find('typed-user'))?.username },
    scope: { path: '/admin/scope?id=read_books', form: 'record', field: 'description', stored: async () => (await resources.findScope('read_books'))!.description },
    'new scope': { path: '/admin/scopes/new', form: 'record', field: 'name', stored: async () => (await resources.findScope('typed-scope'))?.name },
  } // prettier-ignore

  test.each(Object.keys(FORMS))('%s: what was typed comes again, and only then is it saved', async (name) => {
    const { path, form, field, stored } = FORMS[name]!
    // A scope has the name of no client.
    const typed = `typed-${name.replace('new ', '')}`
    const agent = await signedIn(server)
    await users.update(ROOT.username, { nickname: null })
    const page = await agent.get(server.url + path)
    const before = await stored()
    const expired = await agent.submit(page, form, { [field]: typed, ...spoiled })
    await assertExpired(expired)
    const again = await agent.submit(expired, 'again')
    expect([again.status, again.body]).toEqual([200, expect.stringMatching(/<p class="notice" role="status">Nothing is saved yet: look at it once more/)])
    expect(again.body).not.toMatch(/<title>Error|class="(?:alert|problem)"/)
    expect(findForm(again, form)!.fields[field]).toBe(typed)
    expect(await stored()).toEqual(before)
    await agent.submit(again, form)
    expect(await stored()).toBe(typed)
  }) // prettier-ignore

  test('a password of somebody new is not shown again', async () => {
    const agent = await signedIn(server)
    const typed = { username: 'fresh', password: GUESS, ...spoiled }
    const expired = await agent.submit(await agent.get(`${server.url}/admin/users/new`), 'user', typed)
    await assertExpired(expired)
    const again = findForm(await agent.submit(expired, 'again'), 'user')!
    expect(again.fields).toMatchObject({ username: 'fresh', password: '' })
  })

  test('where nothing was typed, the way on is the page that the form stood on', async () => {
    const agent = await signedIn(server)
    const at = `${server.url}/admin/client?client_id=books`
    const { action, fields } = findForm(await agent.get(at), 'rotate-secret')!
    const expired = await agent.post(action, { ...fields, ...spoiled }, { referer: at })
    await assertExpired(expired)
    expect(expired.body).toContain('<a class="button primary" href="/admin/client?client_id=books">')
    // Of another site, and of none, it is not gone to.
    for (const referer of ['https://evil.example/admin', `${server.url}//evil.example`, 'x', '']) {
      const { body } = await agent.post(action, { ...fields, ...spoiled }, { referer })
      expect([referer, body.includes('<a class="button primary" href="/">')]).toEqual([referer, true])
    }
  })
})

test('who has signed in as somebody else meanwhile goes on as that one', async () => {
  const agent = createUserAgent(server.url)
  const consent = await openConsent(agent)
  await signInAs(agent, BOB)
  const expired = await agent.submit(consent, 'consent', { decision: 'allow' })
  await assertExpired(expired)
  const now = await agent.submit(expired, 'again')
  expect([now.status, now.body]).toEqual([200, expect.stringContaining('<bdi>bob</bdi>')])
})

test('a form of another site shows nothing of what it brings', async () => {
  const agent = createUserAgent(server.url, { origin: 'https://evil.example' })
  const signIn = findForm(await agent.get(`${server.url}/sign-in`), 'login')!
  const page = await agent.post(signIn.action, { username: 'mallory', expired_form: 'yes' })
  expect(await shownError(page)).toEqual([403, 'access_denied'])
  expect(page.body).not.toContain('mallory')
  const login = await createUserAgent(server.url).get(authorizationUrl(server))
  const sent = await agent.submit(login, 'login', { username: 'mallory' })
  expect([await shownError(sent), sent.body.includes('mallory')]).toEqual([[403, 'access_denied'], false])
})

async function openConsent(agent: UserAgent): Promise<Page> {
  const login = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
  return agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
}

async function signInAs(agent: UserAgent, { username, password }: typeof BOB): Promise<void> {
  const page = await agent.get(`${server.url}/sign-in?max_age=0`)
  await agent.submit(page, 'login', { username, password })
}
