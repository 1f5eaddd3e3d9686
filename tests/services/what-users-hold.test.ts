/** Sessions, Authorizations and connected clients of a user: what people see of them, and how they end them. */
import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { DEAD, lifeOf } from '../support/code-flow.ts'
import type { TestClient } from '../support/clients.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorize, exchange, getTokens, refresh, SEED, WEB, type Tokens } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const OTHER = { ...WEB, client_id: 'another' }
const server = await startServer({}, { seed: { ...SEED, clients: [WEB, OTHER] } })
const { oauth } = server.server
const { knownBrowsers, consents } = kernelOf(server.server)
const client: TestClient = { clientId: WEB.client_id, clientSecret: WEB.client_secret, basic: basic(WEB.client_id, WEB.client_secret) } // prettier-ignore
const STRANGER = randomUUID()
let userId: string

beforeEach(async () => {
  userId = (await oauth.users.find('alice'))!.id
  await server.database.query('delete from sessions')
  await server.database.query('delete from consents')
  await server.database.query('update authorizations set revoked_at = now() where revoked_at is null')
})

async function eventsOf(type: 'session.ended' | 'consent.withdrawn' | 'authorization.revoked') {
  const { events } = await oauth.audit.list({ type, user: userId }, { limit: 1 })
  return events[0]
}

async function signIn(): Promise<{ sid: string; tokens: Tokens }> {
  const before = (await oauth.sessions.list(userId)).map(({ sid }) => sid)
  const tokens = await getTokens(server, {}, createUserAgent(server.url, { 'user-agent': 'A browser' }))
  const sid = (await oauth.sessions.list(userId)).map((one) => one.sid).find((one) => !before.includes(one))
  return { sid: sid!, tokens }
}

test('sessions are listed as people know them, without what opens them', async () => {
  const { sid } = await signIn()
  const [session, ...none] = await oauth.sessions.list(userId)
  expect(none).toEqual([])
  expect(session).toEqual({
    sid, userAgent: 'A browser', address: '127.0.0.1', amr: ['pwd'], clients: ['web'], pending: false,
    createdAt: expect.any(Number), lastSeenAt: expect.any(Number), authenticatedAt: expect.any(Number), endsAt: expect.any(Number),
  }) // prettier-ignore
  expect(session!.endsAt).toBeGreaterThan(Date.now())
  for (const column of ['expires_at', 'ends_at']) {
    const { sid: ended } = await signIn()
    await server.database.query(`update sessions set ${column} = now() where sid = $1`, [ended])
    expect((await oauth.sessions.list(userId)).map((one) => one.sid)).toEqual([sid])
  }
  expect(await oauth.sessions.list(STRANGER)).toEqual([])
  expect(await oauth.sessions.list('no id')).toEqual([])
})

test('one session ends with its tokens, and only for whom it belongs to', async () => {
  const [first, second] = [await signIn(), await signIn()]
  const { id: bob } = (await oauth.users.find('bob'))!
  for (const [user, sid] of [[bob, first.sid], ['no id', first.sid], [userId, randomUUID()], [userId, 'no sid']] as const)
    expect(await oauth.sessions.endOne(user, sid)).toBe(false)
  expect(await oauth.sessions.list(userId)).toHaveLength(2)
  expect(await oauth.sessions.endOne(userId, first.sid)).toBe(true)
  expect(await oauth.sessions.endOne(userId, first.sid)).toBe(false)
  expect((await oauth.sessions.list(userId)).map(({ sid }) => sid)).toEqual([second.sid])
  expect(await lifeOf(server, client, first.tokens)).toEqual(DEAD)
  expect((await refresh(server, second.tokens.refresh_token)).status).toBe(200)
  expect(await eventsOf('session.ended')).toMatchObject({ user: userId, details: { sid: first.sid } })
}) // prettier-ignore

