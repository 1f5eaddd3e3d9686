/**
 * Other teams guard their APIs with @latchkey/require-scope: installed from its tarball, one in strict TypeScript
 * and one in plain JavaScript. The issuer is a server of ours; oauth4webapi is the client.
 */
import { SignJWT, generateKeyPair } from 'jose'
import { randomUUID } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { expect, test } from 'vitest'
import { startApi } from '../support/foreign-api.ts'
import { compile, installStranger, pack, run } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { bearer } from '../support/requests.ts'

const REPORTS = 'https://reports.example'
const client = { client_id: 'reader', client_secret: 'a secret that was chosen' }
const insecure = { [oauth.allowInsecureRequests]: true }

const packing = pack('@latchkey/require-scope')
const [issuer, packed] = await Promise.all([
  spawnServer(
    {},
    {
      seed: {
        resources: [{ resource: REPORTS, scopes: ['read_reports'] }],
        clients: [{ ...client, scope: ['read_books', 'write_books', 'read_reports'] }],
      },
    },
  ),
  packing,
])
const folder = await installStranger('api', '@latchkey/require-scope', packed, ['fastify', '@types/node'])
await compile(folder)
const environment = { ISSUER: issuer.url, AUDIENCE: REPORTS }
const [typed, plain] = await Promise.all([
  startApi(folder, 'out/typed.js', environment),
  startApi(folder, 'plain.js', environment),
])

const server = await oauth.processDiscoveryResponse(
  new URL(issuer.url),
  await oauth.discoveryRequest(new URL(issuer.url), { algorithm: 'oauth2', ...insecure }),
)

async function getToken(scope: string): Promise<string> {
  const authentication = oauth.ClientSecretBasic(client.client_secret)
  const parameters = new URLSearchParams({ scope })
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    authentication,
    parameters,
    insecure,
  )
  return (await oauth.processClientCredentialsResponse(server, client, response)).access_token
}

const call = (token: string, url: string, method = 'GET'): Promise<Response> =>
  oauth.protectedResourceRequest(token, method, new URL(url), new Headers(), undefined, insecure)

/** What the client library makes of a refusal. */
async function refusal(calling: Promise<Response>): Promise<Record<string, unknown>> {
  const error: unknown = await calling.then(
    () => new Error('it was not refused'),
    (error: unknown) => error,
  )
  if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error
  const [challenge] = error.cause
  return { status: error.status, scheme: challenge?.scheme, ...challenge?.parameters }
}

test('the package is JavaScript with declarations, a README and a licence', () => {
  const others = packed.files.filter(
    (file) => !/^dist\/(?:(?:dpop|mutual-tls)\/)?[a-z-]+(?:\.js|\.d\.ts)$/.test(file),
  )
  expect(others.toSorted()).toEqual(['LICENSE', 'README.md', 'package.json'])
  expect(packed.files).toContain('dist/index.d.ts')
})

test('it brings no database, no password hashing and no binaries along', async () => {
  const tree = await run('npm', ['ls', '--all', '--parseable'], folder)
  const names = tree.split('\n').map((path) => path.split('node_modules/').at(-1))
  expect(names).toContain('jose')
  expect(names.filter((name) => /mikro-orm|kysely|^pg|postgres|argon2|^node-/.test(name ?? ''))).toEqual([])
  const direct = JSON.parse(await run('npm', ['ls', '--json'], folder)) as { dependencies: object }
  expect(Object.keys(direct.dependencies).toSorted()).toEqual([
    '@latchkey/require-scope',
    '@types/node',
    'fastify',
  ])
})

test('a strict TypeScript app lets a token with the scope in, and knows whose it is', async () => {
  const response = await call(await getToken('read_books'), `${typed}/books`)
  expect(await response.json()).toMatchObject({ client: 'reader', scopes: ['read_books'] })
  expect((await fetch(`${typed}/open`)).status).toBe(200)
})

test('a plain JavaScript app takes tokens for its own resource', async () => {
  const response = await call(await getToken('read_reports'), `${plain}/reports`)
  expect(await response.json()).toEqual({ client: 'reader', audience: [REPORTS] })
})

test('a token without a scope that the route needs is refused, naming all of them', async () => {
  const refused = await refusal(call(await getToken('read_books'), `${typed}/books`, 'POST'))
  expect(refused).toMatchObject({
    status: 403,
    scheme: 'bearer',
    error: 'insufficient_scope',
    scope: 'read_books write_books',
  })
  expect((await call(await getToken('write_books read_books'), `${typed}/books`, 'POST')).status).toBe(200)
})

test('a token for another audience is refused by either', async () => {
  const [books, reports] = await Promise.all([getToken('read_books'), getToken('read_reports')])
  const refused = { status: 401, scheme: 'bearer', error: 'invalid_token' }
  expect(await refusal(call(reports, `${typed}/books`))).toMatchObject(refused)
  expect(await refusal(call(books, `${plain}/reports`))).toMatchObject(refused)
})

test('no token: 401 without an error code, the scope named', async () => {
  const { status, headers } = await fetch(`${typed}/books`)
  expect(status).toBe(401)
  expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="[^"]+", scope="read_books"$/)
})

test('issuer stopped: known keys go on serving, and an unknown kid gets 503', async () => {
  const [books, reports] = await Promise.all([getToken('read_books'), getToken('read_reports')])
  expect(await issuer.stop()).toBe(0)
  expect((await call(books, `${typed}/books`)).status).toBe(200)
  expect((await call(reports, `${plain}/reports`)).status).toBe(200)
  for (const [url, audience] of [
    [`${typed}/books`, issuer.url],
    [`${plain}/reports`, REPORTS],
  ] as const) {
    const response = await fetch(url, { headers: bearer(await signWithUnknownKey(audience)) })
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(response.headers.get('www-authenticate')).toBeNull()
  }
  expect((await call(books, `${typed}/books`)).status).toBe(200)
})

/** Right in everything but the key, which the issuer may have made a moment ago for all that the API knows. */
async function signWithUnknownKey(audience: string): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256')
  return new SignJWT({ client_id: 'reader', scope: 'read_books read_reports' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: randomUUID() })
    .setIssuer(issuer.url)
    .setSubject('reader')
    .setAudience(audience)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)
}
