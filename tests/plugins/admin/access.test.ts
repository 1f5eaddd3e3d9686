/** Who gets to the administration: nobody but administrators, at any route that there is. */
import { describe, expect, test } from 'vitest'
import { routesOf } from '../../support/routes.ts'
import { shownError } from '../../support/error-page.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { ALICE, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { ROOT, signedIn } from './administrator.ts'
import { isServed, isWhole } from '../../support/left-out.ts'

const CLIENT = { client_id: 'books', client_name: 'Book shelf', scope: ['read_books'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT], clients: [CLIENT] } })
const routes = routesOf(server.server).filter(({ url }) => /^\/admin(?:\/|$)/.test(url))
const calls = routes.flatMap(({ url, methods }) => methods.map((method) => ({ url, method })))

/** As this browser would send it, to a client that there is. */
async function send(cookies: Map<string, string>, { url, method }: { url: string; method: string }) {
  const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
  const headers = { accept: 'text/html', origin: server.url, cookie }
  const response = await server.request(`${url}?client_id=books`, { method, headers })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

test('there are routes to be asked about', () => {
  expect(new Set(routes.map(({ url }) => url.replace(/\/$/, '')))).toEqual(
    new Set(
      [
        '/admin',
        '/admin/clients',
        '/admin/clients/new',
        '/admin/client',
        '/admin/client/rotate-secret',
        '/admin/client/secret',
        '/admin/client/delete',
        ...['/scopes', '/scopes/new', '/scope', '/scope/delete'].map((path) => `/admin${path}`),
        ...['/resources', '/resources/new', '/resource', '/resource/delete'].map((path) => `/admin${path}`),
        ...['/trusted-issuers', '/trusted-issuers/new', '/trusted-issuer', '/trusted-issuer/delete'].map(
          (path) => `/admin${path}`,
        ),
        ...['/upstreams', '/upstreams/new', '/upstream', '/upstream/delete'].map((path) => `/admin${path}`),
        ...['/roles', '/roles/new', '/role', '/role/add', '/role/remove', '/role/rename', '/role/delete'].map(
          (path) => `/admin${path}`,
        ),
        '/admin/users',
        '/admin/users/new',
        '/admin/user',
        '/admin/user/invite',
        '/admin/user/withdraw-invitation',
        '/admin/user/password-link',
        '/admin/user/keep',
        '/admin/user/link',
        '/admin/user/delete',
        '/admin/user/disable',
        '/admin/user/enable',
        '/admin/user/end-session',
        '/admin/user/end-sessions',
        '/admin/user/reset-factors',
        '/admin/user/revoke-tokens',
        '/admin/user/unlink',
        '/admin/user/revoke',
        '/admin/client/authorizations',
        '/admin/client/revoke',
        '/admin/deliveries',
        '/admin/deliveries/retry',
        '/admin/keys',
        '/admin/mail',
        '/admin/keys/revoke',
        '/admin/keys/rotate',
        '/admin/audit',
        '/admin/audit/export',
      ].filter(isServed),
    ),
  )
  expect(calls.length).toBeGreaterThan(isWhole ? 70 : 60)
})

describe('at every route', () => {
  test('a stranger is asked to sign in, and a form of theirs is refused', async () => {
    for (const call of calls) {
      const { status, headers, body } = await send(new Map(), call)
      const opens = ['GET', 'HEAD'].includes(call.method)
      const back = new URLSearchParams({ return_to: `${call.url}?client_id=books` }).toString()
      expect([call, status, headers.get('location')]).toEqual([
        call,
        opens ? 303 : 403,
        opens ? `/sign-in?${back}` : null,
      ])
      expect(body).not.toContain('Book shelf')
    }
  })

  test('a user without the role is refused', async () => {
    const { cookies } = await signedIn(server, ALICE)
    for (const call of calls) {
      const { status, body } = await send(cookies, call)
      expect([call, status]).toEqual([call, 403])
      expect(body).not.toContain('Book shelf')
    }
  })

  test('an administrator is not', async () => {
    const { cookies } = await signedIn(server)
    const statuses = new Map<string, number>()
    for (const call of calls) statuses.set(`${call.method} ${call.url}`, (await send(cookies, call)).status)
    expect(statuses.get('GET /admin/clients')).toBe(200)
    expect(statuses.get('PUT /admin/clients')).toBe(405)
    // Without a token of its page, no form is taken, whoever sends it.
    const posts = [...statuses].filter(([call]) => call.startsWith('POST'))
    expect(new Set(posts.map(([, status]) => status))).toEqual(new Set([403, 405, 400]))
    expect(await server.server.oauth.clients.find('books')).toMatchObject(CLIENT)
  })

  test('who loses the role, or is disabled, is out', async () => {
    const { users } = server.server.oauth
    await users.create({ username: 'former', password: 'a password of some length', roles: ['admin'] })
    const { cookies } = await signedIn(server, { username: 'former', password: 'a password of some length' })
    const page = { url: '/admin/clients', method: 'GET' }
    expect((await send(cookies, page)).status).toBe(200)
    await users.update('former', { roles: ['support'] })
    expect((await send(cookies, page)).status).toBe(403)
    await users.update('former', { roles: ['admin'] })
    expect((await send(cookies, page)).status).toBe(200)
    await users.disable('former')
    expect((await send(cookies, page)).status).toBe(303)
  })
})

test('who is made one at another process, of which this one has not heard, is let in', async () => {
  const beside = await startBeside(server)
  await kernelOf(beside.server).feed.stop()
  const promoted = { username: 'promoted', password: 'a password of some length' }
  await server.server.oauth.users.create(promoted)
  const { cookies } = await signedIn(server, promoted)
  const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
  const there = async () =>
    (await beside.request('/admin', { headers: { accept: 'text/html', cookie } })).status
  expect(await there()).toBe(403)
  await server.server.oauth.users.update(promoted.username, { roles: ['admin'] })
  expect(await there()).toBe(200)
})

describe('who is no administrator', () => {
  const PATH = '/admin/client?client_id=books'

  test('is told so, as whom they came, and where they can go on', async () => {
    const page = await (await signedIn(server, ALICE)).get(server.url + PATH)
    expect(await shownError(page)).toEqual([403, 'access_denied'])
    const text = page.body.replaceAll(/<[^>]*>/g, '')
    expect(text).toContain('This page is for administrators')
    expect(text).toContain('You are signed in as alice. This account is not an administrator’s.')
    const ways = [...page.body.matchAll(/<a class="button[^"]*" href="([^"]*)"><span>([^<]*)/g)]
    expect(ways.map(([, href, words]) => [href!.replaceAll('&amp;', '&'), words])).toEqual([
      [`/sign-in?${new URLSearchParams({ return_to: PATH, account: 'other' }).toString()}`, 'Sign in as somebody else'],
      ['/', 'Go to the start page'],
    ])
  })

  test('signs in as somebody else, and is there', async () => {
    const agent = await signedIn(server, ALICE)
    const { body } = await agent.get(server.url + PATH)
    const [, way = ''] = /<a class="button primary" href="([^"]*)"/.exec(body) ?? []
    const login = await agent.get(server.url + way.replaceAll('&amp;', '&'))
    expect(login.body).toContain('You are signed in as <strong><bdi>alice</bdi></strong>. Sign in here as somebody else.')
    expect(findForm(login, 'login')!.fields['username']).toBe('')
    // A mistake leads to the same page, not to that of the one who is there.
    const refused = await agent.submit(login, 'login', { username: ROOT.username, password: 'wrong' })
    const page = await agent.submit(refused, 'login', { password: ROOT.password })
    expect([page.url, page.status]).toEqual([server.url + PATH, 200])
    expect(page.body).toContain('<bdi>Book shelf</bdi>')
  })
}) // prettier-ignore

