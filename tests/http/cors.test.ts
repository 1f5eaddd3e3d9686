/** CORS as a browser sees it: what it asks first, what it may read, and where it may nothing. */
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createClient, getToken } from '../support/clients.ts'
import { createDatabase } from '../support/database.ts'
import { createDpopKey, prove } from '../support/dpop.ts'
import { startServer } from '../support/server.ts'

const ORIGIN = 'https://spa.example'
const FORM = { grant_type: 'client_credentials', token: 'x' }
const DOCUMENTS = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/jwks',
  '/jwks/',
]
const ENDPOINTS = ['/token', '/token/', '/revoke', '/revoke/']
const database = await createDatabase()
const proxy = await startDatabaseProxy(database.url)
const server = await startServer({ DATABASE_URL: proxy.url, TRUSTED_PROXIES: '127.0.0.1' }, { database })
const client = await createClient(server, { scope: ['read'] })
const key = await createDpopKey()

/** The headers of CORS among the headers of an answer, without their common prefix. */
function corsOf({ headers }: Response): Record<string, string> {
  const found = [...headers].filter(([name]) => name.startsWith('access-control-'))
  return Object.fromEntries(found.map(([name, value]) => [name.slice('access-control-'.length), value]))
}

const READABLE = { 'allow-origin': '*', 'expose-headers': 'DPoP-Nonce, WWW-Authenticate' }

/**
 * What a browser does with a request that is not simple (Fetch standard §4.8): asks first, and sends it only when
 * the answer allows method and headers. Throws a TypeError where a page gets one.
 */
async function fetchAsBrowser(
  path: string,
  init: { method: string; headers?: Record<string, string>; body?: string },
) {
  const { method, headers = {}, body } = init
  const names = Object.keys(headers).toSorted()
  const preflight = await server.request(path, {
    method: 'OPTIONS',
    headers: {
      origin: ORIGIN,
      'access-control-request-method': method,
      ...(names.length === 0 ? {} : { 'access-control-request-headers': names.join(',') }),
    },
  })
  const allowed = corsOf(preflight)
  const list = (name: string) => (allowed[name] ?? '').split(', ')
  if (
    !preflight.ok ||
    allowed['allow-origin'] !== '*' ||
    !list('allow-methods').includes(method) ||
    !names.every((name) => list('allow-headers').includes(name))
  )
    throw new TypeError('Failed to fetch: the preflight')
  const response = await server.request(path, {
    method,
    headers: { ...headers, origin: ORIGIN },
    ...(body === undefined ? {} : { body }),
  })
  if (corsOf(response)['allow-origin'] !== '*') throw new TypeError('Failed to fetch: the response')
  return response
}

