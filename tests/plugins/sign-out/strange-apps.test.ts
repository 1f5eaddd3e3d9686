/**
 * Sign-out at the asking of apps that nobody here has looked at: they are led to where somebody was signed in, and nowhere else.
 * @needs latchkey-registration, latchkey-client-documents
 */
import { expect, test } from 'vitest'
import { startDocumentHost } from '../../support/document-host.ts'
import { isThere } from '../../support/left-out.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import {
  authorizationUrl,
  createPkce,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
  type Tokens,
} from '../../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'

const AFTER = 'https://evil.example/phish'
const HOME = 'https://app.example/home'
const host = await startDocumentHost()
const server = await startServer(
  { OIDC_REGISTRATION: 'open', OIDC_CLIENT_METADATA_DOCUMENTS: 'any', UNSAFE_OUTBOUND_ORIGINS: host.origin },
  { seed: { ...SEED, clients: [{ ...WEB, client_uri: HOME, post_logout_redirect_uris: [AFTER] }] } },
)
const { challenge, verifier } = createPkce()

interface App {
  client_id: string
  client_secret?: string
}

async function register(members: object = {}): Promise<App> {
  const response = await server.request('/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [REDIRECT_URI], post_logout_redirect_uris: [AFTER], ...members }),
  })
  expect(response.status).toBe(201)
  return (await response.json()) as App
}

const publish = async (name: string, members: object = {}): Promise<App> => ({
  client_id: host.publish(name, { post_logout_redirect_uris: [AFTER], ...members }),
})

/** Signed in at the app, by a browser of their own. */
async function signIn({ client_id, client_secret }: App) {
  const agent = createUserAgent(server.url)
  const parameters = { client_id, code_challenge: challenge, code_challenge_method: 'S256' }
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, parameters)))
  const code = new URL(page.headers.get('location')!).searchParams.get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: verifier }
  const answer = await (client_secret === undefined
    ? server.post('/token', { ...form, client_id })
    : server.post('/token', form, basic(client_id, client_secret)))
  const { id_token: hint } = (await answer.json()) as Tokens
  return { agent, hint }
}

const leave = async (agent: UserAgent, parameters: Record<string, string>): Promise<Page> =>
  agent.get(`${server.url}/end-session?${new URLSearchParams(parameters).toString()}`)
const leadsTo = ({ status, headers }: Page) => [status, headers.get('location')]
const stranger = (): UserAgent => createUserAgent(server.url)
const APPS: [string, (members?: object) => Promise<App>][] = [
  ['registered itself', register],
  ['is known by a document', async (members) => publish('app.json', members)],
]

test.each(APPS)('an app that %s is led to by nobody who is not signed in', async (_kind, make) => {
  const app = await make({ client_uri: 'https://evil.example/' })
  await signIn(app)
  const { client_id } = app
  for (const asked of [{ post_logout_redirect_uri: AFTER, state: 'x' }, {}, { post_logout_redirect_uri: AFTER, signed_out: 'forged' }]) {
    const page = await leave(stranger(), { client_id, ...asked })
    expect(leadsTo(page)).toEqual([200, null])
    expect(page.body).toContain('id="signed-out"')
    expect(page.body).not.toContain('evil.example')
  }
}) // prettier-ignore

test.each(APPS)(
  'an app that %s offers strangers nothing, be it at home where it says',
  async (_kind, make) => {
    const { client_id } = await make({ client_uri: HOME })
    await stranger().get(authorizationUrl(server, { client_id }))
    expect((await leave(stranger(), { client_id })).body).not.toContain(HOME)
  },
)

test.each(APPS)(
  'an app that %s gets back whom it signs out, and later too by its hint',
  async (_kind, make) => {
    const app = await make()
    const { agent, hint } = await signIn(app)
    const asked = { id_token_hint: hint, post_logout_redirect_uri: AFTER, state: 'x' }
    for (const person of [agent, agent, stranger()])
      expect(leadsTo(await leave(person, asked))).toEqual([303, `${AFTER}?state=x`])
  },
)

test.each(APPS)('an app that %s gets back who is signed in and says so', async (_kind, make) => {
  const app = await make()
  const { agent } = await signIn(app)
  const question = await leave(agent, { client_id: app.client_id, post_logout_redirect_uri: AFTER })
  expect(leadsTo(await agent.submit(question, 'end-session'))).toEqual([303, AFTER])
})

test('its home page is linked where it is at the host of its redirect URI', async () => {
  for (const [client_uri, isLinked] of [[HOME, true], ['https://evil.example/', false]] as const) {
    const { agent, hint } = await signIn(await register({ client_uri }))
    const { body } = await leave(agent, { id_token_hint: hint })
    expect([body.includes('id="signed-out"'), body.includes(`href="${client_uri}"`)]).toEqual([true, isLinked])
  }
}) // prettier-ignore

test.runIf(isThere('latchkey-frontchannel-logout'))('past the page that tells apps it gets them back, in this browser alone', async () => {
  const members = { frontchannel_logout_uri: 'https://app.example/out' }
  const nextOf = ({ body }: Page): string => server.url + /id="go-on" href="([^"]*)"/.exec(body)![1]!.replaceAll('&amp;', '&')
  const app = await register(members)
  const hinted = await signIn(app)
  const asked = { post_logout_redirect_uri: AFTER, state: 'x' }
  const told = await leave(hinted.agent, { ...asked, id_token_hint: hinted.hint })
  const confirmed = await signIn(app)
  const question = await leave(confirmed.agent, { ...asked, client_id: app.client_id })
  const done = await confirmed.agent.submit(question, 'end-session')
  for (const [{ agent }, page] of [[hinted, told], [confirmed, done]] as const) {
    expect(page.body).toContain('https://app.example/out')
    expect(leadsTo(await agent.get(nextOf(page)))).toEqual([303, `${AFTER}?state=x`])
    expect(leadsTo(await stranger().get(nextOf(page)))).toEqual([200, null])
    const other = nextOf(page).replace(app.client_id, (await register(members)).client_id)
    expect(leadsTo(await agent.get(other))).toEqual([200, null])
  }
}) // prettier-ignore

test('an app of an administrator is led to as ever', async () => {
  const { client_id } = WEB
  expect(leadsTo(await leave(stranger(), { client_id, post_logout_redirect_uri: AFTER }))).toEqual([
    303,
    AFTER,
  ])
  expect((await leave(stranger(), { client_id })).body).toContain(`href="${HOME}"`)
})
