/** A form of an interaction that is sent twice at once, as by a double click: the person goes on with whichever answer they get. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { withClient } from '../../src/store/connections.ts'
import { signedIn } from '../plugins/account/owner.ts'
import { codeOf, secretOn } from '../support/authenticator.ts'
import { newBrowserContext, noBrowser } from '../support/browser.ts'
import { isThere, rowsWith } from '../support/left-out.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, BOB, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const server = await startServer({}, { seed: SEED })
const { query } = server.database
const SESSION = 'latchkey-session'

interface Sent {
  agent: UserAgent
  page: Page
}

/** The login form sent by the same browser at the same time, once as each of them; what each of the two then has. */
async function signInTwice(users: readonly Pick<typeof ALICE, 'username' | 'password'>[], asked: Record<string, string> = {}, before: (browser: UserAgent) => Promise<unknown> = async () => {}): Promise<Sent[]> {
  const browser = createUserAgent(server.url)
  await before(browser)
  const login = await browser.get(authorizationUrl(server, { scope: 'openid read_books', ...asked }))
  return Promise.all(
    users.map(async ({ username, password }) => {
      const agent = browser.clone()
      return { agent, page: await agent.submit(login, 'login', { username, password }) }
    }),
  )
} // prettier-ignore

/** For what the page asks; another page is named by its words. */
function askedBy(page: Page): string {
  if (page.status === 200 && findForm(page, 'consent') !== undefined) return 'consent'
  return `${page.status} ${page.body.replaceAll(/<style.*?<\/style>|<[^>]*>/gs, ' ').replaceAll(/\s+/g, ' ')}`
}

test.each([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
])('answer %i of a double click on "Sign in" goes on with the session of answer %i', async (shown, kept) => {
  const sent = await signInTwice([ALICE, ALICE], { prompt: 'consent' })
  expect(sent.map(({ page }) => askedBy(page))).toEqual(['consent', 'consent'])
  const [token, other] = sent.map(({ agent }) => agent.cookies.get(SESSION))
  expect(token).not.toBe(other)
  const { agent, page } = sent[shown]!
  agent.cookies.set(SESSION, sent[kept]!.agent.cookies.get(SESSION)!)
  expect(answerOf(await agent.submit(page, 'consent', { decision: 'allow' })).has('code')).toBe(true)
  // Now it is done, and only now that is said.
  expect((await agent.get(page.url)).body).toMatch(/<h1>This step is done<\/h1>/)
})

