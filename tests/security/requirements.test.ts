/** The requirements of `requirements.ts`: that each has a test which carries its id, and those whose tests have no other place. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SelfRegistration } from '../../src/doors/self-registration.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { randomText } from '../../src/protocol/random.ts'
import { createDpopKey, prove } from '../support/dpop.ts'
import { basic, bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import {
  answerOf,
  authorizationUrl,
  authorize,
  createPkce,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { REQUIREMENTS } from './requirements.ts'

const PUBLIC = { client_id: 'native', token_endpoint_auth_method: 'none', redirect_uris: [REDIRECT_URI] }
const OTHER = {
  ...WEB,
  client_id: 'other',
  redirect_uris: [REDIRECT_URI, 'https://app.example/other'],
  redirect_uri: undefined,
}
let apps: SelfRegistration
const server = await startServer(
  { OIDC_REGISTRATION: 'token' },
  {
    seed: { ...SEED, clients: [WEB, OTHER, PUBLIC] },
    extend({ oauth }) {
      apps = oauth.selfRegistration('apps', { most: 10 })
    },
  },
)

test('each has a test that carries its id', async () => {
  const root = join(import.meta.dirname, '..')
  const titles: string[] = []
  for (const file of await readdir(root, { recursive: true }))
    if (file.endsWith('.test.ts'))
      titles.push(...((await readFile(join(root, file), 'utf8')).match(/['"`][A-Z]\d{1,2}: /g) ?? []))
  const ids = new Set(titles.map((title) => title.slice(1, -2)))
  expect(Object.keys(REQUIREMENTS).filter((id) => !ids.has(id))).toEqual([])
})

test('A6: a code is good with all that it is bound to: each broken alone, and together with others', async () => {
  const [key, thiefs] = [await createDpopKey(), await createDpopKey()]
  const { verifier, challenge } = createPkce()
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const code = (await authorize(server, { ...pkce, dpop_jkt: key.thumbprint })).get('code')!
  const present = async (broken: ReadonlySet<string>): Promise<[number, unknown]> => {
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: broken.has('redirect_uri') ? 'https://app.example/other' : REDIRECT_URI,
      code_verifier: broken.has('verifier') ? createPkce().verifier : verifier,
    }
    const dpop = await prove(broken.has('key') ? thiefs : key, { method: 'POST', url: `${server.url}/token` })
    const by = basic(broken.has('client') ? OTHER.client_id : WEB.client_id, WEB.client_secret)
    const response = await server.post('/token', form, { ...by, dpop })
    return [response.status, ((await response.json()) as { error?: string }).error]
  }
  const BINDINGS = ['client', 'redirect_uri', 'verifier', 'key']
  for (let which = 1; which < 2 ** BINDINGS.length; which++) {
    const broken = new Set(BINDINGS.filter((_one, at) => (which & (2 ** at)) !== 0))
    expect([[...broken], await present(broken)]).toEqual([[...broken], [400, 'invalid_grant']])
  }
  // Nothing of that used it up.
  expect(await present(new Set())).toEqual([200, undefined])
  expect(await present(new Set())).toEqual([400, 'invalid_grant'])
})

test('A8: iss stands in every answer, in codes and errors, by every way', async () => {
  const agent = createUserAgent(server.url)
  const asked = [
    {},
    { scope: 'openid nothing' },
    { response_type: 'token' },
    { max_age: 'x' },
    { prompt: 'none', max_age: '0' },
    { request: 'x' },
    { resource: 'https://nowhere.example' },
  ]
  await goThrough(agent, await agent.get(authorizationUrl(server)))
  for (const parameters of asked) {
    const said = answerOf(await agent.get(authorizationUrl(server, parameters)))
    expect([parameters, said.get('iss')]).toEqual([parameters, server.url])
    const page = await agent.get(authorizationUrl(server, { ...parameters, response_mode: 'form_post' }))
    expect([parameters, findForm(page, 'form-post')?.fields['iss']]).toEqual([parameters, server.url])
  }
  const consent = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
  const denied = answerOf(await agent.submit(consent, 'consent', { decision: 'deny' }))
  expect([denied.get('error'), denied.get('iss')]).toEqual(['access_denied', server.url])
})

test('A12: what is random has 256 bits, of which no two are alike', () => {
  const made = new Set(Array.from({ length: 100_000 }, () => randomText(32, 'base64url')))
  expect(made.size).toBe(100_000)
  for (const one of made) if (!/^[\w-]{43}$/.test(one)) throw new Error(one)
})

test('A14: no answer of an endpoint is kept by a cache', async () => {
  const { oauth } = server.server
  const paths = [...oauth.endpoints().map(({ path }) => path), '/userinfo']
  expect(paths).toEqual(expect.arrayContaining(['/token', '/par', '/introspect', '/revoke', '/register']))
  for (const path of paths)
    for (const headers of [{}, basic(WEB.client_id, WEB.client_secret), bearer('x')]) {
      const response = await server.post(path, { token: 'x', grant_type: 'client_credentials' }, headers)
      expect([path, response.headers.get('cache-control')]).toEqual([path, 'no-store'])
    }
})

test('A15: an app that has registered itself leads nobody away before they have signed in', async () => {
  const { client_id } = await apps.create({ client_name: 'Free', redirect_uris: ['https://evil.example/'] })
  const bad = { client_id, redirect_uri: 'https://evil.example/', max_age: 'x' }
  const stranger = createUserAgent(server.url)
  const page = await stranger.get(authorizationUrl(server, bad))
  expect([page.status, page.headers.get('location')]).toEqual([400, null])
  expect(page.body).toContain('id="error-code">invalid_request<')
  const posted = await stranger.get(authorizationUrl(server, { ...bad, response_mode: 'form_post' }))
  expect(findForm(posted, 'form-post')).toBeUndefined()
  // One that asks for no page gets none, and one whose user is here is told.
  const silent = await stranger.get(authorizationUrl(server, { ...bad, prompt: 'none' }))
  expect(answerOf(silent).get('error')).toBe('invalid_request')
  const agent = createUserAgent(server.url)
  await goThrough(agent, await agent.get(authorizationUrl(server)))
  expect(answerOf(await agent.get(authorizationUrl(server, bad))).get('error')).toBe('invalid_request')
  // Of an app that somebody here has registered, a stranger's browser tells at once.
  const known = await stranger.get(authorizationUrl(server, { max_age: 'x' }))
  expect(answerOf(known).get('error')).toBe('invalid_request')
})

test('A16: whoever registers is given a client_id, of nobody else, and stands for no user', async () => {
  const token = await kernelOf(server.server).initialTokens.create({ name: 'any', uses: 10 })
  const users = await server.database.query<{ id: string }>('select id from users')
  for (const wanted of [WEB.client_id, users[0]!.id, 'alice', 'new']) {
    const response = await server.request('/register', {
      method: 'POST',
      headers: { ...bearer(token), 'content-type': 'application/json' },
      body: JSON.stringify({ client_id: wanted, sub: wanted, redirect_uris: ['https://new.example/'] }),
    })
    const told = (await response.json()) as { client_id: string }
    expect(response.status < 500).toBe(true)
    expect([told.client_id === wanted, 'sub' in told]).toEqual([false, false])
    expect(users.map(({ id }) => id)).not.toContain(told.client_id)
  }
})

test('S5: pages that hold a code, or see one, load nothing from elsewhere and lead nowhere', async () => {
  const agent = createUserAgent(server.url)
  const login = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
  const consent = await agent.submit(login, 'login', { username: 'alice', password: SEED.users[0]!.password })
  const allowed = await agent.submit(consent, 'consent', { decision: 'allow' })
  const post = await agent.get(authorizationUrl(server, { response_mode: 'form_post' }))
  const error = await agent.get(`${server.url}/authorize?client_id=nobody&code=secret`)
  expect(allowed.status).toBe(303)
  for (const { body } of [login, consent, post, error]) {
    const loaded = [
      ...body.matchAll(
        /<(?:script|img|link|iframe|source|object|embed)\b[^>]*?\s(?:src|href|data)="([^"]+)"/g,
      ),
    ]
    for (const [, address] of loaded) expect(new URL(address!, server.url).origin).toBe(server.url)
  }
  for (const { headers } of [login, consent, error])
    expect(headers.get('referrer-policy')).toMatch(/^(?:no-referrer|same-origin)$/)
  // The origin alone, which `iss` tells too.
  expect(post.headers.get('referrer-policy')).toBe('strict-origin')
  const links = [...post.body.matchAll(/<a\b[^>]*\shref="([^"]+)"/g)].map(([, address]) => address!)
  for (const address of links) expect(new URL(address, server.url).origin).toBe(server.url)
})

test('S6: a public client is not allowed by what its user allowed before, where anybody could be it', async () => {
  const agent = createUserAgent(server.url)
  const { challenge } = createPkce()
  const asked = { client_id: PUBLIC.client_id, code_challenge: challenge, code_challenge_method: 'S256' }
  const ofApp = { ...asked, scope: 'openid read_books' }
  await goThrough(agent, await agent.get(authorizationUrl(server, ofApp)))
  // https is its own, which no other app can take: remembered.
  expect(answerOf(await agent.get(authorizationUrl(server, ofApp))).has('code')).toBe(true)
  const { clients } = server.server.oauth
  for (const [registered, redirect_uri] of [
    ['http://127.0.0.1/callback', 'http://127.0.0.1:5555/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1/callback'],
    ['http://[::1]/callback', 'http://[::1]/callback'],
    ['com.example.app:/callback', 'com.example.app:/callback'],
  ] as const) {
    const { client_id } = await clients.create({
      token_endpoint_auth_method: 'none',
      redirect_uris: [registered],
    })
    const mine = { ...asked, client_id: client_id!, redirect_uri }
    await goThrough(agent, await agent.get(authorizationUrl(server, mine)))
    expect(findForm(await agent.get(authorizationUrl(server, mine)), 'consent')).toBeDefined()
  }
})
