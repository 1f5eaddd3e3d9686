/** Where an issuer in somebody's app is: at its root, below a prefix, or several beside each other. */
import type { FastifyInstance } from 'fastify'
import * as oauth from 'oauth4webapi'
import { expect, test } from 'vitest'
import { latchkey, type LatchkeyOptions } from '../../src/index.ts'
import { createClient, getToken, statusWith } from '../support/clients.ts'
import { createDatabase } from '../support/database.ts'
import { createForeignApp, populate, startForeignApp } from '../support/foreign-app.ts'
import { createApp, getTokensFor } from '../support/relying-party.ts'
import { requestsTo } from '../support/requests.ts'
import { routesOf } from '../support/routes.ts'
import type { TestServer } from '../support/server.ts'
import { freePort, prepare } from '../support/settings.ts'

const hasHome = (app: FastifyInstance) => {
  app.get('/', async () => 'their home')
}

test('below a prefix, both kinds of client find the metadata, and somebody signs in', async () => {
  const server = await startForeignApp({ prefix: '/auth', after: hasHome })
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const response = await oauth.discoveryRequest(new URL(server.url), {
      algorithm,
      [oauth.allowInsecureRequests]: true,
    })
    expect(await oauth.processDiscoveryResponse(new URL(server.url), response)).toMatchObject({
      token_endpoint: `${server.url}/token`,
    })
  }
  const tokens = await getTokensFor(await createApp(server), { scope: 'openid profile' })
  expect(tokens.claims()).toMatchObject({ iss: server.url, name: 'Alice Example' })
  expect((await server.get('/readyz')).status).toBe(200)
  expect(await (await server.get(`${new URL(server.url).origin}/`)).text()).toBe('their home')
})

test('below a prefix nothing else of the app is taken but well-known addresses', async () => {
  const server = await startForeignApp({ prefix: '/auth' })
  const outside = routesOf(server.server).filter(({ url }) => !/^\/auth(?:\/|$)/.test(url))
  const own = outside.filter(({ methods }) => methods.length > 0).map(({ url }) => url)
  expect(new Set(own.filter((url) => !url.startsWith('/.well-known/')))).toEqual(new Set())
  expect(own).toContain('/.well-known/oauth-authorization-server/auth')
})

