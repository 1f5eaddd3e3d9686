/** Events of an ending say whom something was taken from: its clients, and the sessions that they had it of. */
import { decodeJwt } from 'jose'
import { beforeEach, expect, test } from 'vitest'
import type { AuditEvent } from '../../src/events.ts'
import { ENDINGS } from '../../src/events.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { janitorOf, openAs } from '../support/expired-rows.ts'
import { startServer } from '../support/server.ts'
import {
  answerOf,
  authorizationUrl,
  BOB,
  getTokens,
  goThrough,
  refresh,
  SEED,
  WEB,
} from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'

const OTHER = { ...WEB, client_id: 'another' }
const GONE = { ...WEB, client_id: 'gone' }
const server = await startServer(
  { OIDC_JANITOR_INTERVAL: 0 },
  { seed: { ...SEED, clients: [WEB, OTHER, GONE] } },
)
const { oauth } = server.server
const { query } = server.database
let heard: AuditEvent[] = []
for (const type of ENDINGS) oauth.audit.on(type, (event) => heard.push(event as AuditEvent))
let userId: string

beforeEach(async () => {
  userId = (await oauth.users.find('alice'))!.id
  await query('delete from sessions')
  await query('delete from consents')
  await query('update authorizations set revoked_at = now() where revoked_at is null')
  heard = []
})

async function signIn(scope = 'openid', agent: UserAgent = createUserAgent(server.url)) {
  const tokens = await getTokens(server, { scope }, agent)
  return { agent, tokens, sid: String(decodeJwt(tokens.id_token)['sid']) }
}

/** The other client gets a code and tokens in the same browser. */
async function enterOther(agent: UserAgent): Promise<void> {
  const page = await agent.get(authorizationUrl(server, { client_id: 'another' }))
  const code = answerOf(await goThrough(agent, page)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri }
  const basic = { authorization: `Basic ${btoa(`another:${OTHER.client_secret}`)}` }
  expect((await server.post('/token', form, basic)).status).toBe(200)
}

test('a sign-out by a client names all clients of the session, and none of another one', async () => {
  const { agent, tokens, sid } = await signIn()
  await enterOther(agent)
  await signIn()
  await agent.get(`${server.url}/end-session?id_token_hint=${tokens.id_token}`)
  expect(heard).toMatchObject([
    {
      type: 'user.signed_out',
      user: userId,
      details: {
        sid,
        clients: [
          { client: 'another', sids: [sid] },
          { client: 'web', sids: [sid] },
        ],
      },
    },
  ])
  const stored = (await oauth.audit.list({ type: 'user.signed_out' })).events[0]
  expect(stored!.details).toEqual(heard[0]!.details)
})

test('a browser that goes on as somebody else has ended what was before', async () => {
  const { agent, tokens, sid } = await signIn()
  const page = await agent.get(authorizationUrl(server, { prompt: 'login' }))
  await goThrough(agent, page, BOB)
  expect(heard).toMatchObject([
    { type: 'session.ended', user: userId, details: { sid, clients: [{ client: 'web', sids: [sid] }] } },
  ])
  expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
})

test('a browser that signs in as the same user again has ended nothing', async () => {
  const { agent, tokens } = await signIn()
  await goThrough(agent, await agent.get(authorizationUrl(server, { prompt: 'login' })))
  expect(heard).toEqual([])
  expect((await refresh(server, tokens.refresh_token)).status).toBe(200)
})

test('a client whose tokens outlive the session is named too', async () => {
  const { agent, tokens, sid } = await signIn('openid offline_access')
  await agent.get(`${server.url}/end-session?id_token_hint=${tokens.id_token}`)
  expect(heard[0]).toMatchObject({ details: { sid, clients: [{ client: 'web', sids: [sid] }] } })
  expect((await refresh(server, tokens.refresh_token)).status).toBe(200)
})

test('one session, and all but one, ended from elsewhere', async () => {
  const [one, two, three] = [await signIn(), await signIn(), await signIn()]
  await oauth.sessions.endOne(userId, one.sid)
  await oauth.sessions.endAll(userId, { except: two.sid })
  expect(heard).toMatchObject([
    { type: 'session.ended', details: { sid: one.sid, clients: [{ client: 'web', sids: [one.sid] }] } },
    { type: 'session.ended', details: { except: two.sid, clients: [{ client: 'web', sids: [three.sid] }] } },
  ])
})

