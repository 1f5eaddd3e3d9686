/**
 * Who gets to what, at every route that the server has: nothing is reachable without its permission, what is another's
 * is not reachable at all, and no page shows a secret. The table is `access-table.ts`; a route without a row is an error.
 */
import { setImmediate } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { signedIn } from '../plugins/admin/administrator.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { basic } from '../support/requests.ts'
import { type Route, routesOf } from '../support/routes.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorizationUrl, BOB, exchange, getTokens, SEED, WEB } from '../support/sign-in.ts'
import { findSecrets } from '../support/traces.ts'
import { createUserAgent, findForm, type UserAgent } from '../support/user-agent.ts'
import { codesOf } from '../support/code-flow.ts'
import { answersTo, type Role, ROLES, TABLE } from './access-table.ts'
import { ADMINISTRATION, SIGNALS, stateOf } from './forms.ts'

const ROOT = { username: 'root', password: 'the first of two administrators', roles: ['admin'] }
const FORMER = { username: 'former', password: 'the second of two administrators', roles: ['admin'] }
const API = { resource: 'https://api.example/', name: 'API' }
const CORP = {
  id: 'corp',
  issuer: 'https://id.corp.example',
  client_id: 'us',
  client_secret: 'a secret of theirs',
}
const TRUSTED = { issuer: 'https://platform.example', jwks_uri: 'https://platform.example/jwks' }
const COLOURED = { ...WEB, client_id: 'coloured', brand_color: '#b3124f' }
const users = [ALICE, BOB, ROOT, FORMER]
const seed = {
  ...SEED,
  users,
  clients: [...SEED.clients, COLOURED],
  resources: [API],
  upstreams: [CORP],
  trusted_issuers: [TRUSTED],
}
const server = await startServer(
  {
    OIDC_SIGN_UP: 'on',
    OIDC_REGISTRATION: 'token',
    OIDC_CLIENT_METADATA_DOCUMENTS: 'any',
    OIDC_SESSION_MANAGEMENT: true,
    OIDC_CIBA: true,
    OIDC_SHARED_SIGNALS: 'on',
    WEBHOOKS: `https://hooks.example/ whsec_${'A'.repeat(43)}= resource.deleted`,
  },
  { seed },
)
const { oauth } = server.server
const routes = routesOf(server.server).map(({ url, methods }): Route => ({
  url: url.replace(/\/$/, ''),
  methods,
}))
const alice = (await oauth.users.find(ALICE.username))!.id

const agents: Record<Role, UserAgent> = {
  nobody: createUserAgent(server.url),
  user: await signedIn(server, ALICE),
  'other user': await signedIn(server, BOB),
  administrator: await signedIn(server, ROOT),
  'disabled administrator': await signedIn(server, FORMER),
  client: createUserAgent(server.url),
}
await oauth.users.disable(FORMER.username)

