/**
 * What a browser that was left open must not do: each such change asks for the password once more, and is not done before. What was
 * typed stands there again.
 */
import { randomBytes } from 'node:crypto'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { rowsWith } from '../../support/left-out.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'
import { findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { age } from '../account/owner.ts'
import { ROOT, signedIn } from './administrator.ts'

const API = 'https://api.example/'
const THEM = 'https://platform.example'
const CARL = { username: 'carl', password: 'a password of a clerk', roles: ['staff', 'clerk', 'temporary'] }
const OTHER = { ...ROOT, username: 'other' }
const CORP = { issuer: 'https://corp.example', client_id: 'us', client_secret: 'what they gave us' }
const scopes = [...SEED.scopes, { name: 'unused' }]
const seed = {
  ...SEED,
  scopes,
  users: [...SEED.users, ROOT, OTHER, CARL],
  resources: [{ resource: API }],
  trusted_issuers: [{ issuer: THEM, jwks_uri: `${THEM}/jwks` }],
  upstreams: [{ ...CORP, id: 'corp' }],
}
const server = await startServer({}, { seed })
const { users, clients } = server.server.oauth
const alice = (await users.find(ALICE.username))!.id
const bob = (await users.find(BOB.username))!.id
const carl = (await users.find(CARL.username))!.id
let agent: UserAgent

beforeEach(async () => {
  agent = await signedIn(server)
})

async function state(): Promise<unknown> {
  const [row] = await server.database.query(`select
    (select json_agg(u order by id) from (select id, username, roles, claims, password_link_hash, disabled_at from users) u) as users,
    (select json_agg(id order by id) from client_secrets) as secrets, (select json_agg(c order by client_id) from clients c) as clients,
    (select json_agg(name order by name) from scopes) as scopes, (select json_agg(resource) from resources) as resources, (select json_agg(kid order by kid) from signing_keys) as keys, (select json_agg(t order by issuer) from trusted_issuers t) as issuers,
    (select json_agg(u order by id) from upstreams u) as upstreams`)
  return row
}

type Row = [what: string, path: string, form: string, fields: Record<string, string>]

test.each<Row>([
  ['a new secret', '/client?client_id=web', 'rotate-secret', {}],
  ['other keys', '/client?client_id=web', 'client', { jwks_uri: 'https://app.example/jwks' }],
  [
    'another way to prove itself',
    '/client?client_id=web',
    'client',
    { token_endpoint_auth_method: 'client_secret_post' },
  ],
  // Whoever gets the codes of its people is them, there.
  [
    'where an app takes people',
    '/client?client_id=web',
    'client',
    { redirect_uris: 'https://evil.example/cb' },
  ],
  [
    'where people are led after sign-out',
    '/client?client_id=web',
    'client',
    { post_logout_redirect_uris: 'https://evil.example/' },
  ],
  ['what an app may without asking', '/client?client_id=web', 'client', { require_consent: 'false' }],
  ['a new client', '/clients/new?type=service', 'client', { client_id: 'newcomer', scope: 'read_books' }],
  ['the deletion of a client', '/client?client_id=web', 'delete-client', { confirm_client_id: 'web' }],
  ['a link for a password', `/user?id=${alice}`, 'make-password-link', {}],
  ['a role', `/user?id=${alice}`, 'user', { roles: 'admin' }],
  ['a role by its page', '/role?name=admin', 'add', { user: BOB.username }],
  ['what takes a role from somebody', '/role?name=staff', 'remove-0', {}],
  ['another name of a role', '/role?name=clerk', 'rename', { to: 'admins' }],
  ['the deletion of a role', '/role?name=temporary', 'delete-role', { confirm: 'temporary' }],
  // Whoever has the address gets a link for a password there.
  ['an address', `/user?id=${alice}`, 'user', { email: 'other@example.com' }],
  ['whether an address is confirmed', `/user?id=${alice}`, 'user', { email_verified: 'no' }],
  // It is what they sign in by.
  ['a user name', `/user?id=${carl}`, 'user', { username: 'Carl' }],
  ['a user with a role', '/users/new', 'user', { username: 'dora', roles: 'admin' }],
  ['the disabling of a user', `/user?id=${alice}`, 'disable', {}],
  ['the enabling of a user', `/user?id=${alice}`, 'enable', {}],
  ['the deletion of a user', `/user?id=${bob}`, 'delete-user', { confirm_username: BOB.username }],
  ['a new key', '/keys', 'rotate-EdDSA', {}],
  ['the deletion of a scope', '/scope?id=unused', 'delete-record', { confirm: 'unused' }],
  [
    'a new trusted issuer',
    '/trusted-issuers/new',
    'record',
    { issuer: 'https://new.example', jwks_uri: 'https://new.example/jwks' },
  ],
  ['what a trusted issuer may', `/trusted-issuer?id=${THEM}`, 'record', { scopes: 'read_books' }],
  ['the deletion of a trusted issuer', `/trusted-issuer?id=${THEM}`, 'delete-record', { confirm: THEM }],
  ['the deletion of a resource', `/resource?id=${API}`, 'delete-record', { confirm: API }],
  ...rowsWith<Row[]>('latchkey-upstreams', [
    ['a new upstream', '/upstreams/new', 'record', { ...CORP, id: 'new' }],
    // It can sign in whom it likes then, an administrator too.
    [
      'what an upstream is believed',
      '/upstream?id=corp',
      'record',
      { domains: 'example.com', trust_email: 'true' },
    ],
    ['the deletion of an upstream', '/upstream?id=corp', 'delete-record', { confirm: 'corp' }],
  ]),
])('%s', async (what, path, form, fields) => {
  if ((await clients.find('web')) === null) await clients.create(SEED.clients[0])
  if (form === 'enable') await users.disable(ALICE.username)
  else await users.enable(ALICE.username)
  const page = await agent.get(`${server.url}/admin${path}`)
  const before = await state()
  await age(server, 601)
  const asked = await agent.submit(page, form, fields)
  expect([what, new URL(asked.url).pathname, asked.status]).toEqual([what, '/sign-in', 200])
  expect(findForm(asked, 'login')!.fields['username']).toBe(ROOT.username)
  expect(await state()).toEqual(before)

  const { username, password } = ROOT
  const back = await agent.submit(asked, 'login', { username, password })
  // What was typed into a form of the page's own stands there again, as one that is not saved; of a button, only the press is lost.
  const isTyped = ['user', 'record', 'client'].includes(form)
  const at = `/admin${path.replace(/\?.*/, '')}`
  expect([new URL(back.url).pathname, back.status]).toEqual([at, 200])
  expect(back.body).not.toMatch(/<title>Error|class="(?:alert|problem)"/)
  expect(back.body).toContain(isTyped ? 'Nothing is saved yet' : 'not done yet')
  const { client_secret: secret, ...plain } = fields
  expect(findForm(back, form)!.fields).toMatchObject(isTyped ? plain : {})
  expect(await state()).toEqual(before)
  const typedOnce = secret === undefined ? {} : { client_secret: secret }
  expect((await agent.submit(back, form, isTyped ? typedOnce : fields)).status).toBe(200)
  expect(await state()).not.toEqual(before)
})

test('what is not so grave is done at any time', async () => {
  await users.enable(ALICE.username)
  if ((await clients.find('web')) === null) await clients.create(SEED.clients[0])
  const user = await agent.get(`${server.url}/admin/user?id=${alice}`)
  const client = await agent.get(`${server.url}/admin/client?client_id=web`)
  await age(server, 100_000)
  expect((await agent.submit(user, 'user', { nickname: 'Al' })).body).toContain('Saved')
  expect((await agent.submit(client, 'client', { client_name: 'Another' })).body).toContain('Saved')
})

/** Signs in once more, from the page that asks for it. */
const confirm = async (asked: Page): Promise<Page> =>
  agent.submit(asked, 'login', { password: ROOT.password })
/** The page of a user, sent with these values a while after the sign-in. */
async function askedFor(id: string, fields: Record<string, string>): Promise<Page> {
  const page = await agent.get(`${server.url}/admin/user?id=${id}`)
  await age(server, 601)
  return agent.submit(page, 'user', fields)
}

test('what others have changed while somebody signed in is not undone unseen', async () => {
  const asked = await askedFor(carl, { nickname: 'Carlo', roles: 'clerk' })
  await users.update(CARL.username, { nickname: 'Charles', roles: [] })
  const back = await confirm(asked)
  expect(back.body).toContain('The user was changed meanwhile. Nothing is saved yet')
  expect(findForm(back, 'user')!.fields).toMatchObject({ nickname: 'Carlo', roles: 'clerk' })
  expect((await users.get(carl)).claims['nickname']).toBe('Charles')
})

test('a password that was typed does not travel', async () => {
  const page = await agent.get(`${server.url}/admin/users/new`)
  await age(server, 601)
  const typed = { username: 'edna', roles: 'clerk', password: 'what nobody else may read' }
  const back = await confirm(await agent.submit(page, 'user', typed))
  expect(findForm(back, 'user')!.fields).toMatchObject({ username: 'edna', roles: 'clerk', password: '' })
})

test('what is too long for an address is left behind, and the page says that it is not done', async () => {
  const names = ['name', 'given_name', 'family_name', 'middle_name', 'nickname', 'profile']
  const long = Object.fromEntries(names.map((name) => [name, randomBytes(250).toString('hex')]))
  const back = await confirm(await askedFor(carl, { roles: 'clerk', ...long }))
  expect(back.url).toBe(`${server.url}/admin/user?id=${carl}&done=again`)
  expect(back.body).toContain('not done yet')
})

test('an address with what was typed is good for this user, this page and a while alone', async () => {
  const typed = { roles: 'clerk', nickname: 'Typed by root' }
  const { url } = await confirm(await askedFor(carl, typed))
  const shows = async (by: UserAgent, at = url): Promise<boolean> =>
    (await by.get(at)).body.includes(typed.nickname)
  const sealed = new URL(url).searchParams.get('typed')!
  expect(url).toBe(`${server.url}/admin/user?id=${carl}&done=again&typed=${sealed}`)
  expect(await shows(agent)).toBe(true)

  const other = await signedIn(server, OTHER)
  expect((await other.get(`${server.url}/admin/users/new`)).status).toBe(200)
  for (const path of ['/admin/user', '/admin/users/new'])
    expect(await shows(other, `${server.url}${path}?id=${carl}&typed=${sealed}`)).toBe(false)
  for (const path of [`/users/new?typed=${sealed}`, `/user?id=${carl}&typed=${sealed.slice(0, -2)}`, `/user?id=${carl}&typed=x`]) {
    const page = await agent.get(`${server.url}/admin${path}`)
    expect([path, page.status, page.body.includes(typed.nickname)]).toEqual([path, 200, false])
  }
  const { now } = Date
  vi.spyOn(Date, 'now').mockImplementation(() => now() + 7_200_001)
  onTestFinished(() => void vi.restoreAllMocks())
  expect(await shows(agent, `${server.url}/admin/user?id=${carl}&typed=${sealed}`)).toBe(false)
}) // prettier-ignore
