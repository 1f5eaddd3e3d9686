/** Forms of the server's pages, opened as a user's browser would, and what changes when one of them gets through. */
import { codeOf, secretOn, setUpFactor } from '../support/authenticator.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { ask, TV } from '../support/device.ts'
import type { TestServer } from '../support/server.ts'
import { ALICE, authorizationUrl, BOB, goThrough, REDIRECT_URI } from '../support/sign-in.ts'
import { askForCode, nextCode } from '../support/mail-code.ts'
import { linkIn, openMailbox } from '../support/mailbox.ts'
import { markOf } from '../../plugins/upstreams/flows.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { POLL } from '../support/shared-signals.ts'
import { until } from '../support/until.ts'
import { giveEverything } from '../support/users.ts'
import { isServed, isThere } from '../support/left-out.ts'

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
  /** A plugin, beside that of the route, without which nobody is shown it. */
  needs?: string
  /** What its address answers when it is opened by GET, by a stranger: default 405. */
  opened?: number
  open(server: TestServer, agent?: UserAgent): Promise<OpenForm>
}

/** Those of plugins that the servers of this run have. */
export function formsThere<T extends Readonly<Record<string, FormKind>>>(all: T): T {
  const there = Object.entries(all).filter(
    ([, { route, needs }]) => isServed(route) && (needs === undefined || isThere(needs)),
  )
  return Object.fromEntries(there) as T
}

/**
 * Served all the same where no page leads there, since what its form is about is left out; and to which an upstream posts, which changes
 * nothing: it goes on by GET.
 */
export const FORMLESS: readonly string[] = [
  isThere('latchkey-upstreams') ? '/upstream/:id/callback' : '/account/password/remove',
  ...(isThere('latchkey-second-factor') ? [] : ['/admin/user/reset-factors']),
]

export const CONSENT: FormKind = {
  route: '/interaction/:id/:step',
  async open(server, agent = createUserAgent(server.url)) {
    const url = authorizationUrl(server, { prompt: 'consent', scope: 'openid read_books' })
    let page = await agent.get(url)
    if (page.body.includes('id="login"'))
      page = await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
    const { action, fields } = findForm(page, 'consent')!
    return { agent, action, fields: { ...fields, decision: 'allow' } }
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
  route: '/interaction/:id/:step',
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
    const token = await kernelOf(server.server).firstAdministrator.invite()
    const page = await agent.get(`${server.url}/setup?token=${token}`)
    const filled = { token: token!, username: 'administrator', password: 'a password of an administrator' }
    return formOn(page, agent, filled)
  },
}

const OPERATOR = { username: 'operator', password: 'a password of an operator', roles: ['admin'] }

interface Opened {
  /** Below `/admin`. */
  path: string
  fill?: Record<string, string>
}

/** A form of the administration, on a page of something of its own. */
function administered(id: string, route: string, prepare: (server: TestServer) => Promise<Opened>): FormKind {
  return {
    route,
    opened: 303,
    async open(server, agent = createUserAgent(server.url)) {
      const { users } = server.server.oauth
      if ((await users.find(OPERATOR.username)) === null) await users.create(OPERATOR)
      const { path, fill = {} } = await prepare(server)
      let page = await agent.get(`${server.url}/admin${path}`)
      if (page.body.includes('id="login"'))
        page = await agent.submit(page, 'login', { username: OPERATOR.username, password: OPERATOR.password })
      const form = findForm(page, id)
      if (form === undefined) throw new Error(`no form: ${page.status} ${page.body}`)
      return { agent, action: form.action, fields: { ...form.fields, ...fill } }
    },
  }
}

/** One on the page of a client. */
function ofClient(id: string, route: string, fill: (clientId: string) => Record<string, string>): FormKind {
  return administered(id, route, async ({ server }) => {
    const { client_id: clientId = '' } = await server.oauth.clients.create({ client_name: 'A service', scope: ['a'] })
    return { path: `/client?client_id=${clientId}`, fill: fill(clientId) }
  })
} // prettier-ignore

