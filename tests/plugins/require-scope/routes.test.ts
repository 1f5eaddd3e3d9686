/** Routes that say what they need, wherever and whenever they are made: none of them is open for want of a guard. */
import Fastify, { type FastifyInstance } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import requireScope, { type RequireScopeOptions } from '../../../plugins/require-scope/index.ts'
import { bearer, startApp, startIssuer } from './support.ts'

const UNUSED: RequireScopeOptions = {
  verifier: { verify: async () => Promise.reject(new Error('unused')) },
  audience: 'a',
}

function createApp(): FastifyInstance {
  const app = Fastify()
  onTestFinished(() => app.close())
  return app
}

test.each(['allow', 'deny'] as const)(
  'a route that asks for a scope and was made before the registration is closed, further in too (unguarded: %s)',
  async (unguarded) => {
    const issuer = await startIssuer()
    const app = createApp()
    void app.register(async (inner) => {
      inner.get('/inner', { config: { scope: 'a' } }, async () => 'secret')
      void inner.register(async (innermost) => {
        innermost.get('/innermost', { config: { scope: 'a' } }, async () => 'secret')
      })
    })
    void app.register(requireScope, { issuer: issuer.url, unguarded })
    app.get('/b', { config: { scope: 'a' } }, async () => 'secret')
    app.get('/signed', { config: { authentication: { acr: '2' } } }, async () => 'secret')
    app.get('/open', { config: { scope: false } }, async () => 'open')
    app.get('/silent', async () => 'silent')
    void app.register(async (inner) => {
      inner.get('/later', { config: { scope: 'a' } }, async () => 'fine')
    })
    const headers = bearer(await issuer.token({ scope: 'a' }))
    for (const url of ['/b', '/inner', '/innermost', '/signed'])
      for (const sent of [{}, headers]) {
        const response = await app.inject({ url, headers: sent })
        expect([url, response.statusCode]).toEqual([url, 500])
        expect(response.json().message).toBe(
          `requireScope: GET ${url} has no guard, since it was made before requireScope was registered: await the registration`,
        )
      }
    expect((await app.inject({ method: 'HEAD', url: '/b' })).statusCode).toBe(500)
    expect((await app.inject('/open')).body).toBe('open')
    expect((await app.inject('/silent')).statusCode).toBe(unguarded === 'deny' ? 403 : 200)
    expect((await app.inject('/nowhere')).statusCode).toBe(404)
    expect((await app.inject('/later')).statusCode).toBe(401)
    expect((await app.inject({ url: '/later', headers })).body).toBe('fine')
  },
)

test('a registration further in that comes late leaves its routes to nobody, not to the one further out', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    void app.register(async (inner) => {
      void inner.register(requireScope, { issuer: issuer.url, audience: 'https://inner.example' })
      inner.get('/inner', { config: { scope: 'a' } }, async () => 'secret')
    })
  })
  for (const audience of [issuer.url, 'https://inner.example']) {
    const headers = bearer(await issuer.token({ scope: 'a', audience }))
    expect((await app.inject({ url: '/inner', headers })).statusCode).toBe(500)
  }
})

test('where silence opens nothing, a guard of the whole app counts for what was made before it, too', async () => {
  const issuer = await startIssuer()
  const app = createApp()
  void app.register(requireScope, { issuer: issuer.url, unguarded: 'deny' })
  app.get('/silent', async () => 'silent')
  void app.after(() => app.addHook('onRequest', app.requireScope('a')))
  expect((await app.inject('/silent')).statusCode).toBe(401)
  const headers = bearer(await issuer.token({ scope: 'a' }))
  expect((await app.inject({ url: '/silent', headers })).body).toBe('silent')
})

test.each([
  [{ authentication: { acr: '2' } }, 'authentication needs a scope beside it'],
  [{ authentication: {} }, 'authentication needs a scope beside it'],
  [{ scope: false, authentication: { acr: '2' } }, 'authentication needs a scope beside it'],
  [{ scope: false, authentication: { asr: '2' } }, 'authentication needs a scope beside it'],
  [{ scope: 'a', authentication: { asr: '2' } }, 'there is no demand asr'],
  [{ scope: 'a', authentication: 'b' }, 'authentication must be an object'],
  [{ scope: 'a', authentication: null }, 'authentication must be an object'],
  [{ scope: 'a', authentication: [] }, 'authentication must be an object'],
  [{ scope: true }, 'true is no scope name'],
])('%j is refused when the route is made', async (config, message) => {
  const app = createApp()
  await app.register(requireScope, UNUSED)
  expect(() => app.get('/', { config: config as never }, async () => '')).toThrow(message)
})
