/** Endpoints by who calls them, what they read and what they answer: the house does the rest for each. */
import { expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { answer, OAuthError, type Answer, type Bag, type OpenCall } from '../../src/index.ts'
import { memberError } from '../../src/protocol/errors.ts'
import { createClient, getToken } from '../support/clients.ts'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'

const ORIGIN = 'https://spa.example'
const Book = Type.Object({ title: Type.String({ maxLength: 20 }), pages: Type.Optional(Type.Integer()) })

function addEndpoints({ oauth }: FastifyInstance): void {
  oauth.registerEndpoint({
    path: '/books',
    metadata: 'books_endpoint',
    caller: 'anybody',
    body: 'json',
    cors: true,
    parameters: Book,
    async handle({ title, pages }, { body }) {
      const headers = { location: `${oauth.issuer}/books/1`, 'cache-control': 'public' }
      return answer({ status: 201, headers, body: { title, pages: pages ?? null, sent: Object.keys(body) } })
    },
  })
  const one = { path: '/books/:book', body: 'json', cors: true } as const
  oauth.registerEndpoint({
    ...one,
    method: 'PUT',
    caller: 'bearer',
    scopes: ['write_books'],
    parameters: Book,
    handle: async ({ title }, { token, path }) => ({ title, by: token.clientId, book: path['book'] }),
  })
  oauth.registerEndpoint({
    ...one,
    method: 'GET',
    caller: 'anybody',
    parameters: Type.Object({ page: Type.Optional(Type.String()) }),
    async handle({ page = '1' }, { path }) {
      return answer({ type: 'text/plain', body: `page ${page} of ${path['book']}` })
    },
  })
  oauth.registerEndpoint({
    ...one,
    method: 'DELETE',
    parameters: Type.Object({}),
    handle: async () => answer({ headers: { 'x-gone': 'yes' } }),
  })
  oauth.registerEndpoint({
    path: '/loans',
    caller: 'bearer',
    body: 'json',
    scopes: ['write_books'],
    failures: {
      type: 'application/problem+json',
      body: ({ status, code = null, description, member = null }) => ({ status, code, description, member }),
    },
    parameters: Book,
    async handle({ title }) {
      throw title === 'x' ? memberError('invalid_request', 'title', 'is lent') : new Error(title)
    },
  })
  oauth.registerEndpoint({
    path: '/silent',
    method: 'GET',
    caller: 'anybody',
    parameters: Type.Object({}),
    handle: async () => undefined as never,
  })
}

const BROKEN = { 'x-note': 'a\nset-cookie: b=c' }
/** Answers that nobody can send; the last comes of an older copy of `answer`, which judges no header. */
const UNSENDABLE: Readonly<Record<string, (call: OpenCall) => Answer | Bag>> = {
  header: () => answer({ headers: BROKEN, body: {} }),
  name: () => answer({ headers: { 'x note': 'a' }, body: {} }),
  type: () => answer({ body: 'a', type: 'text/plain\r\n' }),
  error: () => {
    throw new OAuthError('invalid_request', 'no', { headers: BROKEN })
  },
  status: () => {
    throw new OAuthError('invalid_request', 'no', { status: 42 })
  },
  reply({ reply }) {
    reply.headers(BROKEN)
    return {}
  },
  older: () => ({ ...answer({ body: {} }), headers: BROKEN }),
}

function addUnsendable(fastify: FastifyInstance): void {
  fastify.oauth.registerEndpoint({
    path: '/unsendable',
    method: 'GET',
    caller: 'anybody',
    parameters: Type.Object({ how: Type.String() }),
    handle: async ({ how }, call) => UNSENDABLE[how]!(call),
  })
  fastify.get('/unsendable/route', async (_request, reply) => reply.headers(BROKEN).send({}))
}

const server = await startServer(
  {},
  {
    extend(fastify) {
      addEndpoints(fastify)
      addUnsendable(fastify)
    },
  },
)
const client = await createClient(server, { scope: ['write_books', 'read_books'] })

const send = async (body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
  server.request('/books', { method: 'POST', body, headers: { 'content-type': type, origin: ORIGIN } })

async function refusal(response: Response): Promise<[number, unknown]> {
  const { error, error_description: description } = (await response.json()) as Record<string, unknown>
  expect(error).toBe('invalid_request')
  return [response.status, description]
}

test('JSON comes in checked and typed, and an answer has a status and headers; nobody stores it', async () => {
  for (const path of ['/books', '/books/']) {
    const body = JSON.stringify({ title: 'The Trial', more: { of: 'it' } })
    const response = await server.request(path, { method: 'POST', body, headers: { 'content-type': 'application/json; charset=UTF-8', origin: ORIGIN } }) // prettier-ignore
    expect(response.status).toBe(201)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      location: `${server.url}/books/1`,
      'access-control-allow-origin': '*',
    })
    expect(await response.json()).toEqual({ title: 'The Trial', pages: null, sent: ['title', 'more'] })
  }
  const metadata = (await (await server.get('/.well-known/openid-configuration')).json()) as object
  expect(metadata).toMatchObject({ books_endpoint: `${server.url}/books` })
})

