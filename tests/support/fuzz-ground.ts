/** For each route, requests that it takes, by those who may send them: the ground of a fuzz run. What can be wrong with them is for `fuzz-mutations`. */
import {
  ACCOUNT,
  ADMINISTRATION,
  CONFIRM_EMAIL,
  CONFIRM_NEWCOMER,
  CONFIRM_SIGN_UP,
  CONSENT,
  DEVICE,
  FORGOT_PASSWORD,
  KEEP_ACCOUNT,
  type FormKind,
  formsThere,
  INVITATION,
  LEAVE,
  LOGIN,
  RESET_PASSWORD,
  SET_PASSWORD,
  SETUP,
  SIGN_IN,
  SIGN_OUT,
  SIGN_UP,
  SWITCH_ACCOUNT,
} from '../security/forms.ts'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { ask as askAbout, CALL_CENTRE, GRANT_TYPE as CIBA, pageOf } from './ciba.ts'
import { ask, GRANT_TYPE, TV } from './device.ts'
import type { Ground } from './fuzz-mutations.ts'
import { proofsAt } from './fuzz-proofs.ts'
import { type Draft, draft, encoded } from './fuzz-request.ts'
import { basic, bearer } from './requests.ts'
import type { Route } from './routes.ts'
import type { TestServer } from './server.ts'
import { authorizationUrl, authorize, getTokens, REDIRECT_URI, WEB } from './sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from './user-agent.ts'
import { isThere } from './left-out.ts'

/** By the route that takes them. */
const FORMS = Map.groupBy(
  Object.values<FormKind>(formsThere({ SETUP, SIGN_IN, LOGIN, CONSENT, SIGN_OUT, KEEP_ACCOUNT, SWITCH_ACCOUNT, LEAVE, SET_PASSWORD, FORGOT_PASSWORD, RESET_PASSWORD, INVITATION, CONFIRM_EMAIL, SIGN_UP, CONFIRM_SIGN_UP, CONFIRM_NEWCOMER, DEVICE, ...ADMINISTRATION, ...ACCOUNT })),
  ({ route }) => route,
) // prettier-ignore
const cookiesOf = ({ cookies }: UserAgent) =>
  [...cookies].map(([name, value]): [string, string] => [name, value])
const asWeb = basic(WEB.client_id, WEB.client_secret)

const approvals = new WeakMap<TestServer, string>()
/** The page of what somebody is asked to approve, where that is served: a client has only so many that wait. */
async function approvalOf(server: TestServer): Promise<string> {
  if (!server.server.hasRoute({ method: 'GET', url: '/approve' })) return ''
  const id = approvals.get(server) ?? new URL(pageOf(server, await askAbout(server))).searchParams.get('id')!
  approvals.set(server, id)
  return id
}

/** What clients of the server hold, and the addresses of things that there are. */
async function valuesOf(server: TestServer) {
  const agent = createUserAgent(server.url)
  const tokens = await getTokens(server, { scope: 'openid read_books' }, agent)
  const code = (await authorize(server, {}, agent)).get('code')!
  const { users } = server.server.oauth
  const user = (await users.find('alice'))!.id
  const device = isThere('latchkey-device-code') ? await ask(server) : { device_code: '', user_code: '' }
  return { ...tokens, code, user, ...device, approval: await approvalOf(server), agent }
}
type Values = Awaited<ReturnType<typeof valuesOf>>

/** What stands in addresses of pages, by its name; those that a page does not know change nothing. */
const queryOf = ({ user, user_code, id_token, approval }: Values, route: string): Record<string, string> => ({
  client_id: WEB.client_id,
  id: /scope/.test(route)
    ? 'read_books'
    : /resource/.test(route)
      ? 'https://books.example/'
      : /approve/.test(route)
        ? approval
        : user,
  name: 'admin',
  type: /audit/.test(route) ? 'user.signed_in' : 'service',
  from: '2026-01-01',
  to: '2099-12-31',
  user,
  search: 'a',
  format: 'csv',
  user_code,
  id_token_hint: id_token,
})

type Posted = (values: Values) => { fields?: Record<string, string>; headers?: Record<string, string> }[]