test('where there is no such session to end, no browser is forgotten', async () => {
  const [mine, { id: bob }] = [await signIn(), (await oauth.users.find('bob'))!]
  const marksOf = async (username: string): Promise<string> =>
    knownBrowsers.remember(undefined, (await oauth.users.find(username))!)
  const [alices, bobs] = [await marksOf('alice'), await marksOf('bob')]
  await new Promise((resolve) => setTimeout(resolve, 2))
  for (const [user, sid] of [[bob, mine.sid], [userId, randomUUID()], [userId, 'no sid']] as const)
    expect(await oauth.sessions.endOne(user, sid)).toBe(false)
  expect(await knownBrowsers.find(alices, 'alice')).not.toBeNull()
  expect(await knownBrowsers.find(bobs, 'bob')).not.toBeNull()
  expect(await oauth.sessions.endOne(userId, mine.sid)).toBe(true)
  expect(await knownBrowsers.find(alices, 'alice')).toBeNull()
  expect(await knownBrowsers.find(bobs, 'bob')).not.toBeNull()
}) // prettier-ignore

test('all sessions end but one, then that one too; what has offline_access goes on', async () => {
  const [kept, other] = [await signIn(), await signIn()]
  const offline = await getTokens(server, { scope: 'openid offline_access', prompt: 'consent' })
  await oauth.sessions.endAll(userId, { except: kept.sid })
  expect((await oauth.sessions.list(userId)).map(({ sid }) => sid)).toEqual([kept.sid])
  expect(await lifeOf(server, client, other.tokens)).toEqual(DEAD)
  const renewed = (await (await refresh(server, kept.tokens.refresh_token)).json()) as Tokens
  expect(await eventsOf('session.ended')).toMatchObject({ details: { except: kept.sid } })
  await oauth.sessions.endAll(userId)
  expect(await oauth.sessions.list(userId)).toEqual([])
  expect(await lifeOf(server, client, { ...kept.tokens, ...renewed })).toEqual(DEAD)
  expect(await eventsOf('session.ended')).toMatchObject({ details: {} })
  expect((await refresh(server, offline.refresh_token)).status).toBe(200)
})

test('a session that had ended by itself is ended with the others: its tokens too', async () => {
  const { sid, tokens } = await signIn()
  await server.database.query('delete from sessions where sid = $1', [sid])
  await oauth.sessions.endAll(userId, { except: randomUUID() })
  expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
})

test('Authorizations are listed by user and by client, a page at a time, each once', async () => {
  for (let time = 0; time < 7; time++)
    await server.database.query(
      `insert into authorizations (id, client_id, subject, scopes, resources, parameters, created_at)
       values ($1, $2, $3, '{openid}', '{}', '{}', $4)`,
      [randomUUID(), time < 4 ? WEB.client_id : OTHER.client_id, userId, '2026-01-01T00:00:00Z'],
    )
  for (const [list, whose, count] of [
    [oauth.authorizations.listByUser, userId, 7],
    [oauth.authorizations.listByClient, WEB.client_id, 4],
  ] as const) {
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await list(whose, { after, limit: 3 })
      expect(page.authorizations.length).toBeLessThanOrEqual(3)
      seen.push(...page.authorizations.map(({ id }) => id))
      after = page.next ?? undefined
    } while (after !== undefined)
    expect([new Set(seen).size, seen.length]).toEqual([count, count])
  }
  for (const after of ['', 'no id', STRANGER])
    expect((await oauth.authorizations.listByUser(userId, { after })).authorizations).toHaveLength(7)
  expect((await oauth.authorizations.listByUser(STRANGER)).authorizations).toEqual([])
})

