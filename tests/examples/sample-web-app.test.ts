/** The sample web app by itself, with a real server: what it says when something goes wrong, and what it keeps quiet. */
import { expect, test } from 'vitest'
import { buildApp } from '../../examples/sample-web-app/app.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { ALICE, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { freePort, type Settings } from '../support/settings.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

interface Visit {
  server: TestServer
  /** Where the app is. */
  origin: string
  /** The same person's browser, as the app and as the server see it. */
  app: UserAgent
  atServer: UserAgent
}

/** A server, an app that is registered there, and a browser. */
async function begin(settings: Settings = {}, client: object = {}): Promise<Visit> {
  const origin = `http://localhost:${await freePort()}`
  const { redirect_uri: _elsewhere, ...web } = WEB
  const addresses = { redirect_uris: [`${origin}/callback`], post_logout_redirect_uris: [`${origin}/`] }
  const server = await startServer(settings, {
    seed: { ...SEED, clients: [{ ...web, ...addresses, ...client }] },
    extend: (instance) =>
      instance.get('/books', { config: { scope: 'read_books' } }, async () => ({
        books: [{ title: '<i>Emma</i>', author: 'Jane Austen' }],
      })),
  })
  const sample = buildApp({
    origin,
    issuer: new URL(server.url),
    clientId: WEB.client_id,
    clientSecret: WEB.client_secret,
    books: new URL(`${server.url}/books`),
  })
  await sample.listen({ host: '127.0.0.1', port: Number(new URL(origin).port) })
  atEndOfFile(() => sample.close())
  return { server, origin, app: createUserAgent(origin), atServer: createUserAgent(server.url) }
}

const leadsTo = (page: Page): string => page.headers.get('location') ?? ''

/** Up to the app's page after the way back. */
async function signIn({ app, atServer, origin }: Visit): Promise<Page> {
  const away = await app.get(`${origin}/login`)
  return app.get(leadsTo(await goThrough(atServer, await atServer.get(leadsTo(away)), ALICE)))
}

const visit = await begin()

test('who is signed in, the claims and the tokens; no secret is on a page', async () => {
  const { app, server, origin } = visit
  const page = await signIn(visit)
  expect(page).toMatchObject({ status: 200, url: `${origin}/` })
  for (const text of ['Signed in as Alice Example', 'alice@example.com', '&#34;iss&#34;: ', 'seconds more'])
    expect(page.body).toContain(text)
  const books = await app.get(`${origin}/books`)
  expect(books.body).toContain('&#60;i&#62;Emma')
  expect(books.body).not.toContain('<i>Emma')
  const refreshed = await app.post(`${origin}/refresh`, {})
  expect(refreshed.body).toContain('The tokens are new')
  // Anything long and random but what is public: the client's challenge, state, nonce, and identifiers.
  expect(refreshed.body).not.toContain(WEB.client_secret)
  expect(refreshed.body).not.toMatch(/eyJ[\w-]{20,}|Basic \w{20,}|code=[\w-]{20,}|code_verifier=[\w-]{20,}/)
  expect(refreshed.body).toContain('authorization: Basic ')
  expect(server.output()).not.toContain(WEB.client_secret)
})

test('the session gets another name at sign-in and at sign-out', async () => {
  const another = {
    ...visit,
    app: createUserAgent(visit.origin),
    atServer: createUserAgent(visit.server.url),
  }
  const { app, atServer, origin } = another
  const away = await app.get(`${origin}/login`)
  const before = app.clone()
  const back = leadsTo(await goThrough(atServer, await atServer.get(leadsTo(away)), ALICE))
  expect((await app.get(back)).body).toContain('Signed in as')
  expect((await before.get(`${origin}/`)).body).toContain('Sign in to see your books')
  const during = app.clone()
  const out = await app.post(`${origin}/logout`, {})
  const home = await atServer.get(leadsTo(out))
  expect(leadsTo(home)).toBe(`${origin}/`)
  expect((await app.get(leadsTo(home))).body).toContain('You have signed out')
  expect((await during.get(`${origin}/books`)).status).toBe(401)
})