/** Of a user who approved a client of its own. */
async function ofAuthorization({ server, database }: TestServer): Promise<Opened> {
  const { client_id: clientId = '' } = await server.oauth.clients.create({
    client_name: 'A service',
    scope: ['a'],
  })
  const { id } = (await server.oauth.users.find(OPERATOR.username))!
  await database.query(`insert into authorizations (id, client_id, subject, scopes, resources, parameters)
    values (gen_random_uuid(), '${clientId}', '${id}', '{a}', '{}', '{}')`)
  return { path: `/client/authorizations?client_id=${clientId}` }
}

let records = 0

/** One on the page of a scope or a resource. */
function ofRecord(kind: 'scope' | 'resource', id: 'record' | 'delete-record'): FormKind {
  return administered(id, `/admin/${kind}${id === 'record' ? '' : '/delete'}`, async ({ server }) => {
    const name = kind === 'scope' ? `scope-${++records}` : `https://${++records}.example/`
    await (kind === 'scope' ? server.oauth.resources.saveScope({ name }) : server.oauth.resources.saveResource({ resource: name }))
    const fill: Record<string, string> = id === 'record' ? { name: 'Other', description: 'Other' } : { confirm: name }
    return { path: `/${kind}?${new URLSearchParams({ id: name }).toString()}`, fill }
  })
} // prettier-ignore

/** One on the page of a role that one user has; another could. */
function ofRole(
  id: string,
  route: string,
  fill: (other: string, role: string) => Record<string, string>,
): FormKind {
  return administered(id, route, async ({ server }) => {
    const role = `role-${++records}`
    await server.oauth.users.create({ username: `person-${++persons}`, roles: [role] })
    const { username } = await server.oauth.users.create({ username: `person-${++persons}` })
    return { path: `/role?name=${role}`, fill: fill(username, role) }
  })
}

/** One on the page of an upstream. */
function ofUpstream(id: 'record' | 'delete-record'): FormKind {
  return administered(id, `/admin/upstream${id === 'record' ? '' : '/delete'}`, async ({ server }) => {
    const name = `upstream-${++records}`
    await kernelOf(server).upstreams.save({ id: name, issuer: 'https://id.example', client_id: 'us' })
    const fill: Record<string, string> = id === 'record' ? { name: 'Other' } : { confirm: name }
    return { path: `/upstream?id=${name}`, fill }
  })
}

/** One on the page of a trusted issuer. */
function ofTrustedIssuer(id: 'record' | 'delete-record'): FormKind {
  return administered(id, `/admin/trusted-issuer${id === 'record' ? '' : '/delete'}`, async ({ server }) => {
    const issuer = `https://issuer-${++records}.example`
    await kernelOf(server).trustedIssuers.save({ issuer, jwks_uri: `${issuer}/jwks` })
    const fill: Record<string, string> = id === 'record' ? { scopes: 'read_books' } : { confirm: issuer }
    return { path: `/trusted-issuer?${new URLSearchParams({ id: issuer }).toString()}`, fill }
  })
}

let persons = 0

/** A sign-in of an upstream that is gone, so that it is no way in. */
async function linkSomething({ query }: TestServer['database'], userId: string): Promise<void> {
  const value = { upstream: 'gone', issuer: 'https://gone.example', subject: userId, name: null }
  await query(
    `insert into user_records (user_id, kind, record_id, value) values ($1, 'upstream-link', $2, $3)`,
    [userId, `link-${userId}`, JSON.stringify(value)],
  )
}

/** One on the page of a user who is signed in and has allowed an app access. */
function ofUser(id: string, route: string, fill: Record<string, string> = {}): FormKind {
  return administered(id, `/admin/user${route}`, async ({ server, database }) => {
    const user = await server.oauth.users.create({ username: `person-${++persons}` })
    await giveEverything(database, user.id)
    if (id === 'reset-factors')
      await database.query(
        `insert into user_records (user_id, kind, record_id, value) values ($1, 'authenticator', 'totp', '{}')`,
        [user.id],
      )
    if (id === 'unlink-0') await linkSomething(database, user.id)
    if (id === 'keep-user') await kernelOf(server).accountDeletions.request(user.id, 3600)
    if (id === 'enable') await server.oauth.users.disable(user.username)
    return { path: `/user?id=${user.id}`, fill }
  })
}

export const SET_PASSWORD: FormKind = {
  route: '/set-password',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    const { users, passwordLinks } = kernelOf(server.server)
    const { address } = await passwordLinks.make((await users.create({ username: `person-${++persons}` })).id)
    const token = new URL(address).searchParams.get('token')!
    return formOn(await agent.get(address), agent, { token, password: 'a password of their own' })
  },
}