const coloured = await createUserAgent(server.url).get(authorizationUrl(server, { client_id: 'coloured' }))
/** Of a client's colours, the sheet that a page names: there is no other. */
const [sheet = ''] = /\/assets\/client\/[^"]+/.exec(coloured.body) ?? []

/** The row's name: the assets have the hash of their content in theirs. */
const rowOf = (url: string): string => url.replace(/^\/assets\/[^/]*$/, '/assets/:name')

function headersOf(role: Role): Record<string, string> {
  const cookie = [...agents[role].cookies].map((pair) => pair.join('=')).join('; ')
  const authorization = role === 'client' ? basic(WEB.client_id, WEB.client_secret) : {}
  return { accept: 'text/html', origin: server.url, ...(cookie === '' ? {} : { cookie }), ...authorization }
}

/** In the process, so that there can be many; each in a turn of its own, or else the server takes itself for overloaded. */
async function send(role: Role, method: string, url: string, query = '') {
  const known = url.replace('/assets/client/:name', sheet)
  const path = known.replace(':id', 'A'.repeat(43)).replace(':step', 'consent') || '/'
  await setImmediate()
  const { statusCode, headers, body } = await server.server.inject({
    method: method as 'GET',
    url: `${path}?${query.replace(':user', alice)}`,
    headers: { host: new URL(server.url).host, ...headersOf(role) },
  })
  const toSignIn = headers.location?.startsWith('/sign-in?') ?? false
  return { status: toSignIn ? ('sign-in' as const) : statusCode, body }
}

test('every route has a row, and every row a route', () => {
  expect(new Set(routes.map(({ url }) => rowOf(url)))).toEqual(new Set(Object.keys(TABLE)))
})

test.each(ROLES)('K2: %s gets what the table says, by every method, at every route', async (role) => {
  const told: unknown[] = []
  const decided: unknown[] = []
  for (const { url, methods } of routes) {
    const row = TABLE[rowOf(url)]!
    const [get, post, other] = answersTo(row, role)
    // Preflights are for `cors.test.ts`.
    for (const method of new Set([...methods, 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'])) {
      if (method === 'OPTIONS') continue
      const { status } = await send(role, method, url, row.query)
      const expected =
        method === 'GET' || method === 'HEAD'
          ? get
          : method === 'POST'
            ? post
            : (row.methods?.[method] ?? other)
      told.push([role, method, url, status])
      decided.push([role, method, url, expected])
    }
  }
  expect(told).toEqual(decided)
})

test.each(Object.entries({ ...ADMINISTRATION, ...SIGNALS }))(
  'the %s form of an administrator is refused from everybody else, in the same browser too',
  async (_name, kind) => {
    const { agent, action, fields } = await kind.open(server)
    const before = await stateOf(server)
    for (const role of ROLES) {
      if (role === 'administrator') continue
      const cookies = new Map([...agent.cookies].filter(([name]) => !name.endsWith('session')))
      for (const [name, value] of agents[role].cookies) if (name.endsWith('session')) cookies.set(name, value)
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
      const response = await server.post(action, fields, { ...headersOf(role), cookie })
      await response.body?.cancel()
      expect([role, response.status]).toEqual([role, 403])
    }
    expect(await stateOf(server)).toEqual(before)
  },
)

test("another user's interaction, sessions, apps and links are out of reach", async () => {
  const [owner, other] = [agents.user, agents['other user']]
  await getTokens(server, { scope: 'openid read_books' }, owner)
  // An interaction, whose address somebody else got hold of.
  const asked = await owner.get(authorizationUrl(server, { prompt: 'consent', scope: 'openid read_books' }))
  const { action, fields } = findForm(asked, 'consent')!
  const before = await stateOf(server)
  for (const page of [
    await other.get(asked.url),
    await other.post(action, { ...fields, decision: 'allow' }),
  ]) {
    expect([page.status, page.headers.get('location')]).toEqual([403, null])
    expect(page.body).not.toContain('form id="consent"')
  }
  // Sessions and apps, by the ids of the one in the forms of the other.
  const [session] = await oauth.sessions.list(alice)
  const sessions = await other.get(`${server.url}/account/sessions`)
  const apps = await other.get(`${server.url}/account/apps`)
  for (const secret of [session!.sid, alice, ALICE.email]) for (const { body } of [sessions, apps]) expect(body).not.toContain(secret)
  const { csrf_token = '' } = findForm(await owner.get(`${server.url}/account/sessions`), 'end-others')?.fields ?? {}
  for (const [path, thing] of [['/sessions/end', { sid: session!.sid }], ['/sessions/end-others', {}], ['/apps/revoke', { client_id: 'web' }], ['/apps/revoke-all', {}]] as const)
    expect([path, (await other.post(`${server.url}/account${path}`, { csrf_token, ...thing })).status]).toEqual([path, 403])
  expect(await stateOf(server)).toEqual(before)
  // What is shown once, in another session of the same administrator.
  const shown = await agents.administrator.get(`${server.url}/admin/client?client_id=web`)
  const { action: rotate, fields: sent } = findForm(shown, 'rotate-secret')!
  const handed = await server.post(rotate, sent, headersOf('administrator'))
  const address = server.url + handed.headers.get('location')!
  for (const agent of [await signedIn(server, ROOT), other]) {
    const { status, body } = await agent.get(address)
    expect([410, 403]).toContain(status)
    expect(body).not.toContain('lks_')
  }
  expect((await agents.administrator.get(address)).body).toContain('>lks_')
}) // prettier-ignore

/** What nobody may read: what was typed or shown once, what browsers and apps hold, and how all of it is stored. */
async function plant(): Promise<Map<string, string>> {
  const secrets = new Map<string, string>()
  const tokens = await getTokens(server, { scope: 'openid read_books' }, agents.user)
  const code = await codesOf(server)()
  expect((await exchange(server, code)).status).toBe(200)
  const unspent = await codesOf(server)()
  const { address } = await kernelOf(server.server).passwordLinks.make((await oauth.users.find(BOB.username))!.id)
  const { client_secret: generated } = await oauth.clients.create({ client_name: 'Planted', scope: ['a'] })
  const chosen = 'a secret that somebody chose'
  await oauth.clients.create({ client_id: 'chosen', client_secret: chosen, scope: ['a'] })
  const known = { generated, chosen, code, unspent, link: new URL(address).searchParams.get('token'), web: WEB.client_secret, key: server.settings['SECRET_KEY'], ...tokens }
  for (const [name, value] of Object.entries(known)) if (String(value).length > 24) secrets.set(name, String(value))
  for (const { username, password } of [ALICE, BOB, ROOT]) secrets.set(`password of ${username}`, password)
  for (const [role, { cookies }] of Object.entries(agents)) for (const [name, value] of cookies) secrets.set(`${name} of ${role}`, value)
  const columns = await server.database.query<{ of: string; name: string }>(
    `select table_name as of, column_name as name from information_schema.columns where table_schema = 'public'
     and (column_name ~ 'hash|proof|sealed|private|successor') and data_type = 'text'`,
  )
  for (const { of, name } of columns)
    for (const [at, { value }] of (await server.database.query<{ value: string }>(`select "${name}" as value from "${of}" where "${name}" is not null`)).entries())
      secrets.set(`${of}.${name} ${at}`, value)
  return secrets
} // prettier-ignore

let planted: Map<string, string>
beforeAll(async () => {
  planted = await plant()
})

test('what was planted is of every kind', () => {
  const kinds = [...planted.keys()].join('\n')
  for (const one of ['client_secrets.hash', 'users.password_hash', 'users.password_link_hash', 'sessions.hash', 'authorization_codes.hash', 'authorization_codes.proof', 'authorizations.code_proof', 'refresh_tokens.hash', 'signing_keys.private_jwk', 'server_secrets.sealed', 'access_token', 'refresh_token', 'code'])
    expect(kinds).toContain(one)
}) // prettier-ignore

test.each(ROLES)('no page that %s reads shows a secret', async (role) => {
  const bodies: string[] = []
  const clients = (await oauth.clients.list()).map(({ client_id: id }) => `/admin/client?client_id=${id}`)
  const more = [
    ...clients,
    '/admin/audit/export?format=csv',
    '/admin/audit?user=alice',
    '/admin/users?search=b',
  ]
  for (const { url } of routes) bodies.push((await send(role, 'GET', url, TABLE[rowOf(url)]!.query)).body)
  for (const path of more)
    bodies.push(await (await server.request(path, { headers: headersOf(role) })).text())
  expect(bodies.join('').length).toBeGreaterThan(20_000)
  expect(findSecrets(bodies.join('\n'), planted)).toEqual([])
})

test('the keys that are published are public', async () => {
  const { keys } = (await (await server.get('/jwks')).json()) as { keys: Record<string, unknown>[] }
  expect(keys.length).toBeGreaterThan(1)
  for (const key of keys) for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(key).not.toHaveProperty(member)
}) // prettier-ignore
