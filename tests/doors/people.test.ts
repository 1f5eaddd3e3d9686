/** Doors that a plugin of people uses beside its ways to sign in: sections, assets, links, the way back, mail. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { describe, expect, test } from 'vitest'
import { NoMailTransport } from '../../src/doors/mail.ts'
import { Type } from '../../src/protocol/schema.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { signedIn } from '../plugins/account/owner.ts'

const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }

/** Pages of tests are not typed as those of strangers are. */
interface AnyPages {
  add(name: string, file: URL, options?: object): Promise<void>
}
const page = (reply: object, name: string, model: object): never =>
  (reply as { page(name: string, model: object): never }).page(name, model)

async function addBadges(server: FastifyInstance): Promise<void> {
  const { account, admin, pages, oauth } = server
  await (pages as unknown as AnyPages).add('badge', new URL('people/badge.eta', import.meta.url))
  await pages.addAsset('badge.js', new URL('people/badge.js', import.meta.url))
  await expect(pages.addAsset('badge.js', new URL('people/badge.js', import.meta.url))).rejects.toThrow('registered twice')
  await expect(pages.addAsset('style.css', new URL('people/badge.js', import.meta.url))).rejects.toThrow('registered twice')
  await expect(pages.addAsset('badge.html', new URL('people/badge.js', import.meta.url))).rejects.toThrow('needs a name')
  const area = account.addSection({ text: 'Badge', path: '/badge', about: async () => 'A fine one' })
  expect(() => account.addSection({ text: 'Other', path: '/profile', about: async () => '' })).toThrow('is taken')
  area.serve({
    path: '/account/badge',
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, call) =>
      page(call.reply, 'badge', { area: 'account', name: (await area.userOf(call)).username, ...area.target(call, '/badge') }),
    async submit(_form, call) {
      const { userId } = area.assertGenuine(call, '/badge')
      return area.signInAgain(call, area.uri('/badge')) ?? call.reply.send(userId)
    },
  })
  await (pages as unknown as AnyPages).add('badge-part', new URL('people/badge-part.eta', import.meta.url))
  const own = account.addSecurity({
    name: 'badges',
    part: 'badge-part',
    model: async (call) => ({ name: (await own.userOf(call)).username, done: call.wire['done'] ?? null }),
    nextStep: async (call) =>
      (await own.userOf(call)).username === 'alice' ? { text: 'Polish your badge.', href: own.uri('/badge') } : null,
  })
  const model = async () => ({})
  expect(() => account.addSecurity({ name: 'badges', part: 'badge-part', model })).toThrow('is taken')
  expect(() => account.addSecurity({ name: 'password', part: 'badge-part', model })).toThrow('is taken')
  const office = admin.addSection({ text: 'Badge', path: '/badge' })
  office.serve({
    path: '/admin/badge',
    query: Type.Object({}),
    show: async (_query, call) =>
      page(call.reply, 'badge', { area: 'admin', name: office.administratorOf(call.request).user.username, ...office.target(call, '/badge', '') }),
  })
  expect(oauth.mail.isOn()).toBe(true)
} // prettier-ignore

/** Who comes back without having shown who they are. */
const NOBODY = 'nobody'

/** Anybody may make an account, and is signed in by it. */
async function addSignUp({ oauth, browser, interactions, pages }: FastifyInstance): Promise<void> {
  await (pages as unknown as AnyPages).add('sign-up', new URL('people/sign-up.eta', import.meta.url))
  oauth.add('signInLink', {
    name: 'sign-up',
    link: async ({ address }) => ({ text: 'Make an account', href: `/sign-up?${new URLSearchParams({ continue: address }).toString()}` }),
  })
  const Continue = Type.Optional(Type.String({ maxLength: 8000 }))
  pages.serve({
    path: '/sign-up',
    query: Type.Object({ continue: Continue }),
    form: Type.Object({ continue: Continue, username: Type.String() }),
    async show({ continue: to = '' }, call) {
      const back = (await interactions.wayBack(to, call)) ?? ''
      return page(call.reply, 'sign-up', { action: '/sign-up', csrfToken: browser.csrfToken(call, 'sign-up'), continue: back })
    },
    async submit({ continue: to = '', username }, call) {
      browser.assertGenuine(call, call.wire, 'sign-up')
      if (username === NOBODY) return interactions.leadBack(to, { method: 'password', state: null }, call)
      const user = await oauth.users.create({ username })
      return interactions.prove(to, { user, amr: ['swk'], acr: '1' }, call)
    },
  })
} // prettier-ignore