export const KEEP_ACCOUNT: FormKind = {
  route: '/interaction/:id/:step',
  needs: 'latchkey-own-data',
  async open(server, agent = createUserAgent(server.url)) {
    const { users, accountDeletions } = kernelOf(server.server)
    const { id, username } = await users.create({ username: `person-${++persons}`, password: OWNERS_PASSWORD })
    await accountDeletions.request(id, 3600)
    const page = await agent.get(`${server.url}/sign-in?return_to=/`)
    return formOn(await agent.submit(page, 'login', { username, password: OWNERS_PASSWORD }), agent, {})
  },
} // prettier-ignore

/** A form by which somebody who gave the password leaves the page of the factor. */
function wayOut(id: 'switch-account' | 'leave'): FormKind {
  return {
    route: '/interaction/:id/:step',
    needs: 'latchkey-second-factor',
    async open(server, agent = createUserAgent(server.url)) {
      const { clients, users } = server.server.oauth
      const careful = { client_id: 'careful', redirect_uris: [REDIRECT_URI], minimum_acr_value: '2' }
      if ((await clients.find(careful.client_id)) === null) await clients.create(careful)
      const { username } = await users.create({ username: `person-${++persons}`, password: OWNERS_PASSWORD })
      const asked = await agent.get(
        authorizationUrl(server, { client_id: careful.client_id, prompt: 'login' }),
      )
      const page = await agent.submit(asked, 'login', { username, password: OWNERS_PASSWORD })
      const { action, fields } = findForm(page, id)!
      return { agent, action, fields }
    },
  }
}

/** Of who is not the one whose factor is asked for. */
export const SWITCH_ACCOUNT = wayOut('switch-account')
/** Of who goes back to the app. */
export const LEAVE = wayOut('leave')

export const FORGOT_PASSWORD: FormKind = {
  route: '/forgot-password',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    const username = `person-${++persons}`
    const email = `${username}@example.com`
    await server.server.oauth.users.create({
      username,
      password: OWNERS_PASSWORD,
      email,
      email_verified: true,
    })
    return formOn(await agent.get(`${server.url}/forgot-password`), agent, { email })
  },
}

/** Somebody who signs in by a code: the form that has it mailed, and the one that takes it. */
async function openMailCode(server: TestServer, agent: UserAgent): Promise<{ page: Page; email: string }> {
  const username = `person-${++persons}`
  const email = `${username}@example.com`
  await server.server.oauth.users.create({ username, email, email_verified: true })
  return { page: await agent.get(authorizationUrl(server, { prompt: 'login' })), email }
}

export const MAIL_CODE_BUTTON: FormKind = {
  route: '/interaction/:id/:step',
  needs: 'latchkey-mail-code',
  async open(server, agent = createUserAgent(server.url)) {
    const { page, email } = await openMailCode(server, agent)
    const { action, fields } = findForm(page, 'mail-code-form')!
    return { agent, action, fields: { ...fields, username: email } }
  },
}

export const ENTER_MAIL_CODE: FormKind = {
  route: '/interaction/:id/:step',
  needs: 'latchkey-mail-code',
  async open(server, agent = createUserAgent(server.url)) {
    const { page, email } = await openMailCode(server, agent)
    const asked = await askForCode(agent, page, email)
    const { action, fields } = findForm(asked, 'enter-code')!
    return { agent, action, fields: { ...fields, code: await nextCode(openMailbox(server), email) } }
  },
}

/** One of a link that a mail brought to somebody. */
function linked(route: string, filled: Record<string, string>, make: (server: TestServer, id: string) => Promise<string | null>): FormKind {
  return {
    route,
    opened: 200,
    async open(server, agent = createUserAgent(server.url)) {
      const { id } = await server.server.oauth.users.create({ username: `person-${++persons}` })
      const token = (await make(server, id))!
      return formOn(await agent.get(`${server.url}${route}?token=${token}`), agent, { token, ...filled })
    },
  }
} // prettier-ignore

