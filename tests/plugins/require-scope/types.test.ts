import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { expect, expectTypeOf, test } from 'vitest'
import requireScope from '../../../plugins/require-scope/index.ts'
import type { AccessToken, RequireScopeOptions } from '../../../plugins/require-scope/index.ts'
import { startApp, startIssuer } from './support.ts'

// Most of this is checked by the compiler; a run shows that the same code starts.

const verifier = { verify: async (): Promise<AccessToken> => Promise.reject(new Error('unused')) }

test('request.token is a token and never undefined, and cannot be assigned', () => {
  expectTypeOf<FastifyRequest['token']>().toEqualTypeOf<AccessToken>()
  expectTypeOf<FastifyRequest['token']['scopes']>().toEqualTypeOf<ReadonlySet<string>>()
  // @ts-expect-error read-only
  expectTypeOf((request: FastifyRequest, token: AccessToken) => void (request.token = token)).toBeFunction()
})

test('the hook fits a route whatever its types, and config.scope is typed', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app: FastifyInstance) => {
    app.get('/a', { onRequest: app.requireScope('a') }, async ({ token }) => token.subject)
    app.post<{ Body: { x: number }; Reply: { 200: { y: string } }; Params: { id: string } }>(
      '/b/:id',
      {
        onRequest: [app.requireScope('a', 'b')],
        preHandler: app.requireScope(),
        config: { scope: ['a'] as const },
      },
      async ({ params }, reply) => reply.code(200).send({ y: params.id }),
    )
    app.route({ method: 'GET', url: '/c', config: { scope: 'a' }, handler: async () => 'ok' })
    app.addHook('onRequest', app.requireScope())
  })
  await app.ready()
})

test('wrong uses do not compile, and are refused where there is no compiler', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  // @ts-expect-error neither a name nor a list
  expect(() => app.get('/d', { config: { scope: 1 } }, async () => 'ok')).toThrow(/no scope name/)
  // @ts-expect-error names only
  expect(() => app.requireScope(['a'])).toThrow(/no scope name/)
  // @ts-expect-error one way to verify
  await expect(startApp({ issuer: issuer.url, verifier })).rejects.toThrow(/either issuer or verifier/)
})

test('apps on HTTP/2 have it too', async () => {
  const app = Fastify({ http2: true })
  await app.register(requireScope, { issuer: 'https://as.example', keys: { prefetch: 'lazy' } })
  app.get('/h2', { onRequest: app.requireScope('a') }, async ({ token }) => token.subject)
  expect((await app.inject('/h2')).statusCode).toBe(401)
  await app.close()
})

test('options say by their types that there is one way to verify', () => {
  expectTypeOf({ issuer: 'https://a.example' }).toExtend<RequireScopeOptions>()
  expectTypeOf({
    issuer: ['https://a.example', { issuer: 'https://b.example' }],
  }).toExtend<RequireScopeOptions>()
  expectTypeOf({ verifier, audience: 'https://a.example' }).toExtend<RequireScopeOptions>()
})
