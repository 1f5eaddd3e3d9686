/** How much of it an app takes: without pages, without the janitor, with plugins of its own; and what it is warned of. */
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import requireScope from '../../plugins/require-scope/index.ts'
import { createClient, getToken, requestToken } from '../support/clients.ts'
import { startForeignApp } from '../support/foreign-app.ts'
import { routesOf } from '../support/routes.ts'
import { rowsWith } from '../support/left-out.ts'

async function metadataOf(server: {
  get(path: string): Promise<Response>
}): Promise<Record<string, unknown>> {
  const response = await server.get('/.well-known/oauth-authorization-server')
  return (await response.json()) as Record<string, unknown>
}

test('without pages there are the back-channel endpoints, and nobody is promised a code', async () => {
  const server = await startForeignApp({ pages: false })
  const metadata = await metadataOf(server)
  expect(metadata).toMatchObject({ response_types_supported: [], token_endpoint: `${server.url}/token` })
  expect(metadata['grant_types_supported']).toEqual([
    'refresh_token',
    'client_credentials',
    ...rowsWith('latchkey-token-exchange', ['urn:ietf:params:oauth:grant-type:token-exchange']),
    ...rowsWith('latchkey-jwt-bearer', ['urn:ietf:params:oauth:grant-type:jwt-bearer']),
  ])
  expect(metadata).not.toHaveProperty('authorization_endpoint')
  const paths = new Set(routesOf(server.server).map(({ url }) => url))
  for (const path of ['/token', '/introspect', '/revoke', '/jwks']) expect(paths).toContain(path)
  for (const path of ['/authorize', '/sign-in', '/admin', '/setup', '/end-session', '/'])
    expect(paths).not.toContain(path)
  const client = await createClient(server, { scope: ['read_books'] })
  expect(await getToken(server, client)).toMatchObject({ scope: 'read_books' })
})

/** A stranger's grant, as any plugin of an operator's. */
async function voucher(fastify: FastifyInstance): Promise<void> {
  fastify.oauth.registerGrant({
    type: 'urn:example:voucher',
    parameters: Type.Object({ voucher: Type.String() }),
    authorize: async ({ voucher: subject }) => ({ subject, scopes: new Set(['read_books']), resources: [] }),
  })
  fastify.get('/vouchers', { config: { scope: 'read_books' } }, async ({ token }) => token.subject)
}

test('a plugin of theirs has our doors, below the prefix', async () => {
  const server = await startForeignApp({
    prefix: '/auth',
    plugins: [voucher],
    before: (app) => app.get('/early', { config: { scope: 'read_books' } }, async () => 'secret'),
  })
  const grant_type = 'urn:example:voucher'
  const client = await createClient(server, { grant_types: [grant_type], scope: ['read_books'] })
  const answer = await requestToken(server, client, { grant_type, voucher: 'ada' })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const response = await server.get('/vouchers', { authorization: `Bearer ${token}` })
  expect([response.status, await response.text()]).toEqual([200, 'ada'])

  // Made before our guard was there, as where the registration is not awaited.
  const early = await server.server.inject({ url: '/early', headers: { authorization: `Bearer ${token}` } })
  expect([early.statusCode, early.body]).toEqual([500, expect.stringContaining('await the registration')])
})

test('without what guards routes, one that asks for a scope ends the start; an app may bring a guard of its own', async () => {
  const without = ['latchkey-resource-server']
  await expect(startForeignApp({ without, plugins: [voucher] })).rejects.toThrow(
    'The plugin voucher is refused: The route GET /vouchers asks for a token, so it needs latchkey-resource-server.',
  )
  const after = (app: FastifyInstance): unknown =>
    app.get('/stepped-up', { config: { authentication: { acr: '2' } } }, async () => 'secret')
  await expect(startForeignApp({ without, after })).rejects.toThrow(/GET \/stepped-up asks for a token/)

  const verifier = { verify: async () => Promise.reject(new Error('unused')) }
  const server = await startForeignApp({
    without,
    before: (app) => {
      app.get('/early', { config: { scope: 'read_books' } }, async () => 'secret')
      void app.register(async (inner) => {
        inner.get('/inner', { config: { authentication: { acr: '2' } } }, async () => 'secret')
      })
    },
    async after(app) {
      app.get('/open', { config: { scope: false } }, async () => 'open')
      await app.register(requireScope, { verifier, audience: 'a' })
      app.get('/books', { config: { scope: 'read_books' } }, async () => 'secret')
    },
  })
  expect((await server.get('/open')).status).toBe(200)
  expect((await server.get('/books')).status).toBe(401)
  for (const url of ['/early', '/inner']) {
    const early = await server.server.inject(url)
    expect([url, early.statusCode, early.body]).toEqual([url, 500, expect.stringContaining('no guard')])
  }
})

