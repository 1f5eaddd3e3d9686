/** Input that no client sends, at the pages and at userinfo: each has its answer, and none is a fault of ours. */
import { describe, expect, test } from 'vitest'
import { shownError } from '../support/error-page.ts'
import { sendRaw } from '../support/raw-http.ts'
import { refusal } from '../support/refusals.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { answerOf, authorizationUrl, getTokens, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { CONSENT, LOGIN } from './forms.ts'

const server = await startServer({}, { seed: SEED })
const { access_token: token } = await getTokens(server)
const FORM = 'application/x-www-form-urlencoded'
const PAGES = ['/authorize', '/authorize/', '/end-session', '/end-session/', '/interaction/x/login']
const INVALID = [400, 'invalid_request']

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<Response> =>
  server.request(path, { method: 'POST', headers: { 'content-type': FORM, ...headers }, body }) // prettier-ignore

const MALFORMED = {
  NUL: 'a=%00',
  'NUL in a name': '%00=a',
  'bytes that are not UTF-8': 'a=%ff%fe',
  'overlong UTF-8': 'a=%c0%af',
  'a lone surrogate': 'a=%ed%a0%80',
  'a stray percent': 'a=%',
  'an escape of old scripts': 'a=%u0041',
  'too many parameters': 'a=b&'.repeat(300),
}

describe.each(Object.entries(MALFORMED))('%s', (_name, text) => {
  test.each(PAGES)('at %s is 400', async (path) => {
    expect(await shownError(post(path, text))).toEqual(INVALID)
  })

  test.each(PAGES.slice(0, -1))('in the query of %s is 400', async (path) => {
    expect(await shownError(server.get(`${path}?${text}`))).toEqual(INVALID)
  })

  test('at userinfo is 400, beside a good token', async () => {
    expect(await refusal(post('/userinfo', text, bearer(token)))).toEqual(INVALID)
    expect(await refusal(server.get(`/userinfo?${text}`, bearer(token)))).toEqual(INVALID)
  })
}) // prettier-ignore

test('raw bytes that are not UTF-8 are 400', async () => {
  for (const path of [...PAGES, '/userinfo'])
    expect([path, (await post(path, new Uint8Array([0x61, 0x3d, 0xff, 0xfe]))).status]).toEqual([path, 400])
})

test('a body that is too large is 413, a page for people', async () => {
  for (const path of PAGES) expect(await shownError(post(path, `a=${'x'.repeat(70_000)}`))).toEqual([413, 'invalid_request'])
  expect(await refusal(post('/userinfo', `a=${'x'.repeat(70_000)}`, bearer(token)))).toEqual([413, 'invalid_request'])
}) // prettier-ignore

test('what is no form is 415', async () => {
  const types = ['text/plain', 'application/json', 'multipart/form-data; boundary=a', `${FORM}; charset=utf-16`, 'x']
  for (const type of types) {
    for (const path of PAGES)
      expect([type, await shownError(post(path, '{}', { 'content-type': type }))]).toEqual([type, [415, 'invalid_request']])
    const answer = post('/userinfo', '{}', { ...bearer(token), 'content-type': type })
    expect([type, await refusal(answer)]).toEqual([type, [415, 'invalid_request']])
  }
  for (const encoding of ['gzip', 'br', 'deflate'])
    expect(await shownError(post('/authorize', 'a=b', { 'content-encoding': encoding }))).toEqual([415, 'invalid_request'])
}) // prettier-ignore

test('another method is 405, with those that are served; one in a header counts for nothing', async () => {
  const allowed = {
    '/authorize': 'GET, HEAD, POST',
    '/end-session': 'GET, HEAD, POST',
    '/interaction/x': 'GET, HEAD',
    '/interaction/x/login': 'POST',
  }
  for (const [path, allow] of Object.entries(allowed))
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const response = await server.request(path, { method })
      expect([path, method, response.headers.get('allow')]).toEqual([path, method, allow])
      expect(await shownError(response)).toEqual([405, 'invalid_request'])
    }
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const response = await server.request('/userinfo', { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST'])
  }
  for (const header of ['x-http-method-override', 'x-method-override', 'x-http-method'])
    expect((await server.get('/interaction/x/login', { [header]: 'POST' })).status).toBe(405)
})

