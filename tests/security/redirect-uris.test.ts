/**
 * Where answers may go (RFC 9700 §2.1, RFC 8252 §7.3): a redirect URI is the registered string or nothing, and what
 * is nothing is an error page, at /authorize by either method; the token endpoint compares once more.
 */
import { describe, expect, test } from 'vitest'
import { shownError } from '../support/error-page.ts'
import { startServer } from '../support/server.ts'
import { authorizationUrl, authorize, exchange, REDIRECT_URI, SEED } from '../support/sign-in.ts'

const NATIVE = { client_id: 'native', token_endpoint_auth_method: 'none', application_type: 'native' }
const LOOPBACKS = ['http://127.0.0.1/callback', 'http://[::1]/callback', 'http://localhost/callback']
const QUERY = 'https://app.example/callback?tenant=1'
const clients = [
  ...SEED.clients,
  { client_id: 'queried', redirect_uris: [QUERY], client_secret: `lks_${'q'.repeat(43)}` },
  { ...NATIVE, redirect_uris: [...LOOPBACKS, 'com.example.app:/callback'] },
  { ...NATIVE, client_id: 'one', redirect_uris: ['http://127.0.0.1:8000/callback?a=b'] },
]
const scopes = [...SEED.scopes, { name: 'write_books', description: 'Write books' }]
const server = await startServer({}, { seed: { ...SEED, scopes, clients } })

/** Everything about https://app.example/callback that an attacker, or a careless comparison, would change. */
const MUTATIONS: Record<string, string> = {
  'scheme http': 'http://app.example/callback',
  'scheme in upper case': 'HTTPS://app.example/callback',
  'another scheme': 'ftp://app.example/callback',
  'no scheme': '//app.example/callback',
  'host in upper case': 'https://APP.example/callback',
  'a dot after the host': 'https://app.example./callback',
  'a dot before the host': 'https://.app.example/callback',
  'a subdomain': 'https://evil.app.example/callback',
  'a parent domain': 'https://example/callback',
  'the host as a prefix': 'https://app.example.evil.example/callback',
  'the host as a suffix': 'https://evilapp.example/callback',
  'a host that looks like it': 'https://\u0430pp.example/callback',
  'a full-width host': 'https://\uff41pp.example/callback',
  'a host in punycode': 'https://xn--pp-7kc.example/callback',
  'an ideographic full stop': 'https://app\u3002example/callback',
  'a zero-width space in the host': 'https://app\u200b.example/callback',
  'the default port': 'https://app.example:443/callback',
  'another port': 'https://app.example:8443/callback',
  'an empty port': 'https://app.example:/callback',
  'a user': 'https://user@app.example/callback',
  'the host as a user': 'https://app.example@evil.example/callback',
  'the host as a password': 'https://x:app.example@evil.example/callback',
  'the host as an encoded user': 'https://app.example%40evil.example/callback',
  'a backslash before the at': 'https://evil.example\\@app.example/callback',
  'backslashes for slashes': 'https:\\\\app.example\\callback',
  'a slash missing': 'https:/app.example/callback',
  'a slash more before the host': 'https:///app.example/callback',
  'path in upper case': 'https://app.example/Callback',
  'a slash at the end': 'https://app.example/callback/',
  'a slash twice': 'https://app.example//callback',
  'no path': 'https://app.example',
  'the root': 'https://app.example/',
  'a path below': 'https://app.example/callback/more',
  'a path beside': 'https://app.example/callback2',
  'a path above and back': 'https://app.example/x/../callback',
  'a traversal': 'https://app.example/callback/../evil',
  'an encoded traversal': 'https://app.example/callback/%2e%2e/evil',
  'a dot segment': 'https://app.example/./callback',
  'an encoded slash': 'https://app.example%2Fcallback',
  'an encoded letter': 'https://app.example/%63allback',
  'an encoding of an encoding': 'https%3A%2F%2Fapp.example%2Fcallback',
  'a semicolon parameter': 'https://app.example/callback;x=1',
  'a query': 'https://app.example/callback?x=1',
  'an empty query': 'https://app.example/callback?',
  'a fragment': 'https://app.example/callback#x',
  'an empty fragment': 'https://app.example/callback#',
  'an encoded fragment': 'https://app.example/callback%23x',
  'a space before': ' https://app.example/callback',
  'a space after': 'https://app.example/callback ',
  'a tab inside': 'https://app.example/call\tback',
  'a tab in the scheme': 'ht\ttps://app.example/callback',
  'a line break after': 'https://app.example/callback\n',
  'a header after': 'https://app.example/callback\r\nSet-Cookie: a=b',
  'NUL after': 'https://app.example/callback\0',
  'NUL in the host': 'https://app.example\0.evil.example/callback',
  'a soft hyphen': 'https://app.example/call\u00adback',
  'a byte order mark': '\ufeffhttps://app.example/callback',
  'two addresses': 'https://app.example/callback https://evil.example/',
  'two by a comma': 'https://app.example/callback,https://evil.example/',
  'as a list': '["https://app.example/callback"]',
  'a wildcard': 'https://*.example/callback',
  javascript: 'javascript:alert(1)//https://app.example/callback',
  data: 'data:text/html,https://app.example/callback',
  'a path alone': '/callback',
  'a name of objects': '__proto__',
  'a long one': `https://app.example/callback?${'x'.repeat(2100)}`,
}

