import type { FastifyInstance } from 'fastify'
import formbody from '@fastify/formbody'
import { expect, test } from 'vitest'
import { BearerError, VerificationUnavailable } from '../../../plugins/require-scope/index.ts'
import type { SenderConstraint } from '../../../plugins/require-scope/index.ts'
import type { TestIssuer } from '../../../plugins/require-scope/testing.ts'
import { addBooks, startApp, startIssuer } from './support.ts'

/** Whoever names the key in a header holds it. */
const key: SenderConstraint = {
  scheme: 'Key',
  confirmation: 'key',
  challenge: { keys: 'a b' },
  metadata: { keys_supported: ['a', 'b'] },
  async verify({ headers, method, originalUrl }, { value, confirmation, claims }, reply) {
    reply.header('x-next', `${method} ${originalUrl} ${String(claims['sub'])} ${value.length}`)
    if (headers['x-key'] === 'away') throw new VerificationUnavailable({ retryAfter: 3 })
    if (headers['x-key'] === confirmation) return
    throw new BearerError('invalid_key', 'The key is another', { headers: { 'x-hint': 'a' } })
  },
}
/** The same, for tokens that come as bearer tokens do. */
const seal: SenderConstraint = {
  scheme: 'Bearer',
  confirmation: 'seal',
  async verify({ headers }, { confirmation }) {
    if (headers['x-seal'] !== confirmation) throw new BearerError('invalid_token', 'The seal is another')
  },
}

interface Ground {
  app: FastifyInstance
  issuer: TestIssuer
  /** What `/books` answers. */
  ask(
    scheme: string,
    cnf: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; error: unknown; challenge: unknown; headers: Record<string, unknown> }>
}

async function ground(senderConstraints: readonly SenderConstraint[] = [key, seal]): Promise<Ground> {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, realm: 'books', senderConstraints })
  return {
    app,
    issuer,
    async ask(scheme, cnf, headers = {}) {
      const token = await issuer.token({ scope: 'read_books', claims: { cnf } })
      const authorization = `${scheme} ${token}`
      const response = await app.inject({ url: '/books', headers: { authorization, ...headers } })
      return {
        status: response.statusCode,
        error: response.json<{ error?: string }>().error,
        challenge: response.headers['www-authenticate'],
        headers: response.headers,
      }
    },
  }
}

test('a bound token passes under its scheme, in any case, for who holds its key', async () => {
  const { ask, issuer } = await ground()
  for (const scheme of ['Key', 'key', 'KEY']) {
    const { status, headers } = await ask(scheme, { key: 'a' }, { 'x-key': 'a' })
    expect(status).toBe(200)
    expect(headers['x-next']).toMatch(/^GET \/books test-user \d+$/)
  }
  expect(issuer.requests.jwks).toBe(1)
})

test('for others it is refused in the words of the constraint, in a challenge of its scheme', async () => {
  const { ask } = await ground()
  for (const headers of [{}, { 'x-key': 'b' }]) {
    const refused = await ask('Key', { key: 'a' }, headers)
    expect(refused).toMatchObject({ status: 401, error: 'invalid_key', headers: { 'x-hint': 'a' } })
    expect(refused.challenge).toBe(
      'Key realm="books", keys="a b", error="invalid_key", error_description="The key is another", scope="read_books"',
    )
  }
})

test('where it cannot be told: 503', async () => {
  const { ask } = await ground()
  expect(await ask('Key', { key: 'a' }, { 'x-key': 'away' })).toMatchObject({
    status: 503,
    headers: { 'retry-after': '3' },
  })
})

