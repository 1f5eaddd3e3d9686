/** What may change between the moment when a token is judged and the one when it is done. */
import { afterEach, expect, test, vi } from 'vitest'
import { callerAs, callerWith, PROGRAMS, ROOT, startApi } from '../../support/admin-api.ts'
import { isThere } from '../../support/left-out.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { ALICE, authorize, getTokens, REDIRECT_URI, SEED, WEB } from '../../support/sign-in.ts'
import { APP, bring, createAssertionKey, JAG_SEED, said, startIssuer } from '../../support/trusted-issuer.ts'
import { until } from '../../support/until.ts'

const CONSOLE = { ...WEB, client_id: 'console', scope: ['latchkey:admin', 'latchkey:users:write'] }
const server = await startApi(
  {},
  { seed: { ...SEED, users: [...SEED.users, ROOT], clients: [...SEED.clients, ...PROGRAMS, CONSOLE] } },
)
const { oauth } = server.server
const { users, clients } = oauth
const [all, people, apps] = await Promise.all(
  ['all', 'people', 'apps'].map(async (one) => callerAs(server, one)),
)
const SECRET = `lks_${'b'.repeat(43)}`

afterEach(() => vi.restoreAllMocks())

test('who takes the name of one who is deleted meanwhile is neither changed nor deleted for them', async () => {
  for (const work of ['update', 'delete'] as const) {
    const former = await users.create({ username: 'namesake' })
    const change = users[work] as (name: string, ...more: unknown[]) => Promise<never>
    const { delete: remove } = users
    vi.spyOn(users, work).mockImplementationOnce(async (...given: unknown[]) => {
      await remove('namesake')
      await users.create({ username: 'namesake', nickname: 'Another' })
      return change(...(given as [string]))
    })
    const isChange = work === 'update'
    const answer = await people!(
      isChange ? 'PATCH' : 'DELETE',
      `/users/${former.id}`,
      isChange ? { nickname: 'Mine' } : undefined,
    )
    expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    expect((await users.find('namesake'))!.claims['nickname']).toBe('Another')
    await users.delete('namesake')
  }
})

test('who is renamed meanwhile is changed all the same, and who took the name is not', async () => {
  for (const work of ['update', 'delete'] as const) {
    const person = await users.create({ username: 'renamed-meanwhile' })
    const change = users[work] as (...given: unknown[]) => Promise<never>
    const { update } = users
    vi.spyOn(users, work).mockImplementationOnce(async (...given: unknown[]) => {
      await update(person, { username: `${work}d` }, { mayRename: true })
      await users.create({ username: 'renamed-meanwhile', nickname: 'Another' })
      return change(...given)
    })
    const isChange = work === 'update'
    const body = isChange ? { nickname: 'Mine' } : undefined
    const { status } = await people!(isChange ? 'PATCH' : 'DELETE', `/users/${person.id}`, body)
    expect(status).toBe(isChange ? 200 : 204)
    const now = await users.find(`${work}d`)
    expect(now?.claims).toEqual(isChange ? { nickname: 'Mine' } : undefined)
    expect((await users.find('renamed-meanwhile'))!.claims['nickname']).toBe('Another')
    await users.delete('renamed-meanwhile')
  }
})

test('an address that is verified meanwhile proves nothing of the one that is sent', async () => {
  const { id } = await users.create({ username: 'reader-of-mails', email: 'own@example.com' })
  const { update } = users
  vi.spyOn(users, 'update').mockImplementationOnce(async (...given) => {
    await update('reader-of-mails', { email_verified: true })
    return update(...given)
  })
  const { body } = await people!('PATCH', `/users/${id}`, { email: 'victim@example.com' })
  expect(body).toMatchObject({ email: 'victim@example.com', email_verified: false })
})

test('who is deleted while they are changed is not found, and a client neither', async () => {
  const { id } = await users.create({ username: 'leaving' })
  const { update } = users
  vi.spyOn(users, 'update').mockImplementationOnce(async (...given) => {
    await users.delete('leaving')
    return update(...given)
  })
  expect((await people!('PATCH', `/users/${id}`, { nickname: 'Late' })).status).toBe(404)
  await clients.create({ client_id: 'leaving', grant_types: ['client_credentials'], scope: ['read_books'] })
  const { rotateSecret } = clients
  vi.spyOn(clients, 'rotateSecret').mockImplementationOnce(async (...given) => {
    await clients.delete('leaving')
    return rotateSecret(...given)
  })
  expect((await apps!('POST', '/clients/leaving/secret', {})).status).toBe(404)
})

