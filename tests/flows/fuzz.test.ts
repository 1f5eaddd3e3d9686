import fc from 'fast-check'
import { request } from 'undici'
import { beforeAll, expect, test } from 'vitest'
import { type TestClient, createClient } from '../support/clients.ts'
import { sendRaw } from '../support/raw-http.ts'
import { errorOf } from '../support/refusals.ts'
import { type TestServer, startServer } from '../support/server.ts'

/** Stands in every value that is sent, so that a reflected one is found. */
const MARK = 'Zq7Xv9'
const FORM = 'application/x-www-form-urlencoded'
const PATHS = [
  '/token',
  '/token/',
  '/introspect',
  '/revoke',
  '/jwks',
  '/books',
  '/healthz',
  '/readyz',
  '/nowhere',
]
const NAMES = [
  'grant_type', 'scope', 'resource', 'token', 'token_type_hint', 'client_id', 'client_secret', 'client_assertion',
  'access_token', 'code', 'redirect_uri', '__proto__', 'constructor', 'a[b]', 'toString', '',
] // prettier-ignore
let server: TestServer
let client: TestClient

beforeAll(async () => {
  server = await startServer({ LOG_LEVEL: 'info' }, { seed: 'demo' })
  client = await createClient(server, { scope: ['read', 'write'] })
})

/** Any bytes, percent-encoded or raw, well-formed or not. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map((one) => encodeURIComponent(one.toWellFormed())),
  fc
    .uint8Array({ maxLength: 20 })
    .map((bytes) => Array.from(bytes, (byte) => `%${byte.toString(16)}`).join('')),
  fc.string({ maxLength: 40 }),
  fc.constantFrom('client_credentials', 'read', 'polluted', '1e400', '-1', 'null', '%00', '%', "' or 1=1 --"),
)
const pair = fc
  .tuple(
    fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...NAMES) }, { weight: 1, arbitrary: text }),
    text,
    fc.boolean(),
  )
  .map(([name, value, marked]) => `${name}=${marked ? MARK : ''}${value}`)
const form = fc
  .tuple(fc.boolean(), fc.array(pair, { maxLength: 8 }))
  .map(([granted, pairs]) => [...(granted ? ['grant_type=client_credentials'] : []), ...pairs].join('&'))
const printable = fc.string({ maxLength: 60 }).map((one) => one.replaceAll(/[^\x20-\x7e]/g, '').trim())

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

async function send(
  path: string,
  method: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Answer> {
  const signal = AbortSignal.timeout(60_000)
  const response = await request(server.url + path, {
    method: method as 'POST',
    headers,
    signal,
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.statusCode, headers: response.headers, body: await response.body.text() }
}

/** Whatever was sent, the answer is one of ours, and says nothing of what was sent. */
function assertClean({ status, headers, body }: Answer): void {
  expect(status).toBeLessThan(500)
  expect(JSON.stringify(headers) + body).not.toContain(MARK)
  if (status >= 400 && headers['www-authenticate']?.includes('Bearer') !== true) errorOf(body)
  else if (status === 200) JSON.parse(body)
}

test('any form at any endpoint gets a clean answer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), form, async (path, body) => {
      // A form that names other credentials would cost a slow hash each.
      const headers = { ...client.basic, 'content-type': FORM }
      assertClean(await send(path, 'POST', headers, body))
    }),
    { numRuns: 1500 },
  )
})

test('any query, header and method gets a clean answer', async () => {
  const names = [
    'accept',
    'origin',
    'x-forwarded-for',
    'cookie',
    'content-type',
    'x-http-method-override',
    'if-none-match',
  ]
  const headers = fc.dictionary(
    fc.constantFrom(...names),
    printable.map((one) => one + MARK),
    { noNullPrototype: true },
  )
  const query = fc
    .string({ unit: 'binary', maxLength: 30 })
    .map((one) => `?${MARK}=${encodeURIComponent(one.toWellFormed())}`)
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH')
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), method, query, headers, async (path, one, search, more) => {
      assertClean(
        await send(path + search, one, { ...client.basic, ...more }, one === 'GET' ? undefined : 'a=b'),
      )
    }),
    { numRuns: 1000 },
  )
})

test('any token is inactive, and opens nothing', async () => {
  const segment = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64url'))
  const json = fc.json({ maxDepth: 3 }).map((one) => Buffer.from(one).toString('base64url'))
  const jwt = fc.array(fc.oneof(segment, json), { minLength: 1, maxLength: 6 }).map((all) => all.join('.'))
  const opaque = fc.stringMatching(/^lka_[A-Za-z0-9_-]{40,46}$/)
  await fc.assert(
    fc.asyncProperty(fc.oneof(jwt, opaque, printable), async (token) => {
      const asked = `token=${encodeURIComponent(token)}`
      const answer = await send('/introspect', 'POST', { ...client.basic, 'content-type': FORM }, asked)
      expect(JSON.parse(answer.body)).toEqual({ active: false })
      const guarded = await send('/books', 'GET', { authorization: `Bearer ${token}` })
      expect([400, 401]).toContain(guarded.status)
    }),
    { numRuns: 500 },
  )
})

test('any Authorization header is refused', async () => {
  const base64 = fc
    .string({ unit: 'binary', maxLength: 40 })
    .map((one) => Buffer.from(one + MARK).toString('base64'))
  const value = fc.oneof(
    base64.map((one) => `Basic ${one}`),
    printable,
    printable.map((one) => `Basic ${one}`),
  )
  await fc.assert(
    fc.asyncProperty(value, async (authorization) => {
      const answer = await send(
        '/token',
        'POST',
        { authorization, 'content-type': FORM },
        'grant_type=client_credentials',
      )
      expect([answer.status, errorOf(answer.body)]).toEqual([401, 'invalid_client'])
    }),
    { numRuns: 100 },
  )
})

test('any bytes on the line get a clean answer or none, and the server lives on', async () => {
  const request = Buffer.from(
    'GET /healthz?a=b HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nConnection: close\r\n\r\n',
  )
  const mutated = fc
    .array(fc.tuple(fc.nat(request.length - 1), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 6,
    })
    .map((changes) => {
      const bytes = Buffer.from(request)
      for (const [at, byte] of changes) bytes[at] = byte
      return bytes
    })
  const any = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes))
  await fc.assert(
    fc.asyncProperty(fc.oneof(mutated, any), async (bytes) => {
      const { status, body } = await sendRaw(
        server.url,
        Buffer.concat([bytes, Buffer.from('x\r\n\r\n\r\n\r\n')]),
      )
      expect(status).toBeLessThan(500)
      if (status >= 400 && body.startsWith('{')) errorOf(body)
    }),
    { numRuns: 300 },
  )
})

test('after all of it the server is ready, unpolluted, and has logged no fault and nothing that was sent', async () => {
  expect((await server.get('/readyz')).status).toBe(200)
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(server.output()).not.toMatch(/"level":"(?:error|fatal)"/)
  expect(server.output()).not.toContain(MARK)
})
