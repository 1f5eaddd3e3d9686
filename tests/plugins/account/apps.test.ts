/** The apps of a user: what they have, and what is left of it when it is taken back. */
import { beforeEach, expect, test } from 'vitest'
import { entranceOf } from '../../../plugins/pages/client-view.ts'
import type { Client } from '../../../src/doors/client.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { getTokens, refresh, SEED, WEB } from '../../support/sign-in.ts'
import { findForm, type UserAgent } from '../../support/user-agent.ts'
import { eventsOf, open, signedIn } from './owner.ts'

const PRINTS = { ...WEB, client_id: 'prints', client_name: 'Photo <Prints>', require_consent: false, client_uri: 'https://prints.example/about', scope: ['write_books', 'read_books'] } // prettier-ignore
const server = await startServer(
  { OIDC_TOKEN_EXPIRE: 1800 },
  {
    seed: {
      ...SEED,
      clients: [WEB, PRINTS],
      scopes: [
        { name: 'read_books', description: 'Read your books' },
        { name: 'write_books', description: 'Write in your books', resource: 'https://books.example' },
      ],
      resources: [{ resource: 'https://books.example', name: 'The Books', access_token_lifetime: 5400 }],
    },
  },
)
const { consents, users } = kernelOf(server.server)
const { id } = (await users.find('alice'))!
let agent: UserAgent

beforeEach(async () => {
  for (const { clientId } of await consents.list(id)) await consents.withdraw(id, clientId)
  agent = await signedIn(server)
})

test('are shown with their hosts and what they may do, in words', async () => {
  await getTokens(server, { scope: 'openid profile read_books offline_access', prompt: 'consent' }, agent)
  const page = await open(server, agent, '/apps')
  const words = page.body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  for (const one of ['web', 'app.example', 'Your profile', 'Read your books', 'Stay connected when you are away', 'It keeps this access when you sign out', 'for up to 30 minutes more']) expect(words).toContain(one)
  expect(words).not.toContain('openid')
  expect(findForm(page, 'revoke-all')).toBeUndefined()
}) // prettier-ignore

test('what is about the person comes first, also when it was allowed in several steps', async () => {
  for (const scope of ['openid read_books', 'openid read_books email profile offline_access'])
    await getTokens(server, { scope, prompt: 'consent' }, agent)
  const { body } = await open(server, agent, '/apps')
  const titles = [...body.matchAll(/<li><strong>(?:<bdi>)?([^<]+)/g)].map(([, title]) => title)
  expect(titles).toEqual(['Your profile', 'Your email address', 'Stay connected when you are away', 'Read your books'])
}) // prettier-ignore

test('one whose access is taken back has to ask again, and its tokens are dead', async () => {
  const tokens = await getTokens(server, { scope: 'openid read_books' }, agent)
  const page = await agent.submit(await open(server, agent, '/apps'), 'revoke-0')
  expect([page.url, page.body]).toEqual([
    expect.stringContaining(`${server.url}/account/apps?done=one&app=`),
    expect.stringContaining('No app has access to your account.'),
  ])
  expect(page.body).toContain('<bdi>web</bdi> no longer has access to your account.')
  const unknown = await open(server, agent, '/apps?done=one&app=evil.example')
  expect(unknown.body).toContain('The app no longer has access to your account.')
  expect(unknown.body).not.toContain('evil.example')
  // Nor in a session that did not take it back.
  const elsewhere = await (await signedIn(server)).get(page.url)
  expect(elsewhere.body).toContain('The app no longer has access to your account.')
  expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
  expect((await server.get(`/userinfo?access_token=${tokens.access_token}`)).status).toBe(401)
  expect((await consents.find(id, { clientId: 'web' })).scopes.size).toBe(0)
  expect((await eventsOf(server, 'consent.withdrawn'))[0]).toMatchObject({ user: id, client: 'web', actor: { kind: 'user', id } }) // prettier-ignore
})

test('what never had access is not named, whatever it is called', async () => {
  const page = await open(server, agent, '/apps')
  await getTokens(server, { scope: 'openid read_books' }, agent)
  const shown = await open(server, agent, '/apps')
  expect(page.body).not.toContain('revoke-0')
  await consents.withdraw(id, 'web')
  const late = await agent.submit(shown, 'revoke-0')
  expect(late.url).toBe(`${server.url}/account/apps?done=one`)
  expect(late.body).toContain('The app no longer has access to your account.')
})

