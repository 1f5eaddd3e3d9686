/** OpenID Connect Session Management 1.0: what answers say, what the cookie is, and what a frame of ours tells the page of an app. */
import { createHash } from 'node:crypto'
import type { Page as Tab } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { noBrowser } from '../../support/browser.ts'
import { newPerson, signIn } from '../../support/people.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  BOB,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'

const app = await startReceiver((_request, response) =>
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end('<!doctype html><title>App</title><p>Welcome</p>'),
)
const HOME = `http://127.0.0.1:${app.port}`
const redirect_uris = [REDIRECT_URI, `${HOME}/callback`, 'com.example.app:/callback']
const registered = { ...WEB, redirect_uri: undefined, redirect_uris, require_consent: undefined }
const seed = { ...SEED, clients: [registered, { ...registered, client_id: 'second app' }] }
const server = await startServer({ OIDC_SESSION_MANAGEMENT: 'true' }, { seed })
const COOKIE = 'latchkey-browser-state'

async function sessionState(
  agent: UserAgent,
  parameters: Record<string, string> = {},
  user: Pick<typeof ALICE, 'username' | 'password'> = ALICE,
): Promise<string | null> {
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, parameters)), user)
  return answerOf(page).get('session_state')
}

/** §4.2, by what the browser has. */
function expectedOf({ cookies }: UserAgent, state: string, client = 'web', origin = 'https://app.example') {
  const salt = state.split('.')[1]!
  const hash = createHash('sha256').update(`${client} ${origin} ${cookies.get(COOKIE)} ${salt}`)
  return `${hash.digest('base64url')}.${salt}`
}

describe('an answer', () => {
  test('has a session_state that is of this client, this origin and this browser, with a salt of its own', async () => {
    const agent = createUserAgent(server.url)
    const [one, two] = [(await sessionState(agent))!, (await sessionState(agent))!]
    const third = (await sessionState(agent, { client_id: 'second app', redirect_uri: `${HOME}/callback` }))!
    expect(one).not.toBe(two)
    for (const state of [one, two]) expect(state).toBe(expectedOf(agent, state))
    expect(third).toBe(expectedOf(agent, third, 'second app', HOME))
    const posted = await agent.get(authorizationUrl(server, { response_mode: 'form_post' }))
    expect(posted.body).toMatch(/name="session_state" value="[\w-]{43}\.[\w-]{22}"/)
  })

  test('has none where nobody is signed in, without openid, and for an app that has no page', async () => {
    const agent = createUserAgent(server.url)
    const refused = answerOf(await agent.get(authorizationUrl(server, { prompt: 'none' })))
    expect([refused.get('error'), refused.has('session_state')]).toEqual(['login_required', false])
    expect(await sessionState(agent, { scope: 'read_books' })).toBeNull()
    expect(await sessionState(agent, { redirect_uri: 'com.example.app:/callback' })).toBeNull()
  })
})

describe('the cookie', () => {
  test('is the same as long as the same person is signed in, and another one from then on', async () => {
    const agent = createUserAgent(server.url)
    await sessionState(agent)
    const seen = [agent.cookies.get(COOKIE)]
    await goThrough(agent, await agent.get(authorizationUrl(server, { prompt: 'login' })))
    expect(agent.cookies.get(COOKIE)).toBe(seen[0])
    await agent.submit(await agent.get(`${server.url}/account`), 'sign-out-form')
    seen.push(agent.cookies.get(COOKIE))
    // On pages of ours alone, too.
    await goThrough(agent, await agent.get(`${server.url}/account`), BOB)
    seen.push(agent.cookies.get(COOKIE))
    await goThrough(agent, await agent.get(`${server.url}/sign-in?account=other&return_to=/account`))
    seen.push(agent.cookies.get(COOKIE))
    expect(seen.every((one) => /^[\w-]{43}$/.test(one ?? ''))).toBe(true)
    expect(new Set(seen).size).toBe(4)
  })

  test('is set again for a browser that has lost it', async () => {
    const agent = createUserAgent(server.url)
    await sessionState(agent)
    const before = agent.cookies.get(COOKIE)
    agent.cookies.delete(COOKIE)
    const state = (await sessionState(agent))!
    expect([agent.cookies.get(COOKIE), state]).toEqual([before, expectedOf(agent, state)])
  })

  test('opens nothing, and under https goes into frames of other sites', async () => {
    const secure = await startServer(
      { OIDC_SESSION_MANAGEMENT: 'true', OIDC_ISSUER: 'https://id.example/a' },
      { seed },
    )
    const { headers } = await secure.server.inject({ url: '/a/end-session' })
    const line = [headers['set-cookie']].flat().find((one) => one?.includes(COOKIE))
    expect(line).toMatch(/^__Host-latchkey-browser-state=[\w-]{43}; Path=\/; Secure; SameSite=None$/)
    const { body } = await secure.server.inject({ url: '/a/check-session' })
    expect(body).toContain('data-cookie="__Host-latchkey-browser-state"')
  })
})

