/**
 * Forgotten passwords: from the app and back to it, by a link that is good once, and that tells nobody who has an account.
 * @needs latchkey-forgot-password
 */
import { expect, onTestFinished, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { endedWhileItWaits } from '../../support/away-mail.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, BOB, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { isThere } from '../../support/left-out.ts'
import { until } from '../../support/until.ts'

const server = await startServer({}, { seed: SEED })
const { oauth } = server.server
const mailbox = openMailbox(server)
let count = 0

const linkOn = ({ body }: Page, id: string): string => {
  const href = new RegExp(`<a id="${id}" href="([^"]+)"`).exec(body)?.[1]
  if (href === undefined) throw new Error(`no a#${id}: ${body}`)
  return server.url + href.replaceAll('&amp;', '&')
}
const passwordOf = (n: number): string => `the new password number ${n}`

/** A person with a verified address of their own. */
async function register(): Promise<{ username: string; email: string; id: string }> {
  const username = `person-${++count}`
  const email = `${username}@example.com`
  const { id } = await oauth.users.create({ username, email, email_verified: true, password: 'the former password' })
  return { username, email, id }
} // prettier-ignore

async function ask(email: string, agent: UserAgent = createUserAgent(server.url)): Promise<Page> {
  const page = await agent.get(`${server.url}/forgot-password`)
  return agent.submit(page, 'forgot-password', { email })
}

/** The link that a mail brings. */
async function linkFor(email: string): Promise<string> {
  await ask(email)
  return linkIn(await mailbox.next(email, 'Set a new password'))
}

test('a mail comes, too, where the password was set while the clock was ahead', async () => {
  const { username, email } = await register()
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
  await oauth.users.setPassword(username, passwordOf(0))
  vi.useRealTimers()
  expect(await linkFor(email)).toContain('/reset-password?token=')
})

test('who comes from an app goes back to it, signed in, and all else of theirs has ended', async () => {
  const { username, email, id } = await register()
  const elsewhere = createUserAgent(server.url)
  await goThrough(elsewhere, await elsewhere.get(authorizationUrl(server)), { username, password: 'the former password' })
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server))
  const form = await agent.get(linkOn(login, 'forgot-password'))
  expect(linkOn(form, 'back-to-sign-in')).toBe(login.url)
  const sent = await agent.submit(form, 'forgot-password', { email: ` ${email.toUpperCase()} ` })
  expect(sent.body).toContain('Check your email')
  // Of a development server, to who is at its machine.
  expect(sent.body).toContain('href="/dev/mail"')

  const mail = await mailbox.next(email)
  expect(mail.subject).toBe('Set a new password')
  expect(mail.text).toContain(`Account: ${username}`)
  expect(mail.text).toContain('If this was not you, do nothing')
  const reset = await agent.get(linkIn(mail))
  expect(reset.body).toMatch(/<input id="password"[^]*<button class="primary" id="set-password"/)
  const next = await agent.submit(reset, 'reset-password', { password: passwordOf(1) })
  expect(findForm(next, 'login')).toBeUndefined()
  const answer = answerOf(await goThrough(agent, next))
  expect([answer.get('state'), answer.has('code')]).toEqual(['a state', true])

  expect(await oauth.users.hasPassword(username, passwordOf(1))).toBe(true)
  expect(await oauth.sessions.list(id)).toHaveLength(1)
  expect(new URL((await elsewhere.get(`${server.url}/account`)).url).pathname).toBe('/sign-in')
  const told = isThere('latchkey-notices') ? (await mailbox.next(email)).subject : undefined
  expect(told).toBeOneOf([undefined, 'Your password was changed'])
}) // prettier-ignore

test('another browser is told that it is set, and where to sign in', async () => {
  const { username, email, id } = await register()
  const agent = createUserAgent(server.url)
  await agent.submit(await agent.get(linkOn(await agent.get(authorizationUrl(server)), 'forgot-password')), 'forgot-password', { email })
  const other = createUserAgent(server.url)
  const page = await other.get(linkIn(await mailbox.next(email)))
  const done = await other.submit(page, 'reset-password', { password: passwordOf(2) })
  expect(done.body).toContain('Your password is set')
  expect(done.body).toContain('href="/sign-in"')
  expect(await oauth.users.hasPassword(username, passwordOf(2))).toBe(true)
  expect(await oauth.sessions.list(id)).toEqual([])
}) // prettier-ignore

