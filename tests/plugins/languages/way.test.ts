/** The pages on the way to an app, and those of errors, say all of their words by messages. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { message } from '../../../src/protocol/message.ts'
import { Type } from '../../../src/protocol/schema.ts'
import { setupAddress } from '../../../src/services/users/first-administrator.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, BOB, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'
import { expectSaid, PSEUDO_HEADERS } from './shown.ts'
import { isThere, rowsWith } from '../../support/left-out.ts'

const ROOT = { username: 'root', password: 'the long password of root', roles: ['admin'] }
const OWN = { ...WEB, client_id: 'own', redirect_uri: 'http://127.0.0.1:4000/callback' }
const server = await startServer(
  {},
  {
    seed: { ...SEED, users: [ALICE, BOB, ROOT], clients: [{ ...WEB, optional_scopes: ['email'] }, OWN] },
    extend({ oauth }) {
      oauth.add('parameter', {
        name: 'transfer',
        schema: Type.String(),
        consent: (value) => [
          { key: String(value), text: message('Transfer {amount} EUR', { amount: String(value) }) },
        ],
      })
    },
  },
)
const { oauth } = server.server
const kernel = kernelOf(server.server)
const mailbox = openMailbox(server)
const KNOWN = ['web', 'own']
const HOME = [`${server.url}/.well-known/openid-configuration`]

const reader = (): UserAgent => createUserAgent(server.url, PSEUDO_HEADERS)
const at = (path: string): string => `${server.url}${path}`
const login = async (agent: UserAgent, url: string): Promise<Page> =>
  agent.submit(await agent.get(url), 'login', { username: ALICE.username, password: ALICE.password })
const hasForm = (page: Page, id: string): void =>
  expect([id, findForm(page, id)?.method]).toEqual([id, 'post'])

/** Shown as it is, in this language. */
function expectPage(page: Page, status: number, known: readonly string[] = KNOWN): void {
  expect([page.url, page.status]).toEqual([page.url, status])
  expectSaid(page, known)
}

test('the consent page: boxes, lines of parameters, an app on the device, one that registered itself', async () => {
  const agent = reader()
  const claims = JSON.stringify({ userinfo: { picture: null, 'name#de': null, department: null } })
  const asked = { scope: 'openid profile email offline_access read_books', claims, transfer: '12', prompt: 'consent' }
  const page = await login(agent, authorizationUrl(server, asked))
  hasForm(page, 'consent')
  expectPage(page, 200)
  expectPage(await agent.submit(page, 'consent', { decision: 'allow', boxes: '' }), 400)
  await agent.submit(page, 'consent', { decision: 'allow' })
  expectPage(await agent.get(authorizationUrl(server, asked)), 200)
  const own = { client_id: 'own', redirect_uri: OWN.redirect_uri, prompt: 'consent' }
  const device = await agent.get(authorizationUrl(server, own))
  hasForm(device, 'consent')
  expectPage(device, 200)
}) // prettier-ignore

test('what comes after: a page that was used, is another browser’s, has expired or ended', async () => {
  const agent = reader()
  const page = await agent.get(authorizationUrl(server))
  const done = await goThrough(agent, page)
  expect(done.status).toBe(303)
  expectPage(await agent.get(page.url), 400)
  const second = await agent.get(authorizationUrl(server, { prompt: 'login' }))
  expectPage(await reader().get(second.url), 403)
  expectPage(await reader().get(at('/interaction/x?request=y')), 400)
  const expired = await agent.submit(second, 'login', { ...ALICE, csrf_token: 'x' } as never)
  hasForm(expired, 'again')
  expectPage(expired, 403)
})

