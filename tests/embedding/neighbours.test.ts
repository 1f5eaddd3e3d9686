/** An app with handlers, hooks and plugins of its own: they stay as they are, and Latchkey works beside them. */
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import view from '@fastify/view'
import { Eta } from 'eta'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { inspect } from 'node:util'
import { tokenIntrospection } from 'openid-client'
import { expect, test } from 'vitest'
import { createClient, getToken, statusWith } from '../support/clients.ts'
import { startForeignApp } from '../support/foreign-app.ts'
import { createApp, getTokensFor } from '../support/relying-party.ts'
import { bearer } from '../support/requests.ts'

const hooked: string[] = []

/** Everything that people have registered who have had their app for years. */
async function furnish(app: FastifyInstance): Promise<void> {
  await app.register(cookie, { secret: 'their own secret' })
  await app.register(formbody)
  await app.register(view, { engine: { eta: new Eta() } })
  app.decorate('browser', 'theirs' as never)
  app.decorateRequest('session', null)
  app.decorateReply('page', function page(this: { send(text: string): unknown }) {
    return this.send('their page')
  } as never)
  app.addHook('onRequest', async ({ routeOptions }) => {
    hooked.push(String(routeOptions.url))
  })
  app.setErrorHandler(async (error: Error & { statusCode?: number }, _request, reply) =>
    reply.code(error.statusCode ?? 500).send({ theirs: error.message }),
  )
  app.setNotFoundHandler(async (_request, reply) => reply.code(404).send({ theirs: 'not found' }))
}

async function ownRoutes(app: FastifyInstance): Promise<void> {
  app.get('/', async () => 'their home')
  app.get('/healthz', async () => 'their health')
  app.get('/fails', async () => {
    throw new Error('theirs')
  })
  app.post('/form', async ({ body }) => body)
  app.get('/page', async (_request, reply) => reply.page('error' as never, {} as never))
  app.get('/cookie', async (request, reply) => {
    void reply.setCookie('their', 'cookie')
    return request.cookies
  })
  app.get('/guarded', { config: { scope: 'read_books' } }, async ({ token }) => token.clientId)
  app.get('/hooked', { onRequest: app.requireScope('read_books') }, async ({ token }) => token.clientId)
}

const server = await startForeignApp({ before: furnish, after: ownRoutes })

test('their home, errors, pages, forms and cookies are theirs', async () => {
  expect(await (await server.get('/')).text()).toBe('their home')
  expect(await (await server.get('/healthz')).text()).toBe('their health')
  expect(await (await server.get('/fails')).json()).toEqual({ theirs: 'theirs' })
  expect(await (await server.get('/page')).text()).toBe('their page')
  expect(await (await server.post('/form', { a: 'b' })).json()).toEqual({ a: 'b' })
  const json = { method: 'POST', body: '{"c":1}', headers: { 'content-type': 'application/json' } }
  expect(await (await server.request('/form', json)).json()).toEqual({ c: 1 })
  const cookies = await server.get('/cookie', { cookie: 'a=b' })
  expect([await cookies.json(), cookies.headers.get('set-cookie')]).toEqual([
    { a: 'b' },
    'their=cookie; SameSite=Lax',
  ])
})

test('what is not there is theirs to say, also for another method of their routes', async () => {
  for (const [path, method] of [
    ['/nowhere', 'GET'],
    ['/nowhere', 'POST'],
    ['/fails', 'DELETE'],
  ] as const) {
    const response = await server.request(path, { method })
    expect([response.status, await response.json()]).toEqual([404, { theirs: 'not found' }])
  }
})