test('a page reads the metadata, gets a token and gives it back', async () => {
  const headers = { 'mcp-protocol-version': '2025-11-25' }
  const metadata = (await (
    await fetchAsBrowser('/.well-known/openid-configuration', { method: 'GET', headers })
  ).json()) as Record<string, string>
  expect((await fetchAsBrowser(metadata['jwks_uri']!, { method: 'GET' })).status).toBe(200)
  const post = async (url: string, form: Record<string, string>) =>
    fetchAsBrowser(url, {
      method: 'POST',
      headers: {
        ...client.basic,
        dpop: await prove(key, { method: 'POST', url }),
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(form).toString(),
    })
  const granted = await post(metadata['token_endpoint']!, { grant_type: 'client_credentials' })
  expect(granted.status).toBe(200)
  const { access_token: token } = (await granted.json()) as { access_token: string }
  expect((await post(metadata['revocation_endpoint']!, { token })).status).toBe(200)
  await expect(post(metadata['introspection_endpoint']!, { token })).rejects.toThrow('the preflight')
})

test('Swagger UI, which says that it is a script, gets a token', async () => {
  const response = await fetchAsBrowser('/token', {
    method: 'POST',
    headers: {
      ...client.basic,
      'content-type': 'application/x-www-form-urlencoded',
      'x-requested-with': 'XMLHttpRequest',
    },
    body: new URLSearchParams({ grant_type: 'client_credentials' }).toString(),
  })
  expect([response.status, await response.json()]).toMatchObject([200, { token_type: 'Bearer' }])
})

test('an SDK that names itself in a header of its own begins; a script tells nothing in the place of a proxy', async () => {
  const headers = { 'x-okta-user-agent-extended': 'okta-auth-js/8.0.0' }
  expect((await fetchAsBrowser(DOCUMENTS[0]!, { method: 'GET', headers })).status).toBe(200)
  const told = { ...headers, 'x-forwarded-for': '192.0.2.1' }
  await expect(fetchAsBrowser(DOCUMENTS[0]!, { method: 'GET', headers: told })).rejects.toThrow(
    'the preflight',
  )
})

test.each([...DOCUMENTS, ...ENDPOINTS, '/userinfo', '/userinfo/'])(
  'a preflight of %s allows any origin, without cookies',
  async (path) => {
    const preflight = await server.request(path, { method: 'OPTIONS', headers: { origin: ORIGIN } })
    expect([preflight.status, await preflight.text()]).toEqual([204, ''])
    expect(corsOf(preflight)).toEqual({
      ...READABLE,
      'allow-methods': 'GET, HEAD, POST',
      'allow-headers':
        'authorization, content-type, dpop, mcp-protocol-version, x-requested-with, x-okta-user-agent-extended',
      'max-age': '7200',
    })
  },
)

test('documents that caches keep are open also when they were asked for without an origin', async () => {
  for (const path of DOCUMENTS)
    expect(corsOf(await server.get(path))).toEqual({ 'allow-origin': READABLE['allow-origin'] })
  for (const path of ENDPOINTS) expect(corsOf(await server.post(path, FORM, client.basic))).toEqual({})
})

test.each([
  [
    '400',
    FORM,
    { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8', authorization: 'Basic' },
    401,
  ],
  ['a wrong secret', { ...FORM, client_id: 'x', client_secret: 'y' }, {}, 401],
  ['no grant', { client_id: client.clientId, client_secret: client.clientSecret }, {}, 400],
  ['another charset', FORM, { 'content-type': 'application/x-www-form-urlencoded; charset=latin1' }, 415],
  ['JSON', FORM, { 'content-type': 'application/json' }, 415],
  ['a body that is too large', { a: 'a'.repeat(70_000) }, {}, 413],
] as [string, Record<string, string>, Record<string, string>, number][])(
  'a page can read why: %s',
  async (_name, form, headers, status) => {
    const response = await server.post('/token', form, { ...headers, origin: ORIGIN })
    expect([response.status, corsOf(response)]).toEqual([status, READABLE])
  },
)

test('a page can read why userinfo refuses a token', async () => {
  const forged = { authorization: 'Bearer forged', origin: ORIGIN }
  for (const response of [
    await server.get('/userinfo', forged),
    await server.post('/userinfo', {}, forged),
  ]) {
    expect([response.status, corsOf(response)]).toEqual([401, READABLE])
    expect(response.headers.get('www-authenticate')).toContain('invalid_token')
  }
})

test('a page can read that a method is refused, and that it failed too often', async () => {
  for (const path of [...DOCUMENTS, ...ENDPOINTS]) {
    const response = await server.request(path, { method: 'DELETE', headers: { origin: ORIGIN } })
    expect([response.status, corsOf(response)]).toEqual([405, READABLE])
  }
  const headers = { origin: ORIGIN, 'x-forwarded-for': '198.51.100.1' }
  const wrong = { ...FORM, client_id: 'x', client_secret: `lks_${'x'.repeat(43)}` }
  let response = await server.post('/token', wrong, headers)
  while (response.status === 401) response = await server.post('/token', wrong, headers)
  expect([response.status, corsOf(response)]).toEqual([429, READABLE])
})

test('a page can read that the database is away', async () => {
  await getToken(server, client)
  await proxy.cut()
  const response = await server.post(
    '/token',
    { ...FORM, client_id: 'x', client_secret: 'y' },
    { origin: ORIGIN },
  )
  expect([response.status, corsOf(response)]).toEqual([503, READABLE])
  await proxy.restore()
})

test.each(['/introspect', '/authorize', '/end-session', '/nowhere', '/healthz', '/'])(
  'A9: %s is for no page',
  async (path) => {
    for (const method of ['OPTIONS', 'GET', 'POST']) {
      const response = await server.request(path, { method, headers: { origin: ORIGIN } })
      expect(corsOf(response)).toEqual({})
    }
  },
)

test('an endpoint of a plugin is open when it says so', async () => {
  const other = await startServer(
    {},
    {
      extend: ({ oauth }) => {
        for (const cors of [true, false])
          oauth.registerEndpoint({
            path: cors ? '/open' : '/closed',
            metadata: cors ? 'open_endpoint' : 'closed_endpoint',
            cors,
            parameters: Type.Object({}),
            handle: async () => ({}),
          })
      },
    },
  )
  const answers = await Promise.all(
    ['/open', '/closed'].map(async (path) => {
      const { status, headers } = await other.request(path, {
        method: 'OPTIONS',
        headers: { origin: ORIGIN },
      })
      return [status, headers.get('access-control-allow-methods')]
    }),
  )
  expect(answers).toEqual([
    [204, 'GET, HEAD, POST'],
    [405, null],
  ])
})