export const RESET_PASSWORD = linked(
  '/reset-password',
  { password: 'a password of their own' },
  async ({ server }, id) => kernelOf(server).passwordResets.make(id, ''),
)
export const INVITATION: FormKind = {
  route: '/invitation',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    const username = `person-${++persons}`
    const { id } = await server.server.oauth.users.create({ username, email: `${username}@example.com` })
    const { token } = (await kernelOf(server.server).invitations.invite(id))!
    const page = await agent.get(`${server.url}/invitation?token=${token}`)
    return formOn(page, agent, { token, password: 'a password of their own' })
  },
}
export const CONFIRM_EMAIL = linked('/confirm-email', {}, async ({ server }, id) =>
  kernelOf(server).emailLinks.make(id, `${id}@example.com`),
)

/** What somebody may ask for. */
function newcomer(): { username: string; email: string; password: string } {
  const username = `person-${++persons}`
  return { username, email: `${username}@example.com`, password: 'a password of their own' }
}

export const SIGN_UP: FormKind = {
  route: '/sign-up',
  opened: 200,
  open: async (server, agent = createUserAgent(server.url)) =>
    formOn(await agent.get(`${server.url}/sign-up`), agent, newcomer()),
}

export const CONFIRM_SIGN_UP: FormKind = {
  route: '/sign-up/confirm',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    const { signUps } = kernelOf(server.server)
    const { password, ...wanted } = newcomer()
    const asked = { ...(await signUps.judge(wanted, password)), browser: 'of another', back: '' }
    const token = await signUps.make(asked)
    return formOn(await agent.get(`${server.url}/sign-up/confirm?token=${token}`), agent, { token, password })
  },
}

/** Of whoever came by an upstream that is not believed about their address. */
export const CONFIRM_NEWCOMER: FormKind = {
  route: '/upstream/confirm',
  needs: 'latchkey-mail',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    const issuer = 'https://newcomers.example'
    const upstream = { id: 'newcomers', issuer, client_id: 'us', sign_up: true }
    await kernelOf(server.server).upstreams.save(upstream)
    await agent.get(authorizationUrl(server))
    const { email } = newcomer()
    const browser = markOf([...agent.cookies].find(([name]) => name.endsWith('browser'))![1])
    const asked = {
      upstream: upstream.id,
      issuer,
      subject: email,
      email,
      claims: {},
      browser,
      back: '',
      locales: '',
    }
    // By this process, to which no other one's mails come.
    const { deliver } = kernelOf(server.server).doors.owners('delivery').get('upstream-newcomer')!
    await deliver(asked, { id: email, attempt: 1, enqueuedAt: Date.now() })
    const link = linkIn(await openMailbox(server).next(email))
    return formOn(await agent.get(link), agent, { token: new URL(link).searchParams.get('token')! })
  },
}

/** Of a device that shows its code to whoever is before it. */
export const DEVICE: FormKind = {
  route: '/device',
  opened: 200,
  async open(server, agent = createUserAgent(server.url)) {
    const { clients } = server.server.oauth
    if ((await clients.find(TV.client_id)) === null) await clients.create(TV)
    const { user_code } = await ask(server)
    return formOn(await agent.get(`${server.url}/device`), agent, { user_code })
  },
}

/** One on a page of a stream of security events. */
function ofStream(id: string, route: string, page = route): FormKind {
  return administered(id, `/admin/shared-signals${route}`, async ({ server }) => {
    const { client_id: clientId = '' } = await server.oauth.clients.create({ client_name: 'An app', scope: ['ssf.manage'] })
    const stream = await server.sharedSignals.streams.create(clientId, { delivery: { method: POLL } })
    return { path: `/shared-signals${page}?id=${stream.id}` }
  })
} // prettier-ignore

/** Those of a server whose OIDC_SHARED_SIGNALS is on. */
export const SIGNALS = formsThere({
  'pause of a stream': ofStream('change-status', '/stream'),
  'verification of a stream': ofStream('verify', '/verification', '/stream'),
  'removal of a stream': ofStream('remove-stream', '/removal'),
})

