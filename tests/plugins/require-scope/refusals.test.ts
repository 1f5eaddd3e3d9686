import { expect, onTestFinished, test } from 'vitest'
import { BearerError, VerificationUnavailable } from '../../../plugins/require-scope/index.ts'
import { formatChallenge } from '../../../plugins/require-scope/challenge.ts'
import { bearer, challenge, startApp, startIssuer } from './support.ts'

test('without a token: 401, a challenge without an error code, and nothing to cache', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, realm: 'books' })
  const response = await app.inject('/books')
  expect(response.statusCode).toBe(401)
  expect(response.headers['www-authenticate']).toBe('Bearer realm="books", scope="read_books"')
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(response.json()).toEqual({ error_description: 'An access token is required' })
})

test('a bad token: 401 invalid_token, never repeating what came', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  const response = await app.inject({ url: '/books', headers: bearer('garbage.that.came') })
  expect(response.statusCode).toBe(401)
  expect(challenge(response.headers['www-authenticate'])).toEqual({
    realm: issuer.url,
    error: 'invalid_token',
    error_description: 'The token is not a signed JWT',
    scope: 'read_books',
  })
  expect(response.json()).toEqual({
    error: 'invalid_token',
    error_description: 'The token is not a signed JWT',
  })
  expect(response.body + JSON.stringify(response.headers)).not.toContain('garbage')
})

test('an expired token, and one for another audience: 401 invalid_token', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  for (const token of [
    await issuer.token({ scope: 'read_books', expiresIn: 0 }),
    await issuer.token({ scope: 'read_books', audience: 'https://else.example' }),
    await issuer.token({ scope: 'read_books', audience: [`${issuer.url}/`, 'x'] }),
  ]) {
    const response = await app.inject({ url: '/books', headers: bearer(token) })
    expect(response.statusCode).toBe(401)
    expect(response.json().error).toBe('invalid_token')
  }
})

test('of another issuer or audience the log at debug names both sides, cut where they are long, and the answer neither', async () => {
  const issuer = await startIssuer()
  const lines: { level: number; msg: string }[] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const app = await startApp({ issuer: issuer.url }, undefined, { logger: { level: 'debug', stream: { write } } })
  const long = 'x'.repeat(2000)
  for (const [options, named, line] of [
    [{ claims: { iss: `${issuer.url}/` } }, `${issuer.url}/`, `The token is from another issuer: iss is "${issuer.url}/", expected "${issuer.url}"`],
    [{ audience: 'https://else.example' }, 'else.example', `The token is for another audience: aud is ["https://else.example"], expected "${issuer.url}"`],
    [{ audience: long }, 'xxx', `The token is for another audience: aud is ["${'x'.repeat(298)}…, expected "${issuer.url}"`],
  ] as const) {
    lines.length = 0
    const token = await issuer.token({ scope: 'read_books', ...options })
    const response = await app.inject({ url: '/books', headers: bearer(token) })
    expect(response.statusCode).toBe(401)
    expect(response.body).not.toContain(named)
    expect(lines.filter(({ level }) => level === 20).map(({ msg }) => msg)).toContain(`requireScope: ${line}`)
    expect(JSON.stringify(lines)).not.toContain(token)
  }
}) // prettier-ignore

test('an issuer option with a slash that the issuer has not: the log names both, the answer is 503', async () => {
  const issuer = await startIssuer()
  const lines: string[] = []
  const logger = { level: 'warn', stream: { write: (line: string) => void lines.push(line) } }
  const app = await startApp({ issuer: `${issuer.url}/`, keys: { prefetch: 'lazy' } }, undefined, { logger })
  const token = await issuer.token({ scope: 'read_books', claims: { iss: `${issuer.url}/` } })
  const response = await app.inject({ url: '/books', headers: bearer(token) })
  expect(response.statusCode).toBe(503)
  const { msg, err } = JSON.parse(lines[0]!)
  expect(msg).toContain('requireScope: keys could not be fetched')
  expect(err.message).toContain(`the metadata is of issuer "${issuer.url}", not of "${issuer.url}/"`)
})

test('one good audience among several is enough, on either side', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, audience: ['https://a.example', 'https://b.example'] })
  const good = await issuer.token({ audience: ['https://x.example', 'https://b.example'] })
  expect((await app.inject({ url: '/any', headers: bearer(good) })).statusCode).toBe(200)
  expect((await app.inject({ url: '/any', headers: bearer(await issuer.token()) })).statusCode).toBe(401)
})

