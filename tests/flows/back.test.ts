/** Back, and a page that was left open: people are told what is so, and led on to the app, with a new start. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { open, seal } from '../../plugins/interaction/asked.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { newBrowserContext, noBrowser, textOf } from '../support/browser.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createAssertionKey } from '../support/client-assertions.ts'
import { shownError } from '../support/error-page.ts'
import { addressWith, push } from '../support/pushed.ts'
import { requestObject } from '../support/request-objects.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const key = await createAssertionKey()
const BLAME = /This is not your fault|the app that sent you here/
const { client_id: _, ...rest } = WEB
const client = (client_id: string, more: object = {}) => ({
  ...rest,
  client_id,
  client_name: 'Book club',
  ...more,
})
const server = await startServer(
  {},
  {
    seed: {
      ...SEED,
      clients: [
        WEB,
        client('plain'),
        client('homely', { client_uri: 'https://app.example/home' }),
        client('initiating', {
          client_uri: 'https://app.example/home',
          initiate_login_uri: 'https://app.example/start?a=b',
        }),
      ],
    },
  },
) // prettier-ignore

/** Where the button leads, and what it says. */
function wayOn({ body, url }: Page): [string, string] {
  const [, href = '', text = ''] = /<a class="button primary" href="([^"]+)">(.*?)<\/a>/.exec(body) ?? []
  return [new URL(href.replaceAll('&amp;', '&'), url).href, text.replaceAll(/<\/?(?:bdi|span)>/g, '')]
}

/** Signs in, and opens the sign-in page again as Back does. */
async function back(agent: UserAgent, client_id: string): Promise<Page> {
  const login = await agent.get(authorizationUrl(server, { client_id, prompt: 'login', state: 'first' }))
  expect(answerOf(await goThrough(agent, login)).has('code')).toBe(true)
  const page = await agent.get(login.url)
  expect(await shownError({ ...page, body: page.body })).toEqual([400, 'invalid_request'])
  expect(page.body).toMatch(/<h1>This step is done<\/h1>/)
  expect(page.body).not.toMatch(BLAME)
  // Nothing went wrong, and nobody has to begin again.
  expect(page.body).toMatch(/<title>This step is done /)
  expect(page.body).toMatch(/<details>/)
  expect(page.body).not.toMatch(/begin again|too old/)
  return page
}

describe('after signing in', () => {
  test('the button leads to where the app begins a sign-in', async () => {
    const page = await back(createUserAgent(server.url), 'initiating')
    const iss = new URLSearchParams({ iss: server.url }).toString()
    expect(wayOn(page)).toEqual([`https://app.example/start?a=b&${iss}`, 'Continue to Book club'])
  })

  test('or to its home page', async () => {
    const page = await back(createUserAgent(server.url), 'homely')
    expect(wayOn(page)).toEqual(['https://app.example/home', 'Continue to Book club'])
  })

  test('or begins the same request once more, which the app knows by its state', async () => {
    const agent = createUserAgent(server.url)
    const [href] = wayOn(await back(agent, 'plain'))
    const login = await agent.get(href)
    // What the app asked for is asked again.
    expect(findForm(login, 'login')).toBeDefined()
    const answer = answerOf(await goThrough(agent, login))
    expect([answer.has('code'), answer.get('state')]).toEqual([true, 'first'])
  })

  test('a form that is sent once more says the same, and so does a deny', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server, { client_id: 'homely', prompt: 'login consent' }))
    const who = { username: ALICE.username, password: ALICE.password }
    const consent = await agent.submit(login, 'login', who)
    expect(answerOf(await agent.submit(consent, 'consent', { decision: 'deny' })).get('error')).toBe('access_denied')
    for (const again of [agent.submit(login, 'login', who), agent.submit(consent, 'consent', { decision: 'allow' })])
      expect((await again).body).toMatch(/<h1>This step is done<\/h1>/)
  }) // prettier-ignore
})

/** Its address, as it is when it has been open for too long. */
function tooOld({ url }: Page): URL {
  const address = new URL(url)
  const [id, { box }] = [address.pathname.split('/').at(-1)!, kernelOf(server.server)]
  const asked = open(box, id, address.searchParams.get('request')!)!
  expect(asked.until - Date.now()).toBeGreaterThan(3_000_000)
  address.searchParams.set('request', seal(box, id, { ...asked, until: Date.now() - 1 }))
  return address
}