test('one that asks nobody is there too, for as long as it holds something, with the longest life of its tokens', async () => {
  const parameters = { client_id: 'prints', scope: 'openid write_books' }
  const page = await agent.get(`${server.url}/authorize?${new URLSearchParams({ ...parameters, response_type: 'code', redirect_uri: WEB.redirect_uri }).toString()}`)
  const code = new URL(page.headers.get('location')!).searchParams.get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri }
  const tokens = (await (await server.post('/token', form, basic('prints', PRINTS.client_secret))).json()) as { refresh_token: string }
  const apps = await open(server, agent, '/apps')
  for (const one of ['Photo &lt;Prints&gt;', 'prints.example', 'Write in your books', 'The Books', 'for up to 90 minutes more']) expect(apps.body).toContain(one)
  await agent.submit(apps, 'revoke-0')
  const refused = await server.post('/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, basic('prints', PRINTS.client_secret))
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_grant' }])
}) // prettier-ignore

test('all of them are sent away at once', async () => {
  const { refresh_token: token } = await getTokens(server, {}, agent)
  const client = (await server.server.oauth.findClient('prints'))!
  await consents.remember(id, { client, scopes: new Set(['read_books']), resources: [], parameters: {} })
  const page = await open(server, agent, '/apps')
  const done = await agent.submit(page, 'revoke-all')
  expect(done.body).toContain('No app has access to your account any more.')
  expect(await consents.list(id)).toEqual([])
  expect((await refresh(server, token)).status).toBe(400)
  expect((await agent.submit(page, 'revoke-0')).status).toBe(200)
})

test('many are shown a page at a time, and all of them sent away', async () => {
  await server.database.query(`insert into clients (client_id, metadata)
    select 'client-' || lpad(n::text, 3, '0'), '{}' from generate_series(1, 120) n`)
  await server.database.query(`insert into consents (user_id, client_id, scopes, resources)
    select '${id}', client_id, '{read_books}', '{}' from clients where client_id like 'client-%'`)
  const page = await open(server, agent, '/apps')
  const next = /rel="next" href="([^"]*)"/.exec(page.body)![1]!.replaceAll('&amp;', '&')
  const second = await agent.get(`${server.url}${next}`)
  for (const [at, first, last] of [[page, 'client-001', 'client-050'], [second, 'client-051', 'client-100']] as const)
    expect([at.body.includes(`>${first}<`), at.body.includes(`>${last}<`)]).toEqual([true, true])
  expect(second.body).not.toContain('>client-050<')
  expect((await open(server, agent)).body).toContain('More than 100 apps')
  await agent.submit(second, 'revoke-all')
  expect(await consents.list(id)).toEqual([])
}) // prettier-ignore

test('each leads into the app: to where it begins a sign-in, told by whom (OpenID Connect Core section 4), or to its home page', async () => {
  await getTokens(server, { scope: 'openid' }, agent)
  const entrance = async (): Promise<string | undefined> =>
    /<a href="([^"]*)"><[^>]*>?Continue to|<a href="([^"]*)">Continue to/.exec((await open(server, agent, '/apps')).body)?.slice(1).find((one) => one !== undefined)
  expect(await entrance()).toBeUndefined()
  const { clients } = server.server.oauth
  const client = (await clients.find('web'))!
  Object.assign(client, { client_uri: 'https://app.example/' })
  await clients.save(client)
  expect(await entrance()).toBe('https://app.example/')
  const again = (await clients.find('web'))!
  Object.assign(again, { initiate_login_uri: 'https://elsewhere.example/login?a=b' })
  await clients.save(again)
  const iss = encodeURIComponent(server.url)
  expect(await entrance()).toBe(`https://elsewhere.example/login?a=b&amp;iss=${iss}`)
}) // prettier-ignore

test('one that registered itself leads to the host to which it takes people, and nowhere else', () => {
  const of = (initiate_login_uri: string): string | null =>
    entranceOf(
      {
        client: {
          ...({} as Client),
          clientId: 'stranger',
          registrar: 'registration',
          metadata: { redirect_uris: ['https://app.example/callback'], initiate_login_uri },
        },
        scopes: new Set(),
        resources: [],
        parameters: {},
      },
      'https://login.example',
    )
  expect(of('https://app.example/login')).toBe('https://app.example/login?iss=https%3A%2F%2Flogin.example')
  expect(of('https://bank.example/login')).toBeNull()
})