test('opening it spends nothing; a password that cannot be one neither; it sets one password', async () => {
  const { username, email } = await register()
  const link = await linkFor(email)
  const agent = createUserAgent(server.url)
  const page = await agent.get(link)
  for (let time = 0; time < 3; time++) expect((await agent.get(link)).status).toBe(200)
  expect((await server.request(link, { method: 'HEAD' })).status).toBe(200)
  const refused = await agent.submit(page, 'reset-password', { password: 'password' })
  expect([refused.status, refused.body]).toEqual([
    400,
    expect.stringContaining('Must not be one of the most used'),
  ])
  // In a development start, too: what people choose here is no example.
  const short = await agent.submit(page, 'reset-password', { password: 'seven c' })
  expect([short.status, short.body]).toEqual([
    400,
    expect.stringContaining('Must have 8 characters at least.'),
  ])
  const both = await Promise.all(
    [3, 4].map(async (n) => agent.clone().submit(page, 'reset-password', { password: passwordOf(n) })),
  )
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 410])
  const right = [3, 4].map(async (n) => oauth.users.hasPassword(username, passwordOf(n)))
  expect((await Promise.all(right)).filter(Boolean)).toHaveLength(1)
  expect((await agent.get(link)).status).toBe(410)
})

test('a new password ends every link from before, whichever way it came', async () => {
  const { username, email } = await register()
  const [first, second, third] = [await linkFor(email), await linkFor(email), await linkFor(email)]
  const agent = createUserAgent(server.url)
  const opened = await agent.get(second)
  await agent.submit(await agent.get(first), 'reset-password', { password: passwordOf(5) })
  expect((await agent.submit(opened, 'reset-password', { password: passwordOf(6) })).status).toBe(410)
  expect((await agent.get(third)).status).toBe(410)
  const fourth = await linkFor(email)
  await oauth.users.setPassword(username, passwordOf(7))
  expect((await agent.get(fourth)).status).toBe(410)
  expect(await oauth.users.hasPassword(username, passwordOf(7))).toBe(true)
})

test('it ends with its hour and with its account, and there are five at most', async () => {
  const { username, email } = await register()
  const links: string[] = []
  for (let n = 0; n < 6; n++) links.push(await linkFor(email))
  const agent = createUserAgent(server.url)
  const statuses = async () => Promise.all(links.map(async (link) => (await agent.get(link)).status))
  expect((await statuses()).filter((status) => status === 200)).toHaveLength(5)
  await oauth.users.disable(username)
  expect(await statuses()).toEqual(links.map(() => 410))
  await oauth.users.enable(username)
  await server.database.query(
    `update artifacts set expires_at = now() where kind = 'password-reset' and expires_at < now() + interval '61 minutes'`,
  )
  expect(await statuses()).toEqual(links.map(() => 410))
})

test('a link is for this alone, and one for something else is none here', async () => {
  const { id, email } = await register()
  const token = new URL(await linkFor(email)).searchParams.get('token')!
  const { address } = await kernelOf(server.server).passwordLinks.make(id)
  const other = new URL(address).searchParams.get('token')!
  const agent = createUserAgent(server.url)
  for (const path of [`/set-password?token=${token}`, `/reset-password?token=${other}`, '/reset-password', '/reset-password?token=x'])
    expect([path, (await agent.get(server.url + path)).status]).toEqual([path, 410])
}) // prettier-ignore

