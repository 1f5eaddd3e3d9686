/** Forms of the server's pages, opened as a user's browser would, and what changes when one of them gets through. */
import type { TestServer } from '../support/server.ts'
import { ALICE, authorizationUrl, BOB, goThrough } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

export interface OpenForm {
  agent: UserAgent
  /** Where it is sent. */
  action: string
  /** Everything that the user's browser would send, the token included. */
  fields: Record<string, string>
}

export interface FormKind {
  /** The route that takes it. */
  route: string
  /** What its address answers when it is opened by GET, by a stranger: default 405. */
  opened?: number
  open(server: TestServer, agent?: UserAgent): Promise<OpenForm>
}

export const CONSENT: FormKind = {
  route: '/interaction/:id/:step',
  async open(server, agent = createUserAgent(server.url)) {
    const url = authorizationUrl(server, { prompt: 'consent', scope: 'openid read_books' })
    let page = await agent.get(url)
    if (page.body.includes('id="login"'))
      page = await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
    return formOn(page, agent, { decision: 'allow' })
  },
}

export const LOGIN: FormKind = {
  route: '/interaction/:id/:step',
  async open(server, agent = createUserAgent(server.url)) {
    const page = await agent.get(authorizationUrl(server, { prompt: 'login' }))
    return formOn(page, agent, { username: BOB.username, password: BOB.password })
  },
}

export const SIGN_IN: FormKind = {
  route: '/sign-in',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    const page = await agent.get(`${server.url}/sign-in?return_to=/`)
    return formOn(page, agent, { username: BOB.username, password: BOB.password })
  },
}

export const SIGN_OUT: FormKind = {
  route: '/end-session',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    await goThrough(agent, await agent.get(authorizationUrl(server)))
    return formOn(await agent.get(`${server.url}/end-session`), agent, {})
  },
}

export const SETUP: FormKind = {
  route: '/setup',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    const token = await server.server.oauth.firstAdministrator.invite()
    const page = await agent.get(`${server.url}/setup?token=${token}`)
    const filled = { token: token!, username: 'administrator', password: 'a password of an administrator' }
    return formOn(page, agent, filled)
  },
}

const OPERATOR = { username: 'operator', password: 'a password of an operator', roles: ['admin'] }

/** A form of the administration, on the page of a client of its own. */
function ofAdministration(id: string, route: string, fill: (clientId: string) => Record<string, string>): FormKind {
  return {
    route,
    opened: 303,
    async open(server, agent = createUserAgent(server.url)) {
      const { clients, users } = server.server.oauth
      if ((await users.find(OPERATOR.username)) === null) await users.create(OPERATOR)
      const { client_id: clientId = '' } = await clients.create({ client_name: 'A service', scope: ['a'] })
      const path = id === 'new' ? '/clients/new' : `/client?client_id=${clientId}`
      let page = await agent.get(`${server.url}/admin${path}`)
      if (page.body.includes('id="login"'))
        page = await agent.submit(page, 'login', { username: OPERATOR.username, password: OPERATOR.password })
      const form = findForm(page, id === 'new' ? 'client' : id)
      if (form === undefined) throw new Error(`no form: ${page.status} ${page.body}`)
      return { agent, action: form.action, fields: { ...form.fields, ...fill(clientId) } }
    },
  }
} // prettier-ignore

export const ADMINISTRATION = {
  'new client': ofAdministration('new', '/admin/clients/new', () => ({ redirect_uris: 'https://a.example/' })),
  client: ofAdministration('client', '/admin/client', () => ({ client_name: 'Another name' })),
  'new secret': ofAdministration('rotate-secret', '/admin/client/rotate-secret', () => ({})),
  'client deletion': ofAdministration('delete-client', '/admin/client/delete', (id) => ({ confirm_client_id: id })),
} // prettier-ignore

let owners = 0

/** A form of the account of a user of its own, who is signed in elsewhere too and has allowed two apps access. */
function ofAccount(path: string, id: string, fill: Record<string, string> = {}): FormKind {
  return {
    route: `/account${ROUTES[id] ?? path}`,
    opened: 303,
    async open(server, agent = createUserAgent(server.url)) {
      const { users, consents, findClient, clients } = server.server.oauth
      const owner = await users.create({ username: `owner-${++owners}`, password: OWNERS_PASSWORD })
      const { client_id: other = '' } = await clients.create({ client_name: 'Another app', scope: ['a'] })
      for (const clientId of ['web', other]) {
        const client = (await findClient(clientId))!
        await consents.remember(owner.id, { client, scopes: new Set(['a']), resources: [], parameters: {} })
      }
      for (const browser of [createUserAgent(server.url), agent]) {
        const { username } = owner
        const page = await browser.get(`${server.url}/sign-in`)
        await browser.submit(page, 'login', { username, password: OWNERS_PASSWORD })
      }
      const page = await agent.get(`${server.url}/account${path}`)
      const form = findForm(page, id)
      if (form === undefined) throw new Error(`no form: ${page.status} ${page.body}`)
      return { agent, action: form.action, fields: { ...form.fields, ...fill } }
    },
  }
}

const OWNERS_PASSWORD = 'a password of an owner'
/** Those that are sent to another address than their page's. */
const ROUTES: Readonly<Record<string, string>> = {
  'end-1': '/sessions/end',
  'end-others': '/sessions/end-others',
  'revoke-0': '/apps/revoke',
  'revoke-all': '/apps/revoke-all',
}

export const ACCOUNT = {
  profile: ofAccount('/profile', 'profile', { nickname: 'Another name' }),
  'email address': ofAccount('/email', 'change-email', { email: 'another@address.example' }),
  password: ofAccount('/password', 'change-password', { current_password: OWNERS_PASSWORD, new_password: 'another password' }),
  'end of a session': ofAccount('/sessions', 'end-1'),
  'end of the other sessions': ofAccount('/sessions', 'end-others'),
  'end of the access of an app': ofAccount('/apps', 'revoke-0'),
  'end of the access of all apps': ofAccount('/apps', 'revoke-all'),
} // prettier-ignore

/** The one form of a page. */
export function formOn(page: Page, agent: UserAgent, filled: Record<string, string>): OpenForm {
  const action = /<form[^>]* action="([^"]+)"/.exec(page.body)?.[1]
  const token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1]
  if (action === undefined || token === undefined) throw new Error(`no form: ${page.status} ${page.body}`)
  return { agent, action: new URL(action, page.url).href, fields: { csrf_token: token, ...filled } }
}

/** All that a form could change. */
export async function stateOf({ database }: TestServer): Promise<unknown> {
  const [state] = await database.query(`select
    (select json_agg(s order by hash) from (select hash, sid, user_id, authenticated_at from sessions) s) as sessions,
    (select json_agg(c order by c::text) from consents c) as consents,
    (select json_agg(c order by client_id) from clients c) as clients,
    (select json_agg(s order by id) from client_secrets s) as client_secrets,
    (select count(*)::int from authorization_codes) as codes,
    (select json_agg(u order by id) from (select id, claims, roles, password_hash, disabled_at from users) u) as users,
    (select count(*)::int from authorizations where revoked_at is not null) as revoked`)
  return state
}
