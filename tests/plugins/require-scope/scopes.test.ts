import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import requireScope from '../../../plugins/require-scope/index.ts'
import { bearer, challenge, startApp, startIssuer } from './support.ts'

test('a token with the scope of the route passes, and the handler sees whose it is', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/me', { config: { scope: 'read_books' } }, async ({ token }) => ({
      ...token,
      scopes: [...token.scopes],
      lifetime: token.expiresAt.getTime() - token.issuedAt.getTime(),
      claims: { extra: token.claims['extra'], frozen: Object.isFrozen(token.claims) },
    }))
  })
  const token = await issuer.token({
    scope: ['read_books', 'b'],
    subject: 'ada',
    clientId: 'web',
    expiresIn: 60,
    claims: { jti: 'x1', extra: { a: 1 } },
  })
  const response = await app.inject({ url: '/me', headers: bearer(token) })
  expect(response.json()).toEqual({
    issuer: issuer.url,
    subject: 'ada',
    clientId: 'web',
    scopes: ['read_books', 'b'],
    audience: [issuer.url],
    issuedAt: expect.stringMatching(/\.000Z$/),
    expiresAt: expect.stringMatching(/\.000Z$/),
    jti: 'x1',
    lifetime: 60_000,
    claims: { extra: { a: 1 }, frozen: true },
  })
})

test('several scopes mean all of them, and the challenge names them all', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/hook', { onRequest: app.requireScope('a', 'b') }, async () => 'ok')
    app.get('/config', { config: { scope: ['a', 'b'] } }, async () => 'ok')
  })
  for (const url of ['/hook', '/config']) {
    const enough = await app.inject({ url, headers: bearer(await issuer.token({ scope: 'b c a' })) })
    expect(enough.statusCode).toBe(200)
    const tooFew = await app.inject({ url, headers: bearer(await issuer.token({ scope: 'a' })) })
    expect(tooFew.statusCode).toBe(403)
    expect(tooFew.json()).toMatchObject({ error: 'insufficient_scope' })
    expect(challenge(tooFew.headers['www-authenticate'])).toMatchObject({
      error: 'insufficient_scope',
      scope: 'a b',
    })
  }
})

test('without scopes any good token passes, one without a scope claim too', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/hook', { preHandler: app.requireScope() }, async () => 'ok')
    app.get('/config', { config: { scope: [] } }, async () => 'ok')
  })
  const headers = bearer(await issuer.token())
  expect((await app.inject({ url: '/hook', headers })).statusCode).toBe(200)
  expect((await app.inject({ url: '/config', headers })).statusCode).toBe(200)
  expect((await app.inject({ url: '/config' })).statusCode).toBe(401)
})

test('scope names are compared whole and by case', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  for (const scope of ['read_book', 'READ_BOOKS', 'read_books2', 'xread_books', '__proto__']) {
    const headers = bearer(await issuer.token({ scope }))
    expect((await app.inject({ url: '/books', headers })).statusCode).toBe(403)
  }
})

test('the guard runs before the hooks of the route, and the HEAD route beside a GET has it too', async () => {
  const issuer = await startIssuer()
  const order: string[] = []
  const onRequest = async ({ token }: { token: { subject: string } }): Promise<void> => {
    order.push(token.subject)
  }
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/one', { config: { scope: 'a' }, onRequest }, async () => 'ok')
    app.get('/list', { config: { scope: 'a' }, onRequest: [onRequest, onRequest] }, async () => 'ok')
  })
  expect((await app.inject({ method: 'HEAD', url: '/one' })).statusCode).toBe(401)
  expect((await app.inject({ url: '/list' })).statusCode).toBe(401)
  expect(order).toEqual([])
  const headers = bearer(await issuer.token({ scope: 'a' }))
  expect((await app.inject({ method: 'HEAD', url: '/one', headers })).statusCode).toBe(200)
  expect((await app.inject({ url: '/list', headers })).statusCode).toBe(200)
  expect(order).toEqual(['test-user', 'test-user', 'test-user'])
})

test('both routes that Fastify makes of a prefix and a slash are guarded', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) =>
    app.register(
      async (child) => {
        child.get('/', { config: { scope: 'a' } }, async () => 'ok')
      },
      { prefix: '/api' },
    ),
  )
  for (const url of ['/api', '/api/']) expect((await app.inject({ url })).statusCode).toBe(401)
})

test('a preflight to a guarded path is not challenged, but an OPTIONS route that asks for a scope is', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/books', { config: { scope: 'a' } }, async () => 'ok')
    app.options('/books', async (_request, reply) => reply.code(204).send())
    app.all('/all', { config: { scope: 'a' } }, async () => 'secret')
  })
  expect((await app.inject({ method: 'OPTIONS', url: '/books' })).statusCode).toBe(204)
  expect((await app.inject({ method: 'OPTIONS', url: '/all' })).statusCode).toBe(401)
})