test('S10: it leads to the issuer, whatever name the request came by, and is stored nowhere in the clear', async () => {
  const { email } = await register()
  const agent = createUserAgent(server.url)
  const page = await agent.get(`${server.url}/forgot-password`)
  const { action, fields } = findForm(page, 'forgot-password')!
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  await server.server.inject({
    method: 'POST',
    url: new URL(action).pathname,
    headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', cookie, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ ...fields, email }).toString(),
  })
  const link = linkIn(await mailbox.next(email))
  expect(link.startsWith(`${server.url}/reset-password?token=`)).toBe(true)
  const token = new URL(link).searchParams.get('token')!
  expect(Buffer.from(token, 'base64url')).toHaveLength(32)
  const stored = await server.database.query('select * from artifacts')
  expect(JSON.stringify(stored) + server.output()).not.toContain(token)
}) // prettier-ignore

test('the mail is in the language that its reader has chosen, or else in that of the page where it was asked for', async () => {
  const chosen = await register()
  await oauth.users.update(chosen.username, { locale: 'es-MX' })
  const none = await register()
  const askIn = async (email: string, language: string) => {
    await ask(email, createUserAgent(server.url, { 'accept-language': language }))
    return mailbox.next(email)
  }
  expect((await askIn(chosen.email, 'de')).subject).toBe('Establecer una contraseña nueva')
  const german = await askIn(none.email, 'de-AT, en;q=0.5')
  expect(german.subject).toBe('Neues Passwort festlegen')
  expect(german.text).toContain(`Konto: ${none.username}`)
  expect(german.html).toContain('<html lang="de">')
  expect((await askIn(none.email, 'fr')).subject).toBe('Set a new password')
  // As an earlier version enqueues it, beside this one.
  await oauth.enqueue('password-reset', { email: none.email, back: '' })
  expect((await mailbox.next(none.email)).subject).toBe('Set a new password')
  const app = createUserAgent(server.url, { 'accept-language': 'en' })
  const login = await app.get(authorizationUrl(server, { ui_locales: 'de' }))
  await app.submit(await app.get(linkOn(login, 'forgot-password')), 'forgot-password', { email: none.email })
  expect((await mailbox.next(none.email)).subject).toBe('Neues Passwort festlegen')
})

test('only a verified address of who may sign in gets a mail', async () => {
  await oauth.users.create({ username: 'barred', email: 'barred@example.com', email_verified: true })
  await oauth.users.disable('barred')
  for (const email of ['barred@example.com', BOB.email, 'nobody@example.com']) {
    expect((await ask(email)).body).toContain('Check your email')
    expect(await mailbox.all(email)).toEqual([])
  }
  // Who never had a password gets one.
  await oauth.users.create({ username: 'without', email: 'without@example.com', email_verified: true })
  const agent = createUserAgent(server.url)
  const page = await agent.get(await linkFor('without@example.com'))
  await agent.submit(page, 'reset-password', { password: passwordOf(8) })
  expect(await oauth.users.hasPassword('without', passwordOf(8))).toBe(true)
})

test('nothing is answered twice', () => {
  expect(server.output()).not.toContain('Reply was already sent')
})

test('what is no address is refused at its field, and a forged form before that', async () => {
  const agent = createUserAgent(server.url)
  const refused = await ask('alice', agent)
  expect([refused.status, refused.body]).toEqual([
    400,
    expect.stringContaining('This must be an email address'),
  ])
  expect(findForm(refused, 'forgot-password')!.fields['email']).toBe('alice')
  const forged = await agent.post(`${server.url}/forgot-password`, { email: ALICE.email, csrf_token: 'x' })
  expect(forged.status).toBe(403)
})

test('who asks too often waits, and keeps what they typed', async () => {
  const own = await startServer({}, { seed: SEED })
  const agent = createUserAgent(own.url)
  const page = await agent.get(`${own.url}/forgot-password`)
  const answers = []
  // Spellings of one domain are one mailbox.
  const domains = ['example.com', 'ｅxample.com', 'exam\u034fple.com', 'ⓔⓧample.com', 'EXAMPLE。com', 'example.com.']
  const emails = Array.from({ length: 10 }, (_, at) => `nobody@${domains[at % domains.length]}`)
  for (const email of [...emails, 'nobody@example.com']) answers.push(await agent.submit(page, 'forgot-password', { email }))
  expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 200), 429])
  const last = answers.at(-1)!
  expect(last.headers.has('retry-after')).toBe(true)
  expect(findForm(last, 'forgot-password')!.fields['email']).toBe('nobody@example.com')
  // Another address, from the same network, is not refused for that.
  expect((await agent.submit(page, 'forgot-password', { email: ALICE.email })).status).toBe(200)
}) // prettier-ignore