describe('where a fresh sign-in was asked for', () => {
  test.each([
    ['by nobody', async () => {}],
    ['by who is signed in', async (browser: UserAgent) => goThrough(browser, await browser.get(authorizationUrl(server)))],
  ])('a double click %s leads both answers on, with the session of either', async (_who, before) => {
    for (const [shown, kept] of [[0, 0], [0, 1], [1, 0], [1, 1]] as const) {
      const sent = await signInTwice([ALICE, ALICE], { prompt: 'login consent' }, before)
      expect(sent.map(({ page }) => askedBy(page))).toEqual(['consent', 'consent'])
      const { agent, page } = sent[shown]!
      agent.cookies.set(SESSION, sent[kept]!.agent.cookies.get(SESSION)!)
      const consent = await agent.get(page.url)
      expect(answerOf(await agent.submit(consent, 'consent', { decision: 'allow' })).has('code')).toBe(true)
    }
  })

  test.each([
    ['by nobody', async () => {}],
    ['by who is signed in', async (browser: UserAgent) => goThrough(browser, await browser.get(authorizationUrl(server)))],
  ])('a second click %s that comes when the first one is done, and before its cookie, leads on with the session of either', async (_who, before) => {
    for (const [shown, kept] of [[0, 0], [0, 1], [1, 0], [1, 1]] as const) {
      const browser = createUserAgent(server.url)
      await before(browser)
      const login = await browser.get(authorizationUrl(server, { prompt: 'login consent' }))
      const { username, password } = ALICE
      const agents = [browser.clone(), browser.clone()]
      const pages: Page[] = []
      for (const agent of agents) pages.push(await agent.submit(login, 'login', { username, password }))
      expect(pages.map((page) => askedBy(page))).toEqual(['consent', 'consent'])
      const agent = agents[shown]!
      agent.cookies.set(SESSION, agents[kept]!.cookies.get(SESSION)!)
      const consent = await agent.get(pages[shown]!.url)
      expect(answerOf(await agent.submit(consent, 'consent', { decision: 'allow' })).has('code')).toBe(true)
    }
  })

  test('a second click that comes when the first one has its session, and has not noted that yet, waits for it', async () => {
    const browser = createUserAgent(server.url)
    await goThrough(browser, await browser.get(authorizationUrl(server)))
    const login = await browser.get(authorizationUrl(server, { prompt: 'login consent' }))
    const { username, password } = ALICE
    const click = async () => browser.clone().submit(login, 'login', { username, password })
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const clicks = await withClient(server.database, async (holder) => {
      await holder.query('begin')
      await holder.query('lock table artifacts in exclusive mode')
      const first = click()
      await expect.poll(async () => (await query(waiting)).length).toBe(1)
      const second = click()
      // What came after it is answered: it has been looked at, too.
      for (let times = 0; times < 20; times++) await browser.get(`${server.url}/account`)
      await holder.query('commit')
      return [await first, await second]
    })
    expect(clicks.map((page) => askedBy(page))).toEqual(['consent', 'consent'])
  })

  test('that the second click has nobody’s session makes its form no other’s', async () => {
    const browser = createUserAgent(server.url)
    await goThrough(browser, await browser.get(authorizationUrl(server)))
    const login = await browser.get(authorizationUrl(server, { prompt: 'login consent' }))
    const other = browser.clone()
    other.cookies.delete(SESSION)
    const { username, password } = ALICE
    // Nobody signed in by it: who it was shown to has gone in another way.
    expect((await other.submit(login, 'login', { username, password })).status).toBe(403)
    // And what is asked of who signed in is none of the form’s.
    const consent = await browser.submit(login, 'login', { username, password })
    expect((await other.submit(consent, 'consent', { decision: 'allow' })).status).toBe(403)
  })

  test('a second click that comes after the first one’s cookie leads to the same page', async () => {
    const browser = createUserAgent(server.url)
    const login = await browser.get(authorizationUrl(server, { prompt: 'login consent' }))
    const { username, password } = ALICE
    const first = await browser.submit(login, 'login', { username, password })
    const token = browser.cookies.get(SESSION)
    const second = await browser.submit(login, 'login', { username, password })
    expect([second.status, second.url, findForm(second, 'consent')]).toEqual([200, first.url, findForm(first, 'consent')])
    // Nobody was signed in once more.
    expect(browser.cookies.get(SESSION)).toBe(token)
  })

  test('three clicks, too', async () => {
    const sent = await signInTwice([ALICE, ALICE, ALICE], { prompt: 'login consent' })
    for (const { page } of sent) expect(findForm(page, 'consent')).toBeDefined()
  })
}) // prettier-ignore

test('at our own sign-in, the second click leads to the page that the first one led to', async () => {
  const browser = createUserAgent(server.url)
  const login = await browser.get(`${server.url}/sign-in?return_to=/account/apps`)
  const { username, password } = ALICE
  const first = await browser.submit(login, 'login', { username, password })
  const second = await browser.submit(login, 'login', { username, password })
  expect([first, second].map(({ status, url }) => [status, url])).toEqual([
    [200, `${server.url}/account/apps`],
    [200, `${server.url}/account/apps`],
  ])
  // Somebody else is not taken for who is there.
  expect(
    (await browser.submit(login, 'login', { username: BOB.username, password: BOB.password })).status,
  ).toBe(403)
})

