import Fastify, { type FastifyInstance } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import requireScope, { dpop, type RequireScopeOptions } from '../../../plugins/require-scope/index.ts'
import { bearer, challenge, startApp, startIssuer } from './support.ts'

test('metadata is served at the path-inserted URL and at the root, open to any origin', async () => {
  const issuer = await startIssuer()
  const app = await startApp(
    {
      issuer: issuer.url,
      resource: 'https://api.example/v1',
      metadata: {
        resource_name: 'Books',
        scopes_supported: ['extra', 'offline_access'],
        resource: 'https://evil.example',
      },
    },
    (app) => {
      app.get('/books', { config: { scope: ['read_books', 'extra'] } }, async () => 'ok')
      app.get('/hook', { onRequest: app.requireScope('write_books') }, async () => 'ok')
    },
  )
  for (const url of ['/.well-known/oauth-protected-resource/v1', '/.well-known/oauth-protected-resource']) {
    const response = await app.inject(url)
    expect(response.headers['access-control-allow-origin']).toBe('*')
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.json()).toEqual({
      resource: 'https://api.example/v1',
      resource_name: 'Books',
      authorization_servers: [issuer.url],
      scopes_supported: ['extra', 'read_books', 'write_books'],
      bearer_methods_supported: ['header'],
    })
    const preflight = await app.inject({ method: 'OPTIONS', url })
    expect(preflight.statusCode).toBe(204)
    expect(preflight.headers['access-control-allow-headers']).toBe(
      'mcp-protocol-version, x-requested-with, x-okta-user-agent-extended',
    )
  }
})

test.each([
  'https://api.example/my%20api',
  'https://api.example/bücher',
  'https://api.example/v1:beta',
  'https://api.example/:v/:w',
  'https://api.example/(a)/b;c=d,e@f',
  'https://api.example/a%25b',
])('of %s, it is where the challenge says', async (resource) => {
  const app = await startApp({ issuer: 'https://as.example', resource, keys: { prefetch: 'lazy' } })
  const { resource_metadata: url = '' } = challenge((await app.inject('/books')).headers['www-authenticate'])
  const { pathname } = new URL(url)
  const response = await app.inject(pathname)
  expect([response.statusCode, response.json()]).toEqual([200, expect.objectContaining({ resource })])
  expect((await app.inject({ method: 'OPTIONS', url: pathname })).statusCode).toBe(204)
  expect((await app.inject('/.well-known/oauth-protected-resource/another')).statusCode).toBe(404)
  for (const path of ['x/y', 'v1x'])
    expect((await app.inject(`/.well-known/oauth-protected-resource/${path}`)).statusCode).toBe(404)
})

test.each(['https://api.example/*x', 'https://api.example/a%2Fb', 'https://api.example/%zz'])(
  '%s, whose metadata no router would find, ends the start in a sentence',
  async (resource) => {
    const options = { issuer: 'https://as.example', resource, keys: { prefetch: 'lazy' } } as const
    await expect(startApp(options)).rejects.toThrow(
      'requireScope: resource must have neither * nor an encoded delimiter in its path, or metadata: false',
    )
    await expect(startApp({ ...options, metadata: false })).resolves.toBeDefined()
  },
)

test("the app's own way to serialize does not reshape it", async () => {
  const resource = 'https://api.example/v1'
  const app = Fastify()
  onTestFinished(() => app.close())
  app.setReplySerializer((payload) => JSON.stringify({ wrapped: payload }))
  app.addHook('preSerialization', async (_request, _reply, payload) => ({ data: payload }))
  await app.register(requireScope, { issuer: 'https://as.example', resource, keys: { prefetch: 'lazy' } })
  const response = await app.inject('/.well-known/oauth-protected-resource/v1')
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(response.json()).toMatchObject({ resource })
})

const RESOURCE = {
  issuer: 'https://as.example',
  resource: 'https://api.example/v1',
  keys: { prefetch: 'lazy' },
} as const

/** Each registration in a scope of its own, with a route that asks for a scope of this name. */
async function startScopes(
  ...given: readonly [scope: string, options: RequireScopeOptions][]
): Promise<FastifyInstance> {
  const app = Fastify()
  onTestFinished(() => app.close())
  for (const [scope, options] of given)
    await app.register(async (own) => {
      await own.register(requireScope, options)
      own.get(`/${scope}`, { config: { scope } }, async () => scope)
    })
  await app.ready()
  return app
}

test('a resource of two scopes of an app has one document, with the scopes of both', async () => {
  const metadata = { resource_name: 'Books', scopes_supported: ['extra', 'read'] }
  const app = await startScopes(['read', { ...RESOURCE, metadata }], ['write', { ...RESOURCE, metadata }])
  for (const url of ['/.well-known/oauth-protected-resource/v1', '/.well-known/oauth-protected-resource']) {
    const { statusCode, ...response } = await app.inject(url)
    expect([statusCode, response.json()]).toEqual([200, {
      resource: RESOURCE.resource,
      resource_name: 'Books',
      authorization_servers: ['https://as.example'],
      scopes_supported: ['extra', 'read', 'write'],
      bearer_methods_supported: ['header'],
    }])
  }
}) // prettier-ignore