/** The same request by GET and by POST. */
async function byBoth(form: string): Promise<[number, string][]> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return Promise.all([
    shownError(server.get(`/authorize?${form}`)),
    shownError(server.request('/authorize', { method: 'POST', body: form, headers })),
  ])
}

const REST = 'response_type=code&scope=openid&state=s'
const ask = (clientId: string, redirectUri: string): string =>
  `client_id=${clientId}&redirect_uri=${encodeURIComponent(redirectUri)}&${REST}`
const REFUSED = [
  [400, 'invalid_request'],
  [400, 'invalid_request'],
]

test('the registered one is answered, and goes to the login page', async () => {
  for (const [client, uri] of [['web', REDIRECT_URI], ['queried', QUERY]] as const) {
    const { status, headers } = await server.get(`/authorize?${ask(client, uri)}`)
    expect([status, headers.get('location')]).toEqual([303, expect.stringMatching(/^\/interaction\//)])
  }
}) // prettier-ignore

test.each(Object.keys(MUTATIONS))('A1: %s: an error page, and no redirect', async (name) => {
  expect(await byBoth(ask('web', MUTATIONS[name]!))).toEqual(REFUSED)
})

describe('other ways to say it', () => {
  const encoded = encodeURIComponent(REDIRECT_URI)
  test.each([
    ['missing', `client_id=web&${REST}`],
    ['empty', `client_id=web&redirect_uri=&${REST}`],
    ['repeated', `${ask('web', REDIRECT_URI)}&redirect_uri=${encoded}`],
    ['repeated, another first', `redirect_uri=https://evil.example/&${ask('web', REDIRECT_URI)}`],
    ['repeated, another last', `${ask('web', REDIRECT_URI)}&redirect_uri=https://evil.example/`],
    ['as an array', `client_id=web&redirect_uri[]=${encoded}&${REST}`],
    ['as an array with an index', `client_id=web&redirect_uri[0]=${encoded}&${REST}`],
    ['as an object', `client_id=web&redirect_uri[x]=${encoded}&${REST}`],
    ['in upper case', `client_id=web&REDIRECT_URI=${encoded}&${REST}`],
    ['the plural', `client_id=web&redirect_uris=${encoded}&${REST}`],
    ['after a semicolon', `client_id=web;redirect_uri=${encoded}&${REST}`],
    ['overlong UTF-8', `client_id=web&redirect_uri=https:%c0%af%c0%afapp.example/callback&${REST}`],
    ['a stray percent', `client_id=web&redirect_uri=${encoded}%&${REST}`],
  ])('%s', async (_name, form) => {
    expect((await byBoth(form)).map(([status]) => status)).toEqual([400, 400])
  })

  test("another client's", async () => {
    expect(await byBoth(ask('web', QUERY))).toEqual(REFUSED)
    expect(await byBoth(ask('queried', REDIRECT_URI))).toEqual(REFUSED)
  })

  test('of a query that is registered, nothing may be added or changed', async () => {
    for (const uri of [`${QUERY}&a=b`, `${QUERY}2`, 'https://app.example/callback?tenant=2', `${QUERY}#`])
      expect(await byBoth(ask('queried', uri))).toEqual(REFUSED)
  })
})

describe('loopback', () => {
  const pkce = '&code_challenge_method=S256&code_challenge='.concat('c'.repeat(43))
  const statusOf = async (client: string, uri: string): Promise<number> =>
    (await server.get(`/authorize?${ask(client, uri)}${pkce}`)).status

  test('only the port is free', async () => {
    for (const host of ['127.0.0.1', '[::1]', 'localhost'])
      for (const port of ['', ':1', ':8080', ':65535'])
        expect([host, port, await statusOf('native', `http://${host}${port}/callback`)]).toEqual([host, port, 303])
    expect(await statusOf('one', 'http://127.0.0.1:9999/callback?a=b')).toBe(303)
    expect(await statusOf('one', 'http://127.0.0.1/callback?a=b')).toBe(303)
    expect(await statusOf('native', 'com.example.app:/callback')).toBe(303)
  }) // prettier-ignore

  test.each([
    'https://127.0.0.1/callback', 'https://localhost:8080/callback', 'HTTP://127.0.0.1:80/callback',
    'http://127.0.0.1.evil.example/callback', 'http://127.0.0.1:80.evil.example/callback',
    'http://localhost.evil.example/callback', 'http://evil.example:80/callback', 'http://0.0.0.0:80/callback',
    'http://127.0.0.2:80/callback', 'http://127.1:80/callback', 'http://2130706433/callback',
    'http://0x7f.0.0.1/callback', 'http://0177.0.0.1/callback', 'http://[::ffff:127.0.0.1]:80/callback',
    'http://[0:0:0:0:0:0:0:1]:80/callback', 'http://[::1%25lo]:80/callback', 'http://::1/callback',
    'http://LOCALHOST:80/callback', 'http://localhost.:80/callback', 'http://127.0.0.1:80@evil.example/callback',
    'http://127.0.0.1:80\\@evil.example/callback', 'http://user@127.0.0.1:80/callback',
    'http://127.0.0.1:65536/callback', 'http://127.0.0.1:-1/callback', 'http://127.0.0.1:8e1/callback',
    'http://127.0.0.1:80/callback/', 'http://127.0.0.1:80/callback?x', 'http://127.0.0.1:80/callback#x',
    'http://127.0.0.1:80/../callback', 'http://127.0.0.1:80/x/../callback', 'http://127.0.0.1:80',
    'http://127.0.0.1:80/call\tback', 'http://127.0.0.1:80/callback\r\nX: y',
    'com.example.app:/callback2', 'COM.example.app:/callback', 'com.example.app://callback',
    'com.example.app:8080/callback',
  ])('nothing else is: %s', async (uri) => {
    expect(await byBoth(ask('native', uri))).toEqual(REFUSED)
  }) // prettier-ignore
})

test('the token endpoint wants the address of the request, to the letter', async () => {
  const code = (await authorize(server)).get('code')!
  const { 'NUL after': nul, 'NUL in the host': nulInside, 'a long one': long, ...others } = MUTATIONS
  for (const [name, redirect_uri] of Object.entries(others)) {
    const response = await exchange(server, code, { redirect_uri })
    expect([name, response.status, await response.json()]).toMatchObject([name, 400, { error: 'invalid_grant' }])
  }
  for (const redirect_uri of [nul!, nulInside!, long!, ''])
    expect((await exchange(server, code, { redirect_uri })).status).toBe(400)
  // None of these has used it up.
  expect((await exchange(server, code)).status).toBe(200)
}) // prettier-ignore

test('a port that was free to choose is bound to the code', async () => {
  const redirect_uri = 'http://127.0.0.1:5001/callback'
  const answer = await authorize(server, {
    client_id: 'native',
    redirect_uri,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })
  const form = {
    grant_type: 'authorization_code',
    client_id: 'native',
    code: answer.get('code')!,
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  }
  for (const other of ['http://127.0.0.1:5002/callback', 'http://127.0.0.1/callback'])
    expect((await server.post('/token', { ...form, redirect_uri: other })).status).toBe(400)
  expect((await server.post('/token', { ...form, redirect_uri })).status).toBe(200)
})

test('A3: what may not be registered is not: no script, no fragment, no plain http to another host', async () => {
  const { clients } = server.server.oauth
  for (const uri of [
    'javascript:alert(1)', 'JavaScript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', 'blob:x',
    'https://app.example/cb#', 'https://app.example/cb#x', 'https://user@app.example/cb', 'https://*.example/cb',
    'app.example/cb', '//app.example/cb', 'https:app.example', 'https://app.example/c b', 'https://app.example/\t',
    'https://\u0430pp.example/cb', 'callback:',
  ])
    await expect(clients.create({ redirect_uris: [uri] })).rejects.toThrow(/redirect_uri/)
}) // prettier-ignore

test('an error that the client is told goes nowhere but to the registered address', async () => {
  const { headers } = await server.get(authorizationUrl(server, { response_type: 'nonsense' }))
  expect(headers.get('location')).toMatch(
    /^https:\/\/app\.example\/callback\?error=unsupported_response_type&/,
  )
})

test('the log says which address or scope of which client is not registered, and how it would be', async () => {
  const lineFor = async (query: string, told: string): Promise<Record<string, unknown>> => {
    const before = server.output().length
    await server.get(`/authorize?${query}`)
    const lines = server.output().slice(before).split('\n')
    return JSON.parse(lines.find((line) => line.includes(told))!) as Record<string, unknown>
  }
  expect(await lineFor(ask('web', 'http://localhost/strange-address'), 'request refused')).toMatchObject({
    client_id: 'web',
    remedy: 'npx latchkey client show web',
  })
  const partly = ask('web', REDIRECT_URI).replace('scope=openid', 'scope=openid+write_books+burn_books')
  const line = await lineFor(partly, 'left out')
  expect(line).toMatchObject({
    level: 'info',
    client_id: 'web',
    scopes: ['write_books'],
    others: 1,
  })
  // What strangers send stands in no log.
  for (const sent of ['strange-address', 'burn_books']) expect(server.output()).not.toContain(sent)
})
