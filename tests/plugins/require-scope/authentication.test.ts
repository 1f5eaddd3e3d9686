/** What a route demands of the sign-in behind a token (RFC 9470): how strong, and how long ago. */
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import requireScope from '../../../plugins/require-scope/index.ts'
import { bearer, challenge, fakeClock, startApp, startIssuer } from './support.ts'

const seconds = (now: number): number => Math.floor(now / 1000)

test('a sign-in that is too weak is told which one is asked for; what is stronger passes', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/hook', { onRequest: app.requireScope('pay', { acr: '2' }) }, async () => 'ok')
    app.get('/config', { config: { scope: 'pay', authentication: { acr: ['2'] } } }, async () => 'ok')
    app.get('/named', { onRequest: app.requireScope({ acr: ['urn:a', 'urn:b'] }) }, async () => 'ok')
  })
  const ask = async (url: string, acr: unknown) =>
    app.inject({ url, headers: bearer(await issuer.token({ scope: 'pay', claims: { acr } })) })
  for (const url of ['/hook', '/config']) {
    for (const acr of ['2', 'phr', 'phrh']) expect((await ask(url, acr)).statusCode).toBe(200)
    for (const acr of ['1', undefined, 'other', 2, null, ['2']]) {
      const refused = await ask(url, acr)
      expect([acr, refused.statusCode, refused.json()]).toEqual([
        acr,
        401,
        { error: 'insufficient_user_authentication', error_description: 'A stronger sign-in is needed' },
      ])
      expect(challenge(refused.headers['www-authenticate'])).toMatchObject({
        error: 'insufficient_user_authentication',
        acr_values: '2',
        scope: 'pay',
      })
    }
  }
  expect((await ask('/named', 'urn:b')).statusCode).toBe(200)
  expect(challenge((await ask('/named', '2')).headers['www-authenticate'])['acr_values']).toBe('urn:a urn:b')
})

test('a sign-in that is too old, or of which nothing is said, is told how recent one must be', async () => {
  const issuer = await startIssuer()
  const { now, advance } = fakeClock()
  const app = await startApp({ issuer: issuer.url, now }, (app) => {
    app.get('/', { onRequest: app.requireScope({ acr: '2', maxAge: 300 }) }, async () => 'ok')
  })
  const auth_time = seconds(now())
  const token = await issuer.token({ expiresIn: 900, claims: { acr: '2', auth_time } })
  const status = async (): Promise<number> =>
    (await app.inject({ url: '/', headers: bearer(token) })).statusCode
  expect(await status()).toBe(200)
  advance(299)
  expect(await status()).toBe(200)
  advance(2)
  expect(await status()).toBe(401)
  for (const claims of [{ acr: '2' }, { acr: '2', auth_time: String(auth_time) }]) {
    const refused = await app.inject({
      url: '/',
      headers: bearer(await issuer.token({ claims, expiresIn: 900 })),
    })
    expect(challenge(refused.headers['www-authenticate'])).toMatchObject({
      error: 'insufficient_user_authentication',
      error_description: 'A more recent sign-in is needed',
      acr_values: '2',
      max_age: '300',
    })
  }
})

test('resistance to phishing is reached by what also has its key in hardware, and not the other way round', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/phr', { onRequest: app.requireScope({ acr: 'phr' }) }, async () => 'ok')
    app.get('/phrh', { onRequest: app.requireScope({ acr: 'phrh' }) }, async () => 'ok')
  })
  const ask = async (url: string, acr: string): Promise<number> =>
    (await app.inject({ url, headers: bearer(await issuer.token({ claims: { acr } })) })).statusCode
  expect([await ask('/phr', 'phr'), await ask('/phr', 'phrh'), await ask('/phr', '2')]).toEqual([
    200, 200, 401,
  ])
  expect([await ask('/phrh', 'phrh'), await ask('/phrh', 'phr')]).toEqual([200, 401])
})

test.each([
  [0, 200],
  [10, 200],
  [12, 401],
  [9e9, 401],
])('a sign-in that is %i s ahead of the clock: %i', async (ahead, status) => {
  const issuer = await startIssuer()
  const { now } = fakeClock()
  const app = await startApp({ issuer: issuer.url, now }, (app) => {
    app.get('/', { onRequest: app.requireScope({ maxAge: 300 }) }, async () => 'ok')
  })
  const headers = bearer(await issuer.token({ claims: { auth_time: seconds(now()) + ahead } }))
  expect((await app.inject({ url: '/', headers })).statusCode).toBe(status)
})

test('a scope that is missing is told first; other refusals say nothing of the sign-in', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/', { onRequest: app.requireScope('pay', { acr: '2' }) }, async () => 'ok')
  })
  const without = await app.inject({ url: '/', headers: bearer(await issuer.token()) })
  expect([without.statusCode, without.json()]).toMatchObject([403, { error: 'insufficient_scope' }])
  const forged = await app.inject({ url: '/', headers: bearer(await issuer.forge({ scope: 'pay' })) })
  for (const { headers } of [without, forged, await app.inject('/')])
    expect(challenge(headers['www-authenticate'])).not.toHaveProperty('acr_values')
})

test.each([
  [{ acr: [] }, 'acr must be a value'],
  [{ acr: 'a b' }, 'acr must be a value'],
  [{ acr: 2 }, 'acr must be a value'],
  // Nobody comes back from a sign-in in no time.
  [{ maxAge: 0 }, 'maxAge must be a whole number of seconds, at least 1'],
  [{ maxAge: -1 }, 'maxAge must be a whole number'],
  [{ maxAge: 1.5 }, 'maxAge must be a whole number'],
  [{ max_age: 1 }, 'there is no demand max_age'],
])('%j is refused when the route is made', async (demand, message) => {
  const app = Fastify()
  await app.register(requireScope, {
    verifier: { verify: async () => Promise.reject(new Error()) },
    audience: 'a',
  })
  expect(() => app.requireScope('pay', demand as never)).toThrow(message)
  await app.close()
})