const deep = (depth: number) => `{"title":"x","more":${'['.repeat(depth)}${']'.repeat(depth)}}`
const text = new TextEncoder()

test.each<[string, string | Uint8Array<ArrayBuffer>, number, string, string?]>([
  ['no JSON', '{"title":', 400, 'the body must be JSON'],
  ['nothing', '', 400, 'the body must be JSON'],
  ['a list', '[{"title":"x"}]', 400, 'the body must be a JSON object'],
  ['a member that is missing', '{}', 400, 'the parameter title is missing'],
  ['a member of another type', '{"title":7}', 400, 'the parameter title is malformed'],
  ['null for an optional one', '{"title":"x","pages":null}', 400, 'the parameter pages is malformed'],
  ['a member twice', '{"title":"x","title":"y"}', 400, 'the body has a member twice'],
  ['one twice, written otherwise', '{"title":"x","t\\u0069tle":"y"}', 400, 'the body has a member twice'],
  ['one twice further in', '{"title":"x","a":[{"b":1,"c":{},"b":2}]}', 400, 'the body has a member twice'],
  ['__proto__', '{"title":"x","__proto__":{"title":"y"}}', 400, 'the body has a member that is called __proto__'],
  ['__proto__ further in', '{"title":"x","a":{"__proto__":{}}}', 400, 'the body has a member that is called __proto__'],
  ['brackets in brackets', deep(16), 400, 'the body is nested too deeply'],
  ['a great many', deep(30_000), 400, 'the body is nested too deeply'],
  ['a number beyond all', '{"title":"x","pages":[1e999]}', 400, 'the body has a number that is out of range'],
  ['NUL', '{"title":"\\u0000"}', 400, 'the body must not hold NUL or broken Unicode'],
  ['half of a character', '{"title":"\\ud800"}', 400, 'the body must not hold NUL or broken Unicode'],
  ['no UTF-8', Uint8Array.of(...text.encode('{"title":"'), 0xff, ...text.encode('"}')), 400, 'the body must be in UTF-8'],
  ['too much', JSON.stringify({ title: 'x', more: 'x'.repeat(65_536) }), 413, 'the body is too large'],
  ['a form', 'title=x', 415, 'the body must be application/json', 'application/x-www-form-urlencoded'],
  ['another charset', '{"title":"x"}', 415, 'the body must be plain JSON in UTF-8', 'application/json; charset=utf-16'],
])('refused in words: %s', async (_what, body, status, description, type) => {
  const response = await send(body, type)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(await refusal(response)).toEqual([status, description])
}) // prettier-ignore

test('as deep as it may be, and names that look alike in other objects, are taken', async () => {
  expect((await send(deep(15))).status).toBe(201)
  expect((await send('{"title":"a","b":[{"title":"{\\"c"},{"title":",["}],"c":{"title":1}}')).status).toBe(
    201,
  )
})

test('one that answers with nothing is named in the log', async () => {
  expect((await server.get('/silent')).status).toBe(500)
  expect(server.output()).toContain('the endpoint /silent must answer with an object, or with answer(…)')
})

test.each([...Object.keys(UNSENDABLE), 'route'])(
  'an answer with what cannot be sent is a failure as any, and the log says where and what (%s)',
  async (how) => {
    const isRoute = how === 'route'
    const response = await server.get(isRoute ? '/unsendable/route' : `/unsendable?how=${how}`)
    expect(response.status).toBe(500)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(await response.json()).toEqual({
      error: 'server_error',
      error_description: expect.stringMatching(/^something went wrong here/),
    })
    const id = response.headers.get('x-request-id')
    const line = server.output().split('\n').find((one) => one.includes(`"${id}"`)) // prettier-ignore
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      msg: 'request failed',
      route: isRoute ? '/unsendable/route' : '/unsendable',
      err: { message: expect.stringMatching(/x.note|content-type|42 is no status/) },
    })
    expect(line).not.toContain('set-cookie')
  },
)

test('methods at one path, each with its caller: all else is 405 before anybody is asked who they are', async () => {
  const other = await server.request('/books/7', {
    method: 'POST',
    body: '<',
    headers: { 'content-type': 'text/xml' },
  })
  expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT, DELETE'])
  const preflight = await server.request('/books/7', { method: 'OPTIONS', headers: { origin: ORIGIN } })
  expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, PUT, DELETE')
  const posting = await server.request('/books', { method: 'GET' })
  expect([posting.status, posting.headers.get('allow')]).toEqual([405, 'POST'])

  const page = await server.get('/books/a%20b/?page=2')
  expect([page.headers.get('content-type'), await page.text()]).toEqual(['text/plain', 'page 2 of a b'])
  expect((await server.request('/books/7', { method: 'HEAD' })).status).toBe(200)
  expect(await refusal(await server.get('/books/a%00b'))).toEqual([400, 'the address is malformed'])
  expect(await refusal(await server.get('/books/7?page=1&page=2'))).toEqual([
    400,
    'the parameter page is repeated',
  ])
})

