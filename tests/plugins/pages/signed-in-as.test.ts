/** Who is signed in, at the top of their pages, and signing out there (design of the pages: `form#sign-out-form`). */
import { describe, expect, test } from 'vitest'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { newBrowserContext, noBrowser, textOf } from '../../support/browser.ts'
import { createDatabase } from '../../support/database.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../../support/database-proxy.ts'
import { shownError } from '../../support/error-page.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

const ADA = { username: 'ada', password: 'a long password of hers', name: 'Ada Lovelace', roles: ['admin'] }
const LONG = { username: `${'long.'.repeat(16)}name@mail.example`, password: 'a long password of mine' }
const CLIENT = { ...WEB, client_id: 'web', post_logout_redirect_uris: ['https://app.example/out'] }
const server = await startServer({}, { seed: { ...SEED, clients: [CLIENT], users: [ADA, ALICE, LONG] } })

const ACCOUNT = ['', '/profile', '/email', '/password', '/sessions', '/apps', '/activity']
const ADMIN = ['', '/clients', '/clients/new', '/client?client_id=web', '/users', '/users/new', '/scopes', '/scopes/new', '/resources', '/keys', '/audit'] // prettier-ignore
const PAGES = ['/', ...ACCOUNT.map((path) => `/account${path}`), ...ADMIN.map((path) => `/admin${path}`)]

async function signedIn({ username, password }: typeof LONG, agent = createUserAgent(server.url), at = server): Promise<UserAgent> {
  const page = await agent.get(`${at.url}/sign-in?max_age=0`)
  await agent.submit(page, 'login', { username, password })
  return agent
} // prettier-ignore

/** The text of `#signed-in-as`; undefined where there is none. */
const named = ({ body }: Page): string | undefined =>
  /id="signed-in-as"[^>]*>(.*?)<\/strong>/.exec(body)?.[1]?.replaceAll(/<[^>]*>/g, '')
const IDS = ['sign-out-form', 'sign-out-here', 'signed-in-as']
const count = ({ body }: Page): number[] => IDS.map((id) => body.split(`id="${id}"`).length - 1)

test('each page of a signed-in person says who they are, once, and signs them out', async () => {
  const agent = await signedIn(ADA)
  for (const path of PAGES) {
    const page = await agent.get(`${server.url}${path}`)
    expect([path, page.status, named(page), count(page)]).toEqual([path, 200, 'ada', [1, 1, 1]])
    expect([path, page.body.includes('id="sign-out"')]).toEqual([path, false])
  }
  const held = agent.clone()
  const done = await agent.submit(await agent.get(`${server.url}/admin/keys`), 'sign-out-form')
  expect([done.status, done.body]).toEqual([200, expect.stringContaining('id="signed-out"')])
  expect(done.url).toBe(`${server.url}/end-session`)
  for (const one of [agent, held]) expect((await one.get(`${server.url}/account`)).body).toContain('id="login"')
}) // prettier-ignore

test('pages on the way to an app and those of nobody do not', async () => {
  const agent = await signedIn(ALICE)
  const consent = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
  const pages = [
    consent,
    await agent.get(authorizationUrl(server, { prompt: 'login' })),
    await agent.get(`${server.url}/sign-in?max_age=0`),
    await agent.get(`${server.url}/end-session`),
    await createUserAgent(server.url).get(`${server.url}/`),
    await createUserAgent(server.url).get(`${server.url}/nothing`),
    await createUserAgent(server.url).get(`${server.url}/authorize`),
    await agent.submit(await agent.get(`${server.url}/account`), 'sign-out-form'),
  ]
  for (const page of pages) expect([page.url, count(page)]).toEqual([page.url, [0, 0, 0]])
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 404, 400, 200])
})

const UNKNOWN_HINT = ['/end-session?id_token_hint=x', 400] as const