test('our routes refuse in our words, and other methods by 405', async () => {
  const refused = await server.post('/token', { grant_type: 'authorization_code' })
  expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([
    401,
    'invalid_client',
  ])
  const get = await server.get('/token')
  expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
  const page = await server.get('/authorize?client_id=nobody', { accept: 'text/html' })
  expect(page.status).toBe(400)
  expect(await page.text()).toContain('id="error-code"')
  const json = await server.request('/token', {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  expect(json.status).toBe(415)
})

test('their hooks see our routes, as those of any plugin of theirs', async () => {
  await (await server.get('/jwks')).text()
  expect(hooked).toContain('/jwks')
})

test('openid-client signs somebody in, and gets claims', async () => {
  const config = await createApp(server)
  const tokens = await getTokensFor(config, { scope: 'openid profile read_books' })
  expect(tokens.claims()).toMatchObject({ iss: server.url, name: 'Alice Example' })
  expect(await tokenIntrospection(config, tokens.access_token)).toMatchObject({ active: true })
  expect(await statusWith(server, '/guarded', tokens.access_token)).toBe(200)
})

test('routes of theirs are guarded by scope, either way', async () => {
  const reader = await createClient(server, { scope: ['read_books'] })
  const other = await createClient(server, { scope: ['write_books'] })
  const [good, wrong] = [await getToken(server, reader), await getToken(server, other)]
  for (const path of ['/guarded', '/hooked']) {
    const response = await server.get(path, bearer(good.access_token))
    expect([response.status, await response.text()]).toEqual([200, reader.clientId])
    expect(await statusWith(server, path, wrong.access_token)).toBe(403)
    const none = await server.get(path)
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^Bearer/),
    ])
  }
})

test('their log shows their own addresses, and of ours none', async () => {
  await (await server.get('/form?their=query')).text()
  await (await server.get('/authorize?client_id=nobody&state=a-secret-state')).text()
  await (await server.get('/userinfo?access_token=a-secret-token')).text()
  expect(server.output()).toContain('/form?their=query')
  expect(server.output()).not.toMatch(/a-secret|client_id=/)
})

/** A logger that is no pino: it takes what it is given as it is, and no serializers. */
function plainLogger(heard: unknown[], more: object = {}): FastifyBaseLogger {
  const note = (...given: unknown[]): void => void heard.push(structured(given))
  const methods = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
  return Object.freeze({
    ...Object.fromEntries(methods.map((method) => [method, note])),
    level: 'trace',
    child: (bindings: object) => plainLogger(heard, { ...more, ...bindings }),
  }) as never
}

/** All that can be read of it, however deep. */
const structured = (given: unknown): string => inspect(given, { depth: 8, showHidden: true, getters: true })

async function fails(fastify: FastifyInstance): Promise<void> {
  const thrown = (): Error =>
    Object.assign(new Error('Key (email)=(a-secret@shop.example)'), { code: '23505' })
  fastify.get('/fails/here', async () => {
    throw thrown()
  })
  fastify.get('/fails/told', async (request) => {
    request.log.error(thrown())
    request.log.warn({ err: thrown(), req: request }, thrown().message)
    request.server.log.warn({ err: thrown() }, 'of the server')
    request.log.child({ more: 'of it' }).info({ req: request, err: thrown() }, 'of a child')
    return {}
  })
}

test.each([
  ['no pino', (heard: unknown[]) => ({ logger: false, loggerInstance: plainLogger(heard) })],
  [
    'a pino whose children take nothing',
    (heard: unknown[]) => ({
      logger: { level: 'trace', stream: { write: (line: string) => void heard.push(line) } },
      childLoggerFactory: (log: FastifyBaseLogger, bindings: object) => log.child(bindings),
    }),
  ],
])('nor does a log that is %s', async (_what, logging) => {
  const heard: unknown[] = []
  const own = await startForeignApp({ app: logging(heard), plugins: [fails] })
  await (await own.get('/authorize?client_id=nobody&state=a-secret-state')).text()
  await (await own.get('/userinfo?access_token=a-secret-token', bearer('a-secret-header'))).text()
  await (await own.post('/token', { client_secret: 'a-secret-body' }, { cookie: 'a-secret-cookie' })).text()
  expect((await own.get('/fails/here')).status).toBe(500)
  expect((await own.get('/fails/told', bearer('a-secret-header'))).status).toBe(200)
  const lines = heard.join('\n')
  const told = ['request failed', 'incoming request', 'of a child', 'of the server', 'refused: 23505']
  expect(told.filter((text) => !lines.includes(text))).toEqual([])
  expect(lines.match(/a-secret-?\w*|client_id=/g)).toBeNull()
})

test('their own trailing slashes: an app that takes both forms for one', async () => {
  const own = await startForeignApp({ app: { routerOptions: { ignoreTrailingSlash: true } } })
  for (const path of ['/jwks', '/jwks/']) expect((await own.get(path)).status).toBe(200)
  expect((await own.post('/token/')).status).toBe(401)
})
