/** The headers of every page and redirect that people's browsers get, found by way of the server's own routes. */
import { describe, expect, test } from 'vitest'
import { routesOf } from '../support/routes.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorizationUrl, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { CONSENT, LOGIN, SIGN_OUT } from './forms.ts'

const server = await startServer({}, { seed: SEED })
const HTML = 'text/html; charset=utf-8'
const html = { accept: 'text/html' }

/** What design decides for every page, whatever it shows. */
function assertPage(headers: Headers, referrer = 'same-origin'): void {
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': HTML,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': referrer,
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': expect.stringMatching(/^(?:same-origin|unsafe-none)$/),
    'permissions-policy': expect.stringContaining('camera=()'),
  })
  const policy = headers.get('content-security-policy')!
  for (const directive of [
    "default-src 'none'",
    "script-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ])
    expect(policy.split('; ')).toContain(directive)
  expect(policy).not.toMatch(/unsafe|nonce|http:|\*/)
  assertNoCors(headers)
}

function assertNoCors(headers: Headers): void {
  const names = [...headers.keys()].filter((name) => name.startsWith('access-control-'))
  expect(names).toEqual([])
} // prettier-ignore

/** A page: it names no other party's address that is loaded by itself, and runs nothing inline. */
function assertStill(body: string): void {
  expect(body).not.toMatch(
    /<script(?![^>]* src="\/)|<style| on[a-z]+=| style=|<base|<iframe|<object|javascript:/i,
  )
  expect(body).not.toMatch(/(?:src|href)="https?:[^"]*\.(?:js|css)/)
}

test('S4: every route that answers a browser with a page, by any method, in any state', async () => {
  const { agent } = await SIGN_OUT.open(server)
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  let pages = 0
  for (const { url, methods } of routesOf(server.server))
    for (const method of [...methods, 'PROPFIND'])
      for (const headers of [
        html,
        { ...html, cookie },
        { ...html, cookie, origin: 'https://evil.example' },
      ]) {
        const path = url.replaceAll(/:[a-z]+/g, 'x') || '/'
        const response = await server.request(path, { method, headers })
        const body = await response.text()
        expect(response.status).toBeLessThan(500)
        if (response.headers.get('content-type') !== HTML) continue
        pages++
        assertPage(response.headers)
        assertStill(body)
      }
  expect(pages).toBeGreaterThan(50)
})

describe('the pages of a sign-in', () => {
  test('login and consent name no target of forms, since clients redirect onward; the others only us', async () => {
    const consent = await CONSENT.open(server)
    const { agent } = consent
    const pages = {
      login: await agent.get((await LOGIN.open(server, agent)).action.replace('/login?', '?')),
      consent: await agent.get(consent.action.replace('/consent?', '?')),
      error: await agent.get(`${server.url}/authorize`),
      'sign-out': await agent.get(`${server.url}/end-session`),
      refused: await (await LOGIN.open(server)).agent.post(`${server.url}/interaction/x/login`, {}),
    }
    for (const [name, { headers, body }] of Object.entries(pages)) {
      assertPage(headers)
      assertStill(body)
      const named = headers.get('content-security-policy')!.includes("form-action 'self'")
      expect([name, named]).toEqual([name, name === 'error' || name === 'refused'])
    }
  })

  test('the page of form_post, of an answer and of an error', async () => {
    const agent = createUserAgent(server.url)
    const asked = { response_mode: 'form_post' }
    const answer = await goThrough(agent, await agent.get(authorizationUrl(server, asked)))
    const error = await agent.get(authorizationUrl(server, { ...asked, response_type: 'wrong' }))
    for (const page of [answer, error]) {
      expect([page.status, page.body.includes('id="form-post"')]).toEqual([200, true])
      // With `same-origin`, browsers would send `Origin: null`, which apps that judge by it refuse.
      assertPage(page.headers, 'strict-origin')
      assertStill(page.body)
    }
  })
})

describe('redirects', () => {
  test('that carry an answer are 303, never stored, and leave no trace of where they come from', async () => {
    const { agent, action, fields } = await CONSENT.open(server)
    const answers = [await agent.post(action, fields), await agent.get(authorizationUrl(server)), await agent.get(authorizationUrl(server, { scope: 'nothing' }))]
    expect(answers.map(({ headers }) => /(code|error)=/.exec(headers.get('location')!)?.[1])).toEqual(['code', 'code', 'error'])
    for (const { status, headers } of answers) {
      expect([status, headers.get('cache-control'), headers.get('referrer-policy')]).toEqual([303, 'no-store', 'no-referrer'])
      assertNoCors(headers)
    }
  })

  test('A10: after a form are 303, so that no browser sends the password on', async () => {
    const { agent, action, fields } = await LOGIN.open(server)
    const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
    const headers = { cookie, origin: server.url }
    const response = await server.post(action, { ...fields, username: ALICE.username, password: ALICE.password }, headers)
    expect([response.status, response.headers.get('location')]).toEqual([303, expect.stringMatching(/^(?:\/interaction\/|https:)/)])
    const { agent: other, ...signOut } = await SIGN_OUT.open(server)
    const out = await other.post(signOut.action, signOut.fields)
    expect(out.status).toBe(200)
  })

  test('of a form that another site sent lead to ourselves, by 303', async () => {
    const form = Object.fromEntries(new URL(authorizationUrl(server)).searchParams)
    for (const site of ['cross-site', 'same-site']) {
      const response = await server.post('/authorize', form, { 'sec-fetch-site': site, origin: 'https://evil.example' })
      expect([response.status, response.headers.get('location')]).toEqual([303, expect.stringMatching(/^\/authorize\?/)])
      assertNoCors(response.headers)
    }
  })
}) // prettier-ignore

test('scripts of other origins can read no page and no answer, and get no leave by preflight', async () => {
  const { agent } = await SIGN_OUT.open(server)
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  const { pathname, search } = new URL(authorizationUrl(server))
  for (const origin of ['https://evil.example', 'null', 'https://app.example', server.url])
    for (const path of [pathname + search, '/authorize/', '/end-session', '/interaction/x', '/interaction/x/login', '/'])
      for (const method of ['GET', 'POST', 'OPTIONS', 'HEAD']) {
        const headers = { cookie, origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x' }
        const response = await server.request(path, { method, headers })
        await response.body?.cancel()
        assertNoCors(response.headers)
        expect(method !== 'OPTIONS' || response.status >= 404).toBe(true)
      }
}) // prettier-ignore