export const ADMINISTRATION = formsThere({
  'new client': administered('client', '/admin/clients/new', async () => ({ path: '/clients/new', fill: { redirect_uris: 'https://a.example/' } })),
  client: ofClient('client', '/admin/client', () => ({ client_name: 'Another name' })),
  'new secret': ofClient('rotate-secret', '/admin/client/rotate-secret', () => ({})),
  'client deletion': ofClient('delete-client', '/admin/client/delete', (id) => ({ confirm_client_id: id })),
  'new user': administered('user', '/admin/users/new', async () => ({ path: '/users/new', fill: { username: `person-${++persons}` } })),
  user: ofUser('user', '', { nickname: 'Another name', roles: 'staff' }),
  'password link': ofUser('make-password-link', '/password-link'),
  'invitation of a user': administered('send-invitation', '/admin/user/invite', async ({ server }) => {
    const username = `person-${++persons}`
    const { id } = await server.oauth.users.create({ username, email: `${username}@example.com` })
    return { path: `/user?id=${id}` }
  }),
  'withdrawal of an invitation': administered('withdraw-invitation', '/admin/user/withdraw-invitation', async ({ server }) => {
    const username = `person-${++persons}`
    const { id } = await server.oauth.users.create({ username, email: `${username}@example.com` })
    await kernelOf(server).invitations.invite(id)
    return { path: `/user?id=${id}` }
  }),
  'disabling of a user': ofUser('disable', '/disable'),
  'deletion of a user': administered('delete-user', '/admin/user/delete', async ({ server }) => {
    const { id, username } = await server.oauth.users.create({ username: `person-${++persons}` })
    return { path: `/user?id=${id}`, fill: { confirm_username: username } }
  }),
  'enabling of a user': ofUser('enable', '/enable'),
  'end of the deletion of a user': ofUser('keep-user', '/keep'),
  "reset of a user's factors": { ...ofUser('reset-factors', '/reset-factors'), needs: 'latchkey-second-factor' },
  "unlinking of a user's sign-in": { ...ofUser('unlink-0', '/unlink'), needs: 'latchkey-upstreams' },
  "end of a user's session": ofUser('end-session-0', '/end-session'),
  "end of a user's sessions": ofUser('end-sessions', '/end-sessions'),
  "end of all that a user has": ofUser('revoke-tokens', '/revoke-tokens'),
  'revocation of an authorization': ofUser('revoke-0', '/revoke'),
  'end of what a client holds': administered('revoke-0', '/admin/client/revoke', ofAuthorization),
  'new key': administered('rotate-EdDSA', '/admin/keys/rotate', async () => ({ path: '/keys' })),
  'revocation of a key': administered('revoke-key', '/admin/keys/revoke', async ({ server }) => {
    const { keys } = kernelOf(server)
    await keys.provide('PS256')
    return { path: `/keys/revoke?kid=${keys.signer('PS256').kid}` }
  }),
  'another try of a delivery': administered('retry-0', '/admin/deliveries/retry', async ({ database }) => {
    await database.query(`insert into outbox (id, kind, payload, tries_until, given_up_at)
      values (gen_random_uuid(), 'news', 'sealed', now(), now())`)
    return { path: '/deliveries' }
  }),
  'test of the mail': administered('mail-test', '/admin/mail', async () => ({ path: '/mail', fill: { address: 'root@example.com' } })),
  'new role': administered('record', '/admin/roles/new', async () => ({ path: '/roles/new', fill: { name: `role-${++records}` } })),
  'giving of a role': ofRole('add', '/admin/role/add', (user) => ({ user })),
  'taking of a role': ofRole('remove-0', '/admin/role/remove', () => ({})),
  'renaming of a role': ofRole('rename', '/admin/role/rename', () => ({ to: `role-${++records}` })),
  'role deletion': ofRole('delete-role', '/admin/role/delete', (_user, confirm) => ({ confirm })),
  'new scope': administered('record', '/admin/scopes/new', async () => ({ path: '/scopes/new', fill: { name: `scope-${++records}` } })),
  scope: ofRecord('scope', 'record'),
  'scope deletion': ofRecord('scope', 'delete-record'),
  'new resource': administered('record', '/admin/resources/new', async () => ({ path: '/resources/new', fill: { resource: `https://${++records}.example/` } })),
  resource: ofRecord('resource', 'record'),
  'resource deletion': ofRecord('resource', 'delete-record'),
  'new upstream': administered('record', '/admin/upstreams/new', async () => ({
    path: '/upstreams/new',
    fill: { id: `upstream-${++records}`, issuer: 'https://id.example', client_id: 'us' },
  })),
  upstream: ofUpstream('record'),
  'upstream deletion': ofUpstream('delete-record'),
  'new trusted issuer': administered('record', '/admin/trusted-issuers/new', async () => ({
    path: '/trusted-issuers/new',
    fill: { issuer: `https://issuer-${++records}.example`, jwks_uri: 'https://issuer.example/jwks' },
  })),
  'trusted issuer': ofTrustedIssuer('record'),
  'trusted issuer deletion': ofTrustedIssuer('delete-record'),
  'new initial token': administered('initial-token', '/admin/initial-tokens/new', async () => ({
    path: '/initial-tokens/new',
    fill: { name: `partner-${++records}` },
  })),
  'blocked app': administered('block', '/admin/unregistered', async () => ({
    path: '/unregistered',
    fill: { name: `https://bad.example/${++records}` },
  })),
  'unblocked app': administered('unblock-0', '/admin/unregistered/unblock', async ({ database }) => {
    await database.query(`insert into plugin_records (kind, record_id, value) values ('blocked-client', $1, '{"blockedAt": 1}')`, [`bad-${++records}.example`])
    return { path: '/unregistered' }
  }),
  'end of an initial token': administered('delete-0', '/admin/initial-tokens/delete', async ({ server }) => {
    await kernelOf(server).initialTokens.create({ name: `partner-${++records}` })
    return { path: '/initial-tokens' }
  }),
}) // prettier-ignore

