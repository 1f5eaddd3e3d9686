/** Who may call the interface of the administration: by which tokens, of whom, and for what. */
import { describe, expect, test } from 'vitest'
import { callerAs, callerWith, program, PROGRAMS, ROOT, startApi, tokenOf } from '../../support/admin-api.ts'
import { createDpopKey, prove } from '../../support/dpop.ts'
import { rowsWith } from '../../support/left-out.ts'
import { basic, bearer } from '../../support/requests.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { ALICE, authorize, REDIRECT_URI, SEED, WEB } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'

/** Signs administrators in. */
const CONSOLE = { ...WEB, client_id: 'console', scope: ['latchkey:users:write', 'read_books'] }
const BOTH = { ...program('both'), scope: ['latchkey:users:read', 'read_books'] }
const seed = {
  ...SEED,
  users: [...SEED.users, ROOT],
  clients: [...SEED.clients, ...PROGRAMS, CONSOLE, BOTH, program('waning', 'users:read')],
}
const server = await startApi({}, { seed })
const { oauth } = server.server
const [all, people, apps, reader] = await Promise.all(
  ['all', 'people', 'apps', 'reader'].map(async (client) => callerAs(server, client)),
)
const alice = (await oauth.users.find('alice'))!
const root = (await oauth.users.find('root'))!

async function tokenOfUser(user: Pick<typeof ALICE, 'username' | 'password'>): Promise<string> {
  const resource = `${server.url}/admin/api/v1`
  const asked = { client_id: CONSOLE.client_id, scope: 'openid latchkey:users:write', resource }
  const code = (await authorize(server, asked, undefined, user)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const answer = await server.post('/token', form, basic(CONSOLE.client_id, CONSOLE.client_secret))
  return ((await answer.json()) as { access_token: string }).access_token
}

test('nothing of it is there unless ADMIN_API is on', async () => {
  const off = await startServer({}, { seed: SEED })
  for (const path of ['/users', '/openapi.json'])
    expect((await off.get(`/admin/api/v1${path}`)).status).toBe(404)
  expect((await off.get('/.well-known/oauth-protected-resource/admin/api/v1')).status).toBe(404)
  expect(await off.server.oauth.resources.listScopes()).toHaveLength(1)
})

test('who has no token is told what would get one (RFC 9728)', async () => {
  const answer = await server.get('/admin/api/v1/users')
  const challenge = answer.headers.get('www-authenticate')!
  expect(answer.status).toBe(401)
  expect(challenge).toContain('scope="latchkey:users:read"')
  const [, metadata] = /resource_metadata="([^"]+)"/.exec(challenge)!
  expect(await (await fetch(metadata!)).json()).toMatchObject({
    resource: `${server.url}/admin/api/v1`,
    authorization_servers: [server.url],
  })
})

test('what it needs is registered once, and what is changed or removed of it stays so', async () => {
  const { database } = server
  const names = (await oauth.resources.listScopes()).map(({ name }) => name)
  expect(names).toEqual(
    expect.arrayContaining(['latchkey:admin', 'latchkey:audit:read', 'latchkey:users:write']),
  )
  await oauth.resources.saveScope({ name: 'latchkey:audit:read', description: 'Read what happened' })
  await oauth.resources.saveResource({ resource: `${server.url}/admin/api/v1`, access_token_lifetime: 60 })
  await oauth.resources.saveScope({ name: 'latchkey:unused', description: 'Of nobody' })
  const count = async () =>
    (await database.query(`select from audit_events where type like 'scope.%'`)).length
  const before = await count()
  const beside = await startBeside(server)
  expect(await beside.server.oauth.resources.findScope('latchkey:audit:read')).toMatchObject({
    description: 'Read what happened',
  })
  expect(await beside.server.oauth.resources.findResource(`${server.url}/admin/api/v1`)).toMatchObject({
    access_token_lifetime: 60,
  })
  expect(await count()).toBe(before)
})

test('where the resource was deleted it stays so, and nobody gets in by what its scopes are then', async () => {
  const own = await startApi({}, { seed })
  const resource = `${own.url}/admin/api/v1`
  expect((await (await callerAs(own, 'reader'))('GET', '/users')).status).toBe(200)
  await own.server.oauth.resources.deleteResource(resource)
  const beside = await startBeside(own)
  expect(await beside.server.oauth.resources.findResource(resource)).toBeNull()
  for (const one of [own, beside])
    expect((await (await callerAs(one, 'reader'))('GET', '/users')).status).toBe(401)
})