test('a bound token as a plain bearer token is refused, whoever sends it', async () => {
  const { ask } = await ground()
  const refused = await ask('Bearer', { key: 'a' }, { 'x-key': 'a' })
  expect(refused).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(refused.challenge).toMatch(/^Bearer realm="books", error="invalid_token", [^K]*presented as Key"/)
})

test('a token that is bound to nothing is refused under a scheme of bound ones', async () => {
  const { ask } = await ground()
  const refused = await ask('Key', undefined, { 'x-key': 'a' })
  expect(refused).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(refused.challenge).toMatch(/^Key realm="books", keys="a b", error="invalid_token"/)
  expect(await ask('Bearer', undefined)).toMatchObject({ status: 200 })
})

test('a bound token in a form is no better than one under Bearer', async () => {
  const { app, issuer } = await ground()
  await app.register(formbody)
  app.post('/form', { preHandler: app.requireScope() }, async () => ({ fine: true }))
  const token = await issuer.token({ claims: { cnf: { key: 'a' } } })
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-key': 'a' }
  const inForm = { method: 'POST', url: '/form', headers, payload: `access_token=${token}` } as const
  expect((await app.inject(inForm)).json()).toMatchObject({ error: 'invalid_token' })
  const twice = { ...inForm, headers: { ...headers, authorization: `Key ${token}` } }
  expect((await app.inject(twice)).json()).toMatchObject({ error: 'invalid_request' })
})

test('where tokens come as bearer tokens do, the key is asked for all the same', async () => {
  const { ask } = await ground()
  expect(await ask('Bearer', { seal: 'x' }, { 'x-seal': 'x' })).toMatchObject({ status: 200 })
  expect(await ask('Bearer', { seal: 'x' })).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(await ask('Key', { seal: 'x' }, { 'x-seal': 'x' })).toMatchObject({ status: 401 })
})

test('of a token that is bound in two ways, both are asked for', async () => {
  const { ask } = await ground()
  const cnf = { key: 'a', seal: 'x' }
  expect(await ask('Key', cnf, { 'x-key': 'a', 'x-seal': 'x' })).toMatchObject({ status: 200 })
  expect(await ask('Key', cnf, { 'x-key': 'a' })).toMatchObject({ status: 401, error: 'invalid_token' })
  expect(await ask('Key', cnf, { 'x-seal': 'x' })).toMatchObject({ status: 401, error: 'invalid_key' })
})

test('what a token is bound to must be known, all of it', async () => {
  const { ask } = await ground()
  const both = { 'x-key': 'a', 'x-seal': 'x' }
  const unknown = [null, {}, [], 'a', { jkt: 'a' }, { key: 'a', jkt: 'a' }, { key: 1 }, { key: ['a'] }]
  for (const cnf of unknown)
    for (const scheme of ['Key', 'Bearer'])
      expect([cnf, await ask(scheme, cnf, both)]).toMatchObject([
        cnf,
        { status: 401, error: 'invalid_token' },
      ])
})

test('without a token, every scheme is named', async () => {
  const { app } = await ground()
  expect((await app.inject('/books')).headers['www-authenticate']).toBe(
    'Bearer realm="books", scope="read_books", Key realm="books", keys="a b", scope="read_books"',
  )
})

test('without a constraint, its scheme is none, and a bound token is refused', async () => {
  const { ask } = await ground([])
  const stranger = await ask('Key', { key: 'a' }, { 'x-key': 'a' })
  expect(stranger).toMatchObject({ status: 401, error: undefined })
  expect(stranger.challenge).toBe('Bearer realm="books", scope="read_books"')
  expect(await ask('Bearer', { key: 'a' }, { 'x-key': 'a' })).toMatchObject({ status: 401 })
})

test('its metadata stands in that of the resource', async () => {
  const issuer = await startIssuer()
  const resource = 'https://api.example'
  const app = await startApp({ issuer: issuer.url, resource, senderConstraints: [key] }, addBooks)
  const metadata = await app.inject('/.well-known/oauth-protected-resource')
  expect(metadata.json()).toMatchObject({ resource, keys_supported: ['a', 'b'] })
})

test('what cannot be meant stops the start', async () => {
  const refused = async (wrong: unknown): Promise<unknown> =>
    startApp({ issuer: 'https://as.example', senderConstraints: wrong as SenderConstraint[] }).catch(
      (error: unknown) => (error as Error).message,
    )
  expect(await refused({})).toBe('requireScope: senderConstraints must be a list')
  expect(await refused([{ ...key, scheme: 'a b' }])).toBe('requireScope: a sender constraint has no scheme')
  expect(await refused([{ ...key, confirmation: '' }])).toBe(
    'requireScope: a sender constraint has no confirmation',
  )
  expect(await refused([{ ...key, verify: undefined }])).toBe(
    'requireScope: the sender constraint key has no verify method',
  )
  expect(await refused([key, { ...seal, confirmation: 'key' }])).toBe(
    'requireScope: the sender constraint key is listed twice',
  )
})
