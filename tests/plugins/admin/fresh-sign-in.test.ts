/** What a browser that was left open must not do: each such change asks for the password once more, and is not done before. */
import { beforeEach, expect, test } from 'vitest'
import { startServer } from '../../support/server.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'
import { findForm, type UserAgent } from '../../support/user-agent.ts'
import { age } from '../account/owner.ts'
import { ROOT, signedIn } from './administrator.ts'

const API = 'https://api.example/'
const THEM = 'https://platform.example'
const scopes = [...SEED.scopes, { name: 'unused' }]
const seed = {
  ...SEED,
  scopes,
  users: [...SEED.users, ROOT],
  resources: [{ resource: API }],
  trusted_issuers: [{ issuer: THEM, jwks_uri: `${THEM}/jwks` }],
}
const server = await startServer({}, { seed })
const { users, clients } = server.server.oauth
const alice = (await users.find(ALICE.username))!.id
const bob = (await users.find(BOB.username))!.id
let agent: UserAgent

beforeEach(async () => {
  agent = await signedIn(server)
})

async function state(): Promise<unknown> {
  const [row] = await server.database.query(`select
    (select json_agg(u order by id) from (select id, roles, claims, password_link_hash, disabled_at from users) u) as users,
    (select json_agg(id order by id) from client_secrets) as secrets, (select json_agg(client_id order by client_id) from clients) as clients,
    (select json_agg(name order by name) from scopes) as scopes, (select json_agg(resource) from resources) as resources, (select json_agg(kid order by kid) from signing_keys) as keys, (select json_agg(t order by issuer) from trusted_issuers t) as issuers`)
  return row
}

test.each([
  ['a new secret', '/client?client_id=web', 'rotate-secret', {}],
  ['the deletion of a client', '/client?client_id=web', 'delete-client', { confirm_client_id: 'web' }],
  ['a link for a password', `/user?id=${alice}`, 'make-password-link', {}],
  ['a role', `/user?id=${alice}`, 'user', { roles: 'admin' }],
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
  expect([new URL(back.url).pathname, back.status]).toEqual([`/admin${path.replace(/\?.*/, '')}`, 200])
  // A form for what is new is empty again, which says it.
  expect(back.body.includes('not done yet')).toBe(!path.endsWith('/new'))
  expect(await state()).toEqual(before)
  expect((await agent.submit(back, form, fields)).status).toBe(200)
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
