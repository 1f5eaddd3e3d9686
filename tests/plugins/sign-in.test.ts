/** Sign-in where no client asks: who comes back, and where to. */
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { ALICE, authorizationUrl, BOB, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const server = await startServer({}, { seed: SEED })
const { username, password } = ALICE
const addressFor = (path: string): string =>
  `${server.url}/sign-in?${new URLSearchParams({ return_to: path }).toString()}`

test('leads back to the path that asked, signed in', async () => {
  const agent = createUserAgent(server.url)
  const page = await agent.get(addressFor('/?a=b'))
  const back = await agent.submit(page, 'login', { username, password })
  expect([back.url, back.body]).toEqual([`${server.url}/?a=b`, expect.stringContaining('Alice Example')])
  expect((await agent.get(addressFor('/?c=d'))).url).toBe(`${server.url}/?c=d`)
})

test('from an address that proxies would not pass on it comes back without the query', async () => {
  const response = await server.get(`/account?x=${'%61'.repeat(2000)}`, { accept: 'text/html' })
  expect([response.status, response.headers.get('location')]).toEqual([303, '/sign-in?return_to=%2Faccount'])
})

test('what is wrong is said on the page, with the user name kept, and leads back all the same afterwards', async () => {
  const agent = createUserAgent(server.url)
  const page = await agent.get(addressFor('/?a=b'))
  const refused = await agent.submit(page, 'login', { username, password: BOB.password })
  expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('id="login-error"')])
  expect(refused.body).toContain(`value="${username}"`)
  expect((await agent.submit(refused, 'login', { password })).url).toBe(`${server.url}/?a=b`)
})

test.each([
  'https://evil.example/',
  '//evil.example/',
  String.raw`\\evil.example`,
  '/\t/evil.example',
  '/x/..//evil.example',
  '/%2e%2e//evil.example',
  'javascript:alert(1)',
  'http://[',
  '',
])('leads nowhere else: %j', async (path) => {
  const agent = createUserAgent(server.url)
  const back = await agent.submit(await agent.get(addressFor(path)), 'login', { username, password })
  expect([back.url, back.headers.get('location')]).toEqual([`${server.url}/`, null])
})

test('too many failures at it are those of every sign-in: 429, also at the login of a client', async () => {
  const agent = createUserAgent(server.url)
  const page = await agent.get(addressFor('/'))
  const tries = Array.from({ length: 60 }, async () => agent.submit(page, 'login', { username: 'bob', password: 'x' }))
  const statuses = new Set((await Promise.all(tries)).map(({ status }) => status))
  expect(statuses).toEqual(new Set([403, 429]))
  const login = await agent.get(authorizationUrl(server))
  expect((await agent.submit(login, 'login', { username: 'bob', password: 'x' })).status).toBe(429)
}) // prettier-ignore
