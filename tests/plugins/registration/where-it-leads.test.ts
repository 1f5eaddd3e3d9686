/** An app that registered itself is known by where it takes people: what is allowed there is allowed at no other host. */
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { answerOf, authorize, authorizationUrl, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../../support/user-agent.ts'

const KNOWN = 'https://intranet.corp.example/callback'
const EVIL = 'https://evil.example/callback'
const server = await startServer({ OIDC_REGISTRATION: 'token' }, { seed: SEED })
const { consents, initialTokens, users } = kernelOf(server.server)
const token = await initialTokens.create({ name: 'all', uses: 100 })
const { id: alice } = (await users.find('alice'))!

async function send(method: string, path: string, shown: string, body: object) {
  const headers = { ...bearer(shown), 'content-type': 'application/json' }
  const response = await server.request(path, { method, headers, body: JSON.stringify(body) })
  return (await response.json()) as Record<string, string> & { client_id: string }
}

const register = async (...redirect_uris: string[]) =>
  send('POST', '/register', token, { client_name: 'Payroll', redirect_uris })

/** What comes without a page: an error, or that there is a code. */
async function silently(agent: UserAgent, parameters: Record<string, string>): Promise<string | undefined> {
  const page = await agent.get(authorizationUrl(server, { prompt: 'none', ...parameters }))
  const answer = answerOf(page)
  return answer.get('error') ?? (answer.has('code') ? 'code' : undefined)
}

test.each([
  [KNOWN, EVIL],
  ['http://localhost:53682/callback', EVIL],
  ['com.example.app:/callback', EVIL],
  [KNOWN, 'https://intranet.corp.example:8443/callback'],
])('what was allowed to who takes people to %s is asked for again at %s', async (known, other) => {
  const { client_id } = await register(known, other)
  const agent = createUserAgent(server.url)
  await authorize(server, { client_id, redirect_uri: known }, agent)
  expect(await silently(agent, { client_id, redirect_uri: known })).toBe('code')
  const elsewhere = { client_id, redirect_uri: other }
  expect(await silently(agent, elsewhere)).toBe('consent_required')
  const page = await agent.get(authorizationUrl(server, elsewhere))
  expect(findForm(page, 'consent')).toBeDefined()
  expect(page.body).not.toContain('Already allowed')
  expect(page.body).toContain(`You will be sent to <strong><bdi>${new URL(other).host}</bdi></strong>`)
  await authorize(server, elsewhere, agent)
  expect(await silently(agent, elsewhere)).toBe('code')
  // One place at a time: what each of them was allowed would else be allowed to all.
  expect(await silently(agent, { client_id, redirect_uri: known })).toBe('consent_required')
})

test('who is allowed less elsewhere gets no more there', async () => {
  const { client_id } = await register(KNOWN, EVIL)
  const agent = createUserAgent(server.url)
  await authorize(server, { client_id, redirect_uri: KNOWN, scope: 'openid email' }, agent)
  await authorize(server, { client_id, redirect_uri: EVIL, scope: 'openid' }, agent)
  const more = { client_id, redirect_uri: EVIL, scope: 'openid email' }
  expect(await silently(agent, more)).toBe('consent_required')
  expect(await silently(agent, { ...more, scope: 'openid' })).toBe('code')
})

test('other addresses of the same host, and other ports of the same machine, are the same place', async () => {
  const local = 'http://127.0.0.1:4711/callback'
  const { client_id } = await register(KNOWN, `${KNOWN}/2`, local, 'http://127.0.0.1:4712/callback')
  const agent = createUserAgent(server.url)
  for (const [first, second] of [[KNOWN, `${KNOWN}/2`], [local, 'http://127.0.0.1:4712/callback']]) {
    await authorize(server, { client_id, redirect_uri: first }, agent)
    expect(await silently(agent, { client_id, redirect_uri: second! })).toBe('code')
  }
}) // prettier-ignore

test('of two places that are allowed at once, one has what was allowed there, and nothing of the other', async () => {
  for (let round = 0; round < 10; round++) {
    const { client_id } = await register(KNOWN, EVIL)
    const client = (await server.server.oauth.findClient(client_id))!
    const asked = (redirectUri: string, ...scopes: string[]) =>
      consents.remember(alice, {
        client,
        redirectUri,
        scopes: new Set(scopes),
        resources: [],
        parameters: {},
      })
    const ids = await Promise.all([asked(KNOWN, 'openid', 'email'), asked(EVIL, 'openid')])
    const { id, scopes, lines } = await consents.find(alice, client)
    expect(ids).toContain(id)
    expect([...lines.keys()]).toHaveLength(1)
    expect(scopes.has('email')).toBe(lines.has('redirect_uri:https://intranet.corp.example'))
  }
})

test('who allows another place takes back nothing of what was allowed a moment ago: it is asked for again, and that is all', async () => {
  const { client_id } = await register(KNOWN, EVIL)
  const client = (await server.server.oauth.findClient(client_id))!
  const asked = (redirectUri: string) =>
    consents.remember(alice, {
      client,
      redirectUri,
      scopes: new Set(['openid']),
      resources: [],
      parameters: {},
    })
  expect(await asked(EVIL)).toBe(await asked(KNOWN))
})

test('what was allowed where nobody is sent, as on a device, is allowed at none of its places', async () => {
  const { client_id } = await register(KNOWN, EVIL)
  const client = (await server.server.oauth.findClient(client_id))!
  const asked = { client, resources: [], parameters: {}, scopes: new Set(['openid', 'email']) }
  await consents.remember(alice, { ...asked, redirectUri: EVIL, scopes: new Set(['openid']) })
  await consents.remember(alice, asked)
  for (const redirectUri of [KNOWN, EVIL])
    expect(await consents.compare(alice, { ...asked, redirectUri })).toMatchObject({ isNew: true })
  const [app] = (await consents.list(alice)).filter(({ clientId }) => clientId === client_id)
  expect(app?.lines.map(({ text }) => text)).toEqual(['Be used without sending you anywhere, as on a device'])
})

test('what was allowed is not allowed to who has moved elsewhere since, by a name of its choice', async () => {
  const app = await register(KNOWN)
  const { client_id } = app
  const agent = createUserAgent(server.url)
  await authorize(server, { client_id, redirect_uri: KNOWN }, agent)
  const { pathname } = new URL(app['registration_client_uri']!)
  const moved = { client_id, client_name: 'Another', redirect_uris: [EVIL] }
  expect(await send('PUT', pathname, app['registration_access_token']!, moved)).toMatchObject(moved)
  expect(await silently(agent, { client_id, redirect_uri: EVIL })).toBe('consent_required')
})

test('where it may take them stands among what it was allowed, and goes with it', async () => {
  const { client_id } = await register(KNOWN)
  const agent = createUserAgent(server.url)
  await authorize(server, { client_id, redirect_uri: KNOWN }, agent)
  const page = await agent.get(`${server.url}/account/apps`)
  expect(page.body.replaceAll(/<\/?bdi>/g, '')).toContain('Send you to https://intranet.corp.example')
  await consents.withdraw(alice, client_id)
  expect(await silently(agent, { client_id, redirect_uri: KNOWN })).toBe('consent_required')
})

test('an app that an administrator has registered is one, wherever it takes people', async () => {
  const { clients } = server.server.oauth
  await clients.create({ client_id: 'ours', redirect_uris: [KNOWN, EVIL] })
  const agent = createUserAgent(server.url)
  await authorize(server, { client_id: 'ours', redirect_uri: KNOWN }, agent)
  expect(await silently(agent, { client_id: 'ours', redirect_uri: EVIL })).toBe('code')
})
