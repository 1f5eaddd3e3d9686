import { beforeAll, expect, test } from 'vitest'
import { type TestClient, createClient, getToken, introspect } from '../support/clients.ts'
import { refusal } from '../support/refusals.ts'
import { type TestServer, startServer } from '../support/server.ts'

const GRANT = 'grant_type=client_credentials'
let server: TestServer
let client: TestClient

beforeAll(async () => {
  server = await startServer({ OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false })
  client = await createClient(server, { scope: ['read', 'write'] })
})

/** A form as it is on the wire, from an authenticated client. */
const send = (body: string, path = '/token'): Promise<Response> =>
  server.request(path, {
    method: 'POST',
    body,
    headers: { ...client.basic, 'content-type': 'application/x-www-form-urlencoded' },
  })

test.each([
  ['grant_type', `${GRANT}&${GRANT}`],
  ['scope', `${GRANT}&scope=read&scope=read`],
  ['client_id', `${GRANT}&client_id=a&client_id=a`],
  ['an unknown one', `${GRANT}&x=1&x=2`],
  ['one by two spellings', `${GRANT}&scope=read&sc%6fpe=write`],
])('a repeated parameter is refused: %s', async (_name, body) => {
  expect(await refusal(send(body))).toEqual([400, 'invalid_request'])
})

test('a parameter in the query and in the body is refused, and a query alone is not read', async () => {
  expect(await refusal(send(GRANT, `/token?${GRANT}`))).toEqual([400, 'invalid_request'])
  expect(await refusal(send('', `/token?${GRANT}`))).toEqual([400, 'invalid_request'])
  expect((await send(GRANT, '/token?scope=write&client_secret=x')).status).toBe(200)
})

test('what no endpoint reads may stand in both, as MSAL puts its own there', async () => {
  const own = 'client-request-id=1'
  expect((await send(`${GRANT}&${own}`, `/token?${own}`)).status).toBe(200)
  expect((await send(`token=a&${own}`, `/introspect?${own}`)).status).toBe(200)
  for (const name of ['client_id', 'client_secret', 'scope', 'resource', 'code_challenge', 'token'])
    expect([name, ...(await refusal(send(`${GRANT}&${name}=a`, `/token?${name}=a`)))]).toEqual([name, 400, 'invalid_request'])
}) // prettier-ignore

test('resource may be repeated, and each one is checked', async () => {
  const resource = encodeURIComponent(server.url)
  expect((await send(`${GRANT}&resource=${resource}&resource=${resource}`)).status).toBe(200)
  const other = send(`${GRANT}&resource=${resource}&resource=https%3A%2F%2Fother.example`)
  expect(await refusal(other)).toEqual([400, 'invalid_target'])
})

test('an empty parameter is absent', async () => {
  expect(await refusal(send('grant_type='))).toEqual([400, 'invalid_request'])
  expect(await (await send(`${GRANT}&scope=&scope=`)).json()).toMatchObject({ scope: 'read write' })
})

