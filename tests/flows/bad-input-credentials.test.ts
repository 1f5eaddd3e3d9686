import { beforeAll, expect, test } from 'vitest'
import { type TestClient, createClient } from '../support/clients.ts'
import { refusal } from '../support/refusals.ts'
import { basic, type Form } from '../support/requests.ts'
import { type TestServer, startServer } from '../support/server.ts'

const FORM = { grant_type: 'client_credentials', token: 'x' }
const PATHS = ['/token', '/introspect', '/revoke']
let server: TestServer
let client: TestClient
let post: TestClient
let both: { client_id: string; client_secret: string }

beforeAll(async () => {
  server = await startServer()
  client = await createClient(server, { scope: ['read'] })
  post = await createClient(server, { scope: ['read'], token_endpoint_auth_method: 'client_secret_post' })
  both = { client_id: client.clientId, client_secret: client.clientSecret }
})

const header = (credentials: string | Buffer): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
})

/** The refusals at each of the three endpoints, when they are the same. */
async function everywhere(form: Form, headers: Record<string, string> = {}): Promise<[number, string]> {
  const answers = await Promise.all(PATHS.map((path) => refusal(server.post(path, form, headers))))
  for (const answer of answers) expect(answer).toEqual(answers[0])
  return answers[0]!
}

test.each([
  ['is no base64', 'Basic ***'],
  ['has spaces in its base64', 'Basic YTpi YTpi'],
  ['is base64url', 'Basic _-_-'],
  ['has base64 that ends too early', 'Basic YTpiY'],
  ['has nothing', 'Basic'],
  ['has nothing but a space', 'Basic '],
  ['has no colon', header('abc').authorization],
  ['has no id', header(':secret').authorization],
  ['is only a colon', header(':').authorization],
  ['holds NUL', header('a\0:b').authorization],
  ['holds an encoded NUL', header('a%00:b').authorization],
  ['is not UTF-8', header(Buffer.from([0xff, 0x3a, 0xff])).authorization],
  ['has a stray percent sign', header('a%:%zz').authorization],
  ['names an unknown client', basic('nobody', 'nothing').authorization],
])('a Basic header that %s is invalid_client', async (_name, authorization) => {
  expect(await everywhere(FORM, { authorization })).toEqual([401, 'invalid_client'])
  const response = await server.post('/token', FORM, { authorization })
  expect(response.headers.get('www-authenticate')).toBe(`Basic realm="${server.url}", charset="UTF-8"`)
})

test('no credentials, or a scheme that nobody serves, is invalid_client', async () => {
  expect(await everywhere(FORM)).toEqual([401, 'invalid_client'])
  for (const authorization of ['Bearer abc', 'Digest username="a"', 'Negotiate', 'Basicabc', ','])
    expect(await everywhere(FORM, { authorization })).toEqual([401, 'invalid_client'])
})

test("a wrong, an empty, a cut, an overlong and somebody else's secret are all one answer", async () => {
  const { clientId, clientSecret } = client
  const wrong = ['x', clientSecret.slice(0, -1), `${clientSecret}a`, 'a'.repeat(1025), post.clientSecret]
  const answers = await Promise.all(
    [...wrong, ''].map(async (secret) => server.post('/token', FORM, basic(clientId, secret))),
  )
  const unknown = await server.post('/token', FORM, basic('nobody', clientSecret))
  const bodies = await Promise.all([...answers, unknown].map(async (one) => [one.status, await one.text()]))
  for (const body of bodies) expect(body).toEqual(bodies[0])
  expect(bodies[0]![0]).toBe(401)
})

test('two methods at once are invalid_request; Basic with the same client_id in the body is one', async () => {
  expect(await everywhere({ ...FORM, ...both }, client.basic)).toEqual([400, 'invalid_request'])
  expect(await everywhere({ ...FORM, client_secret: 'x' }, client.basic)).toEqual([400, 'invalid_request'])
  expect(await everywhere({ ...FORM, client_id: 'another' }, client.basic)).toEqual([400, 'invalid_request'])
  const one = await server.post('/token', { ...FORM, client_id: client.clientId }, client.basic)
  expect(one.status).toBe(200)
})

test('a registered method is enforced, and an unset one takes both', async () => {
  expect(await everywhere(FORM, post.basic)).toEqual([401, 'invalid_client'])
  const asPost = { ...FORM, client_id: post.clientId, client_secret: post.clientSecret }
  expect((await server.post('/token', asPost)).status).toBe(200)
  expect((await server.post('/token', { ...FORM, ...both })).status).toBe(200)
  expect((await server.post('/token', FORM, client.basic)).status).toBe(200)
})

test('a client_id alone does not authenticate a client that has a secret', async () => {
  expect(await everywhere({ ...FORM, client_id: client.clientId })).toEqual([401, 'invalid_client'])
  expect(await everywhere({ ...FORM, client_id: 'nobody' })).toEqual([401, 'invalid_client'])
  expect(await everywhere({ ...FORM, client_secret: client.clientSecret })).toEqual([401, 'invalid_client'])
})

test('id and secret work form-encoded and as they are, in any case of the scheme', async () => {
  const odd = await createClient(server, {
    client_id: 'a b:c%d+é'.replace('é', 'e'),
    client_secret: 'p&q=r%41+:ü',
    scope: ['read'],
  })
  const encoded = odd.basic.authorization
  for (const authorization of [encoded, encoded.replace('Basic', 'bAsIc')])
    expect((await server.post('/token', FORM, { authorization })).status).toBe(200)
  const plain = await createClient(server, {
    client_id: 'plain',
    client_secret: 'p&q=r+%41%',
    scope: ['read'],
  })
  expect((await server.post('/token', FORM, header(`plain:${plain.clientSecret}`))).status).toBe(200)
})

test('a public client may not introspect, nor act for itself', async () => {
  await server.server.oauth.clients.create({
    client_id: 'public',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://localhost/cb'],
  })
  const form = { ...FORM, client_id: 'public' }
  expect(await refusal(server.post('/introspect', form))).toEqual([401, 'invalid_client'])
  expect(await refusal(server.post('/token', form))).toEqual([400, 'unauthorized_client'])
  expect((await server.post('/revoke', form)).status).toBe(200)
})

test('a rush of wrong chosen secrets from everywhere is bounded, and keeps nobody else from a token', async () => {
  const behindProxy = await startServer({ TRUSTED_PROXIES: '127.0.0.1' })
  const other = await createClient(behindProxy, { scope: ['read'] })
  await createClient(behindProxy, {
    client_id: 'chosen',
    client_secret: 'chosen-by-a-person',
    scope: ['read'],
  })
  const rush = Array.from({ length: 150 }, async (_, at) =>
    behindProxy.post('/token', FORM, {
      ...basic('chosen', `wrong ${at}`),
      'x-forwarded-for': `198.51.100.${at}`,
    }),
  )
  expect((await behindProxy.post('/token', FORM, other.basic)).status).toBe(200)
  const answers = await Promise.all(rush)
  const refused = answers.filter(({ status }) => status === 503)
  expect(answers.filter(({ status }) => status === 401).length + refused.length).toBe(150)
  expect(refused.length).toBeGreaterThan(0)
  for (const one of refused) {
    expect(one.headers.get('retry-after')).toMatch(/^[1-9]$/)
    expect(await refusal(one)).toEqual([503, 'temporarily_unavailable'])
  }
})
