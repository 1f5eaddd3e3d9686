/**
 * What somebody sends comes back nowhere but where it belongs: `state` to the client, a user name in its field.
 * Nothing that is sent is ever markup, a script's address, or a header of ours.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LEGAL, shownError } from '../support/error-page.ts'
import { sendRaw } from '../support/raw-http.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, goThrough, REDIRECT_URI, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { CONSENT, LOGIN } from './forms.ts'

const server = await startServer({}, { seed: SEED })
const CANARY = `cAnArY"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}<%= 7*7 %>\${7*7}&lt;`
const SPLIT = 'x\r\nSet-Cookie: cAnArY=1\r\n\r\n<script>cAnArY</script>'
const NAMES = [
  'client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce', 'prompt', 'max_age',
  'login_hint', 'id_token_hint', 'claims', 'acr_values', 'ui_locales', 'claims_locales', 'display', 'resource',
  'code_challenge', 'code_challenge_method', 'request', 'request_uri', 'registration', 'nothing', '__proto__',
] // prettier-ignore

const query = (...pairs: [string, string][]): string => new URLSearchParams(pairs).toString()

/** No payload of ours stands in a page as it was sent, nor in any header but as the value of `state`. */
function assertInert(html: string, headers: Headers): void {
  for (const markup of ['<script>alert', '<img src=x', 'cAnArY"', "cAnArY'", '<script>cAnArY'])
    expect(html).not.toContain(markup)
  // What a template would have made of it.
  expect(html).not.toMatch(/onerror=alert\(1\)&gt;49/)
  expect(headers.getSetCookie().join()).not.toContain('cAnArY')
  for (const [name, value] of headers) {
    const left = name === 'location' ? value.replace(/(?<=[?&])state=[^&]*/, '') : value
    expect([name, left]).toEqual([name, expect.not.stringContaining('cAnArY')])
  }
}

describe.each([['markup', CANARY], ['a header', SPLIT]])('%s', (_what, payload) => {
  test.each(NAMES)('as %s of an authorization request', async (name) => {
    for (const more of [{}, { response_mode: 'form_post' }, { prompt: 'none' }, { response_type: 'wrong' }]) {
      const response = await server.get(authorizationUrl(server, { ...more, [name]: payload }))
      assertInert(await response.text(), response.headers)
      const repeated = await server.get(`${authorizationUrl(server, more)}&${query([name, payload], [name, payload])}`)
      assertInert(await repeated.text(), repeated.headers)
      const agent = createUserAgent(server.url)
      const page = await agent.get(authorizationUrl(server, { ...more, [name]: payload }))
      assertInert(page.body, page.headers)
    }
  })

  test('as a name of a parameter', async () => {
    const response = await server.get(`${authorizationUrl(server)}&${query([payload, 'a'], [payload, 'b'])}`)
    assertInert(await response.text(), response.headers)
  })

  test('in the login form', async () => {
    const { agent, action, fields } = await LOGIN.open(server)
    for (const name of ['username', 'password', 'csrf_token', 'nothing']) {
      const page = await agent.post(action, { ...fields, password: 'wrong', [name]: payload })
      assertInert(page.body, page.headers)
    }
    const page = await agent.post(action, { ...fields, username: payload, password: 'wrong' })
    expect(findForm(page, 'login')?.fields['username']?.replaceAll('\r\n', '')).toBe(payload.replaceAll('\r\n', ''))
    expect(findForm(page, 'login')?.fields['password']).toBe('')
  })

  test('in the consent form, and in the address of an interaction', async () => {
    const { agent, action, fields } = await CONSENT.open(server)
    for (const name of ['decision', 'csrf_token']) {
      const page = await agent.clone().post(action, { ...fields, [name]: payload })
      assertInert(page.body, page.headers)
    }
    const encoded = encodeURIComponent(payload)
    for (const url of [`/interaction/${encoded}`, `/interaction/${encoded}/login`, `/${encoded}`]) {
      const page = await agent.get(server.url + url)
      assertInert(page.body, page.headers)
      const posted = await agent.post(server.url + url, fields)
      assertInert(posted.body, posted.headers)
    }
  })

  test('at sign-out', async () => {
    const { agent } = await CONSENT.open(server)
    for (const by of [agent, createUserAgent(server.url)])
      for (const name of ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'logout_hint', 'ui_locales', 'csrf_token']) {
        const got = await by.get(`${server.url}/end-session?${query([name, payload])}`)
        assertInert(got.body, got.headers)
        const posted = await by.clone().post(`${server.url}/end-session`, { [name]: payload })
        assertInert(posted.body, posted.headers)
      }
  })
}) // prettier-ignore

