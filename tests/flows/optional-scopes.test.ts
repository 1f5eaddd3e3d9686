/** Scopes that a client lets people leave out: boxes on the consent page, and what comes of those that are unticked. */
import { decodeJwt } from 'jose'
import { beforeEach, expect, test, vi } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { commandsHere } from '../support/command-here.ts'
import { startServer } from '../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  exchange,
  refresh,
  SEED,
  WEB,
  type Tokens,
} from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { openClient, register, ROOT, signedIn } from '../plugins/admin/administrator.ts'

const API = 'https://api.example'
const OPTIONAL = ['email', 'phone', 'offline_access', 'api:read']
const web = { ...WEB, scope: ['read_books', 'api:read'], optional_scopes: OPTIONAL.join(' ') }
const seed = {
  ...SEED,
  users: [...SEED.users, ROOT],
  clients: [web],
  scopes: [...SEED.scopes, { name: 'api:read', description: 'Read at the API', resource: API }],
  resources: [{ resource: API, name: 'The API' }],
}
const server = await startServer({}, { seed })
const { clients, audit } = server.server.oauth
const { consents, users } = kernelOf(server.server)
const { id } = (await users.find('alice'))!
let agent: UserAgent

beforeEach(async () => {
  await consents.withdraw(id, 'web')
  await clients.update('web', { optional_scopes: OPTIONAL })
  agent = createUserAgent(server.url)
})

type Parameters = Record<string, string | undefined>

/** The page that the request comes to, behind the sign-in. */
async function open(parameters: Parameters, by = agent): Promise<Page> {
  const page = await by.get(authorizationUrl(server, parameters))
  const { username, password } = ALICE
  return findForm(page, 'login') === undefined ? page : by.submit(page, 'login', { username, password })
}

/** The boxes of a consent page that are on. */
function ticked(page: Page): string[] {
  const form = findForm(page, 'consent')
  if (form === undefined) throw new Error(`no consent page: ${page.body}`)
  return Object.keys(form.fields).flatMap((name) => (name.startsWith('scope:') ? [name.slice(6)] : []))
}

/** Allows with all boxes as they are, but for `without`, and `more` sent beside. */
async function allow(
  page: Page,
  without: readonly string[] = [],
  more: Parameters = {},
  by = agent,
): Promise<Page> {
  // An empty value is as absent as a box that is not ticked.
  const off = Object.fromEntries(without.map((scope) => [`scope:${scope}`, '']))
  return by.submit(page, 'consent', { decision: 'allow', ...off, ...(more as Record<string, string>) })
}

async function tokensOf(page: Page, more: Record<string, string> = {}): Promise<Tokens> {
  return (await (await exchange(server, answerOf(page).get('code') ?? '', more)).json()) as Tokens
}

async function userinfoOf({ access_token: token }: Tokens): Promise<unknown> {
  return (await server.get(`/userinfo?access_token=${token}`)).json()
}

/** What comes without a page. */
async function silently(parameters: Parameters): Promise<string> {
  const page = await agent.get(authorizationUrl(server, { prompt: 'none', ...parameters }))
  return answerOf(page).get('error') ?? (await tokensOf(page)).scope
}

test('optional scopes are boxes, all ticked; who leaves them so allows everything', async () => {
  const page = await open({ scope: 'openid profile email read_books' })
  expect(ticked(page)).toEqual(['email'])
  expect(page.body.match(/type="checkbox"/g)).toHaveLength(1)
  expect((await tokensOf(await allow(page))).scope).toBe('openid profile email read_books')
})