test('errors: what an app asked, what nobody has, who may not, and who has gone', async () => {
  const agent = reader()
  for (const [path, status] of [
    ['/authorize?client_id=nobody', 400],
    ['/authorize?client_id=web&redirect_uri=https://evil.example/', 400],
    ['/nothing', 404],
    ['/dev/mail/404', 404],
    ...rowsWith('latchkey-upstreams', [['/upstream/x/callback', 400]] as const),
    ['/end-session?id_token_hint=x', 400],
  ] as const)
    expectPage(await agent.get(at(path)), status)
  const alice = await signedIn(server, ALICE, PSEUDO_HEADERS)
  expectPage(await alice.get(at('/admin')), 403, [ALICE.username])
  expectPage(await alice.get(at('/end-session?id_token_hint=x')), 400)
  const profile = await alice.get(at('/account/profile'))
  alice.cookies.clear()
  expectPage(await alice.submit(profile, 'profile', {}), 403)
})

test('home, and sign-out', async () => {
  expectPage(await reader().get(at('/')), 200, HOME)
  const agent = await signedIn(server, ROOT, PSEUDO_HEADERS)
  expectPage(await agent.get(at('/')), 200, HOME)
  for (const path of ['/end-session?client_id=web', '/end-session']) {
    const page = await agent.get(at(path))
    hasForm(page, 'end-session')
    expectPage(page, 200)
  }
  expectPage(await agent.submit(await agent.get(at('/end-session')), 'end-session'), 200)
})

test.runIf(isThere('latchkey-forgot-password'))(
  'a forgotten password: the form, refused, sent, and the link, good, refused, used',
  async () => {
    const agent = reader()
    const form = await agent.get((await agent.get(at('/sign-in'))).body.match(/href="(\/forgot[^"]*)"/)![1]!.replace(/^/, server.url)) // prettier-ignore
    expectPage(form, 200)
    expectPage(await agent.submit(form, 'forgot-password', { email: 'alice' }), 400, ['alice'])
    expectPage(await agent.submit(form, 'forgot-password', { email: ALICE.email }), 200)
    const { text } = await mailbox.next(ALICE.email)
    const link = linkIn({ text })
    const page = await agent.get(link)
    expectPage(page, 200)
    expectPage(await agent.submit(page, 'reset-password', { password: 'password' }), 400)
    const other = reader()
    expectPage(
      await other.submit(await other.get(link), 'reset-password', { password: 'quite another password' }),
      200,
    )
    await oauth.users.setPassword(ALICE.username, ALICE.password)
    expectPage(await agent.get(link), 410)
    expectPage(await agent.get(at('/set-password?token=x')), 410)
    const { address } = await kernel.passwordLinks.make((await oauth.users.find(BOB.username))!.id)
    expectPage(await agent.get(address), 200)
  },
)

test('mails of a development server', async () => {
  const own = await startServer({}, { seed: SEED })
  const agent = createUserAgent(own.url, PSEUDO_HEADERS)
  expectPage(await agent.get(`${own.url}/dev/mail`), 200)
  const mail = { to: 'ada@example.com', subject: 'Hello Ada', text: `Hello\n${own.url}/\n`, html: '<p>Hello</p>' }
  await own.server.oauth.mail.send(mail)
  for (const path of ['', '/1'])
    expectPage(await agent.get(`${own.url}/dev/mail${path}`), 200, [mail.subject, `${own.url}/`])
}) // prettier-ignore

test('the first administrator: the form without its link, refused, done, and a link that was used', async () => {
  const own = await startServer()
  const agent = createUserAgent(own.url, PSEUDO_HEADERS)
  expectPage(await agent.get(`${own.url}/setup`), 200)
  expectPage(await agent.get(`${own.url}/setup?token=x`), 403)
  const link = setupAddress(own.url, (await kernelOf(own.server).firstAdministrator.invite())!)
  const page = await agent.get(link)
  const typed = {
    username: 'ruth',
    name: 'Ruth',
    email: 'ruth@example.com',
    password: 'the long password of Ruth',
  }
  for (const wrong of [{ username: '', password: 'x' }, { username: 'ru\nth' }, { token: 'x' }]) {
    const refused = await agent.submit(page, 'setup', { ...typed, ...wrong })
    expect(refused.body).toContain('role="alert"')
    expectPage(refused, 400, ['ruth'])
  }
  expectPage(await agent.submit(page, 'setup', typed), 200)
  expectPage(await agent.get(link), 404)
})