const seed = { ...SEED, users: [...SEED.users, ROOT] }
// Without ours, whose next steps would come first.
const server = await startServer({ WITHOUT: 'latchkey-second-factor' }, {
  seed,
  async extend(app) {
    await addBadges(app)
    await addSignUp(app)
  },
}) // prettier-ignore
const { oauth } = server.server

describe('a section', () => {
  test('stands at the top of each page of the account, and on the overview', async () => {
    const agent = await signedIn(server)
    const overview = await agent.get(`${server.url}/account`)
    expect(overview.body).toContain('A fine one')
    expect(overview.body.match(/href="\/account\/badge"/g)).toHaveLength(2)
    const badge = await agent.get(`${server.url}/account/badge`)
    expect(badge.body).toMatch(/<bdi>alice<\/bdi><\/h1>/)
    expect(badge.body).toContain('<a href="/account/badge" aria-current="true">')
    const { id } = (await oauth.users.find(ALICE.username))!
    expect((await agent.submit(badge, 'badge')).body).toBe(id)
  })

  test('is behind the guard: strangers sign in first, a form of another session is refused', async () => {
    const stranger = createUserAgent(server.url)
    expect(new URL((await stranger.get(`${server.url}/account/badge`)).url).pathname).toBe('/sign-in')
    expect((await stranger.post(`${server.url}/account/badge`, {})).status).toBe(403)
    const [alice, root] = [await signedIn(server), await signedIn(server, ROOT)]
    const badge = await alice.get(`${server.url}/account/badge`)
    expect((await root.submit(badge, 'badge')).status).toBe(403)
  })

  test('asks for a fresh sign-in where it says so', async () => {
    const agent = await signedIn(server)
    const badge = await agent.get(`${server.url}/account/badge`)
    await server.database.query(
      `update sessions set authenticated_at = authenticated_at - interval '601 seconds'`,
    )
    expect(new URL((await agent.submit(badge, 'badge')).url).pathname).toBe('/sign-in')
  })

  test('of the administration is for administrators', async () => {
    const [alice, root] = [await signedIn(server), await signedIn(server, ROOT)]
    expect((await alice.get(`${server.url}/admin/badge`)).status).toBe(403)
    expect((await root.get(`${server.url}/admin/badge`)).body).toMatch(/<bdi>root<\/bdi><\/h1>/)
    expect((await root.get(`${server.url}/admin`)).body).toContain('href="/admin/badge"')
  })

  test('has assets of its own, from our origin', async () => {
    const agent = await signedIn(server)
    const { body } = await agent.get(`${server.url}/account/badge`)
    const [address] = body.match(/\/assets\/badge\.[0-9a-f]{12}\.js/)!
    const file = await server.get(address)
    expect([file.headers.get('content-type'), file.headers.get('cache-control')]).toEqual([
      'text/javascript; charset=utf-8',
      expect.stringContaining('immutable'),
    ])
    expect(await file.text()).toContain('dataset.badge')
  })
})

