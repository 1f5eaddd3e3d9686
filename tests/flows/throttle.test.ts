/** Guessing client secrets at the wire: when it is refused, whom that hits, and whom it does not. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { statements } from '../../src/store/throttles.ts'
import { type TestClient, createClient, requestToken } from '../support/clients.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { refusal } from '../support/refusals.ts'
import { basic, type Requests } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { statusOf } from '../support/service.ts'

const FORM = { grant_type: 'client_credentials', token: 'x' }
/** Of the form of a generated secret, whose check is quick. */
const WRONG = `lks_${'x'.repeat(43)}`
const server = await startServer({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' })
const createService = (to = server) => createClient(to, { scope: ['read'] })

let addresses = 0
/** The header by which our proxy names a client's address; a new one each time. */
const elsewhere = () => ({ 'x-forwarded-for': `198.51.100.${++addresses}` })

interface Guess {
  to?: Requests
  path?: string
  headers?: Record<string, string>
}

/** Presents a wrong secret. */
async function guess(
  clientId: string,
  { to = server, path = '/token', headers = {} }: Guess,
): Promise<Response> {
  return to.post(path, FORM, { ...basic(clientId, WRONG), ...headers })
}

/** How many guesses were answered with 401 before the first 429. */
async function guessUntilRefused(nextId: () => string, from: Guess): Promise<number> {
  for (let guesses = 0; guesses < 100; guesses++) {
    const [status, error] = await refusal(guess(nextId(), from))
    if (status === 429) return guesses
    expect([status, error]).toEqual([401, 'invalid_client'])
  }
  throw new Error('a hundred guesses were answered')
}

async function withSecret(client: TestClient, headers: Record<string, string> = {}, to: Requests = server) {
  return statusOf(to.post('/token', FORM, { ...client.basic, ...headers }))
}

test('an address may guess the secret of a client 20 times; then its right secret is refused too', async () => {
  const [client, headers] = [await createService(), elsewhere()]
  expect(await guessUntilRefused(() => client.clientId, { headers })).toBe(20)
  expect(await withSecret(client, headers)).toBe(429)
})

test('whoever is elsewhere is not locked out', async () => {
  const [client, headers] = [await createService(), elsewhere()]
  await guessUntilRefused(() => client.clientId, { headers })
  expect(await withSecret(client, elsewhere())).toBe(200)
  expect(await withSecret(client)).toBe(200)
  expect(await withSecret(await createService(), headers)).toBe(200)
})

test('a client that is not there is refused in the same words', async () => {
  const client = await createService()
  const answers = await Promise.all(
    [client.clientId, 'nobody'].map(async (clientId) => {
      const headers = elsewhere()
      const guesses = await guessUntilRefused(() => clientId, { headers })
      const response = await guess(clientId, { headers })
      return {
        guesses,
        status: response.status,
        body: await response.text(),
        retryAfter: response.headers.has('retry-after'),
      }
    }),
  )
  expect(answers[0]).toEqual(answers[1])
  expect(JSON.parse(answers[0]!.body)).toMatchObject({ error: 'temporarily_unavailable' })
})

test('an address may try 40 times at many clients', async () => {
  const headers = elsewhere()
  let at = 0
  expect(await guessUntilRefused(() => `sprayed-${++at}`, { headers })).toBe(40)
  expect(await withSecret(await createService(), headers)).toBe(429)
})

test('a client that has worked from an address is not locked out by a neighbour who tries others', async () => {
  const [client, headers] = [await createService(), elsewhere()]
  expect(await withSecret(client, headers)).toBe(200)
  let at = 0
  await guessUntilRefused(() => `sprayed-${++at}`, { headers })
  expect(await withSecret(client, headers)).toBe(200)
  expect(await statusOf(guess(client.clientId, { headers }))).toBe(429)
  expect(await withSecret(client, headers)).toBe(429)
})

test('the endpoints count together, and an IPv6 user has one address', async () => {
  const client = await createService()
  let at = 0
  const headers = () => ({ 'x-forwarded-for': `2001:db8:7:7::${(++at).toString(16)}` })
  for (const path of ['/token', '/introspect', '/revoke', '/token/'])
    for (let guesses = 0; guesses < 5; guesses++)
      expect(await statusOf(guess(client.clientId, { path, headers: headers() }))).toBe(401)
  for (const path of ['/token', '/introspect', '/revoke'])
    expect(await refusal(guess(client.clientId, { path, headers: headers() }))).toEqual([
      429,
      'temporarily_unavailable',
    ])
  expect(await withSecret(client, { 'x-forwarded-for': '2001:db8:7:8::1' })).toBe(200)
})

test('Retry-After is true', async () => {
  const [client, headers] = [await createService(), elsewhere()]
  await guessUntilRefused(() => client.clientId, { headers })
  const response = await guess(client.clientId, { headers })
  const retryAfter = Number(response.headers.get('retry-after'))
  expect(retryAfter).toBeGreaterThan(0)
  expect(retryAfter).toBeLessThanOrEqual(10)
  // As if that time had passed.
  await server.database.query(`update throttles set free_at = free_at - make_interval(secs => $1)`, [
    retryAfter,
  ])
  await expect.poll(() => withSecret(client, headers)).toBe(200)
})

test('who is at a limit is read however many rows a wrong clock has left', async () => {
  const own = await startServer()
  await own.database.query(
    `insert into throttles (source, account, free_at) select 'wrong', n::text, now() + interval '1 year' from generate_series(1, 10000) n`,
  )
  await own.database.query(
    `insert into throttles (source, account, free_at) values ('right', '*', now() + interval '1 minute')`,
  )
  const rows = await kernelOf(own.server).database.query(statements.blocked)
  expect(rows.filter(({ source }) => source === 'right')).toHaveLength(1)
})

test('a hundred guesses at once are no way around it', async () => {
  const [client, headers] = [await createService(), elsewhere()]
  const guesses = Array.from({ length: 100 }, () => statusOf(guess(client.clientId, { headers })))
  const statuses = await Promise.all(guesses)
  expect(statuses.filter((status) => status === 401)).toHaveLength(20)
  expect(statuses.filter((status) => status === 429)).toHaveLength(80)
})

test('successes never count, however many come at once', async () => {
  const own = await startServer()
  const client = await createService(own)
  const chosen = await createClient(own, { client_secret: 'chosen by a person', scope: ['read'] })
  for (const one of [client, chosen])
    for (let rounds = 0; rounds < 5; rounds++) {
      const statuses = await Promise.all(Array.from({ length: 100 }, () => withSecret(one, {}, own)))
      expect(new Set(statuses)).toEqual(new Set([200]))
    }
  expect(await own.database.query('select * from throttles')).toEqual([])
})

test('a client that tries the header, then the body, counts one failure, and is forgiven it', async () => {
  const own = await startServer()
  const client = await createClient(own, {
    scope: ['read'],
    token_endpoint_auth_method: 'client_secret_post',
  })
  const inBody = { ...FORM, client_id: client.clientId, client_secret: client.clientSecret }
  for (let tries = 0; tries < 30; tries++) {
    expect(await statusOf(own.post('/token', FORM, client.basic))).toBe(401)
    expect(await statusOf(own.post('/token', inBody))).toBe(200)
  }
  await expect.poll(() => own.database.query('select 1 from throttles')).toHaveLength(1)
})

test('what presents no credentials, or none that can be read, does not count', async () => {
  const own = await startServer()
  for (let tries = 0; tries < 60; tries++) {
    expect(await statusOf(own.post('/token', FORM))).toBe(401)
    expect(await statusOf(own.post('/token', FORM, { authorization: 'Basic ***' }))).toBe(401)
    expect(
      await statusOf(own.post('/token', FORM, { ...basic('a', 'b'), 'content-type': 'text/plain' })),
    ).toBe(415)
  }
  expect(await own.database.query('select * from throttles')).toEqual([])
})

test('without a trusted proxy no header names an address', async () => {
  const own = await startServer()
  const client = await createService(own)
  const forged = () => ({
    ...elsewhere(),
    forwarded: `for=198.51.100.${addresses}`,
    'x-real-ip': '198.51.100.1',
  })
  let guesses = 0
  while ((await statusOf(guess(client.clientId, { to: own, headers: forged() }))) === 401) guesses++
  expect(guesses).toBe(20)
  expect(await withSecret(client, forged(), own)).toBe(429)
})

test('of what a trusted proxy passes on, only what it saw itself counts', async () => {
  const client = await createService()
  const seen = elsewhere()['x-forwarded-for']
  const forged = () => ({ 'x-forwarded-for': `203.0.113.${++addresses}, ${seen}, 10.1.2.3` })
  let guesses = 0
  while ((await statusOf(guess(client.clientId, { headers: forged() }))) === 401) guesses++
  expect(guesses).toBe(20)
})

test('nothing else of what a proxy says is used', async () => {
  const headers = {
    ...elsewhere(),
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-port': '1',
  }
  const response = await server.get('/.well-known/openid-configuration', headers)
  expect(await response.json()).toMatchObject({ issuer: server.url, token_endpoint: `${server.url}/token` })
})

test('no name, address or secret of a failure is stored or logged', async () => {
  const headers = elsewhere()
  await guess('name-that-was-typed', { headers })
  const rows = JSON.stringify(await server.database.query('select * from throttles'))
  for (const secret of ['name-that-was-typed', headers['x-forwarded-for']]) {
    expect(rows).not.toContain(secret)
    expect(server.output()).not.toContain(secret)
  }
})

test('while the database is away guesses are counted all the same, and nothing else fails', async () => {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  const own = await startServer({ DATABASE_URL: proxy.url, TRUSTED_PROXIES: '127.0.0.1' }, { database })
  const [client, headers] = [await createService(own), elsewhere()]
  expect(await statusOf(requestToken(own, client))).toBe(200)
  await proxy.cut()
  let guesses = 0
  while ((await statusOf(guess(client.clientId, { to: own, headers }))) === 503) guesses++
  expect(guesses).toBe(20)
  expect(await withSecret(client, headers, own)).toBe(429)
  expect(await withSecret(client, elsewhere(), own)).toBe(200)
  await proxy.restore()
  await expect.poll(() => withSecret(client, headers, own)).toBe(200)
})