let owners = 0

/** A form of the account of a user of its own, who is signed in elsewhere too, has allowed two apps access, and can sign in by an upstream. */
function ofAccount(
  path: string,
  id: string,
  fill: Record<string, string> | ((page: Page) => Record<string, string>) = {},
  begin: (server: TestServer, agent: UserAgent, userId: string) => Promise<unknown> = async () => {},
): FormKind {
  return {
    route: `/account${ROUTES[id] ?? path}`,
    opened: 303,
    async open(server, agent = createUserAgent(server.url)) {
      const { users, consents, directory, clients, upstreams } = kernelOf(server.server)
      const owner = await users.create({ username: `owner-${++owners}`, password: OWNERS_PASSWORD })
      const { client_id: other = '' } = await clients.create({ client_name: 'Another app', scope: ['a'] })
      for (const clientId of ['web', other]) {
        const client = (await directory.findClient(clientId))!
        await consents.remember(owner.id, { client, scopes: new Set(['a']), resources: [], parameters: {} })
      }
      await upstreams.save({ id: 'closed', issuer: 'http://localhost:9', client_id: 'us' })
      const link = { upstream: 'closed', issuer: 'http://localhost:9', subject: owner.id, name: null }
      await server.database.query(`insert into user_records (user_id, kind, record_id, value)
        values ('${owner.id}', 'upstream-link', 'one', '${JSON.stringify(link)}')`)
      for (const browser of [createUserAgent(server.url), agent]) {
        const { username } = owner
        const page = await browser.get(`${server.url}/sign-in`)
        await browser.submit(page, 'login', { username, password: OWNERS_PASSWORD })
      }
      await begin(server, agent, owner.id)
      const page = await agent.get(`${server.url}/account${path}`)
      const form = findForm(page, id)
      if (form === undefined) throw new Error(`no form: ${page.status} ${page.body}`)
      const filled = typeof fill === 'function' ? fill(page) : fill
      return { agent, action: form.action, fields: { ...form.fields, ...filled } }
    },
  }
}

const OWNERS_PASSWORD = 'a password of an owner'
/** Those that are sent to another address than their page's. */
const ROUTES: Readonly<Record<string, string>> = {
  'remove-password': '/password/remove',
  'remove-totp': '/security/authenticator/remove',
  'approval-code-form': '/security/approval-code',
  'end-1': '/sessions/end',
  'end-others': '/sessions/end-others',
  'revoke-0': '/apps/revoke',
  'revoke-all': '/apps/revoke-all',
  link: '/linked-sign-ins/link',
  'unlink-0': '/linked-sign-ins/unlink',
}

const setUp = async ({ url }: TestServer, agent: UserAgent): Promise<unknown> => setUpFactor(agent, url)

