/** What a client holds of people: who approved it, page by page, and the end of it. */
import { expect, test } from 'vitest'
import { createDpopKey, prove } from '../../support/dpop.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { authorize, getTokens, REDIRECT_URI, refresh, SEED, WEB } from '../../support/sign-in.ts'
import { openClient, ROOT, signedIn } from './administrator.ts'

const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { audit, users } = server.server.oauth
const agent = await signedIn(server)
const link = (body: string, id: string): string =>
  server.url + new RegExp(`id="${id}" href="([^"]*)"`).exec(body)![1]!.replaceAll('&amp;', '&')

test('the page of a client leads to its events, and to those who approved it', async () => {
  const { body } = await openClient(server, agent, 'web')
  expect((await agent.get(link(body, 'authorizations'))).body).toContain(
    'Nobody has approved it, or every approval has ended.',
  )
  const log = await agent.get(link(body, 'audit'))
  expect([log.status, log.body]).toEqual([200, expect.stringContaining('Client registered')])
})

test('what one person approved is revoked, and its tokens with it', async () => {
  const tokens = await getTokens(server, { scope: 'openid read_books' })
  const page = await agent.get(link((await openClient(server, agent, 'web')).body, 'authorizations'))
  expect(page.body).toContain('<bdi>alice</bdi>')
  expect(page.body).toContain('<code>openid read_books</code>')
  const revoked = await agent.submit(page, 'revoke-0')
  expect([revoked.status, revoked.body]).toEqual([
    200,
    expect.stringContaining('The authorization is revoked.'),
  ])
  expect(revoked.body).not.toContain('<bdi>alice</bdi>')
  expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
  expect((await server.get('/userinfo', { authorization: `Bearer ${tokens.access_token}` })).status).toBe(401)
  const [event] = (await audit.list({ type: 'authorization.revoked' })).events
  expect(event).toMatchObject({ client: 'web', actor: { kind: 'user', id: (await users.find('root'))!.id } })
  // Sent once more, it finds what was wanted.
  expect((await agent.submit(page, 'revoke-0')).status).toBe(200)
})

test('what is bound to a key of the app says so, here and on the page of its user', async () => {
  const key = await createDpopKey()
  const code = (await authorize(server, { scope: 'openid' })).get('code')!
  const dpop = await prove(key, { method: 'POST', url: `${server.url}/token` })
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const headers = { ...basic(WEB.client_id, WEB.client_secret), dpop }
  expect((await server.post('/token', form, headers)).status).toBe(200)
  const said = 'Bound to a key of the app'
  const { id } = (await users.find('alice'))!
  for (const path of ['client/authorizations?client_id=web', `user?id=${id}`])
    expect((await agent.get(`${server.url}/admin/${path}`)).body.split(said)).toHaveLength(2)
  await server.database.query(`delete from authorizations where subject = '${id}'`)
})

test('the list goes on from page to page, each once', async () => {
  const { id } = (await users.find('bob'))!
  await server.database
    .query(`insert into authorizations (id, client_id, subject, scopes, resources, parameters)
    select gen_random_uuid(), 'web', '${id}', '{openid}', '{}', '{}' from generate_series(1, 70)`)
  const seen: string[] = []
  let page = await agent.get(`${server.url}/admin/client/authorizations?client_id=web`)
  for (;;) {
    seen.push(...[...page.body.matchAll(/name="authorization" value="([^"]*)"/g)].map(([, one]) => one!))
    const next = /rel="next" href="([^"]*)"/.exec(page.body)?.[1]
    if (next === undefined) break
    page = await agent.get(new URL(next.replaceAll('&amp;', '&'), page.url))
  }
  expect([seen.length, new Set(seen).size]).toEqual([70, 70])
})

test('a client has nothing of a namesake that was deleted', async () => {
  const { clients } = server.server.oauth
  const { id } = (await users.find('bob'))!
  const approve = async (age: string) =>
    server.database.query(
      `insert into authorizations (id, client_id, subject, scopes, resources, parameters, created_at)
       values (gen_random_uuid(), 'again', $1, '{openid}', '{}', '{}', now() - $2::interval)`,
      [id, age],
    )
  await clients.create({ client_id: 'again', redirect_uris: ['https://app.example/callback'] })
  await approve('1 hour')
  await clients.delete('again')
  await clients.create({ client_id: 'again', redirect_uris: ['https://app.example/callback'] })
  await approve('0')
  const { body } = await agent.get(`${server.url}/admin/client/authorizations?client_id=again`)
  expect(body.match(/name="authorization"/g)).toHaveLength(1)
})

test('a client that there is not has no such page', async () => {
  expect((await agent.get(`${server.url}/admin/client/authorizations?client_id=nobody`)).status).toBe(404)
})

test('a list of scopes is as long as a client may have it', async () => {
  const scope = Array.from({ length: 400 }, (_, at) => `scope_${at}`).join(' ')
  expect(scope.length).toBeGreaterThan(2048)
  const saved = await agent.submit(await openClient(server, agent, 'web'), 'client', { scope })
  expect(saved.status).toBe(200)
  expect((await server.server.oauth.clients.find('web'))!.scope).toHaveLength(400)
  const tooLong = await agent.submit(saved, 'client', { scope: 'x'.repeat(32_769) })
  expect(tooLong.status).toBe(400)
})