test('who changes again and again is a reason to try later', async () => {
  const { id, username } = await users.create({ username: 'restless' })
  const { update } = users
  let times = 0
  vi.spyOn(users, 'update').mockImplementation(async (...given) => {
    await update(username, { nickname: `No. ${times++}` })
    return update(...given)
  })
  const { status, headers } = await people!('PATCH', `/users/${id}`, { name: 'Calm' })
  expect([status, headers.has('retry-after')]).toEqual([503, true])
})

test.each([
  ['PATCH', { password: 'a password of a stranger' }, 'update'],
  ['PATCH', { email: 'stranger@example.com', email_verified: true }, 'update'],
  ['DELETE', undefined, 'delete'],
] as const)(
  '%s with %j of who becomes an administrator meanwhile is refused, or done by who may do all',
  async (method, body, work) => {
    for (const [call, status] of [
      [people!, 403],
      [all!, method === 'DELETE' ? 204 : 200],
    ] as const) {
      const { id, username } = await users.create({ username: `rising-${work}-${Math.random()}` })
      const change = users[work] as (name: string, ...more: unknown[]) => Promise<never>
      const { update } = users
      vi.spyOn(users, work).mockImplementationOnce(async (...given: unknown[]) => {
        await update(username, { roles: ['admin'] })
        // As if it were all of one millisecond.
        await server.database.query('update users set updated_at = created_at where id = $1', [id])
        return change(...(given as [string]))
      })
      const answer = await call(method, `/users/${id}`, body)
      expect(answer.status).toBe(status)
      const now = await users.find(username)
      expect(now === null).toBe(status === 204)
      expect(status === 403 ? now : { ...now, claims: {} }).toMatchObject({ claims: {} })
      expect(await users.canSignInByPassword(username)).toBe(
        status === 200 && body?.hasOwnProperty('password') === true,
      )
      await users.delete(username)
    }
  },
)

test.each([
  ['PATCH', '', { client_secret: SECRET }, 'update'],
  ['POST', '/secret', {}, 'rotateSecret'],
  ['DELETE', '', undefined, 'delete'],
] as const)(
  '%s%s with %j of a client that comes to administer the server meanwhile is refused',
  async (method, path, body, work) => {
    const client_id = `rising-${work}`
    await clients.create({
      client_id,
      client_secret: `lks_${'c'.repeat(43)}`,
      grant_types: ['client_credentials'],
      scope: ['read_books'],
    })
    const change = clients[work] as (id: string, ...more: unknown[]) => Promise<never>
    const { update } = clients
    vi.spyOn(clients, work).mockImplementationOnce(async (...given: unknown[]) => {
      await update(client_id, { scope: ['latchkey:admin'] })
      return change(...(given as [string]))
    })
    const answer = await apps!(method, `/clients/${client_id}${path}`, body)
    expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope'])
    expect(await clients.hasSecret(client_id, `lks_${'c'.repeat(43)}`)).toBe(true)
    expect(await clients.hasSecret(client_id, SECRET)).toBe(false)
  },
)

test('of several new secrets at once one is good in the end, and none of a client that is deleted is a 5xx', async () => {
  for (let round = 0; round < 4; round++) {
    const client_id = `turning-${round}`
    await clients.create({ client_id, grant_types: ['client_credentials'], scope: ['read_books'] })
    const made = await Promise.all(
      [1, 2, 3].map(async () => all!('POST', `/clients/${client_id}/secret`, {})),
    )
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201])
    const good = await Promise.all(
      made.map(async ({ body }) => clients.hasSecret(client_id, body.client_secret)),
    )
    expect(good.filter(Boolean)).toHaveLength(1)
    const both = await Promise.all([
      all!('POST', `/clients/${client_id}/secret`, {}),
      all!('DELETE', `/clients/${client_id}`),
    ])
    expect([201, 400, 404]).toContain(both[0].status)
    expect(both[1].status).toBe(204)
  }
})

test('a token that is for an API too opens nothing here, as that API could use it', async () => {
  await all!('POST', '/resources', { resource: 'https://books.example' })
  await all!('POST', '/scopes', { name: 'lend', resource: 'https://books.example' })
  await all!('POST', '/clients', {
    client_id: 'mixed',
    client_secret: SECRET,
    grant_types: ['client_credentials'],
    scope: 'lend latchkey:admin',
  })
  const token = async (form: Record<string, string>) => {
    const answer = await server.post(
      '/token',
      { grant_type: 'client_credentials', ...form },
      basic('mixed', SECRET),
    )
    return ((await answer.json()) as { access_token: string }).access_token
  }
  const refused = await callerWith(server, await token({}))('GET', '/keys')
  expect([refused.status, refused.body.error]).toEqual([401, 'invalid_token'])
  expect(refused.body.error_description).toContain('with this resource alone')
  const alone = { resource: `${server.url}/admin/api/v1` }
  expect((await callerWith(server, await token(alone))('GET', '/keys')).status).toBe(200)
})