test('the frame is named in the metadata, and may stand in any page; all else is refused there', async () => {
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as Record<
    string,
    unknown
  >
  expect(metadata['check_session_iframe']).toBe(`${server.url}/check-session`)
  for (const path of ['/check-session', '/check-session/']) {
    const { status, headers } = await server.get(path)
    expect([status, headers.get('x-frame-options'), headers.get('cross-origin-resource-policy')]).toEqual([
      200, null, 'cross-origin',
    ]) // prettier-ignore
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
    )
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await server.request(path, { method })).status).toBe(405)
  }
})

test.each([{}, { OIDC_SESSION_MANAGEMENT: 'true', WITHOUT: 'latchkey-session-management' }])(
  'with %j nothing of it is there',
  async (settings) => {
    const quiet = await startServer(settings, { seed })
    expect(await (await quiet.get('/.well-known/openid-configuration')).text()).not.toContain('check_session')
    expect((await quiet.get('/check-session')).status).toBe(404)
    const agent = createUserAgent(quiet.url)
    const page = await goThrough(agent, await agent.get(authorizationUrl(quiet)))
    expect([answerOf(page).has('session_state'), agent.cookies.has(COOKIE)]).toEqual([false, false])
  },
)

describe.skipIf(noBrowser)('in Chromium, in a page of another origin', () => {
  /** Puts the frame into the page of the app, as its library does. */
  const FRAME = `new Promise((resolve) => {
    const frame = document.createElement('iframe')
    frame.hidden = true
    frame.src = '${server.url}/check-session'
    frame.onload = () => resolve(true)
    document.body.append(frame)
  })`

  /** What the frame answers to each of the messages. */
  async function ask(tab: Tab, messages: readonly string[]): Promise<string[]> {
    const answers: string[] = []
    for (const message of messages)
      answers.push(
        await tab.evaluate<string>(`new Promise((resolve) => {
          addEventListener('message', ({ data, origin }) => resolve(origin === '${server.url}' ? data : origin), { once: true })
          document.querySelector('iframe').contentWindow.postMessage(${JSON.stringify(message)}, '${server.url}')
        })`),
      )
    return answers
  }

  test('it says unchanged, then changed once the person has signed out in another tab; error to what is no question', async () => {
    const person = await newPerson()
    const { page, said } = person
    await page.goto(authorizationUrl(server, { redirect_uri: `${HOME}/callback`, prompt: 'consent' }))
    await signIn(person, ALICE)
    await page.click('#allow')
    await page.waitForURL(`${HOME}/callback?*`)
    const state = new URL(page.url()).searchParams.get('session_state')!
    await page.evaluate(FRAME)
    const other = state.replace(/^./, (first) => (first === 'a' ? 'b' : 'a'))
    expect(await ask(page, [`web ${state}`, `second app ${state}`, `web ${other}`, 'web', `web ${state} `, ''])).toEqual([
      'unchanged', 'changed', 'changed', 'error', 'error', 'error',
    ]) // prettier-ignore

    const tab = await page.context().newPage()
    await tab.goto(`${server.url}/account`)
    await tab.click('#sign-out-here')
    await tab.waitForSelector('#signed-out')
    expect(await ask(page, [`web ${state}`])).toEqual(['changed'])

    await page.context().clearCookies()
    expect(await ask(page, [`web ${state}`])).toEqual(['error'])
    expect(said).toEqual([])
  })
})
