/**
 * Organisations as people write them who know nothing of this checkout: what belongs to nobody lasts, is one at two processes, and
 * says whom a sign-in is for, as `openid-client` sees it.
 */
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { afterAll, expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { spawnServer } from '../support/process.ts'
import { bearer, type Requests } from '../support/requests.ts'
import { getAccessToken, toClient } from '../support/service.ts'
import { ALICE, BOB, goThrough, REDIRECT_URI, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { isThere } from '../support/left-out.ts'

const MANAGER = {
  client_id: 'manager',
  client_secret: `lks_${'m'.repeat(43)}`,
  scope: ['manage_organisations'],
}
const folder = await installStranger('organisations', 'latchkey', await pack('latchkey'), ['@types/node'])
const compiling = compile(folder)
compiling.catch(() => {})
const one = await spawnServer(
  { PLUGINS: join(folder, 'organisations.ts') },
  { seed: { ...SEED, clients: [WEB, MANAGER] } },
)
const two = await spawnBeside(one.settings, one.database)
const token = await getAccessToken(one, toClient(MANAGER))
const insecure = { execute: [client.allowInsecureRequests] }
const web = await client.discovery(
  new URL(one.url),
  'web',
  {},
  client.ClientSecretBasic(WEB.client_secret),
  insecure,
)
afterAll(async () => two.stop())

interface Registered {
  id: string
  revision: number
  name: string
  domain: string
}

async function manage(server: Requests, method: string, path: string, body?: object): Promise<Response> {
  const headers = { ...bearer(token), ...(body && { 'content-type': 'application/json' }) }
  return server.request(`/organisations${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
}

async function register(name: string, members: object = {}): Promise<Registered> {
  const response = await manage(one, 'POST', '', { name, domain: `${name}.example`, ...members })
  expect(response.status).toBe(201)
  return (await response.json()) as Registered
}

/** What the app gets that asks for an organisation: its tokens, or what it is told instead. */
async function signIn(organization: string, user = ALICE as Pick<typeof ALICE, 'username' | 'password'>) {
  const agent = createUserAgent(one.url)
  const asked = client.buildAuthorizationUrl(web, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid',
    organization,
  })
  const page = await goThrough(agent, await agent.get(asked), user)
  return client.authorizationCodeGrant(web, new URL(page.headers.get('location')!))
}

test('a stranger compiles against what is installed', async () => compiling, 120_000)

test('an organisation is one at both processes: its domain is its own, and of two who change it one does', async () => {
  const acme = await register('acme')
  const same = await Promise.all(
    [one, two].map(async (server) => manage(server, 'POST', '', { name: 'x', domain: 'race.example' })),
  )
  expect(new Set(same.map(({ status }) => status))).toEqual(new Set([201, 409]))
  const changes = await Promise.all(
    [one, two].map(async (server, n) =>
      manage(server, 'PUT', `/${acme.id}`, { name: `${n}`, domain: acme.domain, revision: 0 }),
    ),
  )
  expect(new Set(changes.map(({ status }) => status))).toEqual(new Set([200, 409]))
  const taken = { name: 'acme', domain: 'race.example', revision: 1 }
  expect((await manage(two, 'PUT', `/${acme.id}`, taken)).status).toBe(409)
  expect((await manage(two, 'PUT', '/nobody', taken)).status).toBe(404)

  await register('third')
  const seen: string[] = []
  for (let after: string | undefined = ''; after !== undefined;) {
    const page = await manage(two, 'GET', after && `?after=${after}`)
    const { organisations } = (await page.json()) as { organisations: Registered[] }
    seen.push(...organisations.map(({ domain }) => domain))
    after = organisations.at(-1)?.id
  }
  expect(seen.toSorted()).toEqual(['acme.example', 'race.example', 'third.example'])
})

test('a sign-in is for the organisation that the app asks for, of those that the user belongs to, until it is gone', async () => {
  const { id } = await register('shelf')
  expect((await manage(one, 'PUT', `/${id}/members/alice`, { role: 'member' })).status).toBe(201)
  expect((await manage(two, 'PUT', `/${id}/members/alice`, { role: 'owner' })).status).toBe(200)

  await expect(signIn('shelf.example', BOB)).rejects.toMatchObject({ error: 'access_denied' })
  await expect(signIn('nobody.example')).rejects.toMatchObject({ error: 'access_denied' })
  const tokens = await signIn('shelf.example')
  expect(tokens.claims()).toMatchObject({ organization_id: id })
  expect(decodeJwt(tokens.access_token)).toMatchObject({ organization_id: id })
  const { sub } = tokens.claims()!
  expect(await client.fetchUserInfo(web, tokens.access_token, sub)).toMatchObject({
    organization: { name: 'shelf', domain: 'shelf.example' },
  })
  const next = await client.refreshTokenGrant(web, tokens.refresh_token!)
  expect(decodeJwt(next.access_token)).toMatchObject({ organization_id: id })

  expect((await manage(two, 'DELETE', `/${id}`)).status).toBe(204)
  await expect(client.refreshTokenGrant(web, next.refresh_token!)).rejects.toMatchObject({
    error: 'invalid_grant',
  })
  const again = await register('shelf')
  expect(again.id).not.toBe(id)
  await expect(signIn('shelf.example')).rejects.toMatchObject({ error: 'access_denied' })
})

test.runIf(isThere('latchkey-second-factor'))(
  'its rule stands before the sign-in for it, and before no other',
  async () => {
    const { id } = await register('strict', { acr: '2' })
    await manage(one, 'PUT', `/${id}/members/bob`, { role: 'member' })
    const agent = createUserAgent(one.url)
    const asked = { redirect_uri: REDIRECT_URI, scope: 'openid', organization: 'strict.example' }
    const page = await agent.get(client.buildAuthorizationUrl(web, asked))
    const next = await agent.submit(page, 'login', { username: BOB.username, password: BOB.password })
    expect(next.body).toContain('totp-secret')
  },
)

test('what is kept is there after all processes ended, and a start without the plugin leaves it', async () => {
  const { id } = await register('lasting')
  await manage(one, 'PUT', `/${id}/members/alice`, { role: 'member' })
  await Promise.all([one.stop(), two.stop()])
  const { PLUGINS: _left, ...without } = one.settings
  const bare = await spawnServer(without, { database: one.database })
  expect((await bare.get('/organisations')).status).toBe(404)
  await bare.stop()
  const after = await spawnServer(one.settings, { database: one.database })
  expect((await signIn('lasting.example')).claims()).toMatchObject({ organization_id: id })
  await after.stop()
})