test('an Authorization tells when it was refreshed, and whether it can be', async () => {
  const before = Date.now()
  const { tokens } = await signIn()
  const list = async () => (await oauth.authorizations.listByUser(userId)).authorizations
  const [fresh] = await list()
  expect(fresh).toMatchObject({ clientId: WEB.client_id, userId, scopes: ['openid'], resources: [server.url], refreshable: true })
  await refresh(server, tokens.refresh_token)
  const [used] = await list()
  expect(used!.refreshedAt!).toBeGreaterThan(fresh!.refreshedAt!)
  expect(used!.createdAt).toBe(fresh!.createdAt)
  expect(fresh!.createdAt).toBeGreaterThan(before - 1000)
  await server.database.query('update refresh_tokens set expires_at = now() where authorization_id = $1', [used!.id])
  expect(await list()).toMatchObject([{ refreshable: false }])
}) // prettier-ignore

test('one Authorization is revoked, with its tokens, once', async () => {
  const { tokens } = await signIn()
  const [{ id } = { id: '' }] = (await oauth.authorizations.listByUser(userId)).authorizations
  for (const none of ['', 'no id', STRANGER]) expect(await oauth.authorizations.revoke(none)).toBe(false)
  const revoked = await Promise.all([oauth.authorizations.revoke(id), oauth.authorizations.revoke(id)])
  expect(revoked.toSorted()).toEqual([false, true])
  expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
  expect((await oauth.authorizations.listByUser(userId)).authorizations).toEqual([])
  const details = { authorization: id, cause: 'revoked by hand' }
  expect(await eventsOf('authorization.revoked')).toMatchObject({ client: WEB.client_id, details })
})

test('connected clients are those with a consent or an Authorization, each with all that it has', async () => {
  await signIn()
  await authorize(server, { scope: 'openid email read_books' })
  await server.database.query(
    `insert into authorizations (id, client_id, subject, scopes, resources, parameters)
     values ($1, 'a trusted one', $2, '{openid,profile}', '{https://api.example}', '{}')`,
    [randomUUID(), userId],
  )
  const found = await consents.list(userId)
  const instants = { since: expect.any(Number), usedAt: expect.any(Number) }
  expect(found).toEqual([
    { clientId: 'a trusted one', scopes: ['openid', 'profile'], resources: ['https://api.example'], lines: [], refreshable: false, ...instants },
    { clientId: WEB.client_id, scopes: expect.any(Array), resources: [server.url], lines: [], refreshable: true, ...instants },
  ])
  expect(found[1]!.scopes.toSorted()).toEqual(['email', 'openid', 'read_books'])
  for (const { since, usedAt } of found) expect(since).toBeLessThanOrEqual(usedAt)
  expect(await consents.list(userId, { limit: 1 })).toEqual(found.slice(0, 1))
  expect(await consents.list(userId, { after: found[0]!.clientId })).toEqual(found.slice(1))
  expect(await consents.list(STRANGER)).toEqual([])
  expect(await consents.list('no id')).toEqual([])
}) // prettier-ignore

test('a consent that is withdrawn takes tokens and codes with it, and is asked for again', async () => {
  const { tokens } = await signIn()
  const code = (await authorize(server)).get('code')!
  const { id: bob } = (await oauth.users.find('bob'))!
  expect(await consents.withdraw(bob, WEB.client_id)).toBe(false)
  expect(await consents.withdraw(userId, OTHER.client_id)).toBe(false)
  expect(await consents.withdraw('no id', WEB.client_id)).toBe(false)
  expect(await consents.withdraw(userId, WEB.client_id)).toBe(true)
  expect(await consents.withdraw(userId, WEB.client_id)).toBe(false)
  expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
  expect((await exchange(server, code)).status).toBe(400)
  expect(await consents.list(userId)).toEqual([])
  const event = { user: userId, client: WEB.client_id, actor: { kind: 'server', id: null } }
  expect(await eventsOf('consent.withdrawn')).toMatchObject(event)
  const agent = createUserAgent(server.url)
  const page = await agent.get(`${server.url}/sign-in`)
  await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
  const asked = await agent.get(`${server.url}/authorize?response_type=code&scope=openid&client_id=web&redirect_uri=${encodeURIComponent(WEB.redirect_uri)}`)
  expect(asked.body).toContain('id="consent"')
}) // prettier-ignore
