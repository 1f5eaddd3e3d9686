/** The roles of a user as a claim, by the scope of its name. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { createClient, getToken } from '../support/clients.ts'
import { basic, bearer, type Requests } from '../support/requests.ts'
import { startBeside, startServer } from '../support/server.ts'
import {
  ALICE,
  authorizationUrl,
  authorize,
  BOB,
  REDIRECT_URI,
  SEED,
  type Tokens,
  WEB,
} from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { createUserAgent } from '../support/user-agent.ts'

const SETTINGS = { OIDC_ROLES_CLAIM: 'roles,groups' }
const apps = {
  ...SEED,
  users: [{ ...ALICE, roles: ['staff', 'editor'] }, BOB],
  clients: [
    { ...WEB, scope: ['read_books', 'roles', 'groups'] },
    { ...WEB, client_id: 'opaque', access_token_format: 'opaque', scope: ['roles'] },
    { ...WEB, client_id: 'lean', id_token_include_claims: false, scope: ['roles'] },
  ],
}
const server = await startServer(SETTINGS, { seed: apps })
const { users } = server.server.oauth
const ROLES = ['staff', 'editor']

async function tokensFor(
  scope: string,
  client = 'web',
  user: Pick<typeof ALICE, 'username' | 'password'> = ALICE,
): Promise<Tokens> {
  const code = (await authorize(server, { scope, client_id: client }, undefined, user)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const answer = await server.post('/token', form, basic(client, WEB.client_secret))
  return (await answer.json()) as Tokens
}

async function told({ access_token, id_token }: Tokens, at: Requests = server) {
  const userinfo = (await (await at.get('/userinfo', bearer(access_token))).json()) as Record<string, unknown>
  return { userinfo, id_token: decodeJwt(id_token) }
}

async function introspected(client: string, token: string): Promise<Record<string, unknown>> {
  const answer = await server.post('/introspect', { token }, basic(client, WEB.client_secret))
  return (await answer.json()) as Record<string, unknown>
}

test('each claim is told where its scope was granted, and nowhere else', async () => {
  for (const [scope, roles, groups] of [
    ['openid roles', ROLES, undefined],
    ['openid groups', undefined, ROLES],
    ['openid roles groups', ROLES, ROLES],
    ['openid profile', undefined, undefined],
  ] as const) {
    const tokens = await tokensFor(scope)
    const { userinfo, id_token } = await told(tokens)
    const all = [userinfo, id_token, decodeJwt(tokens.access_token), await introspected('web', tokens.access_token)]
    expect(all.map((one) => [one['roles'], one['groups']])).toEqual(all.map(() => [roles, groups]))
  }
}) // prettier-ignore

test('a token of fewer scopes tells of them nowhere, and the next one of all does', async () => {
  const first = await tokensFor('openid roles')
  const refreshed = async ({ refresh_token }: Tokens, more = {}) => {
    const form = { grant_type: 'refresh_token', refresh_token, ...more }
    return (await (await server.post('/token', form, basic('web', WEB.client_secret))).json()) as Tokens
  }
  const less = await refreshed(first, { scope: 'openid' })
  const { userinfo, id_token } = await told(less)
  const all = [userinfo, id_token, decodeJwt(less.access_token), await introspected('web', less.access_token)]
  expect(all.map((one) => one['roles'])).toEqual(all.map(() => undefined))
  expect((await told(await refreshed(less))).userinfo['roles']).toEqual(ROLES)
})

test('who has none is told of nothing, and a client by itself has none', async () => {
  const { userinfo, id_token } = await told(await tokensFor('openid roles', 'web', BOB))
  expect([userinfo['roles'], id_token['roles']]).toEqual([undefined, undefined])
  const machine = await createClient(server, { grant_types: ['client_credentials'], scope: ['roles'] })
  expect(decodeJwt((await getToken(server, machine)).access_token)['roles']).toBeUndefined()
})

test('an opaque token has them at introspection, and an ID token without claims has none', async () => {
  const opaque = await tokensFor('openid roles', 'opaque')
  expect((await introspected('opaque', opaque.access_token))['roles']).toEqual(ROLES)
  const { userinfo, id_token } = await told(await tokensFor('openid roles', 'lean'))
  expect([userinfo['roles'], id_token['roles']]).toEqual([ROLES, undefined])
})

test('what is given or taken is in the next token, and at userinfo at once, in every process', async () => {
  const tokens = await tokensFor('openid roles')
  await users.update('alice', { roles: ['chief'] })
  expect((await told(tokens)).userinfo['roles']).toEqual(['chief'])
  const beside = await startBeside(server)
  await until(async () => expect((await told(tokens, beside)).userinfo['roles']).toEqual(['chief']))
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const answer = await server.post('/token', form, basic('web', WEB.client_secret))
  const refreshed = (await answer.json()) as Tokens
  expect(decodeJwt(refreshed.access_token)['roles']).toEqual(['chief'])
  expect((await told(refreshed)).id_token['roles']).toEqual(['chief'])
  await users.update('alice', { roles: [] })
  expect((await told(refreshed)).userinfo).not.toHaveProperty('roles')
  await users.update('alice', { roles: ROLES })
})

test('people are asked in words, and a client that may not have it gets nothing', async () => {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { scope: 'openid roles', prompt: 'consent' }))
  const asked = await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
  expect(asked.body).toContain('See your roles')
  const other = await createClient(server, { redirect_uris: [WEB.redirect_uri], scope: ['read_books'] })
  const code = await agent.get(authorizationUrl(server, { client_id: other.clientId, scope: 'openid roles' }))
  expect(code.body).not.toContain('See your roles')
})

test('metadata names them, and where they are off nothing of it is there', async () => {
  const claimsOf = async (at: Requests) =>
    ((await (await at.get('/.well-known/openid-configuration')).json()) as { claims_supported: string[] }).claims_supported
  expect(await claimsOf(server)).toEqual(expect.arrayContaining(['roles', 'groups']))
  const off = await startServer({}, { seed: SEED })
  expect(await claimsOf(off)).not.toContain('roles')
  expect(await off.server.oauth.resources.findScope('roles')).toBeNull()
  const without = await startServer({ ...SETTINGS, WITHOUT: 'latchkey-roles' }, { seed: SEED })
  expect(await claimsOf(without)).not.toContain('roles')
}) // prettier-ignore

test.each(['sub', 'groups,groups'])('%s, which are not one or two of the names, are refused at the start', async (names) => {
  await expect(startServer({ OIDC_ROLES_CLAIM: names })).rejects.toThrow(/OIDC_ROLES_CLAIM/)
}) // prettier-ignore
