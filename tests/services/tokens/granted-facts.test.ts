/** What a grant establishes, and what becomes of it: in the tokens, stored with the Authorization, and there again later. */
import { decodeJwt } from 'jose'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import type { Granted } from '../../../src/doors/facts.ts'
import { createUuid } from '../../../src/protocol/uuid.ts'
import { createClient, introspect, type TestClient } from '../../support/clients.ts'
import { type Answer, createFactsGrant, FACTS_GRANT, refreshed } from '../../support/facts-grant.ts'
import { addKeyConstraint } from '../../support/key-constraint.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { authorize, exchange, SEED, type Tokens } from '../../support/sign-in.ts'

const grant = createFactsGrant()
const heard: unknown[] = []
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    extend(app) {
      grant.add(app)
      addKeyConstraint(app)
      for (const at of ['access_token', 'tokenResponse'] as const)
        app.oauth.extend(at, ['heard'], async (_subject, _document, { wire }) => {
          heard.push([at, wire['grant_type']])
          return {}
        })
      app.oauth.extend('id_token', ['heard'], async (_subject, _document, { client }) => {
        heard.push(['id_token', client.clientId])
        return {}
      })
      app.oauth.extend('introspection', ['asked_by'], async (_subject, _document, { client }) => ({
        asked_by: client.clientId,
      }))
      app.oauth.extend('userinfo', ['path'], async (_subject, _document, { request }) => ({
        path: request.url,
      }))
    },
  },
)
const metadata = { scope: ['read'], grant_types: [FACTS_GRANT, 'refresh_token'] }
const jwts = await createClient(server, metadata)
const opaques = await createClient(server, { ...metadata, access_token_format: 'opaque' })
const formats = [
  ['jwt', jwts],
  ['opaque', opaques],
] as const

const get = async (client: TestClient, facts?: Partial<Granted>) => grant.get(server, client, facts)
const refresh = async (client: TestClient, before: Answer) => refreshed(server, client, before)
const verified = async ({ access_token: token }: Answer) => server.server.oauth.verify(String(token))
const seconds = (milliseconds: number) => Math.floor(milliseconds / 1000)

test.each(formats)('a binding lives on with the Authorization of a token (%s)', async (_format, client) => {
  const binding = { tokenType: 'Key', cnf: { key: 'a' } }
  const asked = { ...client, basic: { ...client.basic, 'x-key': 'a' } }
  const first = await get(asked)
  expect((await verified(first))?.authorization?.binding).toEqual(binding)
  expect((await verified(await refresh(client, first)))?.authorization?.binding).toEqual(binding)
})

test.each(formats)('who acts is the act of every access token (%s)', async (_format, client) => {
  const actor = { sub: 'desk', act: { sub: 'agent' } }
  const first = await get(client, { actor })
  for (const tokens of [first, await refresh(client, first)]) {
    expect((await verified(tokens))?.claims.act).toEqual(actor)
    expect((await verified(tokens))?.authorization?.actor).toEqual(actor)
    const told = await introspect(server, client, String(tokens['access_token']))
    expect(told).toMatchObject({ active: true, act: actor, asked_by: client.clientId })
  }
})

test('nobody acts where no grant says so', async () => {
  const tokens = await get(jwts)
  expect(decodeJwt(String(tokens['access_token']))).not.toHaveProperty('act')
  expect(await introspect(server, jwts, String(tokens['access_token']))).not.toHaveProperty('act')
})

test.each(formats)('no token outlives what it was granted until (%s)', async (_format, client) => {
  const notAfter = Date.now() + 30_500
  const first = await get(client, { notAfter, scopes: new Set(['openid', 'read']) })
  expect(first['expires_in']).toBeLessThanOrEqual(30)
  for (const tokens of [first, await refresh(client, first)]) {
    const { claims, authorization } = (await verified(tokens))!
    expect(claims.exp).toBeLessThanOrEqual(seconds(notAfter))
    expect(claims.exp).toBeGreaterThan(seconds(notAfter) - 5)
    expect(authorization?.notAfter).toBe(notAfter)
    expect(decodeJwt(String(tokens['id_token'])).exp).toBeLessThanOrEqual(seconds(notAfter))
    const [stored] = await server.database.query<{ expires_at: Date }>(
      'select expires_at from refresh_tokens where authorization_id = $1',
      [authorization!.id],
    )
    // By the database's clock.
    expect(stored!.expires_at.getTime()).toBeLessThan(notAfter + 1000)
    expect(stored!.expires_at.getTime()).toBeGreaterThan(notAfter - 5000)
  }
})

test('where its time is over, nothing is granted', async () => {
  for (const left of [-1000, 900])
    expect(await get(jwts, { notAfter: Date.now() + left })).toMatchObject({
      status: 400,
      error: 'invalid_grant',
    })
  const first = await get(jwts, { notAfter: Date.now() + 60_000 })
  await server.database.query(`update authorizations set not_after = now() where id = $1`, [
    (await verified(first))!.authorization!.id,
  ])
  expect(await refresh(jwts, first)).toMatchObject({ status: 400, error: 'invalid_grant' })
})

