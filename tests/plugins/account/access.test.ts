/** Who gets to an account: its user alone, at any route that there is. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { routesOf } from '../../support/routes.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { open, signedIn } from './owner.ts'
import { isServed } from '../../support/left-out.ts'

const server = await startServer({}, { seed: SEED })
const routes = routesOf(server.server).filter(({ url }) => /^\/account(?:\/|$)/.test(url))

test('at every route a stranger is asked to sign in, and a form of theirs is refused', async () => {
  const calls = routes.flatMap(({ url, methods }) => methods.map((method) => ({ url, method })))
  expect(new Set(routes.map(({ url }) => url.replace(/\/$/, '')))).toEqual(
    new Set(['', '/profile', '/email', '/security', '/security/authenticator', '/security/authenticator/remove', '/security/recovery-codes', '/password', '/password/remove', '/sessions', '/sessions/end', '/sessions/end-others', '/apps', '/apps/revoke', '/apps/revoke-all', '/activity', '/linked-sign-ins', '/linked-sign-ins/link', '/linked-sign-ins/unlink', '/data', '/data/download', '/data/delete'].map((path) => `/account${path}`).filter(isServed)),
  )
  for (const { url, method } of calls) {
    const headers = { accept: 'text/html', origin: server.url }
    const response = await server.request(url, { method, headers })
    await response.body?.cancel()
    const opens = method === 'GET' || method === 'HEAD'
    const location = opens ? `/sign-in?${new URLSearchParams({ return_to: url }).toString()}` : null
    expect([url, method, response.status, response.headers.get('location')]).toEqual([url, method, opens ? 303 : 403, location])
  }
}) // prettier-ignore

test("no page shows what is another user's", async () => {
  await signedIn(server, BOB)
  const agent = await signedIn(server)
  const { id, claims } = (await server.server.oauth.users.find('bob'))!
  const [session] = await server.server.oauth.sessions.list(id)
  for (const { url, methods } of routes) {
    if (!methods.includes('GET')) continue
    const { body } = await agent.get(`${server.url}${url}`)
    for (const secret of [session!.sid, id, String(claims['email'])]) expect(body).not.toContain(secret)
  }
})

test("another user's session and app are out of reach, whatever a form says", async () => {
  const { sessions, consents, users, directory } = kernelOf(server.server)
  const [alice, bob] = [(await users.find('alice'))!, (await users.find('bob'))!]
  const web = { client: (await directory.findClient('web'))!, scopes: new Set(['read_books']), resources: [], parameters: {} } // prettier-ignore
  for (const { id } of [alice, bob]) await consents.remember(id, web)
  const [agent] = [await signedIn(server), await signedIn(server)]
  await signedIn(server, BOB)
  const [bobs] = await sessions.list(bob.id)
  const page = await open(server, agent, '/sessions')
  expect((await agent.submit(page, 'end-1', { sid: bobs!.sid })).status).toBe(403)
  expect(await sessions.list(bob.id)).toContainEqual(bobs)
  // With the token of the one form at the address of the other.
  const { csrf_token: token = '' } = findForm(page, 'end-others')!.fields
  for (const path of ['/sessions/end', '/apps/revoke', '/apps/revoke-all', '/profile', '/password', '/email'])
    expect((await agent.post(`${server.url}/account${path}`, { csrf_token: token })).status).toBe(403)
  const apps = await open(server, agent, '/apps')
  expect((await agent.submit(apps, 'revoke-0', { client_id: 'x' })).status).toBe(403)
  expect((await agent.submit(apps, 'revoke-0', { user: bob.id, userId: bob.id })).status).toBe(200)
  expect([await consents.list(alice.id), (await consents.list(bob.id)).length]).toEqual([[], 1])
})

test('who is disabled is out', async () => {
  const agent = await signedIn(server, BOB)
  expect((await open(server, agent)).url).toBe(`${server.url}/account`)
  await server.server.oauth.users.disable('bob')
  expect((await open(server, agent)).url).toContain('/sign-in?')
  await server.server.oauth.users.enable('bob')
})

test('sign-in leads to the page that was asked for, and the home page to the account', async () => {
  const agent = createUserAgent(server.url)
  const { username, password } = ALICE
  const page = await agent.submit(await open(server, agent, '/activity'), 'login', { username, password })
  expect(page.url).toBe(`${server.url}/account/activity`)
  expect((await agent.get(`${server.url}/`)).body).toContain('href="/account"')
  expect((await server.get('/').then((response) => response.text())).includes('href="/account"')).toBe(false)
})

test('below the path of an issuer, all of it stays there; it can be left out', async () => {
  const port = await freePort()
  const settings = { PORT: port, OIDC_ISSUER: `http://127.0.0.1:${port}/auth` }
  const below = await startServer(settings, { seed: SEED })
  const agent = await signedIn(below)
  const page = await open(below, agent, '/profile')
  expect(page.body).toContain('href="/auth/account/security"')
  expect((await agent.submit(page, 'profile', { nickname: 'Al' })).url).toBe(`${below.url}/account/profile?saved=yes`)
  expect((await below.get('/.well-known/change-password')).status).toBe(404)
  const less = await startServer({}, { seed: SEED, build: { without: ['latchkey-account'] } })
  const other = await signedIn(less)
  expect((await open(less, other)).status).toBe(404)
  expect((await other.get(`${less.url}/`)).body).not.toContain('href="/account"')
}) // prettier-ignore

test('password managers find the page of the password', async () => {
  const agent = await signedIn(server)
  expect((await agent.get(`${server.url}/.well-known/change-password`)).url).toBe(`${server.url}/account/password`)
  expect((await server.post('/.well-known/change-password', {})).status).toBe(405)
}) // prettier-ignore

test('no page of it has the id by which a sign-out is found', async () => {
  const agent = await signedIn(server)
  for (const path of ['', '/profile', '/email', '/security', '/password', '/sessions', '/apps', '/activity'])
    expect((await open(server, agent, path)).body).not.toContain('id="sign-out"')
})