describe('at /authorize', () => {
  const errorOf = async (parameters: Record<string, string>): Promise<string | null> => {
    const location = (await server.get(authorizationUrl(server, parameters))).headers.get('location')!
    return new URL(location, server.url).searchParams.get('error')
  }

  test.each(['abc', '-1', '-0', '1.5', '1e400', '1e3', '0x10', '99999999999', ' 1', '1 ', 'NaN', 'Infinity', '\u0661', '٣'])(
    'max_age %j is no number of seconds',
    async (max_age) => expect(await errorOf({ max_age })).toBe('invalid_request'),
  )

  test('max_age as large as it may be is no trouble', async () => {
    for (const max_age of ['0', '0000000001', '9007199254', '9999999999'])
      expect([max_age, await errorOf({ max_age })]).toEqual([max_age, null])
  })

  test.each(['none login', 'none consent', 'login none', 'none select_account', 'none x'])(
    'prompt %j contradicts itself',
    async (prompt) => expect(await errorOf({ prompt })).toBe('invalid_request'),
  )

  test('a state is never cut: it comes back whole, or the request is refused without it', async () => {
    for (const length of [1, 1000, 4096]) {
      const state = 's'.repeat(length)
      const page = await createUserAgent(server.url).get(authorizationUrl(server, { state, prompt: 'none' }))
      expect(answerOf(page).get('state')).toBe(state)
    }
    for (const length of [4097, 6000]) {
      const page = await createUserAgent(server.url).get(authorizationUrl(server, { state: 's'.repeat(length) }))
      expect([answerOf(page).get('error'), answerOf(page).get('state')]).toEqual(['invalid_request', null])
    }
  })

  test.each([
    ['nonce', 1025], ['scope', 2049], ['login_hint', 257], ['prompt', 201], ['acr_values', 1025], ['claims', 4097],
    ['unknown', 4097],
  ] as const)('%s may be too long', async (name, length) => {
    expect(await errorOf({ [name]: 'x'.repeat(length) })).toBe('invalid_request')
  })

  test.each([
    '[', '[]', '1', 'null', '"x"', '{"userinfo":[]}', '{"id_token":1}', '{"userinfo":{"email":1}}', '['.repeat(2000),
    `${'{"userinfo":'.repeat(300)}1${'}'.repeat(300)}`, '{"userinfo":{"email":"\\u0000"}}', '{"id_token":{"sub":{"value":"\\ud800"}}}',
    '\ufeff{}', '{} x',
  ])('claims %j are refused or ignored', async (claims) => {
    expect([null, 'invalid_request']).toContain(await errorOf({ claims }))
  })

  test('claims named as objects are by nature pollute nothing', async () => {
    const claims = '{"userinfo":{"__proto__":{"essential":true},"constructor":null},"__proto__":{"polluted":1}}'
    expect([null, 'invalid_request']).toContain(await errorOf({ claims }))
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test('scopes named as objects are by nature are nobody\'s', async () => {
    for (const scope of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '"', '\\', '\u00e9', 'a'.repeat(300)])
      expect([scope, await errorOf({ scope })]).toEqual([scope, 'invalid_scope'])
    expect(await errorOf({ scope: Array.from({ length: 500 }, (_, at) => `s${at}`).join(' ').slice(0, 2000) })).toBe('invalid_scope')
  })
}) // prettier-ignore

describe('cookies', () => {
  const url = authorizationUrl(server, { prompt: 'none' })
  const { pathname, search } = new URL(url)
  const errorWith = async (cookie: string): Promise<string | null> => {
    const { location = '' } = (
      await sendRaw(server.url, `GET ${pathname}${search} HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`)
    ).headers
    return new URL(location).searchParams.get('error')
  }

  test.each([
    '=', ';', ';;;;', 'latchkey-session', 'latchkey-session=', 'latchkey-session="', 'latchkey-session=%', '__proto__=x',
    'latchkey-session=%00', 'latchkey-session=\xff\xfe', `latchkey-session=${'A'.repeat(43)}`, `latchkey-session="${'A'.repeat(43)}"`,
    'latchkey-session=s:abc.def', 'latchkey-session[]=a', '$Version=1; latchkey-session=x', 'a=b,latchkey-session=x',
    'latchkey-session=a; '.repeat(500), 'a=b;'.repeat(3500), `x=${'y'.repeat(15_000)}`,
  ])('%j is nobody', async (cookie) => expect(await errorWith(cookie)).toBe('login_required'))

  test('more than fit are refused by the parser', async () => {
    const request = `GET ${pathname}${search} HTTP/1.1\r\nHost: a\r\nCookie: ${'a=b; '.repeat(10_000)}\r\n\r\n`
    expect((await sendRaw(server.url, request)).status).toBe(431)
  })

  test('a user who is signed in stays so among strange ones', async () => {
    const agent = createUserAgent(server.url)
    await goThrough(agent, await agent.get(authorizationUrl(server)))
    const session = `latchkey-session=${agent.cookies.get('latchkey-session')}`
    for (const cookie of [`a=%; ${session}; b="`, `=x; __proto__=y; ${session}`, `${'a=b; '.repeat(2000)}${session}`])
      expect(await errorWith(cookie)).toBeNull()
  })
}) // prettier-ignore

describe('in forms of pages', () => {
  test('a password of a megabyte, or a name of any sort, is refused as wrong', async () => {
    const { agent, action, fields } = await LOGIN.open(server)
    const names = ['x'.repeat(4000), '\u0000'.slice(1), "' or 1=1 --", '__proto__', '\u202ealice', 'alice\u200b', '\ud83d\ude00', ' ', '\t']
    for (const username of names) {
      const page = await agent.post(action, { ...fields, username, password: 'p'.repeat(1025) })
      expect([username, page.status, page.body.includes('id="login-error"')]).toEqual([username, 403, true])
    }
    expect(await shownError(agent.post(action, { ...fields, password: 'p'.repeat(5000) }))).toEqual(INVALID)
    expect(await shownError(agent.post(action, { ...fields, password: 'p'.repeat(1_000_000) }))).toEqual([413, 'invalid_request'])
  })

  test('a repeated field is 400, and decides nothing', async () => {
    const { agent, action, fields } = await CONSENT.open(server)
    const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
    const body = `${new URLSearchParams(fields).toString()}&decision=allow`
    expect(await shownError(post(action, body, { cookie, origin: server.url }))).toEqual(INVALID)
  })
}) // prettier-ignore

test('none of this was a fault of ours', () => {
  expect(server.output()).not.toMatch(/"level":"(?:error|fatal)"/)
})