describe('of the account, two clicks', () => {
  const password = 'the former password'
  let count = 0

  async function opened(path: string): Promise<{ agent: UserAgent; page: Page }> {
    const username = `clicker-${++count}`
    await server.server.oauth.users.create({ username, password })
    const agent = await signedIn(server, { username, password })
    return { agent, page: await agent.get(`${server.url}/account${path}`) }
  }

  const FORMS: Readonly<Record<string, { path: string; id: string; fields: (page: Page) => Record<string, string>; done: RegExp }>> = {
    ...rowsWith('latchkey-second-factor', {
      'a new authenticator app': { path: '/security/authenticator', id: 'totp', fields: (page: Page) => ({ code: codeOf(secretOn(page)) }), done: /Recovery codes/ },
    }),
    'a new password': { path: '/password', id: 'change-password', fields: () => ({ current_password: password, new_password: 'the password after it' }), done: /Your password is changed/ },
  }
  const CLICKS: Readonly<Record<string, (click: () => Promise<Page>) => Promise<Page[]>>> = {
    'at once': async (click) => Promise.all([click(), click()]),
    'one after the other, before its cookie': async (click) => [await click(), await click()],
  }
  const cases = [
    ...rowsWith('latchkey-second-factor', [['a new authenticator app', 'at once'] as const]),
    ...Object.keys(FORMS).map((form) => [form, 'one after the other, before its cookie'] as const),
  ] as const

  test.each(cases)('on %s, %s: either answer says that it is done, and goes on signed in', async (form, clicks) => {
    const { path, id, fields, done } = FORMS[form]!
    const { agent, page } = await opened(path)
    const sent = fields(page)
    const agents: UserAgent[] = []
    const pages = await CLICKS[clicks]!(async () => {
      const one = agent.clone()
      agents.push(one)
      return one.submit(page, id, sent)
    })
    const now = agents.map((one) => one.cookies.get(SESSION))
    expect(pages.map(({ status, body }) => [status, done.test(body)])).toEqual([[200, true], [200, true]])
    expect([now[0] === now[1], now[0] === agent.cookies.get(SESSION)]).toEqual([true, false])
    // What opened before opens nothing.
    expect((await agent.get(`${server.url}/account`)).url).toContain('/sign-in?')
    for (const one of agents) expect((await one.get(`${server.url}/account`)).url).toBe(`${server.url}/account`)
  })

  test('on a new password, half a minute apart: the second one goes on with the session of the first', async () => {
    const { agent, page } = await opened(FORMS['a new password']!.path)
    const { id, fields, done } = FORMS['a new password']!
    const agents = [agent.clone(), agent.clone()]
    const pages = [await agents[0]!.submit(page, id, fields(page))]
    vi.setSystemTime(Date.now() + 30_000)
    onTestFinished(() => void vi.useRealTimers())
    pages.push(await agents[1]!.submit(page, id, fields(page)))
    expect(pages.map(({ status, body }) => [status, done.test(body)])).toEqual([[200, true], [200, true]])
    expect(agents[1]!.cookies.get(SESSION)).toBe(agents[0]!.cookies.get(SESSION))
  })

  test.runIf(isThere('latchkey-second-factor'))('while the codes of a new authenticator app are made, the second click waits for them', async () => {
    await server.database.query(`create function take_long() returns trigger language plpgsql as
      $$ begin if new.kind = 'recovery-codes' then perform pg_sleep(0.4); end if; return new; end $$`)
    await server.database.query('create trigger take_long before insert on user_records for each row execute function take_long()')
    const { agent, page } = await opened('/security/authenticator')
    const sent = { code: codeOf(secretOn(page)) }
    const pages = await Promise.all([agent.clone(), agent.clone()].map(async (one) => one.submit(page, 'totp', sent)))
    expect(pages.map(({ status, url }) => [status, new URL(url).pathname])).toEqual([
      [200, '/account/security/recovery-codes'],
      [200, '/account/security/recovery-codes'],
    ])
    await server.database.query('drop trigger take_long on user_records')
  })

  test.each(Object.keys(FORMS))('on %s: the cookie of before brings nothing with another form', async (form) => {
    const { path, id, fields } = FORMS[form]!
    const { agent, page } = await opened(path)
    const sent = fields(page)
    expect((await agent.clone().submit(page, id, sent)).status).toBe(200)
    for (const other of [{ ...sent, more: 'x' }, Object.fromEntries(Object.keys(sent).map((name) => [name, '']))]) {
      const thief = agent.clone()
      const answer = await thief.submit(page, id, other)
      expect([answer.status, thief.cookies.get(SESSION)]).toEqual([403, agent.cookies.get(SESSION)])
      expect(answer.body).toContain('You are not signed in any more')
    }
    // Nor does the same form at another address.
    const body = { ...findForm(page, id)!.fields, ...sent }
    for (const address of ['/account/profile', ...rowsWith('latchkey-second-factor', ['/account/security/recovery-codes'])]) {
      const thief = agent.clone()
      const answer = await thief.post(`${server.url}${address}`, body)
      expect([answer.status, thief.cookies.get(SESSION)]).toEqual([403, agent.cookies.get(SESSION)])
    }
    const elsewhere = createUserAgent(server.url, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })
    for (const [name, value] of agent.cookies) elsewhere.cookies.set(name, value)
    expect((await elsewhere.submit(page, id, sent)).status).toBe(403)
    expect(elsewhere.cookies.get(SESSION)).toBe(agent.cookies.get(SESSION))
  })
}) // prettier-ignore

