/** Global Token Revocation by programs: which may, whom they may name, what ends, and what the audit log says of it. @needs latchkey-global-token-revocation */
import { expect, test } from 'vitest'
import { PROGRAMS, program, ROOT, tokenOf } from '../../support/admin-api.ts'
import { ask, byEmail, byId, bySubject, ON, PATH } from '../../support/global-token-revocation.ts'
import { basic, bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import {
  ALICE,
  authorize,
  BOB,
  exchange,
  getTokens,
  REDIRECT_URI,
  refresh,
  SEED,
  WEB,
} from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'

const CONSOLE = { ...WEB, client_id: 'console', scope: ['latchkey:global-token-revocation'] }
const seed = {
  ...SEED,
  users: [...SEED.users, ROOT],
  clients: [...SEED.clients, ...PROGRAMS, program('siem', 'global-token-revocation'), CONSOLE],
}
const server = await startServer({ ...ON, ADMIN_API: 'on' }, { seed })
const { oauth } = server.server
const siem = await tokenOf(server, 'siem')
const alice = (await oauth.users.find('alice'))!
const root = (await oauth.users.find('root'))!
const events = async () => (await oauth.audit.list({ type: 'user.tokens_revoked' })).events

/** Signed in with a browser, with tokens that outlive a sign-out. */
async function signIn(user: Pick<typeof ALICE, 'username' | 'password'> = ALICE) {
  const agent = createUserAgent(server.url)
  const tokens = await getTokens(server, { scope: 'openid offline_access' }, agent, user)
  const isSignedIn = async () =>
    new URL((await agent.get(`${server.url}/account`)).url).pathname === '/account'
  const userinfo = async () => (await server.get('/userinfo', bearer(tokens.access_token))).status
  expect([await isSignedIn(), await userinfo()]).toEqual([true, 200])
  return { agent, tokens, isSignedIn, userinfo }
}

test('nothing of it is there unless it is on', async () => {
  const off = await startServer({}, { seed: SEED })
  expect((await ask(off, siem, byEmail('alice@example.com'))).status).toBe(404)
  expect(await (await off.get('/.well-known/oauth-authorization-server')).json()).not.toHaveProperty(
    'global_token_revocation_endpoint',
  )
  expect(await off.server.oauth.resources.listScopes()).toHaveLength(1)
})

test('the metadata names it, and who has no token is told what would get one', async () => {
  const metadata = await (await server.get('/.well-known/oauth-authorization-server')).json()
  expect(metadata).toMatchObject({ global_token_revocation_endpoint: `${server.url}${PATH}` })
  const { status, headers } = await ask(server, undefined, byId(alice.id))
  expect(status).toBe(401)
  expect(headers.get('www-authenticate')).toContain('scope="latchkey:global-token-revocation"')
  expect((await server.get(PATH)).headers.get('allow')).toBe('POST')
})

test('sessions, codes, access and refresh tokens of the user end, offline_access too, and nobody else loses anything', async () => {
  const [one, two, other] = [await signIn(), await signIn(), await signIn(BOB)]
  const waiting = (await authorize(server, {}, one.agent)).get('code')!
  expect(await ask(server, siem, byEmail('ALICE@example.com'))).toMatchObject({ status: 204, body: null })
  for (const { isSignedIn, userinfo, tokens } of [one, two]) {
    expect([await isSignedIn(), await userinfo()]).toEqual([false, 401])
    const refreshed = await refresh(server, tokens.refresh_token)
    expect([refreshed.status, await refreshed.json()]).toMatchObject([400, { error: 'invalid_grant' }])
  }
  expect(await (await exchange(server, waiting)).json()).toMatchObject({ error: 'invalid_grant' })
  expect([await other.isSignedIn(), await other.userinfo()]).toEqual([true, 200])
  expect((await events())[0]).toMatchObject({
    user: alice.id,
    actor: { kind: 'client', id: 'siem' },
    details: { clients: [{ client: 'web', sids: [expect.any(String), expect.any(String)] }] },
  })
  // They sign in again at once.
  await signIn()
})

test.each([
  ['their id', () => byId(alice.id)],
  ['the issuer of this server and their sub', () => bySubject(server.url, alice.id)],
  ['a verified address', () => byEmail('alice@example.com')],
  ['the name of the first drafts', () => ({ subject: byId(alice.id).sub_id })],
  ['a body with other members', () => ({ ...byId(alice.id), reason: 'an incident' })],
])('a user is named by %s', async (_name, body) => {
  const { userinfo } = await signIn()
  expect((await ask(server, siem, body())).status).toBe(204)
  expect(await userinfo()).toBe(401)
})

test('who is nobody here is not found', async () => {
  // Not verified, of bob.
  const nobody = [byEmail('bob@example.com'), byEmail('nobody@example.com'), byEmail('no address'), byId('x'), byId(crypto.randomUUID()), bySubject(server.url, 'x'), bySubject('https://other.example', alice.id), byId('constructor')] // prettier-ignore
  for (const body of nobody)
    expect(await ask(server, siem, body)).toMatchObject({ status: 404, body: { error: 'not_found' } })
})

test('what names nobody is malformed, and the answer says how it is written', async () => {
  const long = 'x'.repeat(2049)
  const malformed: (object | string)[] = [
    {}, [], 'null', '{', { sub_id: null }, { sub_id: 'alice' }, { sub_id: [] }, { sub_id: {} },
    { sub_id: { format: 'email' } }, { sub_id: { format: 'email', email: 1 } }, { sub_id: { format: 'email', email: '' } },
    { sub_id: { format: 'email', email: long } }, { sub_id: { format: 'email', email: 'a\0@example.com' } },
    { sub_id: { format: 'email', email: 'alice@example.com', id: alice.id } },
    { sub_id: { format: 'iss_sub', iss: server.url } }, { sub_id: { format: 'iss_sub', iss: long, sub: 'x' } },
    { sub_id: { format: 'opaque', id: alice.id }, subject: { format: 'opaque', id: alice.id } },
  ] // prettier-ignore
  for (const body of malformed)
    expect(await ask(server, siem, body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  for (const format of ['account', 'phone_number', 'did', 'uri', 'aliases', 'toString', '__proto__', 7])
    expect((await ask(server, siem, { sub_id: { format, id: 'x' } })).body).toMatchObject({
      error_description: 'sub_id must have one of these as its format: iss_sub, email, opaque',
    })
  expect(await ask(server, siem, { sub_id: { format: 'opaque', id: 'x'.repeat(70_000) } })).toMatchObject({
    status: 413,
  })
  expect((await ask(server, siem, byId('x'), { 'content-type': 'text/plain' })).status).toBe(415)
})

test('a stranger learns nothing, whatever they send and whoever that names', async () => {
  const wrong = [undefined, 'x', 'a.b.c', 'a'.repeat(8000)]
  const bodies = [byId(alice.id), byId('x'), '{', { sub_id: { format: 'opaque', id: 'x'.repeat(70_000) } }]
  for (const token of wrong)
    for (const body of bodies) expect((await ask(server, token, body)).status).toBe(401)
})

test('a token for something else is good for nothing here, and the one for this is good for nothing else', async () => {
  const { userinfo, tokens } = await signIn()
  expect((await ask(server, await tokenOf(server, 'all'), byId(alice.id))).status).toBe(401)
  // Of somebody who is no administrator, before it is looked at what it is for.
  expect((await ask(server, tokens.access_token, byId(alice.id))).status).toBe(403)
  expect((await server.get('/userinfo', bearer(siem))).status).toBe(401)
  expect((await server.get('/admin/api/v1/users', bearer(siem))).status).toBe(401)
  expect(await userinfo()).toBe(200)
})

test('a client that has lost the scope, and a user who is no administrator, are refused as they are now', async () => {
  await oauth.clients.create({ ...program('waning', 'global-token-revocation') })
  const token = await tokenOf(server, 'waning')
  expect((await ask(server, token, byId('x'))).status).toBe(404)
  await oauth.clients.update('waning', { scope: ['read_books'] })
  expect(await ask(server, token, byId(alice.id))).toMatchObject({
    status: 403,
    body: { error: 'insufficient_scope' },
  })

  const tokenOfUser = async (user: typeof ROOT): Promise<string> => {
    const asked = { client_id: 'console', scope: 'openid latchkey:global-token-revocation', resource: `${server.url}${PATH}` } // prettier-ignore
    const code = (await authorize(server, asked, undefined, user)).get('code')!
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const answer = await server.post('/token', form, basic('console', CONSOLE.client_secret))
    return ((await answer.json()) as { access_token: string }).access_token
  }
  expect((await ask(server, await tokenOfUser({ ...BOB, roles: [] }), byId(alice.id))).status).toBe(403)
  expect((await ask(server, await tokenOfUser(ROOT), byId(alice.id))).status).toBe(204)
  expect((await events())[0]).toMatchObject({ user: alice.id, actor: { kind: 'user', id: root.id } })
})

test('an administrator is signed out as everybody is, and stays one', async () => {
  const { isSignedIn } = await signIn(ROOT)
  expect((await ask(server, siem, byId(root.id))).status).toBe(204)
  expect(await isSignedIn()).toBe(false)
  await signIn(ROOT)
})

test('somebody disabled has nothing to lose, and somebody deleted is not there', async () => {
  const gone = await oauth.users.create({ username: 'gone', password: 'a password of nobody' })
  await oauth.users.disable('gone')
  expect((await ask(server, siem, byId(gone.id))).status).toBe(204)
  expect(await oauth.users.find('gone')).toMatchObject({ disabled: true })
  await oauth.users.delete('gone')
  expect((await ask(server, siem, byId(gone.id))).status).toBe(404)
})