test('unknown names are ignored, also those that other parsers would nest or inherit', async () => {
  const names = [
    'scope[]',
    'scope[a]',
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    '__proto__[polluted]',
  ]
  const body = names.map((name) => `${encodeURIComponent(name)}=polluted`).join('&')
  for (const form of [body, `${body}&__proto__.polluted=1`]) {
    expect(await (await send(`${GRANT}&${form}`)).json()).toMatchObject({ scope: 'read write' })
  }
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'a name that objects inherit is no grant, scope or resource: %s',
  async (name) => {
    expect(await refusal(send(`grant_type=${name}`))).toEqual([400, 'unsupported_grant_type'])
    expect(await refusal(send(`${GRANT}&scope=${name}`))).toEqual([400, 'invalid_scope'])
    expect(await refusal(send(`${GRANT}&resource=${name}`))).toEqual([400, 'invalid_target'])
    expect(await introspect(server, client, name)).toEqual({ active: false })
    const stranger = server.post('/token', { grant_type: 'x', client_id: name, client_secret: name })
    expect(await refusal(stranger)).toEqual([401, 'invalid_client'])
  },
)

test.each([
  ['NUL', '%00'],
  ['NUL in the middle', 'a%00b'],
  ['a byte that is not UTF-8', '%ff'],
  ['an overlong encoding', '%c0%af'],
  ['an encoded surrogate', '%ed%a0%80'],
  ['a stray percent sign', '50%'],
  ['a percent sign before no digits', '%zz'],
  ['an escape of JavaScript', '%u0041'],
])('%s is refused in a value and in a name, at every endpoint', async (_name, bad) => {
  for (const body of [`${GRANT}&scope=${bad}`, `${GRANT}&${bad}=1`, `${GRANT}&x=${bad}`]) {
    expect(await refusal(send(body))).toEqual([400, 'invalid_request'])
  }
  for (const path of ['/introspect', '/revoke'])
    expect(await refusal(send(`token=${bad}`, path))).toEqual([400, 'invalid_request'])
  expect(await refusal(send(GRANT, `/token?x=${bad}`))).toEqual([400, 'invalid_request'])
})

test('raw bytes that are not UTF-8 are refused', async () => {
  const body = Buffer.concat([Buffer.from(`${GRANT}&x=`), Buffer.from([0xff, 0xfe])])
  const headers = { ...client.basic, 'content-type': 'application/x-www-form-urlencoded' }
  expect(await refusal(server.request('/token', { method: 'POST', body, headers }))).toEqual([
    400,
    'invalid_request',
  ])
})

test.each([
  ['scope', 2048],
  ['client_id', 256],
  ['client_secret', 1024],
  ['resource', 2048],
  ['code', 512],
  ['code_verifier', 128],
  ['state', 4096],
  ['assertion', 16_384],
  ['unknown_one', 4096],
])('a parameter over its cap is refused: %s', async (name, cap) => {
  const long = 'a'.repeat(cap + 1)
  expect(await refusal(send(`${GRANT}&${name}=${long}`))).toEqual([400, 'invalid_request'])
})

test('more than 100 scopes are refused, and 200 parameters too', async () => {
  const many = (count: number, text: string): string =>
    Array.from({ length: count }, (_, at) => text + at).join('+')
  expect(await refusal(send(`${GRANT}&scope=${many(101, 's')}`))).toEqual([400, 'invalid_scope'])
  const parameters = Array.from({ length: 201 }, (_, at) => `p${at}=1`).join('&')
  expect(await refusal(send(`${GRANT}&${parameters}`))).toEqual([400, 'invalid_request'])
})

test.each(['"', '\\', 'é', '\t', '\r\nSet-Cookie: a=b', "' or 1=1 --", '${7*7}', '*)(uid=*', '\u202e'])(
  'metacharacters are only characters: %j',
  async (text) => {
    const value = encodeURIComponent(text)
    const [status, error] = await refusal(send(`${GRANT}&scope=${value}`))
    expect([status, error]).toEqual([400, 'invalid_scope'])
    expect(await refusal(send(`grant_type=${value}`))).toEqual([400, 'unsupported_grant_type'])
    expect(await introspect(server, client, text)).toEqual({ active: false })
    const answer = await send(`${GRANT}&resource=${value}`)
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(await refusal(answer)).toEqual([400, 'invalid_target'])
  },
)

test('text that makes a careless expression slow is answered at once', async () => {
  const hostile = [`${' '.repeat(2000)}!`, `${'a '.repeat(1000)}"`, `${'a'.repeat(2000)}"`]
  for (const scope of hostile) {
    const started = performance.now()
    expect(await refusal(send(`${GRANT}&scope=${encodeURIComponent(scope)}`))).toEqual([400, 'invalid_scope'])
    expect(performance.now() - started).toBeLessThan(10_000)
  }
})

test('a token beyond its cap is refused, and one within it is merely not good', async () => {
  expect(await refusal(send(`token=${'a'.repeat(16_385)}`, '/introspect'))).toEqual([400, 'invalid_request'])
  expect(await introspect(server, client, 'a'.repeat(16_384))).toEqual({ active: false })
  const { access_token } = await getToken(server, client)
  expect(await introspect(server, client, `${access_token}${'A'.repeat(1000)}`)).toEqual({ active: false })
})
