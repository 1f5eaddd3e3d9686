/** Sign-out asked for by somebody who does not say who they are: asked, done, and nowhere led back to. */
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { expect, test } from 'vitest'
import { shownError } from '../../support/error-page.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, authorizationUrl, getTokens, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

const OUT = 'https://app.example/out'
const clients = [
  { ...WEB, post_logout_redirect_uris: [OUT] },
  { ...WEB, client_id: 'short-lived', post_logout_redirect_uris: [OUT] },
]
const server = await startServer({}, { seed: { ...SEED, clients } })
const endSession = (parameters: Record<string, string>): string =>
  `${server.url}/end-session?${new URLSearchParams(parameters).toString()}`

async function signedIn(): Promise<UserAgent> {
  const agent = createUserAgent(server.url)
  await goThrough(agent, await agent.get(authorizationUrl(server)), ALICE)
  return agent
}

const isSignedIn = async (agent: UserAgent): Promise<boolean> =>
  (await agent.get(`${server.url}/account`)).url.endsWith('/account')

/** The form of the page that asks. */
const asked = (page: Page) =>
  findForm({ ...page, body: page.body.replace('<form ', '<form id="asked" ') }, 'asked')!

async function expectAskedAndDone(agent: UserAgent, page: Page): Promise<void> {
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('id="sign-out"')])
  expect(await isSignedIn(agent)).toBe(true)
  const { action, fields } = asked(page)
  const done = await agent.post(action, fields)
  expect([done.status, done.headers.get('location')]).toEqual([200, null])
  expect(done.body).toContain('id="signed-out"')
  expect(await isSignedIn(agent)).toBe(false)
}

test.each(['https://app.example/out', 'https://evil.example/', 'http://localhost:4200', 'not an address'])(
  'with %j alone, the person is asked, signed out, and stays here',
  async (post_logout_redirect_uri) => {
    for (const more of [{}, { state: 'a state' }, { client_info: '1' }]) {
      const agent = await signedIn()
      await expectAskedAndDone(agent, await agent.get(endSession({ post_logout_redirect_uri, ...more })))
    }
    expect(server.output()).toContain('sign-out does not lead back')
  },
) // prettier-ignore

test('with it alone and nobody signed in, the page says that it is done', async () => {
  const page = await createUserAgent(server.url).get(endSession({ post_logout_redirect_uri: OUT }))
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('id="signed-out"')])
})

test('posted by the app, it is the same', async () => {
  const agent = await signedIn()
  const page = await agent.post(`${server.url}/end-session`, { post_logout_redirect_uri: OUT })
  await expectAskedAndDone(agent, page)
})

test('with a hint of an app that is gone, too', async () => {
  const agent = await signedIn()
  const { id_token: id_token_hint } = await getTokensOf('short-lived', agent)
  await server.server.oauth.clients.delete('short-lived')
  await expect.poll(async () => server.server.oauth.findClient('short-lived')).toBeNull()
  await expectAskedAndDone(agent, await agent.get(endSession({ id_token_hint, post_logout_redirect_uri: OUT })))
}) // prettier-ignore

test('S9: a hint that cannot be verified is an error, which offers who is signed in to sign out', async () => {
  const of = async (agent: UserAgent) => (await getTokens(server, {}, agent)).id_token
  for (const spoil of [() => 'x', (jwt: string) => `${jwt.slice(0, jwt.lastIndexOf('.'))}.AAAA`]) {
    const agent = await signedIn()
    const id_token_hint = spoil(await of(agent))
    const page = await agent.get(
      endSession({ id_token_hint, post_logout_redirect_uri: OUT, state: 'a state' }),
    )
    expect(await shownError(page)).toEqual([400, 'invalid_request'])
    expect(page.body).toMatch(/<button[^>]* id="sign-out-here"/)
    const forged = await agent.submit(page, 'sign-out-form', { csrf_token: 'forged' })
    expect([forged.status, await isSignedIn(agent)]).toEqual([403, true])
    const done = await agent.submit(page, 'sign-out-form')
    expect([done.status, done.body]).toEqual([200, expect.stringContaining('id="signed-out"')])
    expect(await isSignedIn(agent)).toBe(false)
  }
  const nobody = await createUserAgent(server.url).get(endSession({ id_token_hint: 'x' }))
  expect(await shownError(nobody)).toEqual([400, 'invalid_request'])
  expect(nobody.body).not.toContain('sign-out-here')
})

test('a client that is named has registered the address, or the request is refused: the error is about that client', async () => {
  const agent = await signedIn()
  const { id_token: id_token_hint } = await getTokens(server, {}, agent)
  for (const named of [{ id_token_hint }, { client_id: 'web' }, { id_token_hint, client_id: 'web' }]) {
    const page = agent.get(endSession({ ...named, post_logout_redirect_uri: 'https://evil.example/' }))
    expect(await shownError(page)).toEqual([400, 'invalid_request'])
    expect((await page).body).toContain(
      'the post_logout_redirect_uri is not registered for this client, to the letter',
    )
  }
  expect(await isSignedIn(agent)).toBe(true)
})

/** Tokens of a client with WEB's secret. */
async function getTokensOf(client_id: string, agent: UserAgent): Promise<{ id_token: string }> {
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, { client_id })), ALICE)
  const code = new URL(page.headers.get('location')!).searchParams.get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri }
  const credentials = { client_id, client_secret: WEB.client_secret }
  return (await (await server.post('/token', { ...form, ...credentials })).json()) as { id_token: string }
}

test('a hint that has expired, or whose key has a successor, is as good as it was: nobody is asked', async () => {
  const short = await startServer({ OIDC_IDTOKEN_EXPIRE: 1 }, { seed: { ...SEED, clients } })
  const leave = async (agent: UserAgent, id_token_hint: string) => {
    const query = new URLSearchParams({ id_token_hint, post_logout_redirect_uri: OUT, state: 'a state' })
    return (await agent.get(`${short.url}/end-session?${query.toString()}`)).headers.get('location')
  }
  const [one, two] = [createUserAgent(short.url), createUserAgent(short.url)]
  const expired = (await getTokens(short, {}, one)).id_token
  await expect.poll(() => Date.now() / 1000 > Number(decodeJwt(expired).exp)).toBe(true)
  expect(await leave(one, expired)).toBe(`${OUT}?state=a+state`)

  const rotated = (await getTokens(short, {}, two)).id_token
  await short.server.oauth.keys.rotate('RS256', 0)
  const next = (await getTokens(short)).id_token
  expect(decodeProtectedHeader(next).kid).not.toBe(decodeProtectedHeader(rotated).kid)
  expect(await leave(two, rotated)).toBe(`${OUT}?state=a+state`)
})

test('logout_hint says nothing of who may sign out whom: the person is asked, in the language that is asked for', async () => {
  const agent = await signedIn()
  for (const logout_hint of [ALICE.username, ALICE.email, 'somebody else']) {
    const page = await agent.get(endSession({ client_id: 'web', logout_hint, ui_locales: 'xx es' }))
    expect([page.status, page.headers.get('content-language')]).toEqual([200, 'es'])
    expect(page.body).toContain('id="sign-out"')
    expect(await isSignedIn(agent)).toBe(true)
  }
  const long = await agent.get(endSession({ logout_hint: 'x'.repeat(5000) }))
  expect(await shownError(long)).toEqual([400, 'invalid_request'])
})