test('a token bound to a key is not taken as a plain bearer token', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url })
  for (const cnf of [{ jkt: 'abc' }, { 'x5t#S256': 'abc' }, null, {}]) {
    const response = await app.inject({
      url: '/any',
      headers: bearer(await issuer.token({ claims: { cnf } })),
    })
    expect(response.statusCode).toBe(401)
    expect(response.json().error).toBe('invalid_token')
  }
})

test("the app's own error handler gets the error, with status and headers already set", async () => {
  const issuer = await startIssuer()
  const seen: unknown[] = []
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.setErrorHandler((error, _request, reply) => {
      seen.push(error)
      return reply.send({ mine: (error as Error).message })
    })
    app.get('/books', { config: { scope: 'read_books' } }, async () => 'ok')
  })
  const response = await app.inject('/books')
  expect(seen).toEqual([expect.any(BearerError)])
  expect(response.statusCode).toBe(401)
  expect(response.headers['www-authenticate']).toContain('Bearer realm=')
  expect(response.json()).toEqual({ mine: 'An access token is required' })
})

test('an error handler is known whatever it is called: their own by the name of the default, and the default by another', async () => {
  const app = await startApp({ issuer: 'https://as.example', keys: { prefetch: 'lazy' } }, (app) => {
    app.get('/default', { config: { scope: 'a' } }, async () => 'ok')
    void app.register(async (own) => {
      own.setErrorHandler(function defaultErrorHandler(error, _request, reply) {
        return reply.send({ mine: (error as Error).message })
      })
      own.get('/own', { config: { scope: 'a' } }, async () => 'ok')
      void own.register(async (further) => {
        further.get('/further', { config: { scope: 'a' } }, async () => 'ok')
      })
    })
  })
  // As a bundler calls it.
  const { name } = app.errorHandler
  Object.defineProperty(app.errorHandler, 'name', { value: 'e' })
  onTestFinished(() => void Object.defineProperty(app.errorHandler, 'name', { value: name }))
  const told = { error_description: 'An access token is required' }
  expect((await app.inject('/default')).json()).toEqual(told)
  for (const url of ['/own', '/further'])
    expect((await app.inject(url)).json()).toEqual({ mine: told.error_description })
})

function errorHandler(error: Error, _request: unknown, reply: { send(body: string): unknown }): void {
  reply.send(`mine: ${error.message}`)
}

test("a route's own error handler gets the error too", async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    app.get('/own', { errorHandler, onRequest: app.requireScope() }, async () => 'ok')
    app.get('/both', { errorHandler, config: { scope: 'a' } }, async () => 'ok')
  })
  for (const url of ['/own', '/both']) {
    const response = await app.inject(url)
    expect([response.statusCode, response.body]).toEqual([401, 'mine: An access token is required'])
  }
})

test('a response schema of the route does not reshape the refusal', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url }, (app) => {
    const schema = {
      response: { '4xx': { type: 'object', properties: { code: { type: 'number' } }, required: ['code'] } },
    }
    app.get('/books', { schema, config: { scope: 'read_books' } }, async () => 'ok')
  })
  expect((await app.inject('/books')).json()).toEqual({ error_description: 'An access token is required' })
})

test('the hook guards a whole app by addHook, not-found answers included', async () => {
  const issuer = await startIssuer()
  const app = await startApp({ issuer: issuer.url, resource: 'https://api.example' }, (app) => {
    app.addHook('onRequest', app.requireScope('a'))
    app.get('/x', async () => 'ok')
  })
  expect((await app.inject('/x')).statusCode).toBe(401)
  expect((await app.inject('/nowhere')).statusCode).toBe(401)
  expect((await app.inject('/.well-known/oauth-protected-resource')).statusCode).toBe(200)
})

test('values in a challenge are escaped and cannot split the header', () => {
  const formatted = formatChallenge({ realm: 'a"b\\c', error_description: 'x\r\nSet-Cookie: y=1; é' })
  expect(formatted).toBe('Bearer realm="a\\"b\\\\c", error_description="x??Set-Cookie: y=1; ?"')
})

test('errors tell their status and their body', () => {
  expect(new BearerError(undefined, 'd')).toMatchObject({ statusCode: 401, body: { error_description: 'd' } })
  expect(new BearerError('invalid_request', 'd').statusCode).toBe(400)
  expect(new BearerError('insufficient_scope', 'd').body).toEqual({
    error: 'insufficient_scope',
    error_description: 'd',
  })
  expect(new VerificationUnavailable({ retryAfter: 1.2 })).toMatchObject({ statusCode: 503, retryAfter: 2 })
  expect(new VerificationUnavailable({ retryAfter: -Infinity }).retryAfter).toBe(1)
})