test('what cannot agree is refused at boot, in one sentence', async () => {
  const { settings } = await prepare({ OIDC_ISSUER: 'http://127.0.0.1:3999/auth' }, {})
  const refusal = async (
    options: LatchkeyOptions,
    register: (app: FastifyInstance, options: LatchkeyOptions) => PromiseLike<unknown> = (app, given) =>
      app.register(latchkey, given),
  ): Promise<string> => {
    const { app } = createForeignApp()
    const refused = await Promise.resolve(register(app, { settings, ...options })).then(
      () => 'registered',
      (error: Error) => `${error.name}: ${error.message}`,
    )
    await app.close()
    return refused
  }
  expect(await refusal({ prefix: '/login' })).toBe(
    'ConfigError: The prefix /login must be the path of OIDC_ISSUER, which is /auth in http://127.0.0.1:3999/auth.',
  )
  const unset = { ...settings, OIDC_ISSUER: undefined, PORT: 4321 }
  expect(await refusal({ prefix: '/auth', settings: unset })).toBe(
    'ConfigError: OIDC_ISSUER is not set, and with the prefix /auth it must end in that path: OIDC_ISSUER=http://localhost:4321/auth.',
  )
  expect(
    await refusal({}, async (app, given) => {
      await app.register(async (scope) => scope.register(latchkey, given), { prefix: '/v1' })
    }),
  ).toBe(
    "ConfigError: Latchkey is registered below /v1, where not all of its addresses lie: register it at the root, with prefix: '/v1'.",
  )
  expect(
    await refusal({}, async (app, given) => {
      app.decorate('oauth', {} as never)
      await app.register(latchkey, given)
    }),
  ).toMatch(
    /^ConfigError: The app is decorated with oauth already: register this issuer in a scope of its own/,
  )
  expect(
    await refusal({}, async (app, given) => {
      app.decorateRequest('actor', null)
      await app.register(latchkey, given)
    }),
  ).toMatch(/^ConfigError: The app's requests are decorated with actor already/)
  expect(
    await refusal({}, async (app, given) => {
      app.decorateRequest('token', { getter: () => undefined as never })
      await app.register(latchkey, given)
    }),
  ).toMatch(/^TypeError: requireScope: requests are decorated with token already/)
  for (const [options, sentence] of [
    [{ migrat: false }, 'has migrat, which is never asked for: the nearest is migrate.'],
    [{ pages: 'false' }, 'pages of the registration of latchkey must be true or false; it is "false".'],
    [{ pool: {} }, 'pool of the registration of latchkey must be a pool of the package pg.'],
    [{ orm: {} }, 'orm of the registration of latchkey must be a MikroORM instance.'],
    [{ plugins: [undefined] }, 'must be a list of plugins, which are functions.'],
    [
      { without: 'latchkey-introspection' },
      'without of the registration of latchkey must be a list of texts',
    ],
  ] as const)
    expect(await refusal(options as unknown as LatchkeyOptions)).toContain(sentence)
  expect(await refusal({ without: ['latchkey-nothing'] })).toBe(
    'ConfigError: There is no plugin latchkey-nothing to leave out.',
  )
})

/** Two issuers in one app, each in a scope of its own: `/one` and `/two`, with guarded routes at `/one-api` and `/two-api`. */
async function startTwo(optionsOf: (name: string) => Promise<LatchkeyOptions>): Promise<TestServer[]> {
  const { app, output } = createForeignApp()
  const port = await freePort()
  const scopes = new Map<string, FastifyInstance>()
  const servers: TestServer[] = []
  for (const name of ['one', 'two']) {
    const url = `http://127.0.0.1:${port}/${name}`
    const { settings: own, ...options } = await optionsOf(name)
    const { settings, database } = await prepare({ ...own, PORT: port, OIDC_ISSUER: url }, {})
    await app.register(async (scope) => {
      await scope.register(latchkey, { prefix: `/${name}`, settings, ...options })
      scope.get(`/${name}-api`, { config: { scope: 'read_books' } }, async ({ token }) => token.issuer)
      scopes.set(name, scope)
    })
    const close = async (): Promise<void> => app.close()
    servers.push({ url, server: scopes.get(name)!, database, settings, output, close, ...requestsTo(url) })
  }
  await app.listen({ host: '127.0.0.1', port })
  for (const scope of scopes.values()) await populate(scope)
  return servers
}

async function expectApart([one, two]: readonly TestServer[]): Promise<void> {
  const client = await createClient(one!, { scope: ['read_books'] })
  const { access_token: token } = await getToken(one!, client)
  const { origin } = new URL(one!.url)
  expect(await statusWith(one!, `${origin}/one-api`, token)).toBe(200)
  expect(await statusWith(two!, `${origin}/two-api`, token)).toBe(401)
  expect(await two!.server.oauth.clients.find(client.clientId)).toBeNull()
  for (const server of [one!, two!]) {
    const tokens = await getTokensFor(await createApp(server), { scope: 'openid profile' })
    expect(tokens.claims()).toMatchObject({ iss: server.url, name: 'Alice Example' })
  }
}

test('two issuers with a database each are side by side and know nothing of each other', async () => {
  await expectApart(await startTwo(async () => ({})))
})

test('two issuers in two schemas of one database, by its URL', async () => {
  const { url, query } = await createDatabase()
  await expectApart(
    await startTwo(async (name) => ({ settings: { DATABASE_URL: url, DATABASE_SCHEMA: `of_${name}` } })),
  )
  expect(await query('select count(*)::int as rows from public.clients')).toEqual([{ rows: 0 }])
  expect(await query('select username from of_one.users')).toEqual([{ username: 'alice' }])
})