test('sign-in leads to the page that was asked for', async () => {
  const agent = createUserAgent(server.url)
  const asked = await agent.get(`${server.url}/admin/client?client_id=books`)
  const { username, password } = ROOT
  const page = await agent.submit(asked, 'login', { username, password })
  expect([page.url, page.body]).toEqual([
    `${server.url}/admin/client?client_id=books`,
    expect.stringContaining('<bdi>Book shelf</bdi>'),
  ])
})

test('the home page leads there, for administrators alone', async () => {
  const link = 'href="/admin"'
  expect((await (await signedIn(server)).get(`${server.url}/`)).body).toContain(link)
  expect((await (await signedIn(server, ALICE)).get(`${server.url}/`)).body).not.toContain(link)
})

test('it can be left out, and nothing leads to it then', async () => {
  const less = await startServer({}, { seed: { users: [ROOT] }, build: { without: ['latchkey-admin'] } })
  const agent = await signedIn(less)
  expect((await agent.get(`${less.url}/admin`)).status).toBe(404)
  expect((await agent.get(`${less.url}/`)).body).not.toContain('Administration')
})

test('below the path of an issuer, all of it stays there', async () => {
  const port = await freePort()
  const settings = { PORT: port, OIDC_ISSUER: `http://127.0.0.1:${port}/auth` }
  const below = await startServer(settings, { seed: { users: [ROOT] } })
  const agent = createUserAgent(below.url)
  const { username, password } = ROOT
  const page = await agent.submit(await agent.get(`${below.url}/admin`), 'login', { username, password })
  expect([page.url, page.status]).toEqual([`${below.url}/admin`, 200])
  expect(page.body).toContain('href="/auth/admin/clients/new"')
})