test.each<[string, RequireScopeOptions]>([
  ['authorization_servers', { ...RESOURCE, issuer: 'https://other.example' }],
  ['resource_name', { ...RESOURCE, metadata: { resource_name: 'Shelves' } }],
  ['bearer_methods_supported', { ...RESOURCE, queryParameter: true }],
  [
    'dpop_signing_alg_values_supported',
    { ...RESOURCE, senderConstraints: [dpop({ origin: 'https://api.example' })] },
  ],
])('and where the two do not agree on %s, the start says so', async (member, other) => {
  await expect(startScopes(['read', RESOURCE], ['write', other])).rejects.toThrow(
    `requireScope: https://api.example/v1 is registered twice, with another ${member}: let both say the same, or set metadata: false for one of them`,
  )
  const unserved = { ...other, metadata: false } as const
  const app = await startScopes(['read', RESOURCE], ['write', unserved])
  expect((await app.inject('/write')).statusCode).toBe(401)
})

test('resources whose metadata would be at one address end the start, and so does an address of the app', async () => {
  await expect(startScopes(['read', RESOURCE], ['write', { ...RESOURCE, resource: 'https://b.example/v1' }])).rejects.toThrow(
    'requireScope: the metadata of https://api.example/v1 and of https://b.example/v1 would be at one address: set metadata: false for one of them',
  )
  const app = Fastify()
  onTestFinished(() => app.close())
  app.get('/.well-known/oauth-protected-resource/v1', async () => 'theirs')
  app.register(requireScope, RESOURCE)
  await expect(app.ready()).rejects.toThrow(
    'requireScope: /.well-known/oauth-protected-resource/v1 is served already: set metadata: false',
  )
}) // prettier-ignore

test('a resource without a path stands at the root, whichever comes first', async () => {
  const bare = { ...RESOURCE, resource: 'https://api.example' }
  const app = await startScopes(['read', RESOURCE], ['write', bare])
  const resourceAt = async (path: string): Promise<string> =>
    (await app.inject(`/.well-known/oauth-protected-resource${path}`)).json().resource
  expect([await resourceAt(''), await resourceAt('/v1')]).toEqual([bare.resource, RESOURCE.resource])
})

test('challenges point to the metadata, and the resource is the audience', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, resource: 'https://api.example/v1', queryParameter: true })
  const parameters = challenge((await app.inject('/books')).headers['www-authenticate'])
  expect(parameters).toEqual({
    realm: 'https://api.example/v1',
    scope: 'read_books',
    resource_metadata: 'https://api.example/.well-known/oauth-protected-resource/v1',
  })
  const statusFor = async (audience: string): Promise<number> => {
    const headers = bearer(await issuer.token({ audience, scope: 'other' }))
    return (await app.inject({ url: '/any', headers })).statusCode
  }
  expect(await statusFor('https://api.example/v1')).toBe(200)
  expect(await statusFor(issuer.url)).toBe(401)
  const forbidden = await app.inject({
    url: '/books',
    headers: bearer(await issuer.token({ audience: 'https://api.example/v1' })),
  })
  expect(challenge(forbidden.headers['www-authenticate'])).toHaveProperty('resource_metadata')
  const metadata = (await app.inject('/.well-known/oauth-protected-resource')).json()
  expect(metadata.bearer_methods_supported).toEqual(['header', 'query'])
})

test('metadata: false serves none and points to none', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, resource: 'https://api.example', metadata: false })
  expect((await app.inject('/.well-known/oauth-protected-resource')).statusCode).toBe(404)
  expect((await app.inject('/books')).headers['www-authenticate']).not.toContain('resource_metadata')
})

test('below a prefix, the app that is given as root serves it', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  await app.register(
    async (child) => {
      const resource = 'https://api.example/api'
      await child.register(requireScope, { issuer: 'https://as.example', resource, root: app, unguarded: 'deny' })
      child.get('/books', async () => [])
    },
    { prefix: '/api' },
  )
  app.get('/open', async () => 'open')
  const metadata = await app.inject('/.well-known/oauth-protected-resource/api')
  expect([metadata.statusCode, metadata.json()]).toEqual([200, expect.objectContaining({ resource: 'https://api.example/api' })])
  expect((await app.inject('/api/.well-known/oauth-protected-resource')).statusCode).toBe(404)
  // The guard itself stays where it is.
  expect([(await app.inject('/api/books')).statusCode, (await app.inject('/open')).statusCode]).toEqual([403, 200])
}) // prettier-ignore

test('below a prefix, where nobody would find the metadata, the start fails and says what to do', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  app.register(
    async (child) => {
      await child.register(requireScope, { issuer: 'https://as.example', resource: 'https://api.example' })
    },
    { prefix: '/api' },
  )
  await expect(app.ready()).rejects.toThrow(/register at the root of the app/)
})