test('a route without a guard is open, and reading request.token there is an error that says so', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/open', async () => 'open')
    app.get('/wrong', async ({ token }) => token.subject)
  })
  expect((await app.inject('/open')).body).toBe('open')
  const wrong = await app.inject('/wrong')
  expect(wrong.statusCode).toBe(500)
  expect(wrong.json().message).toBe('request.token: no requireScope guards GET /wrong')
})

test('what cannot be a scope is refused when the route is made', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  for (const scope of ['', 'a b', 'a"b', 'a\\b', 'é', 'a\nb']) {
    expect(() => app.requireScope(scope)).toThrow(/no scope name/)
  }
  expect(() => app.requireScope('a b')).toThrow('"a b" is no scope name; name each scope by itself')
  expect(() => app.get('/x', { config: { scope: 'a b' } }, async () => '')).toThrow(/no scope name/)
  expect(() => app.get('/x', { config: { scope: ['a', 1 as never] } }, async () => '')).toThrow(
    /1 is no scope name/,
  )
  expect(() => app.get('/x', { config: { scope: null as never } }, async () => '')).toThrow(
    /null is no scope name/,
  )
})

test('a registration further in guards its own routes by its own audience', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/outer', { config: { scope: 'a' } }, async () => 'ok')
    return app.register(async (child) => {
      await child.register(requireScope, { issuer: issuer.url, audience: 'https://inner.example' })
      child.get('/inner', { config: { scope: 'a' } }, async ({ token }) => token.audience)
    })
  })
  const outer = bearer(await issuer.token({ scope: 'a' }))
  const inner = bearer(await issuer.token({ scope: 'a', audience: 'https://inner.example' }))
  const statusOf = async (url: string, headers: { authorization: string }): Promise<number> =>
    (await app.inject({ url, headers })).statusCode
  expect(await statusOf('/outer', outer)).toBe(200)
  expect(await statusOf('/outer', inner)).toBe(401)
  expect(await statusOf('/inner', outer)).toBe(401)
  expect(await statusOf('/inner', inner)).toBe(200)
})

test('one token is not left on another request', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const headers = bearer(await issuer.token({ scope: 'read_books', subject: `user-${i}` }))
      return (await app.inject({ url: '/books', headers })).json().subject
    }),
  )
  expect(answers).toEqual(Array.from({ length: 20 }, (_, i) => `user-${i}`))
})

test('options that cannot be meant stop the start with one sentence', async () => {
  const verifier = { verify: async () => Promise.reject(new Error('unused')) }
  const https = 'https://as.example'
  const { verify } = verifier
  const table: [unknown, RegExp][] = [
    [{}, /give either issuer or verifier$/],
    [{ issuer: undefined }, /give either issuer or verifier; issuer is undefined$/],
    [{ issuer: https, verifier, audience: 'a' }, /give either issuer or verifier/],
    [{ issuer: [] }, /issuer is empty/],
    [{ issuer: [], audience: 'a' }, /issuer is empty/],
    [
      { issuer: { issuer: https, dangerouslyAllowInsecureHttp: 'false' } },
      /dangerouslyAllowInsecureHttp must be true or false/,
    ],
    [
      { issuer: { issuer: 'http://as.example', dangerouslyAllowInsecureHttp: 1 } },
      /dangerouslyAllowInsecureHttp must be true or false/,
    ],
    [{ issuer: { issuer: https, algorithms: [] } }, /algorithms is empty/],
    [{ issuer: { issuer: https, algorithms: 'ES256' } }, /algorithms must be a list/],
    [{ issuer: { issuer: https, accept: 'no-jti' } }, /accept must be a list/],
    [{ issuer: https, now: 5 }, /now must be a function/],
    [{ issuer: https, keys: 5 }, /keys must be an object/],
    [
      { issuer: https, keys: { timeout: 5e6 } },
      /timeout must be a number of seconds, at least 0.05 and at most 3600/,
    ],
    [
      { issuer: https, keys: { cooldown: 5e6 } },
      /cooldown must be a number of seconds, at least 0.05 and at most 3600/,
    ],
    [{ issuer: https, keys: { staleIfError: '60' } }, /staleIfError must be a number of seconds/],
    [{ issuer: https, resource: https, metadata: true }, /metadata must be an object, or false/],
    [
      {
        issuer: https,
        senderConstraints: [{ scheme: 'Key', confirmation: 'kid', required: 'true', verify }],
      },
      /required of the sender constraint kid must be true or false/,
    ],
    [{ issuer: https, senderConstraints: [undefined] }, /a sender constraint has no scheme/],
    [{ issuer: 'nonsense' }, /issuer must be a URL/],
    [{ issuer: 'http://as.example' }, /issuer must be https/],
    [{ issuer: 'https://as.example?x=1' }, /no query, fragment or credentials/],
    [{ issuer: 'https://u:p@as.example' }, /no query, fragment or credentials/],
    [{ issuer: [https, https] }, /listed twice/],
    [{ issuer: { issuer: https, algorithms: ['HS256'] } }, /algorithm HS256/],
    [{ issuer: { issuer: https, algorithms: ['none'] } }, /algorithm none/],
    [{ issuer: { issuer: https, accept: ['anything'] } }, /accept anything/],
    [{ issuer: { issuer: https, jwksUri: 'http://as.example/jwks' } }, /jwksUri must be https/],
    [{ issuer: { issuer: https, audiences: 'x' } }, /there is no option audiences/],
    [{ issuer: https, audience: [] }, /audience is empty/],
    [{ issuer: https, audience: '' }, /audience is empty/],
    [{ issuer: https, keys: { staleIfError: -1 } }, /staleIfError/],
    [{ issuer: https, keys: { cooldown: 0 } }, /cooldown/],
    [{ issuer: https, keys: { timeout: Number.NaN } }, /timeout/],
    [{ issuer: https, keys: { prefetch: 'maybe' } }, /prefetch/],
    [{ issuer: https, realm: '' }, /realm/],
    [{ issuer: https, queryParameter: 'yes' }, /queryParameter/],
    [{ issuer: https, resource: 'urn:x' }, /resource must be https/],
    [{ issuer: https, metadata: {} }, /metadata needs a resource/],
    [{ issuer: https, resource: https, metadata: { scopes_supported: ['a b'] } }, /no scope name/],
    [{ issuer: https, scopes: ['a'] }, /there is no option scopes/],
    [{ verifier }, /verifier needs an audience or a resource/],
    [{ verifier: {}, audience: 'a' }, /no verify method/],
    [{ verifier, audience: 'a', keys: {} }, /keys go with issuer/],
  ]
  for (const [options, message] of table) {
    const app = Fastify()
    onTestFinished(() => app.close())
    await expect(app.register(requireScope, options as never).ready()).rejects.toThrow(message)
  }
})

