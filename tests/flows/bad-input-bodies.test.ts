import { gzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { type TestClient, createClient } from '../support/clients.ts'
import { errorOf, refusal } from '../support/refusals.ts'
import { type TestServer, startServer } from '../support/server.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'
const GRANT = 'grant_type=client_credentials'
const FORMS = ['/token', '/introspect', '/revoke', '/token/', '/introspect/', '/revoke/']
const DOCUMENTS = [
  '/jwks',
  '/jwks/',
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/healthz',
  '/readyz',
  '/books',
]
let server: TestServer
let client: TestClient

beforeAll(async () => {
  server = await startServer({}, { seed: 'demo' })
  client = await createClient(server, { scope: ['read'] })
})

const post = (
  path: string,
  type: string | undefined,
  body: string | Uint8Array,
  more = {},
): Promise<Response> =>
  server.request(path, {
    method: 'POST',
    // A text would get a type of its own.
    body: Buffer.from(body),
    headers: { ...client.basic, ...(type === undefined ? {} : { 'content-type': type }), ...more },
  })

test.each([
  undefined,
  'text/plain',
  'application/json',
  'application/json\t',
  'multipart/form-data; boundary=x',
  `${FORM_TYPE}x`,
  `${FORM_TYPE}, application/json`,
  `${FORM_TYPE}; charset=utf-16`,
  `${FORM_TYPE};charset="iso-8859-1"`,
  'application/x-www-form-urlencoded/x',
  ';',
  '\u00ff',
])('a body of type %j is never read as a form', async (type) => {
  for (const path of FORMS) expect(await refusal(post(path, type, GRANT))).toEqual([415, 'invalid_request'])
})

test.each([
  FORM_TYPE,
  FORM_TYPE.toUpperCase(),
  `${FORM_TYPE}; charset=utf-8`,
  `${FORM_TYPE};charset="UTF-8"`,
  `${FORM_TYPE} ; charset=UTF8`,
])('a form may call itself %j', async (type) => {
  expect((await post('/token', type, GRANT)).status).toBe(200)
})

test.each(['gzip', 'deflate', 'br', 'identity, gzip', 'x'])(
  'a body in the encoding %s is refused',
  async (encoding) => {
    const more = { 'content-encoding': encoding }
    for (const path of FORMS)
      expect(await refusal(post(path, FORM_TYPE, gzipSync(GRANT), more))).toEqual([415, 'invalid_request'])
  },
)

test.each([
  ['an object', '{"grant_type":"client_credentials"}'],
  ['__proto__', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'],
  ['a lone surrogate', String.raw`{"a":"\ud800"}`],
  ['repeated members', '{"a":1,"a":2}'],
  ['depth 1000', `${'['.repeat(1000)}${']'.repeat(1000)}`],
  ['an array', '[]'],
  ['a byte order mark', '\ufeff{}'],
  ['trailing junk', '{}x'],
  ['1e400', '{"a":1e400}'],
])('JSON is no form: %s', async (_name, json) => {
  for (const path of FORMS)
    expect(await refusal(post(path, 'application/json', json))).toEqual([415, 'invalid_request'])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('JSON sent to where nothing is served is answered without its words', async () => {
  for (const json of ['{"__proto__":"secret-word"}', '{"secret-word', 'secret-word']) {
    const response = await post('/nowhere', 'application/json', json)
    const body = await response.text()
    expect([response.status >= 400, response.status < 500, body.includes('secret-word')]).toEqual([
      true,
      true,
      false,
    ])
    expect(errorOf(body)).toMatch(/^(?:invalid_request|not_found)$/)
  }
})

test('a body over 64 KiB is 413 everywhere, also when its length is not told', async () => {
  const big = 'a'.repeat(65_537)
  const unknownLength = (): ReadableStream => new Blob([big]).stream()
  for (const path of FORMS) {
    expect(await refusal(post(path, FORM_TYPE, big))).toEqual([413, 'invalid_request'])
    const init = {
      method: 'POST',
      body: unknownLength(),
      duplex: 'half',
      headers: { 'content-type': FORM_TYPE },
    }
    expect(await refusal(server.request(path, init as RequestInit))).toEqual([413, 'invalid_request'])
  }
})

test('another method than POST is 405 with Allow, before anything else is asked', async () => {
  for (const path of FORMS) {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      const response = await server.request(`${path}?token=secret-token`, { method })
      expect([path, method, response.status, response.headers.get('allow')]).toEqual([
        path,
        method,
        405,
        'POST',
      ])
      expect(errorOf(await response.text())).toBe('invalid_request')
    }
    const head = await server.request(path, { method: 'HEAD' })
    expect([head.status, head.headers.get('allow'), await head.text()]).toEqual([405, 'POST', ''])
  }
  expect(server.output()).not.toContain('secret-token')
})

test('what is only read answers other methods with 405 and Allow, also without a token', async () => {
  for (const path of DOCUMENTS) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const response = await server.request(path, { method })
      expect([path, method, response.status, response.headers.get('allow')]).toEqual([
        path,
        method,
        405,
        'GET, HEAD',
      ])
      expect(errorOf(await response.text())).toBe('invalid_request')
    }
  }
})

test('headers that other servers obey change nothing', async () => {
  const before = await (await server.get('/.well-known/openid-configuration')).text()
  const headers = {
    'x-http-method-override': 'DELETE',
    'x-original-url': '/nowhere',
    'x-rewrite-url': '/nowhere',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    forwarded: 'host=evil.example',
    'accept-version': '9',
    accept: 'image/png',
  }
  expect(await (await server.get('/.well-known/openid-configuration', headers)).text()).toBe(before)
  const response = await post('/token', FORM_TYPE, GRANT, headers)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(await refusal(post('/token', FORM_TYPE, '', headers))).toEqual([400, 'invalid_request'])
})

test('there is nothing at other addresses, and the answer does not name them', async () => {
  for (const path of [
    '/nowhere?<b>',
    '/%00',
    '/token/x',
    '//token',
    '/TOKEN',
    '/.env',
    '/a%2f..%2ftoken',
    '/token;a=b',
  ]) {
    const response = await server.get(path)
    const body = await response.text()
    expect([path, response.status, errorOf(body)]).toEqual([path, 404, 'not_found'])
  }
})