test('members of the response that the grant names are told once, and never stored', async () => {
  const response = { of_grant: 'once', undeclared: 'x', access_token: 'mine', scope: 'all' }
  const first = await get(jwts, { response })
  expect(first).toMatchObject({ of_grant: 'once', scope: 'read' })
  expect(first).not.toHaveProperty('undeclared')
  expect(await verified(first)).not.toBeNull()
  expect(await refresh(jwts, first)).not.toHaveProperty('of_grant')
  expect(JSON.stringify(await server.database.query('select * from authorizations'))).not.toContain('once')
})

test('a grant may know the id of its Authorization, which is good once', async () => {
  const id = createUuid()
  const tokens = await get(jwts, { id })
  expect((await verified(tokens))?.authorization?.id).toBe(id)
  expect(await get(jwts, { id })).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await verified(tokens)).not.toBeNull()
})

test.each(formats)('who stands for another client has no Authorization (%s)', async (_format, client) => {
  const before = await server.database.query('select id from authorizations')
  const tokens = await get(client, { subjectClient: 'another', actor: { sub: client.clientId } })
  expect(tokens).toMatchObject({ status: 200, token_type: 'Bearer' })
  expect(tokens).not.toHaveProperty('refresh_token')
  const { claims, authorization } = (await verified(tokens))!
  expect(claims).toMatchObject({ sub: 'another', client_id: client.clientId, act: { sub: client.clientId } })
  expect(authorization).toBeUndefined()
  expect(await server.database.query('select id from authorizations')).toHaveLength(before.length)
})

test.each(formats)('a subject is a user of ours, or somebody of the plugin; nobody else is any (%s)', async (_format, client) => {
  const tokens = await get(client, { subject: 'ann@elsewhere', scopes: new Set(['openid', 'read']) })
  expect(decodeJwt(String(tokens['id_token'])).sub).toBe('ann@elsewhere')
  expect(await introspect(server, client, String(tokens['access_token']))).toMatchObject({ active: true, sub: 'ann@elsewhere' })
  expect((await server.get('/userinfo', bearer(String(tokens['access_token'])))).status).toBe(401)
  expect(await get(client, { subject: createUuid() })).toMatchObject({
    status: 400,
    error: 'invalid_grant',
    error_description: 'it was used before, or its user is not there, or may not sign in',
  })
  for (const subject of ['a\0b', '\ud800', randomBytes(2000).toString('hex'), 'a'.repeat(256)])
    expect(await get(client, { subject })).toMatchObject({
      status: 400,
      error: 'invalid_grant',
      error_description: 'nobody can be called what the grant calls its subject',
    })
  expect(await get(client, { subject: 'a'.repeat(255) })).toMatchObject({ status: 200 })
}) // prettier-ignore

test.each(formats)(
  'nothing is granted for a user who is disabled, is leaving, or gone (%s)',
  async (_format, client) => {
    const { users } = server.server.oauth
    const { id: subject } = await users.create({ username: 'grace', password: 'a long enough password' })
    const refused = { status: 400, error: 'invalid_grant' }
    expect(await get(client, { subject })).toMatchObject({ status: 200 })
    await users.disable('grace')
    expect(await get(client, { subject })).toMatchObject(refused)
    await users.enable('grace')
    const { accountDeletions } = kernelOf(server.server)
    await accountDeletions.request(subject, 86_400)
    expect(await get(client, { subject })).toMatchObject(refused)
    await accountDeletions.cancel(subject)
    // Whichever is first, what was given meanwhile ends with the user.
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 8 }, async () => get(client, { subject }))),
      users.delete('grace'),
    ])
    for (const answer of answers) expect(await verified(answer)).toBeNull()
    expect(await get(client, { subject })).toMatchObject(refused)
  },
)

test('contributions get the request that they answer', async () => {
  const user = await server.server.oauth.users.create({ username: 'ada', password: 'a long enough password' })
  heard.length = 0
  const tokens = await get(jwts, { subject: user.id, scopes: new Set(['openid', 'read']) })
  expect(heard).toEqual([
    ['access_token', FACTS_GRANT],
    ['id_token', jwts.clientId],
    ['tokenResponse', FACTS_GRANT],
  ])
  const headers = { authorization: `Bearer ${String(tokens['access_token'])}` }
  expect(await (await server.get('/userinfo', headers)).json()).toMatchObject({ path: '/userinfo' })
})

test('what a step adds to an approval goes through its code to its tokens', async () => {
  const [notAfter, actor] = [Date.now() + 30_000, { sub: 'desk' }]
  const stepping = await startServer(
    {},
    {
      seed: SEED,
      extend: ({ oauth }) =>
        oauth.add('interactionStep', {
          name: 'limits',
          required: 'interaction_required',
          run: async () => ({ granted: { notAfter, actor } }),
          submit: async () => ({ note: null }),
        }),
    },
  )
  const code = (await authorize(stepping)).get('code')!
  const [stored] = await stepping.database.query<{ left: number }>(
    'select extract(epoch from expires_at - now())::float8 as left from authorization_codes',
  )
  expect(stored!.left).toBeLessThanOrEqual(30)
  const tokens = (await (await exchange(stepping, code)).json()) as Tokens
  const { claims, authorization } = (await stepping.server.oauth.verify(tokens.access_token))!
  expect(claims).toMatchObject({ act: actor })
  expect(claims.exp).toBeLessThanOrEqual(seconds(notAfter))
  expect(authorization).toMatchObject({ notAfter, actor })
  expect(decodeJwt(tokens.id_token).exp).toBeLessThanOrEqual(seconds(notAfter))
})