test('an unticked scope is not granted: not in the scope, nor its claims, nor by a refresh', async () => {
  const scope = 'openid profile email'
  const tokens = await tokensOf(await allow(await open({ scope }), ['email']))
  expect(tokens.scope).toBe('openid profile')
  expect(await userinfoOf(tokens)).not.toHaveProperty('email')
  expect(decodeJwt(tokens.id_token)).not.toHaveProperty('email')
  const renewed = (await (await refresh(server, tokens.refresh_token, { scope })).json()) as Tokens
  expect(renewed.scope).toBe('openid profile')
  expect(await userinfoOf(renewed)).not.toHaveProperty('email')
  const { events } = await audit.list({ type: 'consent.given' })
  expect(events[0]?.details).toMatchObject({ scopes: ['openid', 'profile'], declined: ['email'] })
  expect((await consents.list(id))[0]?.scopes.toSorted()).toEqual(['openid', 'profile'])
})

test('claims of a scope that is left out are not had by the parameter claims; what is asked singly is asked', async () => {
  const claims = JSON.stringify({
    userinfo: { email: null, birthdate: null },
    id_token: { email: { essential: true }, email_verified: null },
  })
  const request = { scope: 'openid email', claims }
  const tokens = await tokensOf(await allow(await open(request), ['email']))
  expect(await userinfoOf(tokens)).toEqual({ sub: expect.any(String) })
  expect(decodeJwt(tokens.id_token)).not.toHaveProperty('email')
  expect(await silently(request)).toBe('openid')
  const single = { scope: 'openid', claims: JSON.stringify({ userinfo: { email: null } }) }
  expect(await silently(single)).toBe('consent_required')
  expect(await userinfoOf(await tokensOf(await allow(await open(single))))).toHaveProperty('email')
  expect(await silently(single)).toBe('openid')
  // The claim alone was allowed: the scope is asked for again.
  expect(await silently({ scope: 'openid email' })).toBe('consent_required')
})

test('a single claim that was allowed is asked for again once its scope was left out', async () => {
  const single = { scope: 'openid', claims: JSON.stringify({ userinfo: { email: null } }) }
  await allow(await open(single))
  expect(await silently(single)).toBe('openid')
  await allow(await open({ scope: 'openid email' }), ['email'])
  expect(await silently(single)).toBe('consent_required')
})

test('what was left out is not asked for again, but for more and for prompt=consent, where its box is empty', async () => {
  const scope = 'openid email phone'
  await allow(await open({ scope }), ['email'])
  expect(await silently({ scope })).toBe('openid phone')
  expect(answerOf(await open({ scope })).has('code')).toBe(true)
  expect(ticked(await open({ scope, prompt: 'consent' }))).toEqual(['phone'])
  expect(await silently({ scope: `${scope} profile` })).toBe('consent_required')
  const more = await open({ scope: `${scope} profile` })
  expect(ticked(more)).toEqual(['phone'])
  const changed = await allow(more, ['phone'], { 'scope:email': 'on' })
  expect((await tokensOf(changed)).scope).toBe('openid email profile')
  expect(await silently({ scope })).toBe('openid email')
})

test('what its client does not let people leave out any more is asked for', async () => {
  const scope = 'openid email'
  await allow(await open({ scope }), ['email'])
  await clients.update('web', { optional_scopes: null })
  expect(await silently({ scope })).toBe('consent_required')
  const page = await open({ scope })
  expect(page.body).not.toContain('checkbox')
  expect((await tokensOf(await allow(page))).scope).toBe(scope)
  await clients.update('web', { optional_scopes: OPTIONAL })
  expect(await silently({ scope })).toBe(scope)
})

test('a forged form ticks nothing that was not asked for, and leaves out nothing that is required', async () => {
  const page = await open({ scope: 'openid profile email' })
  const forged = { 'scope:phone': 'on', 'scope:read_books': 'on', 'scope:constructor': 'on', scope: 'phone' }
  const tokens = await tokensOf(await allow(page, ['openid', 'profile', 'email'], forged))
  expect(tokens.scope).toBe('openid profile')
})