describe('what the client is told', () => {
  test('is its state to the letter, by redirect and by form_post, whatever is in it', async () => {
    const agent = createUserAgent(server.url)
    await goThrough(agent, await agent.get(authorizationUrl(server)))
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), async (text) => {
        const state = text.replaceAll('\0', '').replaceAll(/\r\n?|\n/g, '\n')
        if (state === '' || !state.isWellFormed()) return
        const page = await agent.get(authorizationUrl(server, { state }))
        expect(answerOf(page).get('state')).toBe(state)
        const posted = await agent.get(authorizationUrl(server, { state, response_mode: 'form_post' }))
        expect(findForm(posted, 'form-post')?.fields['state']).toBe(state)
        expect(findForm(posted, 'form-post')?.action).toBe(REDIRECT_URI)
      }),
      { numRuns: 100 },
    )
  })

  test('has one header of each name, with line breaks in the state', async () => {
    const { host } = new URL(server.url)
    const url = authorizationUrl(server, { state: SPLIT, prompt: 'none' }).slice(server.url.length)
    const { text } = await sendRaw(server.url, `GET ${url} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    const head = text.slice(0, text.indexOf('\r\n\r\n'))
    expect(head.match(/^location:/gim)).toHaveLength(1)
    expect(head).not.toMatch(/^set-cookie:/im)
    expect(head).toContain('state=x%0D%0ASet-Cookie')
  })

  test('A13: is an error in legal characters, and never what was sent', async () => {
    const name = fc.constantFrom(...NAMES.filter((one) => one !== 'client_id' && one !== 'redirect_uri'))
    await fc.assert(
      fc.asyncProperty(name, fc.string({ unit: 'binary', maxLength: 40 }), async (name, text) => {
        const value = `Zq7Xv9${text.toWellFormed().replaceAll('\0', '')}`
        const response = await server.get(authorizationUrl(server, { prompt: 'none', [name]: value }))
        const { pathname, searchParams } = new URL(response.headers.get('location')!, server.url)
        const { error, error_description: description, state, iss, ...rest } = Object.fromEntries(searchParams)
        // On its way to a page it carries nothing that anybody else could read.
        const begun = pathname.startsWith('/interaction/')
        expect(begun && response.headers.get('location')!.includes('Zq7Xv9')).toBe(false)
        fc.pre(!begun)
        expect([error, description]).toEqual([expect.stringMatching(LEGAL), expect.stringMatching(LEGAL)])
        expect([iss, rest]).toEqual([server.url, {}])
        expect(`${error} ${description}`).not.toContain('Zq7Xv9')
        expect(state).toBe(name === 'state' ? value : 'a state')
      }),
      { numRuns: 400 },
    )
  })
}) // prettier-ignore

describe('A2: a client that is none: an error page, and no redirect', () => {
  const rest = new URLSearchParams({ redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid' }).toString()
  test.each([
    ['missing', '', 'invalid_request'],
    ['empty', 'client_id=', 'invalid_request'],
    ['unknown', 'client_id=nobody', 'invalid_client'],
    ['in upper case', 'client_id=WEB', 'invalid_client'],
    ['with a space', 'client_id=web+', 'invalid_client'],
    ['repeated', 'client_id=web&client_id=web', 'invalid_request'],
    ['repeated, another last', 'client_id=web&client_id=evil', 'invalid_request'],
    ['as an array', 'client_id[]=web', 'invalid_request'],
    ['too long', `client_id=${'w'.repeat(300)}`, 'invalid_request'],
    ['with NUL', 'client_id=web%00', 'invalid_request'],
    ['not UTF-8', 'client_id=web%ff', 'invalid_request'],
    ['a lone surrogate', 'client_id=web%ed%a0%80', 'invalid_request'],
    ['a stray percent', 'client_id=web%', 'invalid_request'],
    ['a number', 'client_id=1e400', 'invalid_client'],
    ['a name of objects', 'client_id=__proto__', 'invalid_client'],
    ['a statement', `client_id=${encodeURIComponent("web' or '1'='1")}`, 'invalid_client'],
    ['a full-width letter', `client_id=${encodeURIComponent('\uff57eb')}`, 'invalid_client'],
  ])('%s', async (_name, clientId, error) => {
    expect(await shownError(server.get(`/authorize?${clientId}&${rest}`))).toEqual([400, error])
    const posted = server.request('/authorize', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${clientId}&${rest}`,
    })
    expect(await shownError(posted)).toEqual([400, error])
  })
}) // prettier-ignore

test('what people chose to be called is text on every page', async () => {
  const own = await startServer({}, {
    seed: {
      ...SEED,
      users: [{ ...ALICE, name: CANARY }],
      clients: [{ ...SEED.clients[0], client_name: CANARY, client_uri: 'https://app.example/"><script>' }],
      scopes: [{ name: 'read_books', description: CANARY }],
    },
  })
  const agent = createUserAgent(own.url)
  const login = await agent.get(authorizationUrl(own, { scope: 'openid read_books' }))
  const consent = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
  const signOut = await agent.get(`${own.url}/end-session?client_id=web`)
  for (const page of [login, consent, signOut]) {
    expect(page.body).toContain('cAnArY&quot;')
    assertInert(page.body, page.headers)
  }
}) // prettier-ignore