describe('a token', () => {
  test('is for this resource alone: one for the server itself, or for an API, opens nothing', async () => {
    const ours = await tokenOf(server, 'both', { scope: 'latchkey:users:read' })
    expect((await callerWith(server, ours)('GET', '/users')).status).toBe(200)
    expect((await server.get('/userinfo', bearer(ours))).status).toBe(401)
    const other = await tokenOf(server, 'both', { scope: 'read_books' })
    const refused = await callerWith(server, other)('GET', '/users')
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_token'])
  })

  test.each<[client: string, method: string, path: string]>([
    ['reader', 'POST', '/users'],
    ['reader', 'DELETE', `/users/${alice.id}`],
    ['reader', 'GET', '/audit-events'],
    ['people', 'GET', '/clients'],
    ['people', 'GET', '/keys'],
    ['people', 'DELETE', '/keys/any'],
    ['apps', 'GET', '/users'],
    ['apps', 'GET', '/audit-events'],
    ['apps', 'GET', '/trusted-issuers'],
    ['apps', 'POST', '/trusted-issuers'],
    ...rowsWith('latchkey-upstreams', [
      ['apps', 'GET', '/upstreams'],
      ['people', 'POST', '/upstreams'],
      ['apps', 'PATCH', '/upstreams/any'],
      ['apps', 'DELETE', '/upstreams/any'],
    ] as [string, string, string][]),
    ['auditor', 'GET', `/users/${alice.id}/data`],
    ['auditor', 'POST', '/clients'],
  ])('of %s does not let it %s %s', async (client, method, path) => {
    const answer = await (await callerAs(server, client))(method, path, method === 'POST' ? {} : undefined)
    expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope'])
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
  })

  test('of a client from which the scope was taken, or that was deleted, is good no more', async () => {
    const call = await callerAs(server, 'waning')
    expect((await call('GET', '/users')).status).toBe(200)
    await oauth.clients.update('waning', { scope: ['read_books'] })
    expect((await call('GET', '/users')).body).toMatchObject({ error: 'insufficient_scope' })
    await oauth.clients.update('waning', { scope: ['latchkey:users:read'] })
    expect((await call('GET', '/users')).status).toBe(200)
    await oauth.clients.delete('waning')
    expect((await call('GET', '/users')).status).toBe(401)
  })

  test('of a person counts while they are an administrator who may sign in, and what they do is theirs', async () => {
    const call = callerWith(server, await tokenOfUser(ROOT))
    expect((await call('PATCH', `/users/${alice.id}`, { nickname: 'Al' })).status).toBe(200)
    const [event] = (await oauth.audit.list({ type: 'user.changed', user: alice.id })).events
    expect(event!.actor).toEqual({ kind: 'user', id: root.id })
    const nobody = callerWith(server, await tokenOfUser(ALICE))
    expect((await nobody('GET', '/users')).body).toEqual({
      error: 'access_denied',
      error_description: 'the token is of somebody who is no administrator',
    })
    await oauth.users.update('alice', { roles: ['admin'] })
    await until(async () => expect((await nobody('GET', '/users')).status).toBe(200))
    await oauth.users.update('alice', { roles: [] })
    expect((await nobody('GET', '/users')).status).toBe(403)
  })

  test('of a client that has registered itself opens nothing, whatever it was given', async () => {
    const open = await startApi(
      { OIDC_REGISTRATION: 'open', OIDC_REGISTRATION_SCOPES: 'latchkey:users:read' },
      { seed },
    )
    const metadata = {
      redirect_uris: [REDIRECT_URI],
      scope: 'openid latchkey:users:read',
      token_endpoint_auth_method: 'client_secret_post',
    }
    const registered = await open.request('/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(metadata),
    })
    const { client_id, client_secret } = (await registered.json()) as Record<string, string>
    const resource = `${open.url}/admin/api/v1`
    const asked = { client_id, scope: 'openid latchkey:users:read', resource }
    const code = (await authorize(open, asked, undefined, ROOT)).get('code')!
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const answer = await open.post('/token', {
      ...form,
      client_id: client_id!,
      client_secret: client_secret!,
    })
    const { access_token: token, scope } = (await answer.json()) as Record<string, string>
    expect(scope).toContain('latchkey:users:read')
    expect((await callerWith(open, token!)('GET', '/users')).body.error).toBe('insufficient_scope')
  })

  test('that is bound to a key is good with a proof of it alone (RFC 9449)', async () => {
    const key = await createDpopKey()
    const proof = await prove(key, { method: 'POST', url: `${server.url}/token` })
    const [{ client_id, client_secret }] = PROGRAMS as [(typeof PROGRAMS)[number]]
    const answer = await server.post(
      '/token',
      { grant_type: 'client_credentials' },
      { ...basic(client_id, client_secret), dpop: proof },
    )
    const { access_token: token } = (await answer.json()) as { access_token: string }
    expect((await callerWith(server, token)('GET', '/users')).status).toBe(401)
    const shown = await prove(key, { method: 'GET', url: `${server.url}/admin/api/v1/users`, token })
    const call = callerWith(server, token, { authorization: `DPoP ${token}`, dpop: shown })
    expect((await call('GET', '/users')).status).toBe(200)
  })
})