test('without offline_access there is no refresh token; with it there is', async () => {
  const scope = 'openid offline_access'
  const online = await tokensOf(await allow(await open({ scope }), ['offline_access']))
  expect([online.scope, online.refresh_token]).toEqual(['openid', undefined])
  const offline = await tokensOf(
    await allow(await open({ scope, prompt: 'consent' }), [], { 'scope:offline_access': 'on' }),
  )
  expect([offline.scope, offline.refresh_token]).toEqual([scope, expect.any(String)])
})

test('scopes of a resource: left out, tokens are not for it; a request for that alone is denied, and asked again', async () => {
  const scope = 'openid api:read'
  const tokens = await tokensOf(await allow(await open({ scope }), ['api:read']))
  expect(decodeJwt(tokens.access_token).aud).toBe(server.url)
  expect(await silently({ scope })).toBe('openid')
  const both = await open({ scope, resource: API })
  expect(ticked(both)).toEqual(['api:read'])
  expect(answerOf(await allow(both, ['api:read'])).get('error')).toBe('access_denied')
  expect(answerOf(await allow(await open({ scope: 'email' }), ['email'])).get('error')).toBe('access_denied')
  expect(await silently({ scope: 'email' })).toBe('consent_required')
})

test('who leaves out all that was asked for is on record as who denied it', async () => {
  const denials = async () => (await audit.list({ type: 'consent.denied', user: id })).events.length
  const before = await denials()
  await allow(await open({ scope: 'email' }), ['email'])
  await vi.waitFor(async () => expect(await denials()).toBe(before + 1))
})

test('two tabs: each answer is what its own page said, and the later one is remembered', async () => {
  const scope = 'openid email'
  await allow(await open({ scope: 'openid' }))
  const [one, other, last] = await Promise.all(
    ['one', 'other', 'last'].map(async (state) => open({ scope, state })),
  )
  const [without, all] = [await allow(one!, ['email']), await allow(other!)]
  expect((await tokensOf(without)).scope).toBe('openid')
  expect((await tokensOf(all)).scope).toBe(scope)
  expect(await silently({ scope })).toBe(scope)
  expect((await tokensOf(await allow(last!, ['email']))).scope).toBe('openid')
  expect(await silently({ scope })).toBe('openid')
})

test('a form that is sent twice answers what it said first', async () => {
  const page = await open({ scope: 'openid email', prompt: 'consent' })
  const sent = await Promise.all([allow(page, ['email']), allow(page, ['email'])])
  const codes = sent.filter((one) => one.headers.has('location') && answerOf(one).has('code'))
  expect(codes.length).toBeGreaterThan(0)
  expect((await tokensOf(codes[0]!)).scope).toBe('openid')
})

test('a client without the member has no boxes; it is set by every way in', async () => {
  const { optional_scopes: _none, client_id: _id, ...plain } = web
  await clients.create({ ...plain, client_id: 'plain' })
  expect((await open({ client_id: 'plain', scope: 'openid email' })).body).not.toContain('checkbox')
  expect(await clients.find('web')).toMatchObject({ optional_scopes: OPTIONAL })
  const { runJson } = commandsHere({ ...server.settings, LOG_LEVEL: 'error' }, 'client')
  const typed = [
    '--client-id',
    'typed',
    '--redirect-uris',
    WEB.redirect_uri,
    '--optional-scopes',
    'email phone',
  ]
  expect(await runJson('create', ...typed)).toMatchObject({ optional_scopes: ['email', 'phone'] })
  const administrator = await signedIn(server)
  const given = { client_id: 'clicked', redirect_uris: WEB.redirect_uri, optional_scopes: 'email' }
  expect((await register(server, administrator, 'app', given)).status).toBe(200)
  await administrator.submit(await openClient(server, administrator, 'clicked'), 'client', {
    optional_scopes: '',
  })
  expect(await clients.find('clicked')).not.toHaveProperty('optional_scopes')
})

test.each(['openid', 'email openid', 'write_books', '"'])(
  'optional_scopes %j are refused',
  async (optional_scopes) => {
    await expect(clients.update('web', { optional_scopes })).rejects.toThrow('optional_scopes')
  },
)
