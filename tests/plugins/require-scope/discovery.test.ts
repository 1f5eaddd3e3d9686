import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import type { RequireScopeOptions } from '../../../plugins/require-scope/index.ts'
import { isLoopback, metadataUrls, readJwksUri } from '../../../plugins/require-scope/issuer-metadata.ts'
import { bearer, fakeClock, startApp, startIssuer } from './support.ts'

type Answer = { status?: number; headers?: Record<string, string>; body: unknown }

/** A server that answers by path; `paths` says what was asked of it. */
async function startServer(
  answers: (origin: string) => Record<string, Answer>,
): Promise<{ origin: string; paths: string[] }> {
  const paths: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    paths.push(path)
    const { status = 200, headers, body } = answers(origin)[path] ?? { status: 404, body: 'nothing' }
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin, paths }
}

async function statusFor(options: RequireScopeOptions, iss: string): Promise<number> {
  const issuer = await startIssuer()
  const app = await startApp(options)
  const token = await issuer.token({ claims: { iss }, audience: iss })
  return (await app.inject({ url: '/any', headers: bearer(token) })).statusCode
}

async function jwks(): Promise<{ keys: object[] }> {
  const { publicKey } = await generateKeyPair('ES256')
  return { keys: [{ ...(await exportJWK(publicKey)), kid: 'k' }] }
}

const hrefs = (issuer: string): string[] => metadataUrls(issuer).map((url) => url.href)
const read = (issuer: string, jwksUri: string, insecure = false): string =>
  readJwksUri({ issuer, jwks_uri: jwksUri }, issuer, insecure).href
const loopback = (url: string): boolean => isLoopback(new URL(url))
const metadata = (origin: string): Answer => ({ body: { issuer: origin, jwks_uri: `${origin}/jwks` } })

test('metadata is looked for before the path first, then appended to it', () => {
  expect(hrefs('https://as.example')).toEqual([
    'https://as.example/.well-known/oauth-authorization-server',
    'https://as.example/.well-known/openid-configuration',
  ])
  for (const issuer of ['https://as.example/a/b', 'https://as.example/a/b/']) {
    expect(hrefs(issuer)).toEqual([
      'https://as.example/.well-known/oauth-authorization-server/a/b',
      'https://as.example/a/b/.well-known/openid-configuration',
    ])
  }
})

test('an issuer with a path works', async () => {
  const issuer = await startIssuer({ path: '/tenant/1' })
  const app = await startApp({ issuer: issuer.url })
  expect((await app.inject({ url: '/any', headers: bearer(await issuer.token()) })).statusCode).toBe(200)
  expect(issuer.requests).toEqual({ metadata: 1, jwks: 1 })
})

test('an issuer with OpenID Connect discovery only works, whatever it answers at the other place', async () => {
  const keys = await jwks()
  for (const other of [
    { status: 404, body: 'no' },
    { status: 302, headers: { location: '/elsewhere' }, body: '' },
    { body: '<html>' },
    { body: { issuer: 'https://else.example', jwks_uri: 'https://else.example/jwks' } },
    { body: null },
  ]) {
    const { origin, paths } = await startServer((origin) => ({
      '/.well-known/oauth-authorization-server': other,
      '/.well-known/openid-configuration': { body: { issuer: origin, jwks_uri: `${origin}/jwks` } },
      '/jwks': { body: keys },
    }))
    expect(await statusFor({ issuer: origin }, origin)).toBe(401)
    expect(paths.slice(0, 3)).toEqual([
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      '/jwks',
    ])
    expect(paths).not.toContain('/elsewhere')
  }
})

test('metadata that cannot be trusted, and keys that cannot be used, are an outage: 503', async () => {
  const keys = await jwks()
  const well = '/.well-known/oauth-authorization-server'
  const table: Record<string, (origin: string) => Record<string, Answer>> = {
    'another issuer': (origin) => ({
      [well]: { body: { issuer: `${origin}/`, jwks_uri: `${origin}/jwks` } },
      '/jwks': { body: keys },
    }),
    'no jwks_uri': (origin) => ({ [well]: { body: { issuer: origin } } }),
    'jwks_uri not a URL': (origin) => ({ [well]: { body: { issuer: origin, jwks_uri: '/jwks' } } }),
    'jwks_uri in the clear': (origin) => ({
      [well]: { body: { issuer: origin, jwks_uri: 'http://as.example/jwks' } },
    }),
    'jwks_uri a file': (origin) => ({ [well]: { body: { issuer: origin, jwks_uri: 'file:///etc/passwd' } } }),
    'JWKS redirected': (origin) => ({
      [well]: metadata(origin),
      '/jwks': { status: 302, headers: { location: '/elsewhere' }, body: '' },
      '/elsewhere': { body: keys },
    }),
    'JWKS not JSON': (origin) => ({ [well]: metadata(origin), '/jwks': { body: 'sorry' } }),
    'JWKS empty': (origin) => ({ [well]: metadata(origin), '/jwks': { body: { keys: [] } } }),
    'JWKS a list': (origin) => ({ [well]: metadata(origin), '/jwks': { body: [] } }),
    'JWKS of unusable keys': (origin) => ({
      [well]: metadata(origin),
      '/jwks': {
        body: {
          keys: [
            null,
            'x',
            { kty: 'oct', kid: 'k', k: 'c2VjcmV0' },
            { ...keys.keys[0], kid: undefined },
            { ...keys.keys[0], use: 'enc' },
            { ...keys.keys[0], key_ops: ['sign'] },
            { ...keys.keys[0], alg: 'RS256' },
            { ...keys.keys[0], x: 'AAAA' },
            { kty: 'RSA', kid: 'short', n: 'AQAB', e: 'AQAB' },
          ],
        },
      },
    }),
    'JWKS too big': (origin) => ({
      [well]: metadata(origin),
      '/jwks': { body: { ...keys, padding: 'x'.repeat(300_000) } },
    }),
  }
  for (const [name, answers] of Object.entries(table)) {
    const { origin, paths } = await startServer(answers)
    expect([name, await statusFor({ issuer: origin }, origin)]).toEqual([name, 503])
    expect(paths).not.toContain('/elsewhere')
  }
})