test('a scope that holds another is enough, as far as that leads, and the challenge names what the operation needs', async () => {
  const issuer = await startIssuer()
  const implies = { admin: ['write'], write: ['read', 'list'], read: ['write'] }
  const app = await startApp({ issuer: issuer.url, implies }, (app) => {
    app.get('/read', { config: { scope: ['read', 'list'] } }, async () => 'ok')
    app.get('/admin', { config: { scope: 'admin' } }, async () => 'ok')
  })
  const ask = async (url: string, scope: string) =>
    app.inject({ url, headers: bearer(await issuer.token({ scope })) })
  for (const scope of ['admin', 'write', 'read', 'list read'])
    expect([scope, (await ask('/read', scope)).statusCode]).toEqual([scope, 200])
  const tooFew = await ask('/read', 'list')
  expect(challenge(tooFew.headers['www-authenticate'])).toMatchObject({ scope: 'read list' })
  for (const scope of ['write', 'constructor', '__proto__'])
    expect((await ask('/admin', scope)).statusCode).toBe(403)
})

test('what implies nothing that can be meant stops the start', async () => {
  for (const implies of [{ 'a b': ['c'] }, { a: ['b c'] }, { a: 'b' }, ['a']] as never[])
    await expect(startApp({ issuer: 'https://as.example', implies }, () => {})).rejects.toThrow(
      'requireScope: ',
    )
  await expect(
    startApp({ issuer: 'https://as.example', unguarded: 'maybe' as 'deny' }, () => {}),
  ).rejects.toThrow("unguarded must be 'allow' or 'deny'")
})

test('where nothing is open by itself, a route that says nothing is refused to everybody, and one that says so is open', async () => {
  const issuer = await startIssuer()
  const app = await startApp(
    { issuer: issuer.url, resource: 'https://api.example/v1', audience: issuer.url, unguarded: 'deny' },
    (app) => {
      app.get('/forgotten', async () => 'secret')
      app.get('/open', { config: { scope: false } }, async () => 'ok')
      app.get('/config', { config: { scope: 'a' } }, async () => 'ok')
      app.get('/hook', { preHandler: app.requireScope('a') }, async () => 'ok')
      void app.register(async (inner) => {
        inner.addHook('onRequest', app.requireScope('a'))
        inner.get('/inner', async () => 'ok')
      })
    },
  )
  const headers = bearer(await issuer.token({ scope: 'a' }))
  const statusOf = async (url: string, method: 'GET' | 'HEAD' = 'GET', sent = {}) =>
    (await app.inject({ url, method, headers: sent })).statusCode
  for (const sent of [{}, headers]) {
    expect(await statusOf('/forgotten', 'GET', sent)).toBe(403)
    expect(await statusOf('/forgotten', 'HEAD', sent)).toBe(403)
    expect(await statusOf('/open', 'GET', sent)).toBe(200)
  }
  for (const url of ['/config', '/hook', '/inner'])
    expect([url, await statusOf(url), await statusOf(url, 'GET', headers)]).toEqual([url, 401, 200])
  expect(await statusOf('/.well-known/oauth-protected-resource/v1')).toBe(200)
})