describe('a part of the page of security', () => {
  test('stands below the password, and above all of them what to do next, for whom there is something', async () => {
    const agent = await signedIn(server)
    const { body } = await agent.get(`${server.url}/account/security?done=badge`)
    expect(body).toMatch(
      /id="next-step"[\s\S]*id="security-password"[\s\S]*<h2>Badge of <bdi>alice<\/bdi><\/h2>/,
    )
    expect(body).toContain('<p role="status">badge</p>')
    expect(body).toContain('<a href="/account/badge">Polish your badge.</a>')
    const root = await signedIn(server, ROOT)
    expect((await root.get(`${server.url}/account/security`)).body).toContain('There is nothing to do.')
  })

  test('is behind the guard, as the page is', async () => {
    const stranger = createUserAgent(server.url)
    expect(new URL((await stranger.get(`${server.url}/account/security`)).url).pathname).toBe('/sign-in')
  })

  test('who has no password is told so', async () => {
    const agent = await signedIn(server, ROOT)
    await server.database.query(`update users set password_hash = null where username = 'root'`)
    const { body } = await agent.get(`${server.url}/account/security`)
    expect(body).toContain('You have no password here.')
    expect(body).not.toContain('change-password-link')
    await oauth.users.setPassword(ROOT.username, ROOT.password)
  })
})

describe('the way back', () => {
  const linkOn = (body: string): string =>
    /<a id="sign-up" href="([^"]+)"/.exec(body)![1]!.replaceAll('&amp;', '&')

  test('from sign-up leads to the app that asked, signed in as the new one', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server, { nonce: 'n' }))
    const signUp = await agent.get(server.url + linkOn(login.body))
    const next = await agent.submit(signUp, 'sign-up', { username: 'dora' })
    const answer = answerOf(await goThrough(agent, next))
    expect([answer.get('state'), answer.has('code')]).toEqual(['a state', true])
    const { id } = (await oauth.users.find('dora'))!
    expect((await oauth.sessions.list(id)).map(({ amr }) => amr)).toEqual([['swk']])
  })

  test('leads back to a page of ours that asked', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(`${server.url}/account/badge`)
    const signUp = await agent.get(server.url + linkOn(login.body))
    const page_ = await agent.submit(signUp, 'sign-up', { username: 'emil' })
    expect([new URL(page_.url).pathname, page_.body]).toEqual([
      '/account/badge',
      expect.stringContaining('emil'),
    ])
  })

  test('is of the browser that began, and of an interaction that goes on', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server))
    const other = createUserAgent(server.url)
    const elsewhere = await other.get(server.url + linkOn(login.body))
    expect(findForm(elsewhere, 'sign-up')!.fields['continue']).toBe('')
    // Also where a plugin does not look.
    const to = new URL(server.url + linkOn(login.body)).searchParams.get('continue')!
    for (const username of ['gina', NOBODY]) {
      const forced = await other.submit(elsewhere, 'sign-up', { continue: to, username })
      expect([username, forced.status, other.cookies.has('latchkey-session')]).toEqual([username, 403, false])
    }
    const own = await agent.get(server.url + linkOn(login.body))
    expect(findForm(await agent.submit(own, 'sign-up', { username: NOBODY }), 'login')).toBeDefined()
    await goThrough(agent, login)
    const late = await agent.get(server.url + linkOn(login.body))
    expect(findForm(late, 'sign-up')!.fields['continue']).toBe('')
    for (const address of ['', '/', 'https://evil.example/', '//evil.example/interaction/x?request=y', '/interaction/x', '/interaction/%2e%2e/account?request=x']) {
      const page_ = await other.get(`${server.url}/sign-up?${new URLSearchParams({ continue: address }).toString()}`)
      expect([address, findForm(page_, 'sign-up')!.fields['continue']]).toEqual([address, ''])
    }
  }) // prettier-ignore

  test('signs nobody in where somebody is there already, and asked for nothing', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
    const signUp = await agent.get(server.url + linkOn(login.body))
    const consent = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
    expect(findForm(consent, 'consent')).toBeDefined()
    const late = await agent.submit(signUp, 'sign-up', { username: 'frida' })
    expect(late.body).toContain('<bdi>alice</bdi>')
    expect(await oauth.sessions.list((await oauth.users.find('frida'))!.id)).toEqual([])
  })
})