test('what would let a client come by a scope of the interface later needs all of it', async () => {
  const base = {
    grant_types: ['authorization_code'],
    redirect_uris: ['https://app.example/cb'],
    scope: 'read_books',
  }
  for (const members of [
    { default_scope: 'latchkey:admin' },
    { optional_scopes: ['latchkey:users:read'] },
    {
      token_exchange: [
        { subject_clients: ['web'], resources: [`${server.url}/admin/api/v1`], scopes: ['latchkey:admin'] },
      ],
    },
    { client_id: 'latchkey:admin' },
  ])
    expect((await apps!('POST', '/clients', { ...base, ...members })).body.error).toBe('insufficient_scope')
})

test('an administrator is signed out, and their apps lose access, by who may do all', async () => {
  const root = (await users.find('root'))!
  await getTokens(server, { scope: 'openid offline_access' }, undefined, ROOT)
  const [session] = await oauth.sessions.list(root.id)
  const { authorizations } = await oauth.authorizations.listByUser(root.id)
  const paths = [
    `/users/${root.id}/sessions/${session!.sid}`,
    `/users/${root.id}/sessions`,
    `/authorizations/${authorizations[0]!.id}`,
  ]
  for (const path of paths) expect((await people!('DELETE', path)).body.error).toBe('insufficient_scope')
  expect([
    await oauth.sessions.list(root.id),
    (await oauth.authorizations.listByUser(root.id)).authorizations,
  ]).toMatchObject([[{}], [{}]])
  for (const path of paths) expect((await all!('DELETE', path)).status).toBe(204)
})

test('the challenge names the resource where to get more, in the scheme of the token', async () => {
  const { headers } = await people!('DELETE', `/users/${(await users.find('root'))!.id}`)
  const challenge = headers.get('www-authenticate')!
  expect(challenge).toMatch(/^Bearer realm="[^"]+\/admin\/api\/v1"/)
  expect(challenge).toContain('resource_metadata=')
  expect(challenge).toContain('scope="latchkey:admin"')
})

test.runIf(isThere('latchkey-second-factor'))(
  'a sign-in that lacks a factor by now administers nothing',
  async () => {
    const careful = await startApi(
      { OIDC_SECOND_FACTOR_ROLES: 'admin' },
      { seed: { ...SEED, users: [...SEED.users, ROOT], clients: [...SEED.clients, CONSOLE] } },
    )
    const asked = {
      client_id: 'console',
      scope: 'openid latchkey:admin',
      resource: `${careful.url}/admin/api/v1`,
    }
    const code = (await authorize(careful, asked, undefined, ALICE)).get('code')!
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const answer = await careful.post('/token', form, basic('console', WEB.client_secret))
    const { access_token: token } = (await answer.json()) as { access_token: string }
    await careful.server.oauth.users.update('alice', { roles: ['admin'] })
    const call = callerWith(careful, token)
    await until(async () =>
      expect((await call('GET', '/keys')).body.error).toBe('insufficient_user_authentication'),
    )
    // RFC 9470 §3: what to ask for at the next sign-in; how long ago this one was does not matter.
    const challenge = (await call('GET', '/keys')).headers.get('www-authenticate')!
    expect(challenge).toContain('acr_values="2"')
    expect(challenge).not.toContain('max_age')
  },
)

test.runIf(isThere('latchkey-jwt-bearer'))(
  'whom a trusted issuer vouches for is no administrator by it, once they are one',
  async () => {
    const key = await createAssertionKey('one')
    const there = await startIssuer(key.jwk)
    const trusted = {
      issuer: there.issuer,
      jwks_uri: `${there.origin}/jwks`,
      subject_claim: 'email',
      scopes: ['latchkey:users:write'],
      clients: ['app'],
    }
    const app = { ...APP, scope: ['latchkey:users:write'] }
    const others = JAG_SEED.clients.filter(({ client_id: id }) => id !== APP.client_id)
    const seed = {
      ...JAG_SEED,
      users: [...JAG_SEED.users, ROOT],
      clients: [...others, app],
      trusted_issuers: [trusted],
    }
    const PORT = await freePort()
    const place = { PORT, OIDC_ISSUER: `http://localhost:${PORT}` }
    const own = await startServer(
      { ADMIN_API: 'on', ...place, UNSAFE_OUTBOUND_ORIGINS: there.origin },
      { seed },
    )
    const claims = { sub: 'alice', email: 'alice@example.com' }
    const given = await bring(own, APP, await said(key, there.issuer, own.url, claims))
    const call = callerWith(own, String(given['access_token']))
    expect((await call('GET', '/users')).body.error).toBe('access_denied')
    await own.server.oauth.users.update('alice', { roles: ['admin'] })
    await until(async () =>
      expect((await call('GET', '/users')).body.error_description).toBe('the token is not of a sign-in here'),
    )
  },
)
