import { beforeAll, expect, test } from 'vitest'
import { type TestClient, createClient } from '../support/clients.ts'
import { sendRaw } from '../support/raw-http.ts'
import { rawRefusal } from '../support/refusals.ts'
import { type TestServer, startServer } from '../support/server.ts'

const HOST = 'Host: localhost\r\n'
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n'
const BODY = 'grant_type=client_credentials'
let server: TestServer
let client: TestClient

beforeAll(async () => {
  server = await startServer({}, { seed: 'demo' })
  client = await createClient(server, { scope: ['read'] })
})

const get = (target: string, headers = HOST, version = '1.1'): string =>
  `GET ${target} HTTP/${version}\r\n${headers}\r\n`
const post = (headers: string, body: string, path = '/token'): string =>
  `POST ${path} HTTP/1.1\r\n${HOST}${FORM}Authorization: ${client.basic.authorization}\r\n${headers}\r\n${body}`
const chunked = (...chunks: string[]): string => post('Transfer-Encoding: chunked\r\n', chunks.join(''))

/** What must not be understood in two ways, and so ends the connection. */
const MALFORMED: Record<string, () => string> = {
  'Transfer-Encoding and Content-Length': () =>
    post(`Content-Length: ${BODY.length}\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${BODY}`),
  'two Content-Lengths': () => post('Content-Length: 1\r\nContent-Length: 2\r\n', 'ab'),
  'a negative Content-Length': () => post('Content-Length: -1\r\n', ''),
  'a Content-Length that is no number': () => post('Content-Length: 1e3\r\n', ''),
  'a chunk size that is none': () => chunked('zz\r\n', BODY),
  'a chunk longer than it says': () => chunked('5\r\n', 'abcdefgh', '\r\n0\r\n\r\n'),
  'a chunk size beyond all numbers': () => chunked('ffffffffffffffffff\r\n', 'a'),
  'chunked, but not at last': () => post('Transfer-Encoding: chunked, gzip\r\n', '0\r\n\r\n'),
  'bare LF': () => `GET /healthz HTTP/1.1\nHost: localhost\n\n`,
  'bare LF in one header': () => get('/healthz', 'Host: localhost\nX: y\r\n'),
  'bare CR in a header': () => get('/healthz', `${HOST}X: a\rY: b\r\n`),
  'a folded header': () => get('/healthz', `${HOST}X: a\r\n b\r\n`),
  'a space before the colon': () => get('/healthz', `${HOST}X : a\r\n`),
  'a header without a name': () => get('/healthz', `${HOST}: a\r\n`),
  'NUL in a header': () => get('/healthz', `${HOST}X: a\0b\r\n`),
  'a method nobody knows': () => get('/healthz').replace('GET', 'GOT'),
  'a version nobody knows': () => get('/healthz', HOST, '9.9'),
  'raw bytes in the target': () => get('/\xff'),
  'a TLS handshake': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
}

test.each(Object.keys(MALFORMED))('%s is 400, and the connection is closed', async (name) => {
  const answer = await sendRaw(server.url, MALFORMED[name]!())
  expect([await rawRefusal(Promise.resolve(answer)), answer.closed]).toEqual([[400, 'invalid_request'], true])
  // One answer only: what follows a request that is not understood is not read as another.
  expect(answer.text.match(/HTTP\/1\.1 /g)).toHaveLength(1)
})

test.each([
  '/%zz',
  '/"%zz',
  '/%',
  '/%c0%af',
  '/%ff',
  '/token/%zz',
  '/token%',
  '/books/%e0%a4%a?x=secret-word',
])('an address that is not well encoded is 400, and not quoted: %s', async (target) => {
  for (const request of [get(target), `POST ${target} HTTP/1.1\r\n${HOST}${FORM}Content-Length: 0\r\n\r\n`]) {
    const answer = await sendRaw(server.url, request)
    expect(await rawRefusal(Promise.resolve(answer))).toEqual([400, 'invalid_request'])
    expect(answer.body).not.toContain('%')
  }
})

test('headers or an address over 16 KiB are 431', async () => {
  const long = 'a'.repeat(16_500)
  for (const request of [get('/healthz', `${HOST}X: ${long}\r\n`), get(`/${long}`), get(`/healthz?${long}`)])
    expect(await rawRefusal(sendRaw(server.url, request))).toEqual([431, 'invalid_request'])
})