test('a page that was open for too long says so, and leads to a new start', async () => {
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server, { client_id: 'plain' }))
  const address = tooOld(login)
  const form = findForm(login, 'login')!
  const late = await agent.get(address)
  const posted = await agent.post(form.action.replace(/\?.*/, address.search), form.fields)
  for (const page of [late, posted]) {
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('This page is too old')])
    expect(page.body).not.toMatch(BLAME)
    expect(findForm(await agent.get(wayOn(page)[0]), 'login')).toBeDefined()
  }
})

test('one whose request is answered once leads to none that nobody could answer', async () => {
  const agent = createUserAgent(server.url)
  for (const [id, way] of [
    ['plain', [`${server.url}/`, 'Go to the start page']],
    ['homely', ['https://app.example/home', 'Continue to Book club']],
  ] as const) {
    const login = await agent.get(server.url + addressWith(await push(server, {}, id), id))
    const late = await agent.get(tooOld(login))
    expect([late.status, late.body]).toEqual([400, expect.stringContaining('This page is too old')])
    expect(wayOn(late)).toEqual(way)
    expect(late.body).not.toContain('/interaction/')
  }
})

describe('a new start of a request that its app may not send like this any more comes to nothing', () => {
  test.each(['require_pushed_authorization_requests', 'require_signed_request_object'])(
    '%s',
    async (member) => {
      const agent = createUserAgent(server.url)
      const { clients } = server.server.oauth
      await clients.create({ ...client(member), jwks: { keys: [key.jwk] } })
      const login = await agent.get(authorizationUrl(server, { client_id: member }))
      const request = await requestObject(key, member, server.url)
      const pushed = addressWith(await push(server, { request, client_id: member }, member), member)
      const other = createUserAgent(server.url)
      const good = await other.get(server.url + pushed)
      await clients.update(member, { [member]: true })
      const begun = await agent.get(wayOn(await agent.get(tooOld(login)))[0])
      expect(answerOf(await goThrough(agent, begun)).get('error')).toBe('invalid_request')
      // What came as it must goes on.
      expect(answerOf(await goThrough(other, good)).has('code')).toBe(true)
    },
  )
})

test('of an app that may be answered no more, and of an address that says nothing, it leads home', async () => {
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server, { client_id: 'plain', prompt: 'login' }))
  await goThrough(agent, login)
  const { clients, findClient } = server.server.oauth
  await clients.save({ ...(await clients.find('plain'))!, redirect_uris: ['https://app.example/other'] })
  await expect
    .poll(async () => JSON.stringify((await findClient('plain'))?.metadata['redirect_uris']))
    .toContain('other')
  const page = await agent.get(login.url)
  expect(wayOn(page)).toEqual([`${server.url}/`, 'Go to the start page'])
  const bare = await agent.get(login.url.replace(/\?.*/, ''))
  expect([bare.status, wayOn(bare)]).toEqual([400, [`${server.url}/`, 'Go to the start page']])
  for (const { body } of [page, bare]) expect(body).not.toMatch(BLAME)
})

test.skipIf(noBrowser)('in a browser: sign in, Back, and on to the app', async () => {
  const app = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<title>App</title><p id="landed">${new URL(request.url!, 'http://a').pathname}</p>`)
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  atEndOfFile(async () => void app.close())
  const origin = `http://127.0.0.1:${(app.address() as AddressInfo).port}`
  await server.server.oauth.clients.create({
    client_id: 'local', client_secret: WEB.client_secret, redirect_uris: [`${origin}/callback`], client_uri: `${origin}/home`,
    client_name: 'Local app',
  }) // prettier-ignore
  const context = await newBrowserContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(`${origin}/`)
  await page.goto(
    authorizationUrl(server, { client_id: 'local', redirect_uri: `${origin}/callback`, prompt: 'login' }),
  )
  await page.fill('#username', ALICE.username)
  await page.fill('#password', ALICE.password)
  await page.click('#sign-in')
  await page.click('#allow')
  expect(await textOf(page, '#landed')).toBe('/callback')
  await page.goBack()
  expect(await page.textContent('h1')).toBe('This step is done')
  const button = page.getByRole('link', { name: 'Continue to Local app' })
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 700 })
    // One running line: what is laid out in columns reads as lines of their own.
    expect([width, await button.innerText()]).toEqual([width, 'Continue to Local app'])
  }
  await button.click()
  expect(await textOf(page, '#landed')).toBe('/home')
})