export const ACCOUNT = formsThere({
  profile: ofAccount('/profile', 'profile', { nickname: 'Another name' }),
  'email address': ofAccount('/email', 'change-email', { email: 'another@address.example' }),
  password: ofAccount('/password', 'change-password', { current_password: OWNERS_PASSWORD, new_password: 'another password' }),
  // Who has another way in.
  'removal of the password': { ...ofAccount('/security', 'remove-password'), needs: 'latchkey-upstreams' },
  'authenticator app': ofAccount('/security/authenticator', 'totp', (page) => ({ code: codeOf(secretOn(page)) })),
  'removal of the authenticator app': ofAccount('/security', 'remove-totp', {}, setUp),
  'new recovery codes': ofAccount('/security/recovery-codes', 'make-recovery-codes', {}, setUp),
  'code for approvals': ofAccount('/security', 'approval-code-form', { approval_code: 'plum tree' }),
  'end of a session': ofAccount('/sessions', 'end-1'),
  'end of the other sessions': ofAccount('/sessions', 'end-others'),
  'end of the access of an app': ofAccount('/apps', 'revoke-0'),
  'end of the access of all apps': ofAccount('/apps', 'revoke-all'),
  'deletion of the account': ofAccount('/data/delete', 'delete-account'),
  'link of a sign-in': ofAccount('/linked-sign-ins', 'link', { upstream: 'closed' }),
  'end of the link of a sign-in': ofAccount('/linked-sign-ins', 'unlink-0'),
}) // prettier-ignore

/** The one form of a page. */
export function formOn(page: Page, agent: UserAgent, filled: Record<string, string>): OpenForm {
  const action = /<form[^>]* action="([^"]+)"/.exec(page.body)?.[1]
  const token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1]
  if (action === undefined || token === undefined) throw new Error(`no form: ${page.status} ${page.body}`)
  return { agent, action: new URL(action, page.url).href, fields: { csrf_token: token, ...filled } }
}

/** What leads to a mail, and what apps are told, as a rule nothing. */
const TOLD = `'backchannel-logout', 'notice', 'farewell', 'mail', 'password-reset', 'sign-up', 'confirm-email', 'invitation', 'mail-code', 'shared-signals', 'shared-signals-client', 'security-events'`

/** All that a form could change, once what is to be told is told, which comes behind a form in its own time. */
export async function stateOf({ database, server }: TestServer): Promise<unknown> {
  await until(async () => {
    const waiting = await database.query(
      `select 1 from outbox where given_up_at is null and kind in (${TOLD})`,
    )
    if (waiting.length > 0) throw new Error('there is something to be told')
  })
  const [state] = await database.query(`select
    (select json_agg(s order by hash) from (select hash, sid, user_id, authenticated_at from sessions) s) as sessions,
    (select json_agg(hash order by hash) from pending_sessions) as pending_sessions,
    (select json_agg(c order by c::text) from consents c) as consents,
    (select json_agg(c order by client_id) from clients c) as clients,
    (select json_agg(s order by id) from client_secrets s) as client_secrets,
    (select json_agg(s order by name) from scopes s) as scopes,
    (select json_agg(r order by resource) from resources r) as resources,
    (select json_agg(kid order by kid) from signing_keys) as signing_keys,
    (select json_agg(u order by id) from upstreams u) as upstreams,
    (select json_agg(t order by issuer) from trusted_issuers t) as trusted_issuers,
    (select json_agg(r order by record_id) from plugin_records r) as plugin_records,
    (select json_agg(t order by name) from initial_tokens t) as initial_tokens,
    (select json_agg(r order by r::text) from user_records r) as user_records,
    (select count(*)::int from artifacts where kind = 'upstream-flow') as flows,
    (select count(*)::int from artifacts where kind = 'interaction-progress' and value ? 'completed') as answered,
    (select count(*)::int from artifacts where kind = 'password-reset') as links,
    (select json_agg(a order by a::text) from artifacts a where kind in ('device', 'mail-code')) as asked,
    (select count(*)::int from authorization_codes) as codes,
    (select json_agg(r order by r::text) from (select user_id, kind, record_id, revision from user_records) r) as records,
    (select count(*)::int from outbox where given_up_at is null) as deliveries,
    (select json_agg(u order by id) from (select id, claims, roles, password_hash, password_link_hash, disabled_at, deletion_due_at from users) u) as users,
    (select count(*)::int from authorizations where revoked_at is not null) as revoked`)
  const mails = server.oauth.mail
    .kept()
    .filter(({ subject }) => /^(?:A test|Confirm|Set a new password)/.test(subject)).length
  return { ...state, mails }
}