test('without what guards routes, one that was made before the registration is closed', async () => {
  const { server } = await startForeignApp({
    without: ['latchkey-resource-server'],
    before(app) {
      app.get('/early', { config: { scope: 'read_books' } }, async () => 'secret')
      app.get('/open', { config: { scope: false } }, async () => 'open')
      void app.register(async (inner) => {
        inner.get('/inner', { config: { authentication: { acr: '2' } } }, async () => 'secret')
      })
    },
  })
  for (const url of ['/early', '/inner']) {
    const { statusCode, body } = await server.inject(url)
    expect([url, statusCode, body]).toEqual([
      url,
      500,
      expect.stringContaining(`The route GET ${url} asks for a token, so it needs latchkey-resource-server.`),
    ])
  }
  expect((await server.inject('/open')).body).toBe('open')
})

test('what a plugin of theirs throws ends the start with which one it was, and keeps its stack', async () => {
  const thrown = new RangeError('no such shelf')
  const message = 'The plugin shelf failed at the start: no such shelf'
  const rejected = { message, cause: thrown, stack: expect.stringContaining('parts.test.ts') as string }
  const shelves: FastifyPluginAsync[] = [
    async function shelf() {
      throw thrown
    },
    async function shelf(fastify) {
      void fastify.register(async () => {
        throw thrown
      })
    },
    async function shelf(fastify) {
      fastify.addHook('onReady', async () => {
        throw thrown
      })
    },
    async function shelf(fastify) {
      fastify.addHook('onReady', (done) => done(thrown))
    },
  ]
  for (const shelf of shelves)
    await expect(startForeignApp({ plugins: [voucher, shelf] })).rejects.toMatchObject(rejected)
  const twice = [voucher, (fastify: FastifyInstance) => voucher(fastify)]
  await expect(startForeignApp({ plugins: twice })).rejects.toThrow(
    'The plugin plugins[1] is refused: The grant urn:example:voucher is registered twice.',
  )
})

test('without the janitor, what has expired stays; with it, it goes', async () => {
  const settings = { OIDC_JANITOR_INTERVAL: 1 }
  const idle = await startForeignApp({ settings, janitor: false })
  const busy = await startForeignApp({ settings })
  const expired = `insert into artifacts (kind, hash, value, expires_at) values ('x', 'y', '{}', now() - interval '1 day')`
  for (const { database } of [idle, busy]) await database.query(expired)
  const rest = async ({ database }: typeof idle): Promise<number> =>
    (await database.query(`select from artifacts where kind = 'x'`)).length
  await expect.poll(() => rest(busy)).toBe(0)
  expect(await rest(idle)).toBe(1)
})

test('what in the app would break a promise is said at start', async () => {
  const careless = await startForeignApp({
    app: { trustProxy: true },
    settings: { TRUSTED_PROXIES: '10.0.0.1' },
  })
  expect(careless.output()).toContain('latchkey: trustProxy is true')
  expect(careless.output()).toContain('latchkey: TRUSTED_PROXIES is not used here')
  const counting = await startForeignApp({ app: { trustProxy: 1 as never } })
  expect(counting.output()).toContain('latchkey: trustProxy is a number')
  const careful = await startForeignApp({ app: { trustProxy: '10.0.0.1' } })
  expect(careful.output()).not.toContain('latchkey: ')
})

test('no demo is seeded, and an app that logs nothing is fine', async () => {
  const server = await startForeignApp({ app: { logger: false }, settings: { SEED_FILE: '' } })
  expect(await server.server.oauth.clients.find('demo-service')).toBeNull()
  expect((await server.get('/books')).status).toBe(404)
})

test('an endpoint that the app itself registers in its own onReady is refused by name, as all that comes too late', async () => {
  const late = (app: FastifyInstance): void => {
    app.addHook('onReady', async () =>
      app.oauth.registerEndpoint({
        path: '/late',
        parameters: Type.Object({}),
        caller: 'anybody',
        handle: async () => ({}),
      }),
    )
  }
  await expect(startForeignApp({ before: late })).rejects.toMatchObject({
    name: 'ConfigError',
    message: 'The endpoint /late must be registered before the server is ready.',
  })
})