test.each([
  ['user.disabled', async () => oauth.users.disable('alice')],
  [
    'user.deletion_requested',
    async () => {
      const { accountDeletions } = kernelOf(server.server)
      await accountDeletions.request(userId, 60)
      await accountDeletions.cancel(userId)
    },
  ],
  ['user.password_changed', async () => oauth.users.setPassword('alice', SEED.users[0]!.password)],
  ['user.tokens_revoked', async () => oauth.users.revokeTokens('alice')],
])('%s names every client and session', async (type, end) => {
  const [one, two] = [await signIn(), await signIn('openid offline_access')]
  await end()
  await oauth.users.enable('alice')
  const sids = [one.sid, two.sid].toSorted()
  const event = heard.find((found) => found.type === type)
  expect(event).toMatchObject({ user: userId, details: { clients: [{ client: 'web', sids }] } })
})

test('a withdrawn consent, a revoked Authorization and a replay name their session', async () => {
  const withdrawn = await signIn()
  await kernelOf(server.server).consents.withdraw(userId, 'web')
  const revoked = await signIn()
  const { authorizations } = await oauth.authorizations.listByUser(userId)
  await oauth.authorizations.revoke(authorizations[0]!.id)
  const agent = createUserAgent(server.url)
  const answer = answerOf(await goThrough(agent, await agent.get(authorizationUrl(server))))
  const form = { grant_type: 'authorization_code', code: answer.get('code')!, redirect_uri: WEB.redirect_uri }
  const basic = { authorization: `Basic ${btoa(`web:${WEB.client_secret}`)}` }
  const tokens = (await (await server.post('/token', form, basic)).json()) as { id_token: string }
  const sid = String(decodeJwt(tokens.id_token)['sid'])
  for (let n = 0; n < 2; n++) expect((await server.post('/token', form, basic)).status).toBe(400)
  const clients = (of: string) => [{ client: 'web', sids: [of] }]
  expect(heard).toMatchObject([
    { type: 'consent.withdrawn', client: 'web', details: { clients: clients(withdrawn.sid) } },
    { type: 'authorization.revoked', details: { sid: revoked.sid, clients: clients(revoked.sid) } },
    { type: 'authorization.replayed', details: { sid, clients: clients(sid) } },
    { type: 'authorization.replayed', details: { clients: [] } },
  ])
})

test('a client that is deleted is named, and no user', async () => {
  await oauth.clients.delete('gone')
  expect(heard).toMatchObject([
    { type: 'client.deleted', client: 'gone', details: { clients: [{ client: 'gone', sids: [] }] } },
  ])
})

test('what a session gave is listed while it lasts, a page at a time', async () => {
  const { agent, sid } = await signIn()
  await enterOther(agent)
  await signIn()
  const { authorizations, next } = await oauth.authorizations.listBySession(sid)
  expect([authorizations.map(({ clientId }) => clientId), next]).toEqual([['another', 'web'], null])
  expect(authorizations.every((one) => one.userId === userId)).toBe(true)
  const first = await oauth.authorizations.listBySession(sid, { limit: 1 })
  const second = await oauth.authorizations.listBySession(sid, { limit: 1, after: first.next! })
  expect([...first.authorizations, ...second.authorizations]).toEqual(authorizations)
  await oauth.sessions.endOne(userId, sid)
  for (const gone of [sid, 'no sid', '00000000-0000-0000-0000-000000000000'])
    expect(await oauth.authorizations.listBySession(gone)).toEqual({ authorizations: [], next: null })
})

test('a client is still known to a session that is used, when its tokens have died long ago', async () => {
  const { sid } = await signIn()
  await query(`update refresh_tokens set expires_at = now() - interval '3 days', created_at = now() - interval '5 days'`)
  await query(`update authorizations set created_at = now() - interval '5 days', kept_until = now()`)
  const janitor = janitorOf(await openAs(server.database))
  await janitor.round()
  await oauth.sessions.endOne(userId, sid)
  expect(heard).toMatchObject([{ details: { clients: [{ client: 'web', sids: [sid] }] } }])
}) // prettier-ignore