describe('mail', () => {
  const mail = { to: 'a@example.com', subject: 'Your code', text: 'a secret of theirs' }

  test('in development without a transport is kept for reading, and not in the log', async () => {
    await oauth.mail.send(mail)
    expect(oauth.mail.kept()).toEqual([mail])
    expect(server.output()).toContain('no transport: the mail is kept in memory')
    expect(server.output()).not.toContain(mail.text)
    for (let n = 0; n < 120; n++) await oauth.mail.send({ ...mail, text: String(n) })
    expect(oauth.mail.kept().map(({ text }) => text).slice(-2)).toEqual(['118', '119'])
    expect(oauth.mail.kept()).toHaveLength(100)
  }) // prettier-ignore

  test.each([
    ['two addresses', { to: 'a@example.com, b@example.com' }],
    ['none', { to: '' }],
    ['a header in the address', { to: 'a@example.com\r\nBcc: b@example.com' }],
    ['a header in the subject', { subject: 'Hello\r\nBcc: b@example.com' }],
  ])('%s is refused', async (_what, wrong) => {
    await expect(oauth.mail.send({ ...mail, ...wrong })).rejects.toThrow(TypeError)
  })

  test('in production without a transport is an error that says so; with one it goes there, also when that is away at first', async () => {
    const settings = { OIDC_ISSUER: 'https://example.com', LOG_LEVEL: 'silent' }
    const bare = await startServer(settings)
    await expect(bare.server.oauth.mail.send(mail)).rejects.toThrow(NoMailTransport)
    expect(bare.server.oauth.mail.isOn()).toBe(false)
    const sent: unknown[] = []
    let tried = 0
    const furnished = await startServer(settings, {
      extend({ oauth: { register, mail: door } }) {
        register('mailTransport', 'default', {
          async send(one) {
            tried += Number(one.subject === 'no')
            if (one.subject === 'no') throw new Error('the mail server is away')
            sent.push(one)
          },
        })
        expect(() => register('mailTransport', 'default', { send: async () => {} })).toThrow(
          'registered twice',
        )
        expect(door.isOn()).toBe(true)
      },
    })
    await furnished.server.oauth.mail.send(mail)
    await expect.poll(() => sent).toEqual([mail])
    // Whoever sends one need not wait for a mail server that is away: it is tried again.
    await furnished.server.oauth.mail.send({ ...mail, subject: 'no' })
    await expect.poll(() => tried).toBe(1)
    const rows = async () => JSON.stringify(await furnished.database.query('select * from outbox'))
    await expect.poll(rows).toContain('the mail server is away')
    expect(await rows()).not.toContain(mail.text)
  })
})

test('who is asked once more who they are reads of a password where that is the only way', async () => {
  const file = join(await temporaryDirectory(), 'key.eta')
  await writeFile(file, '<button type="button">Use a key</button>')
  const other = await startServer({}, {
    seed: SEED,
    async extend({ oauth, pages }) {
      await (pages as unknown as AnyPages).add('key', pathToFileURL(file))
      oauth.register('signInMethod', 'key', { offer: async () => ({ part: 'key', model: {} }), submit: async () => ({ state: {} }) })
    },
  }) // prettier-ignore
  const words = []
  for (const one of [server, other]) {
    const agent = await signedIn(one)
    words.push((await agent.get(authorizationUrl(one, { prompt: 'login' }))).body)
  }
  expect(words[0]).toContain('Enter your password once more, or sign in as somebody else.')
  expect(words[1]).toContain('Show once more that it is you, or sign in as somebody else.')
  expect(words[1]).not.toContain('your password once more')
})

test('a way to sign in, a step and an assurance have a name of their own', async () => {
  const broken = (extend: (app: FastifyInstance) => unknown) => startServer({}, { extend })
  const step = { run: async () => 'done' as const, submit: async () => ({ note: {} }), required: 'login_required' }
  await expect(
    broken(({ oauth: o }) => o.register('signInMethod', 'password', { offer: async () => null, submit: async () => ({ state: 1 }) })),
  ).rejects.toThrow('The signInMethod password is registered twice.')
  await expect(broken(({ oauth: o }) => o.add('interactionStep', { name: 'login', ...step }))).rejects.toThrow('The interactionStep login is taken.')
  await expect(broken(({ oauth: o }) => o.add('assurance', { name: 'essential-acr', require: () => null }))).rejects.toThrow('The assurance essential-acr is taken.')
}) // prettier-ignore