test('more than 100 headers are 431, and 100 are not', async () => {
  const many = (count: number): string => get('/healthz', HOST + 'X: a\r\n'.repeat(count - 1))
  expect(await rawRefusal(sendRaw(server.url, many(101)))).toEqual([431, 'invalid_request'])
  expect((await sendRaw(server.url, many(100))).status).toBe(200)
  expect(await rawRefusal(sendRaw(server.url, many(4000)))).toEqual([431, 'invalid_request'])
})

test('Host: missing or repeated is 400, a foreign one changes nothing', async () => {
  expect(await rawRefusal(sendRaw(server.url, get('/healthz', '')))).toEqual([400, ''])
  const twice = get('/healthz', 'Host: a\r\nhost: b\r\n')
  expect(await rawRefusal(sendRaw(server.url, twice))).toEqual([400, 'invalid_request'])
  const foreign = await sendRaw(
    server.url,
    get('/.well-known/openid-configuration', 'Host: evil.example\r\n'),
  )
  expect([foreign.status, foreign.body.includes(server.url), foreign.body.includes('evil')]).toEqual([
    200,
    true,
    false,
  ])
})

test('a target in absolute form is served by its path, and its host counts for nothing', async () => {
  const answer = await sendRaw(server.url, get('http://evil.example/.well-known/openid-configuration'))
  expect([answer.status, answer.body.includes('evil')]).toEqual([200, false])
  const token = await sendRaw(
    server.url,
    post(`Content-Length: ${BODY.length}\r\n`, BODY, 'http://evil.example/token'),
  )
  expect([token.status, token.headers['content-type']]).toEqual([200, 'application/json'])
})

test('a repeated Authorization or Content-Type is 400', async () => {
  const length = `Content-Length: ${BODY.length}\r\n`
  for (const repeated of ['Authorization: Basic YTpi\r\n', 'content-type: application/json\r\n', FORM])
    expect(await rawRefusal(sendRaw(server.url, post(repeated + length, BODY)))).toEqual([
      400,
      'invalid_request',
    ])
  const bearers = 'Authorization: Bearer a\r\nauthorization: Bearer b\r\n'
  expect(await rawRefusal(sendRaw(server.url, get('/books', HOST + bearers)))).toEqual([
    400,
    'invalid_request',
  ])
})

test('a body in a transfer encoding beside chunked is 415', async () => {
  const answer = sendRaw(server.url, post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'))
  expect(await rawRefusal(answer)).toEqual([415, 'invalid_request'])
})

test('a body that is too large is 413 and ends the connection before it has all come', async () => {
  const told = await sendRaw(server.url, post('Content-Length: 1000000\r\n', 'a'))
  expect([told.status, told.closed]).toEqual([413, true])
})

test('CONNECT, Upgrade and Expect are not served', async () => {
  expect((await sendRaw(server.url, get('evil.example:443').replace('GET', 'CONNECT'))).closed).toBe(true)
  const upgrade = await sendRaw(server.url, get('/healthz', `${HOST}Connection: Upgrade\r\nUpgrade: h2c\r\n`))
  expect(upgrade.status).toBe(200)
  expect((await sendRaw(server.url, post('Expect: miracles\r\nContent-Length: 0\r\n', ''))).status).toBe(417)
  expect((await sendRaw(server.url, get('/token').replace('GET', 'TRACE'))).headers['allow']).toBe('POST')
})

test('bytes of Latin-1 and 10 kB of cookies are no trouble', async () => {
  const cookies = `Cookie: ${'session=a; '.repeat(1000)}\r\n`
  expect((await sendRaw(server.url, get('/books', HOST + cookies))).status).toBe(401)
  const answer = await sendRaw(server.url, get('/books', `${HOST}Authorization: Bearer \xff\xfe\r\n`))
  // A token that is malformed (RFC 6750 §3.1).
  expect([answer.status, answer.headers['www-authenticate']?.includes('invalid_token')]).toEqual([401, true])
})

test('requests that follow each other on one connection are each answered', async () => {
  const { text } = await sendRaw(server.url, get('/healthz').repeat(50), 500)
  expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(50)
})