test('of two users at once, neither allows with the form that the other was shown', async () => {
  const sent = await signInTwice([ALICE, BOB], { prompt: 'consent' })
  expect(sent.map(({ page }) => findForm(page, 'consent') !== undefined)).toEqual([true, true])
  const [alice, bob] = sent as [Sent, Sent]
  expect((await bob.agent.submit(alice.page, 'consent', { decision: 'allow' })).status).toBe(403)
  expect((await alice.agent.submit(bob.page, 'consent', { decision: 'allow' })).status).toBe(403)
  expect(answerOf(await bob.agent.submit(bob.page, 'consent', { decision: 'allow' })).has('code')).toBe(true)
})

describe.skipIf(noBrowser)('in a browser, a double click on "Sign in"', () => {
  test.each([true, false])('leads on, scripts: %s', async (javaScriptEnabled) => {
    const context = await newBrowserContext({ javaScriptEnabled })
    const page = await context.newPage()
    const forms: string[] = []
    page.on('request', (request) => request.method() === 'POST' && forms.push(request.url()))
    await page.goto(authorizationUrl(server, { prompt: 'login consent' }))
    await page.fill('#username', ALICE.username)
    await page.fill('#password', ALICE.password)
    await page.dblclick('#sign-in')
    await page.locator('#consent').waitFor()
    // The first one's answer is the one that is shown.
    expect(forms.length).toBeLessThanOrEqual(javaScriptEnabled ? 1 : 2)
    await context.close()
  })
})

test('a code that is good once, sent twice at once: whoever is refused goes on where the other one led', async () => {
  const refused = Promise.withResolvers<void>()
  let codes = 1
  const own = await startServer({}, {
    seed: SEED,
    async extend({ oauth, pages }) {
      await (pages as unknown as { add(name: string, file: URL, options: object): Promise<void> }).add(
        'pin', new URL('../plugins/authorize/pin.eta', import.meta.url), { kind: 'interaction' },
      )
      oauth.add('assurance', { name: 'code', require: () => ({ acr: ['2'] }) })
      oauth.add('interactionStep', {
        name: 'code',
        phase: 'authenticate',
        required: 'login_required',
        run: async ({ missing }) => (missing.length > 0 ? { page: 'pin', model: { wrong: false } } : 'done'),
        async submit(_interaction, { pin }) {
          if (pin !== 'good' || codes-- <= 0) {
            refused.resolve()
            return { page: 'pin', model: { wrong: true }, status: 403 }
          }
          // The other one is refused before this one has answered.
          await refused.promise
          return { note: {}, shown: { amr: ['otp'], acr: '2' } }
        },
      })
    },
  }) // prettier-ignore
  const agent = createUserAgent(own.url)
  const login = await agent.get(authorizationUrl(own))
  const factor = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  const both = [agent, agent.clone()]
  const pages = await Promise.all(both.map(async (one) => one.submit(factor, 'pin', { pin: 'good' })))
  expect(pages.map((page) => askedBy(page))).toEqual(['consent', 'consent'])
  expect(both[0]!.cookies.get(SESSION)).toBe(both[1]!.cookies.get(SESSION))

  const guess = createUserAgent(own.url)
  const asked = await guess.get(authorizationUrl(own))
  const second = await guess.submit(asked, 'login', { username: ALICE.username, password: ALICE.password })
  const wrong = await guess.submit(second, 'pin', { pin: 'good' })
  expect([wrong.status, findForm(wrong, 'pin') !== undefined]).toEqual([403, true])
})