describe('who may not do all gets no more than they have', () => {
  type Row = [method: string, path: string, body: object | undefined]
  test.each<Row>([
    ['POST', '/users', { username: 'eve', roles: ['admin'] }],
    ['PATCH', `/users/${alice.id}`, { roles: ['admin'] }],
    ['PATCH', `/users/${root.id}`, { email: 'mine@example.com', email_verified: true }],
    ['PATCH', `/users/${root.id}`, { password: 'a password of mine' }],
    ['PATCH', `/users/${root.id}`, { disabled: true }],
    ['PATCH', `/users/${root.id}`, { roles: [] }],
    ['DELETE', `/users/${root.id}`, undefined],
    ['DELETE', `/users/${root.id}/second-factor`, undefined],
    ['POST', `/users/${root.id}/password-link`, {}],
    ...rowsWith('latchkey-own-data', [['DELETE', `/users/${root.id}/deletion`, undefined]] as Row[]),
    ...rowsWith('latchkey-passkeys', [['DELETE', `/users/${root.id}/passkeys/any`, undefined]] as Row[]),
    ...rowsWith('latchkey-upstreams', [
      ['DELETE', `/users/${root.id}/linked-sign-ins/any`, undefined],
    ] as Row[]),
    ...rowsWith('latchkey-invitation', [
      ['POST', `/users/${root.id}/invitation`, {}],
      ['DELETE', `/users/${root.id}/invitation`, undefined],
    ] as Row[]),
  ])('by %s %s %j', async (method, path, body) => {
    const answer = await people!(method, path, body)
    expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope'])
    expect(answer.headers.get('www-authenticate')).toContain('scope="latchkey:admin"')
    expect(await oauth.users.get(root.id)).toEqual(root)
    expect(await oauth.users.find('eve')).toBeNull()
  })

  test.each([
    [
      'POST',
      '/clients',
      { client_id: 'mine', grant_types: ['client_credentials'], scope: 'latchkey:users:read' },
    ],
    ['PATCH', '/clients/web', { scope: 'read_books latchkey:admin' }],
    ['PATCH', '/clients/all', { redirect_uris: ['https://mine.example/'] }],
    ['PATCH', '/clients/reader', { scope: '' }],
    ['POST', '/clients/people/secret', {}],
    ['DELETE', '/clients/console', undefined],
    ['PATCH', '/scopes/latchkey:admin', { resource: null }],
    ['DELETE', '/scopes/latchkey:users:read', undefined],
    ['POST', '/scopes', { name: 'latchkey:more' }],
    ['POST', '/scopes', { name: 'openid', resource: 'https://mine.example' }],
    ['POST', '/scopes', { name: 'mine', resource: `${server.url}/admin/api/v1` }],
    ['PATCH', '/scopes/read_books', { resource: `${server.url}/admin/api/v1/` }],
    ['POST', '/resources', { resource: `${server.url}/admin/api/v1/` }],
    [
      'PATCH',
      `/resources/${encodeURIComponent(`${server.url}/admin/api/v1`)}`,
      { access_token_lifetime: 86_400 },
    ],
    ['DELETE', `/resources/${encodeURIComponent(`${server.url}/admin/api/v1`)}`, undefined],
  ])('by %s %s %j', async (method, path, body) => {
    const all = async () =>
      Promise.all(
        ['/clients', '/scopes', '/resources'].map(async (list) => (await reader!('GET', list)).body),
      )
    const before = await all()
    const answer = await apps!(method, path, body)
    expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope'])
    expect(await all()).toEqual(before)
  })

  test.each(['scim/v2', 'ssf', 'global-token-revocation'])('by what %s is guarded with, there or not', async (path) => {
    const resource = `${server.url}/${path}`
    const address = `/resources/${encodeURIComponent(resource)}`
    expect((await apps!('POST', '/resources', { resource: `${resource}/` })).status).toBe(403)
    expect((await apps!('POST', '/resources', { resource: 'https://a.example', aliases: [resource] })).status).toBe(403)
    await oauth.resources.saveResource({ resource })
    await oauth.resources.saveScope({ name: 'manage', description: 'All of it', resource })
    expect((await apps!('PATCH', address, { access_token_lifetime: 86_400 })).status).toBe(403)
    expect((await apps!('PATCH', '/scopes/manage', { resource: null })).status).toBe(403)
    expect((await apps!('DELETE', '/scopes/manage')).status).toBe(403)
    expect((await apps!('DELETE', address)).status).toBe(403)
    for (const one of ['/scopes/manage', address]) expect((await all!('DELETE', one)).status).toBe(204)
  }) // prettier-ignore

  test('who may do all does it, but leaves an administrator who may sign in', async () => {
    const made = await all!('POST', '/users', { username: 'second', roles: ['admin'] })
    expect(made.status).toBe(201)
    expect((await all!('PATCH', `/users/${made.body.sub}`, { roles: [] })).body.roles).toEqual([])
    for (const changes of [{ roles: [] }, { disabled: true }, { disabled: true, roles: ['staff'] }]) {
      const refused = await all!('PATCH', `/users/${root.id}`, { ...changes, nickname: 'Gone' })
      expect([refused.status, refused.body.problems[0].member]).toEqual([400, 'roles'])
    }
    expect((await all!('DELETE', `/users/${root.id}`)).status).toBe(400)
    expect(await oauth.users.get(root.id)).toEqual(root)
  })
})