test('one odd key does not take the others with it, and a published private part is not used', async () => {
  const issuer = await startIssuer()
  const good = (await (await fetch(`${issuer.url}/jwks`)).json()) as { keys: object[] }
  const { origin } = await startServer(() => ({
    '/keys': {
      body: { keys: [{ kty: 'EC', kid: 'odd' }, ...good.keys.map((key) => ({ ...key, d: 'AAAA' }))] },
    },
  }))
  const app = await startApp({ issuer: { issuer: issuer.url, jwksUri: `${origin}/keys` } })
  expect((await app.inject({ url: '/any', headers: bearer(await issuer.token()) })).statusCode).toBe(200)
  expect(issuer.requests).toEqual({ metadata: 0, jwks: 1 })
})

test('keys that a cache on the way kept for a while cannot tell that a key is missing: 503', async () => {
  const keys = await jwks()
  const { origin } = await startServer((origin) => ({
    '/.well-known/oauth-authorization-server': metadata(origin),
    '/jwks': { headers: { age: '60', 'cache-control': 'max-age=300' }, body: keys },
  }))
  expect(await statusFor({ issuer: origin }, origin)).toBe(503)
})

test('a token that was good is checked anew when other key material takes over its key id', async () => {
  const clock = fakeClock()
  const issuer = await startIssuer()
  const published = (await (await fetch(`${issuer.url}/jwks`)).json()) as { keys: { kid: string }[] }
  const [other] = (await jwks()).keys
  let keys: object[] = published.keys
  const { origin } = await startServer(() => ({ '/keys': { body: { keys } } }))
  const app = await startApp({ issuer: { issuer: issuer.url, jwksUri: `${origin}/keys` }, now: clock.now })
  const headers = bearer(await issuer.token({ expiresIn: 3600 }))
  expect((await app.inject({ url: '/any', headers })).statusCode).toBe(200)
  keys = [{ ...other, kid: published.keys[0]?.kid }]
  clock.advance(301)
  expect((await app.inject({ url: '/any', headers })).statusCode).toBe(401)
})

test('keys come over https, unless issuer and keys are both on this machine', () => {
  const [there, here] = ['https://as.example', 'http://127.0.0.1:1']
  expect(read(there, 'https://keys.example/jwks')).toBe('https://keys.example/jwks')
  expect(read(here, 'http://localhost:2/jwks')).toBe('http://localhost:2/jwks')
  expect(read('http://as.example', 'http://as.example/jwks', true)).toBe('http://as.example/jwks')
  for (const [issuer, jwksUri] of [
    [there, 'http://as.example/jwks'],
    [there, 'http://127.0.0.1/jwks'],
    [here, 'http://as.example/jwks'],
    [there, 'file:///etc/passwd'],
  ] as const) {
    expect(() => read(issuer, jwksUri)).toThrow(`the jwks_uri of ${issuer} is not https`)
  }
})

test('plain http is for this machine only', () => {
  expect(
    ['http://localhost:1', 'http://127.0.0.1', 'http://127.9.9.9:80', 'http://[::1]:3000'].every(loopback),
  ).toBe(true)
  expect(
    ['http://127.0.0.1.evil.example', 'http://localhost.evil.example', 'http://10.0.0.1'].some(loopback),
  ).toBe(false)
})

test('an issuer in the clear elsewhere needs a loud option, which the log repeats', async () => {
  const lines: string[] = []
  const stream = { write: (line: string) => lines.push(line) }
  const issuer = { issuer: 'http://as.invalid', dangerouslyAllowInsecureHttp: true }
  const app = await startApp({ issuer, keys: { prefetch: 'lazy' } }, undefined, {
    logger: { level: 'warn', stream },
  })
  await app.ready()
  expect(lines.join('')).toContain('dangerouslyAllowInsecureHttp is set')
})

test('an app that closes does not wait for an issuer that hangs', async () => {
  const issuer = await startIssuer()
  issuer.goOffline('hang')
  const app = await startApp({ issuer: issuer.url, keys: { timeout: 300 } })
  await app.ready()
  const waiting = app.inject({ url: '/any', headers: bearer(await issuer.token()) })
  await expect.poll(() => issuer.requests.metadata).toBe(1)
  const started = performance.now()
  await app.close()
  expect((await waiting).statusCode).toBe(503)
  expect(performance.now() - started).toBeLessThan(60_000)
})