test('who denies is told so, and may decide otherwise', async () => {
  const denying = await begin()
  const { app, atServer, origin } = denying
  const login = await atServer.get(leadsTo(await app.get(`${origin}/login`)))
  const { username, password } = ALICE
  const consent = await atServer.submit(login, 'login', { username, password })
  expect(findForm(consent, 'consent')).toBeDefined()
  const denied = await app.get(leadsTo(await atServer.submit(consent, 'consent', { decision: 'deny' })))
  expect(denied).toMatchObject({ status: 403 })
  expect(denied.body).toContain('You did not allow it')
  expect(denied.body).toContain('<code>access_denied</code>')
  expect((await signIn(denying)).body).toContain('Signed in as Alice Example')
})

test('who takes the access back finds a way to sign in there, and has the books again', async () => {
  const { app, atServer, origin, server } = visit
  await signIn(visit)
  const apps = await atServer.get(`${server.url}/account/apps`)
  expect((await atServer.submit(apps, 'revoke-0')).body).toContain('No app has access')
  const refused = await app.get(`${origin}/books`)
  expect(refused).toMatchObject({ status: 401 })
  expect(refused.body).toContain('<a class="button primary" id="log-in" href="/login">Sign in</a>')
  await signIn(visit)
  expect(await app.get(`${origin}/books`)).toMatchObject({ status: 200 })
})

test('a token that is taken back: the API refuses it, refreshing fails, and a new sign-in helps', async () => {
  const { app, origin, server } = visit
  await signIn(visit)
  // A new password, be it the same, ends what was begun with the former.
  await server.server.oauth.users.setPassword(ALICE.username, ALICE.password)
  const books = await app.get(`${origin}/books`)
  expect(books).toMatchObject({ status: 401 })
  expect(books.body).toContain('<code>invalid_token</code>')
  const refreshed = await app.post(`${origin}/refresh`, {})
  expect(refreshed).toMatchObject({ status: 400 })
  expect(refreshed.body).toContain('<code>invalid_grant</code>')
  expect((await app.get(`${origin}/`)).body).toContain('Sign in to see your books')
  expect((await signIn(visit)).body).toContain('Signed in as')
})

test('a token that lacks the scope', async () => {
  const narrow = await begin({}, { scope: [] })
  await signIn(narrow)
  const books = await narrow.app.get(`${narrow.origin}/books`)
  expect(books).toMatchObject({ status: 403 })
  expect(books.body).toContain('<code>insufficient_scope</code>')
})

test.each([
  ['an answer to a sign-in that nobody began', '/callback?code=x&state=y', 400],
  ['the API for nobody', '/books', 401],
  ['an address that leads nowhere', '/nowhere', 404],
])('%s', async (_name, path, status) => {
  const page = await createUserAgent(visit.origin).get(visit.origin + path)
  expect(page.status).toBe(status)
  expect(page.body).toMatch(/<h1>[^<]+<\/h1>/)
})

test('an answer with another state, and the same answer twice', async () => {
  const { app, origin } = visit
  const away = leadsTo(await app.get(`${origin}/login`))
  expect((await app.get(`${origin}/callback?code=x&state=other`)).body).toContain('The answer does not fit')
  const state = new URL(away).searchParams.get('state')
  expect((await app.get(`${origin}/callback?code=x&state=${state}`)).body).toContain(
    'not one that began here',
  )
})

test('forms from elsewhere are refused, and another name of this machine leads to the one it has', async () => {
  const { origin, server } = visit
  const { port } = new URL(origin)
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: server.url },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    const response = await fetch(`${origin}/logout`, { method: 'POST', headers, redirect: 'manual' })
    expect(response.status).toBe(403)
    expect(await response.text()).toContain('This did not come from a page of ours')
  }
  const response = await fetch(`http://127.0.0.1:${port}/login`, { redirect: 'manual' })
  expect([response.status, response.headers.get('location')]).toEqual([303, `${origin}/login`])
})

test('a server that is away', async () => {
  const { app, origin, server } = visit
  await signIn(visit)
  await server.close()
  for (const path of ['/books', '/login']) {
    const page = await app.get(origin + path)
    expect(page).toMatchObject({ status: 502 })
    expect(page.body).toContain('The server cannot be reached')
    expect(page.body).toContain('no answer')
  }
})