test('a bearer shows a token with the scopes that are needed', async () => {
  const put = async (headers: Record<string, string>) =>
    server.request('/books/7', {
      method: 'PUT',
      body: '{"title":"x"}',
      headers: { 'content-type': 'application/json', ...headers },
    })
  expect((await put({})).headers.get('www-authenticate')).toContain('scope="write_books"')
  const { access_token: weak } = await getToken(server, client, { scope: 'read_books' })
  expect((await put(bearer(weak))).status).toBe(403)
  const { access_token: token } = await getToken(server, client)
  expect(await (await put(bearer(token))).json()).toEqual({ title: 'x', by: client.clientId, book: '7' })
})

test('a client proves who it is in the header, also where nothing is sent', async () => {
  const gone = async (headers: Record<string, string>) =>
    server.request('/books/7', { method: 'DELETE', headers })
  const { status, headers } = await gone(client.basic)
  expect([status, headers.get('x-gone'), headers.get('cache-control')]).toEqual([204, 'yes', 'no-store'])
  expect((await gone(basic(client.clientId, 'wrong'))).status).toBe(401)
  expect((await gone({})).status).toBe(401)
})

test('failures are told in a form of its own, whoever refuses', async () => {
  const { access_token: token } = await getToken(server, client)
  const { access_token: weak } = await getToken(server, client, { scope: 'read_books' })
  const lend = async (body: string, headers: Record<string, string> = bearer(token), method = 'POST') => {
    const sent = method === 'POST' ? { body, headers: { 'content-type': 'application/json', ...headers } } : { headers }
    const response = await server.request('/loans', { method, ...sent })
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    const { status, code, description, member } = (await response.json()) as Record<string, unknown>
    expect(status).toBe(response.status)
    return [status, code, description, member]
  }
  expect(await lend('{"title":"x"}')).toEqual([400, 'invalid_request', 'title is lent', 'title'])
  expect(await lend('{"title":"secret"}')).toEqual([500, 'server_error', expect.stringMatching(/^something went wrong/), null])
  expect(await lend('{')).toEqual([400, 'invalid_request', 'the body must be JSON', null])
  expect(await lend('x', { ...bearer(token), 'content-type': 'text/plain' })).toEqual([415, 'invalid_request', 'the body must be application/json', null])
  expect(await lend('{}', {})).toEqual([401, null, expect.any(String), null])
  expect(await lend('{}', bearer(weak))).toEqual([403, 'insufficient_scope', expect.any(String), null])
  expect(await lend('', {}, 'DELETE')).toEqual([405, 'invalid_request', 'only POST is served here', null])
}) // prettier-ignore

test('what cannot be meant is refused at the door', async () => {
  const heard: string[] = []
  const rest = { parameters: Type.Object({}), handle: async () => ({}) }
  await startServer(
    {},
    {
      extend({ oauth }) {
        const attempt = (register: () => void) => {
          try {
            register()
          } catch (error) {
            heard.push((error as Error).message)
          }
        }
        oauth.registerEndpoint({ path: '/shelf', method: 'GET', ...rest })
        attempt(() => oauth.registerEndpoint({ path: '/shelf', method: 'GET', ...rest }))
        attempt(() => oauth.registerEndpoint({ path: '/shelf', method: 'PUT', body: 'json', ...rest }))
        attempt(() => oauth.registerEndpoint({ path: '/row', metadata: 'token_endpoint', ...rest }))
        const told = { type: 'text/plain\n', body: () => ({}) }
        attempt(() => oauth.registerEndpoint({ path: '/col', failures: told, ...rest }))
      },
    },
  )
  expect(heard).toEqual([
    'The endpoint /shelf (GET) is registered twice.',
    'The methods of the endpoint /shelf must have the same body, cors and failures.',
    'The endpoint /row (token_endpoint) is registered twice.',
    `The type of the failures of the endpoint /col must be a media type, such as 'application/problem+json'; it is "text/plain\\n".`,
  ])
  expect(() => answer({ body: 'a text' })).toThrow('a text needs its type')
  expect(() => answer({ status: 99 })).toThrow('99 is no status')
})

test('a client proves who it is in the header, and not in the address, where logs would have it', async () => {
  const method = 'DELETE'
  expect((await server.request('/books/one', { method, headers: client.basic })).status).toBe(204)
  const { clientId: client_id, clientSecret: client_secret } = await createClient(server, {
    scope: ['read_books'],
    token_endpoint_auth_method: 'client_secret_post',
  })
  const query = new URLSearchParams({ client_id, client_secret }).toString()
  expect(await refusal(await server.request(`/books/one?${query}`, { method }))).toEqual([
    400,
    'what proves who a client is must not be in the address',
  ])
})