describe('pages of errors say it where they offer to sign out, and nowhere else', () => {
  const REFUSED: readonly (readonly [path: string, status: number, init?: RequestInit])[] = [
    ['/nothing', 404],
    ['/account', 405, { method: 'PUT' }],
    ['/admin', 403],
    ['/authorize', 400],
    UNKNOWN_HINT,
    ['/interaction/x', 400],
    ['/slow-down', 429],
    ['/fault', 500],
    ['/account/profile', 403, { method: 'POST', body: new URLSearchParams({ name: 'Mallory' }) }],
  ]
  const proxies: DatabaseProxy[] = []
  const open = async (
    { url }: TestServer,
    agent: UserAgent,
    [path, , init]: (typeof REFUSED)[number],
  ): Promise<Page> => {
    const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
    const headers = { accept: 'text/html', cookie, origin: url }
    const response = await fetch(url + path, { ...init, headers, redirect: 'manual' })
    return { url: path, status: response.status, headers: response.headers, body: await response.text() }
  }

  async function withFaults(): Promise<TestServer> {
    const database = await createDatabase()
    const proxy = await startDatabaseProxy(database.url)
    proxies.push(proxy)
    return startServer(
      { DATABASE_URL: proxy.url },
      {
        database,
        seed: SEED,
        extend: (fastify) =>
          fastify.register(async (scope) => {
            scope.setErrorHandler((error, request, reply) => fastify.pages.sendError(error, request, reply))
            scope.get('/slow-down', async () => {
              throw new OAuthError('slow_down', 'too many', { status: 429 })
            })
            scope.get('/fault', async () => {
              throw new Error('a fault')
            })
          }),
      },
    )
  }

  test('to who is signed in, whatever the error is; they sign out where it is offered', async () => {
    const faulty = await withFaults()
    const agent = await signedIn(ALICE, createUserAgent(faulty.url), faulty)
    for (const refused of REFUSED) {
      const page = await open(faulty, agent, refused)
      const [path, status] = refused
      const offers = path.startsWith('/end-session')
      expect([path, page.status, count(page)]).toEqual([path, status, offers ? [1, 1, 1] : [0, 0, 0]])
      expect((await shownError(page))[0]).toBe(status)
    }
    const page = await open(faulty, agent, UNKNOWN_HINT)
    expect(named(page)).toBe('alice')
    const done = await agent.submit({ ...page, url: `${faulty.url}/nothing` }, 'sign-out-form')
    expect(done.body).toContain('id="signed-out"')
    expect(count(await open(faulty, agent, REFUSED[0]!))).toEqual([0, 0, 0])
  })

  test.each([
    ['is gone', async (proxy: DatabaseProxy) => proxy.cut()],
    ['does not answer', async (proxy: DatabaseProxy) => proxy.stall()],
  ])('where the database %s, without it: the error is shown all the same', async (_what, fail) => {
    const faulty = await withFaults()
    const proxy = proxies.at(-1)!
    const agent = await signedIn(ALICE, createUserAgent(faulty.url), faulty)
    await fail(proxy)
    for (const [path, status] of [
      ['/nothing', 404],
      ['/fault', 500],
      ['/slow-down', 429],
    ] as const) {
      const page = await open(faulty, agent, [path, status])
      expect([path, await shownError(page), count(page)]).toEqual([path, [status, expect.any(String)], [0, 0, 0]])
      // Of a stranger, nobody is asked.
      expect((await open(faulty, createUserAgent(faulty.url), [path, status])).status).toBe(status)
    }
    await proxy.restore()
    await expect.poll(async () => named(await open(faulty, agent, UNKNOWN_HINT))).toBe('alice')
  }) // prettier-ignore
})

test('its form is of one session and one browser', async () => {
  const [agent, other] = [await signedIn(ALICE), await signedIn(ADA)]
  const { action, fields } = findForm(await agent.get(`${server.url}/account`), 'sign-out-form')!
  for (const sent of [fields, { csrf_token: 'forged' }])
    expect(await shownError(other.post(action, sent))).toEqual([403, 'access_denied'])
  await signedIn(ADA, agent)
  expect(await shownError(agent.post(action, fields))).toEqual([403, 'access_denied'])
  expect(named(await agent.get(`${server.url}/account`))).toBe('ada')
})

test('it ends what the sign-in gave, as any sign-out does', async () => {
  const agent = createUserAgent(server.url)
  const answer = answerOf(await goThrough(agent, await agent.get(authorizationUrl(server))))
  expect(answer.has('code')).toBe(true)
  await agent.submit(await agent.get(`${server.url}/account`), 'sign-out-form')
  const silent = answerOf(await agent.get(authorizationUrl(server, { prompt: 'none' })))
  expect(silent.get('error')).toBe('login_required')
  const { database } = server
  expect(await database.query(`select from authorization_codes where spent_at is null and expires_at > now()`)).toEqual([])
}) // prettier-ignore

describe.skipIf(noBrowser)('in a browser', () => {
  test.each([320, 1280])('%i pixels wide: all of it is there, without scrolling sideways', async (width) => {
    for (const person of [ADA, LONG]) {
      const context = await newBrowserContext({
        viewport: { width, height: 720 },
        javaScriptEnabled: false,
      })
      const page = await context.newPage()
      await page.goto(`${server.url}/sign-in?return_to=/account`)
      await page.fill('#username', person.username)
      await page.fill('#password', person.password)
      await page.click('#sign-in')
      expect(await textOf(page, '#signed-in-as')).toBe(person.username)
      const button = page.locator('#sign-out-here')
      const box = (await button.boundingBox())!
      expect(box.height).toBeGreaterThanOrEqual(44)
      expect(box.x).toBeGreaterThanOrEqual(0)
      expect(box.x + box.width).toBeLessThanOrEqual(width)
      // As wide as the window: nothing is pushed out of it.
      const scrolled = await page.evaluate<number>('document.documentElement.scrollWidth')
      expect(scrolled).toBeLessThanOrEqual(width)
      await button.click()
      await page.locator('#signed-out').waitFor()
      await context.close()
    }
  })
})