/** What programs post, and what no page of the server's own has a form for. */
const POSTED: Record<string, Posted> = {
  '/token': ({ code, refresh_token, device_code }) => [
    { fields: { grant_type: 'client_credentials', scope: 'read_books' }, headers: basic('service', SERVICE.client_secret) },
    { fields: { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }, headers: asWeb },
    { fields: { grant_type: 'refresh_token', refresh_token }, headers: asWeb },
    { fields: { grant_type: GRANT_TYPE, device_code, client_id: TV.client_id } },
    { fields: { grant_type: CIBA, auth_req_id: 'x'.repeat(43) }, headers: basic(CALL_CENTRE.client_id, CALL_CENTRE.client_secret) },
  ],
  '/par': () => [{ fields: { redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid', state: 'x', claims: '{"userinfo":{"email":null}}' }, headers: asWeb }],
  '/introspect': ({ access_token, refresh_token }) => [access_token, refresh_token].map((token) => ({ fields: { token, token_type_hint: 'access_token' }, headers: asWeb })),
  '/revoke': ({ access_token, refresh_token }) => [access_token, refresh_token].map((token) => ({ fields: { token, token_type_hint: 'refresh_token' }, headers: asWeb })),
  '/userinfo': ({ access_token }) => [{ headers: bearer(access_token) }, { fields: { access_token } }],
  '/authorize': () => [{ fields: { client_id: WEB.client_id, redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid', state: 'x', max_age: '100', claims: '{"userinfo":{"email":null}}' } }],
  '/backchannel-authentication': ({ id_token }) => [{ login_hint: 'alice', binding_message: 'W4SCT', requested_expiry: '100' }, { id_token_hint: id_token }, { login_hint_token: id_token }].map((fields) => ({ fields: { scope: 'openid read_books', ...fields }, headers: basic(CALL_CENTRE.client_id, CALL_CENTRE.client_secret) })),
  '/device_authorization': () => [{ fields: { client_id: TV.client_id, scope: 'openid read_books' } }],
} // prettier-ignore

export const SERVICE = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read_books'] }

async function draftsOf(server: TestServer, kind: FormKind): Promise<Draft[]> {
  const { agent, action, fields } = await kind.open(server)
  const { pathname: path, searchParams } = new URL(action)
  const common = { path, cookies: cookiesOf(agent), query: encoded(searchParams) }
  const headers = { origin: server.url, accept: 'text/html' }
  const shown = draft({ ...common, headers: { accept: 'text/html' }, query: encoded(Object.entries(fields)) })
  return [draft({ ...common, method: 'POST', fields: encoded(Object.entries(fields)), headers }), shown]
}

/** The form for a user code, as it stands in the example. */
async function deviceForm(server: TestServer, { user_code, agent }: Values): Promise<Draft[]> {
  const { fields } = findForm(await agent.get(`${server.url}/device`), 'device')!
  const pairs = encoded(Object.entries({ ...fields, user_code }))
  const headers = { origin: server.url, accept: 'text/html' }
  return [draft({ method: 'POST', path: '/device', fields: pairs, headers, cookies: cookiesOf(agent) })]
}

/** A browser that everybody trusts: an administrator's. */
async function visits(server: TestServer, { url }: Route, values: Values): Promise<Draft[]> {
  const administrator = url.startsWith('/admin') ? (await ADMINISTRATION['new client'].open(server)).agent : values.agent
  const query =
    url === '/authorize' ? encoded(new URL(authorizationUrl(server)).searchParams) : encoded(Object.entries(queryOf(values, url)))
  const headers = { accept: 'text/html', ...(url === '/userinfo' ? bearer(values.access_token) : {}) }
  return [draft({ path: url, query, cookies: cookiesOf(administrator), headers })]
} // prettier-ignore

/** An interaction has an address of its own, which is no route. */
async function interaction(server: TestServer): Promise<Draft[]> {
  const { agent, action } = await LOGIN.open(server)
  const { pathname, searchParams } = new URL(action)
  const query = encoded(searchParams)
  return [
    draft({
      path: pathname.replace(/\/login$/, ''),
      query,
      cookies: cookiesOf(agent),
      headers: { accept: 'text/html' },
    }),
  ]
}

/** A mail has an address of its own, too: the first that the process keeps. */
const MAIL = draft({ path: '/dev/mail/1', headers: { accept: 'text/html' } })

/** A client's colour is a sheet, where a page names it. */
async function sheet(server: TestServer): Promise<Draft> {
  const client = { client_id: 'coloured', redirect_uris: [REDIRECT_URI], brand_color: '#b3124f' }
  if ((await server.server.oauth.clients.find('coloured')) === null) await server.server.oauth.clients.create(client)
  const page = await createUserAgent(server.url).get(authorizationUrl(server, { client_id: 'coloured' }))
  return draft({ path: /\/assets\/client\/[^"]+/.exec(page.body)![0] })
} // prettier-ignore

/** Of an upstream that answers. */
export const UPSTREAM = 'corp'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
/** That answers by a form of its own page. */
export const FORM_UPSTREAM = {
  id: 'apple',
  kind: 'apple',
  client_id: 'us',
  team_id: 'team',
  key_id: 'key',
  client_secret: privateKey.export({ format: 'pem', type: 'pkcs8' }),
}

/** Of a state that was used, it leads on as of one that is good. */
const SIGNED_OUT = draft({
  path: `/upstream/${UPSTREAM}/signed-out`,
  query: encoded([['state', 'A'.repeat(43)]]),
  headers: { accept: 'text/html' },
})

/** What comes back from it, for a sign-in under way. */
async function answerOfUpstream(server: TestServer): Promise<Draft[]> {
  const agent = createUserAgent(server.url)
  const left = await agent.submit(await agent.get(authorizationUrl(server)), 'upstreams', {
    upstream: UPSTREAM,
  })
  const state = new URL(left.headers.get('location')!).searchParams.get('state')!
  const query = encoded(Object.entries({ state, error: 'access_denied' }))
  return [
    draft({
      path: `/upstream/${UPSTREAM}/callback`,
      query,
      cookies: cookiesOf(agent),
      headers: { accept: 'text/html' },
    }),
    draft({
      method: 'POST',
      path: `/upstream/${FORM_UPSTREAM.id}/callback`,
      fields: encoded(Object.entries({ state, code: 'c', user: '{"name":{"firstName":"A"}}' })),
      headers: { accept: 'text/html', origin: 'https://appleid.apple.com' },
    }),
  ]
}

/** A client of its own, with what manages it; without a token there are few a minute. */
async function registrations({ server, url }: TestServer, path: string): Promise<Draft[]> {
  const token = await kernelOf(server).initialTokens.create({ name: randomUUID(), uses: 100_000 })
  const json = { 'content-type': 'application/json' }
  const metadata = { client_name: 'Fuzz', redirect_uris: [REDIRECT_URI], scope: 'openid profile', contacts: ['a@app.example'] }
  const sent = (method: string, at: string, shown: string, body?: object) =>
    draft({ method, path: at, headers: { ...bearer(shown), ...json }, ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }) })
  if (path === '/register') return [sent('POST', path, token, metadata)]
  async function registered() {
    const response = await fetch(`${url}/register`, { method: 'POST', headers: { ...bearer(token), ...json }, body: JSON.stringify(metadata) })
    const { client_id, registration_access_token: own } = (await response.json()) as Record<'client_id' | 'registration_access_token', string>
    return { client_id, own, at: `/register/${client_id}` }
  }
  const [{ client_id, own, at }, ended] = [await registered(), await registered()]
  return [sent('GET', at, own), sent('PUT', at, own, { ...metadata, client_id }), sent('DELETE', ended.at, ended.own)]
} // prettier-ignore

/** Where what was opened once is spent by the first good request. */
const spends = (url: string): boolean => url in POSTED || /^\/(?:device|end-session)$/.test(url)
const kept = new WeakMap<TestServer, Values>()

/** A key that waits needs no successor: the form for one is not there again until it signs. */
const ONCE = '/admin/keys/rotate'
const opened = new WeakMap<TestServer, Ground>()

export async function groundOf(server: TestServer, route: Route): Promise<Ground> {
  const had = route.url === ONCE ? opened.get(server) : undefined
  if (had !== undefined) return had
  const ground = await openGround(server, route)
  if (route.url === ONCE) opened.set(server, ground)
  return ground
}

async function openGround(server: TestServer, route: Route): Promise<Ground> {
  const { url, methods } = route
  // Before the first administrator there is none.
  if (url === '/setup') await server.database.query(`delete from users where 'admin' = any(roles)`)
  const values = (spends(url) ? undefined : kept.get(server)) ?? (await valuesOf(server))
  if (!spends(url)) kept.set(server, values)
  const kinds = FORMS.get(url) ?? []
  const forms: Draft[] = []
  for (const kind of kinds) forms.push(...(await draftsOf(server, kind)))
  if (url === '/interaction/:id') forms.push(...(await interaction(server)))
  if (url === '/device') forms.push(...(await deviceForm(server, values)))
  if (url === '/upstream/:id/callback') forms.push(...(await answerOfUpstream(server)))
  if (url === '/upstream/:id/signed-out') forms.push(SIGNED_OUT)
  if (url === '/assets/client/:name') forms.push(await sheet(server))
  if (url === '/dev/mail/:number') forms.push(MAIL)
  if (url.startsWith('/register')) forms.push(...(await registrations(server, url)))
  const posted = (POSTED[url]?.(values) ?? []).map(({ fields = {}, headers = {} }) =>
    draft({ method: 'POST', path: url, fields: encoded(Object.entries(fields)), headers }),
  )
  posted.push(...(await proofsAt(server, url, values.access_token)))
  const shown = methods.includes('GET') && url !== '/setup' && !url.includes(':') ? await visits(server, route, values) : []
  const texts = Object.values(values).filter((value) => typeof value === 'string')
  const typed = forms.flatMap(({ fields, cookies }) => [...fields, ...cookies].map(([, value]) => decodeURIComponent(value)))
  return {
    // Forms twice, since most of a page is behind them.
    skeletons: [...forms, ...forms, ...posted, ...posted, ...shown],
    values: [...texts, WEB.client_id, WEB.client_secret, ...typed],
  }
} // prettier-ignore