test('whatever strangers ask for, a mail goes to who comes with a browser in which the account has signed in before', async () => {
  const own = await startServer({ TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
  const box = openMailbox(own)
  let networks = 0
  const newAgent = () => createUserAgent(own.url, { 'x-forwarded-for': `203.0.113.${++networks}` })
  const askAs = async (agent: UserAgent, email = ALICE.email) =>
    agent.submit(await agent.get(`${own.url}/forgot-password`), 'forgot-password', { email })
  const known = newAgent()
  await goThrough(known, await known.get(authorizationUrl(own)), ALICE)
  const answers: Page[] = []
  for (let n = 0; n < 25; n++) answers.push(await askAs(newAgent()))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
  expect(answers.at(-1)!.body).toContain('If a mail has come already, its link is good for an hour.')
  await until(async () => expect((await box.all(ALICE.email)).filter(({ subject }) => subject === 'Set a new password')).toHaveLength(20))
  for (let n = 0; n < 11; n++) expect((await askAs(known)).status).toBe(n < 10 ? 200 : 429)
  await until(async () => expect((await box.all(ALICE.email)).filter(({ subject }) => subject === 'Set a new password')).toHaveLength(30))
  // Of another's address it is worth nothing.
  for (let n = 0; n < 25; n++) await askAs(newAgent(), BOB.email)
  expect((await askAs(known, BOB.email)).status).toBe(429)
  const { id } = (await own.server.oauth.users.find(ALICE.username))!
  // What is observed is written within a second.
  await until(async () => expect((await own.server.oauth.audit.list({ type: 'limit.reached' })).events.map(({ user }) => user)).toContain(id))
}) // prettier-ignore

test('where no mail can be sent there is neither link nor page; left out, the same', async () => {
  const mute = await startServer({ OIDC_ISSUER: 'https://login.example.com' }, { seed: SEED })
  const left = await startServer({ WITHOUT: 'latchkey-forgot-password' }, { seed: SEED })
  for (const { server: app } of [mute, left]) {
    expect((await app.inject('/sign-in')).body).toContain('id="login"')
    expect((await app.inject('/sign-in')).body).not.toContain('forgot-password')
    expect((await app.inject('/forgot-password')).statusCode).toBe(404)
    expect((await app.inject('/reset-password')).statusCode).toBe(404)
  }
})

test.each<[string, (id: string) => Promise<unknown>]>([
  ['is signed out everywhere', async (id) => oauth.users.revokeTokens({ id })],
  ['is disabled for a while', async (id) => { await oauth.users.disable({ id }); await oauth.users.enable({ id }) }],
  ['has a new password', async (id) => oauth.users.setPassword({ id }, passwordOf(0))],
])('who %s after they asked for a link is sent none', async (_why, work) => {
  const { email, id } = await register()
  await endedWhileItWaits(server, 'password-reset', { cause: async () => ask(email), ending: async () => work(id) })
}) // prettier-ignore

test('a form that is sent twice leads back to the app twice, by one session', async () => {
  const { email, id } = await register()
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server))
  await agent.submit(await agent.get(linkOn(login, 'forgot-password')), 'forgot-password', { email })
  const form = await agent.get(linkIn(await mailbox.next(email, 'Set a new password')))
  const again = agent.clone()
  const password = passwordOf(0)
  const [first, second] = [await agent.submit(form, 'reset-password', { password }), await again.submit(form, 'reset-password', { password })]
  expect([first.status, second.status, second.url]).toEqual([200, 200, first.url])
  expect(findForm(second, 'consent')).toBeDefined()
  expect(await kernelOf(server.server).sessions.list(id)).toHaveLength(1)
}) // prettier-ignore
