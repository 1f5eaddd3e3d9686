/** OpenID Connect Back-Channel Logout 1.0: which apps are told of which endings, what they are told, and what becomes of it where they do not take it. */
import type { ServerResponse } from 'node:http'
import {
  compactDecrypt,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
} from 'jose'
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { type Received, startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import {
  ALICE,
  authorizationUrl,
  BOB,
  getTokens,
  goThrough,
  SEED,
  type Tokens,
  WEB,
} from '../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'

const ANSWERS: Record<string, (response: ServerResponse) => unknown> = {
  '/taken': (response) => response.writeHead(200, { 'cache-control': 'no-store' }).end(),
  '/no-content': (response) => response.writeHead(204).end(),
  '/refused': (response) => response.writeHead(400).end('{"error":"invalid_request"}'),
  '/broken': (response) => response.writeHead(500).end(),
  '/moved': (response) => response.writeHead(302, { location: '/taken' }).end(),
}
const app = await startReceiver(({ url }, response) => ANSWERS[url.split('?')[0]!]!(response))
const at = (path: string): string => `http://127.0.0.1:${app.port}${path}`
const IMPLICIT = { response_types: ['id_token'], grant_types: ['implicit'] }
const registered = (client_id: string, more: object = {}) => ({
  ...WEB,
  client_id,
  backchannel_logout_uri: at(`/taken?app=${client_id}`),
  ...more,
})
const encryption = await generateKeyPair('ECDH-ES', { extractable: true })
const encryptionJwk = { ...(await exportJWK(encryption.publicKey)), kid: 'sealed', use: 'enc' }
const clients = [
  WEB,
  registered('told'),
  registered('implicit', IMPLICIT),
  registered('trusted', { require_consent: false }),
  registered('by-session', { backchannel_logout_session_required: true }),
  registered('sealed', {
    jwks: { keys: [encryptionJwk] },
    id_token_encrypted_response_alg: 'ECDH-ES',
    id_token_encrypted_response_enc: 'A256GCM',
  }),
  registered('pairwise', { subject_type: 'pairwise', id_token_signed_response_alg: 'ES256' }),
  ...['/no-content', '/refused', '/broken', '/moved'].map((path) =>
    registered(path.slice(1), { backchannel_logout_uri: at(path) }),
  ),
]
const server = await startServer(
  { UNSAFE_OUTBOUND_ORIGINS: at(''), OIDC_IMPLICIT: true },
  { seed: { ...SEED, clients } },
)
const { oauth } = server.server
const keys = createRemoteJWKSet(new URL(`${server.url}/jwks`))

/** What the apps got since it was last asked for. */
function received(): Received[] {
  return app.received.splice(0)
}

const tokenIn = ({ body }: Received): string => new URLSearchParams(body).get('logout_token')!

async function toldOf(one: Received): Promise<unknown> {
  const { payload } = await jwtVerify(tokenIn(one), keys, { issuer: server.url, typ: 'logout+jwt' })
  return [payload.aud, payload['sid']]
}

const waiting = async () =>
  server.database.query<{ kind: string; last_error: string | null }>(
    `select kind, last_error from outbox where kind = 'backchannel-logout'`,
  )

/** Everything that is to be told is told: which client, of which session. */
async function told(): Promise<unknown[]> {
  await expect.poll(waiting).toEqual([])
  return (await Promise.all(received().map(toldOf))).toSorted((a, b) => String(a).localeCompare(String(b)))
}

interface Options {
  agent?: UserAgent
  user?: Pick<typeof ALICE, 'username' | 'password'>
  scope?: string
}

interface SignedIn {
  agent: UserAgent
  tokens: Tokens
  sub: string
  sid: string
}

/** At the client, with a browser that may be signed in already. */
async function signIn(
  client_id: string,
  { agent = createUserAgent(server.url), user = ALICE, scope = 'openid' }: Options = {},
): Promise<SignedIn> {
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, { client_id, scope })), user)
  const code = new URL(page.headers.get('location')!).searchParams.get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri }
  const credentials = { client_id, client_secret: WEB.client_secret }
  const tokens = (await (await server.post('/token', { ...form, ...credentials })).json()) as Tokens
  const { sub, sid } = decodeJwt(tokens.id_token) as { sub: string; sid: string }
  return { agent, tokens, sub, sid }
}

async function signOut({ agent, tokens }: Pick<SignedIn, 'agent' | 'tokens'>): Promise<void> {
  const page = await agent.get(`${server.url}/end-session?id_token_hint=${tokens.id_token}`)
  expect(page.body).toContain('id="signed-out"')
}

test('the metadata says that it is served, with sessions', async () => {
  const metadata = await (await server.get('/.well-known/openid-configuration')).json()
  expect(metadata).toMatchObject({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  })
})

describe('the logout token', () => {
  test('is as §2.4 has it, with what the ID token said, and posted as a form', async () => {
    const { tokens, sub, sid, agent } = await signIn('told')
    const before = Math.floor(Date.now() / 1000)
    await signOut({ agent, tokens })
    await expect.poll(waiting).toEqual([])
    const [one, ...more] = received()
    expect(more).toEqual([])
    const { method, url, headers, body } = one!
    expect([method, url, headers['content-type']]).toEqual([
      'POST', '/taken?app=told', 'application/x-www-form-urlencoded;charset=UTF-8',
    ]) // prettier-ignore
    expect([...new URLSearchParams(body).keys()]).toEqual(['logout_token'])
    const { payload, protectedHeader } = await jwtVerify(tokenIn(one!), keys, {
      issuer: server.url,
      audience: 'told',
    })
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'logout+jwt', kid: expect.any(String) })
    expect(payload).toEqual({
      iss: server.url,
      aud: 'told',
      sub,
      sid,
      iat: expect.any(Number),
      exp: payload.iat! + 120,
      jti: expect.stringMatching(/^[\w-]{20,}$/),
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    expect(payload.iat).toBeGreaterThanOrEqual(before)
  })

  test('is encrypted where ID tokens are (§2.5)', async () => {
    const agent = createUserAgent(server.url)
    const page = await goThrough(agent, await agent.get(authorizationUrl(server, { client_id: 'sealed' })))
    const code = new URL(page.headers.get('location')!).searchParams.get('code')!
    const credentials = { client_id: 'sealed', client_secret: WEB.client_secret }
    const form = { grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri, ...credentials }
    expect((await server.post('/token', form)).status).toBe(200)
    await agent.submit(await agent.get(`${server.url}/end-session`), 'end-session')
    await expect.poll(waiting).toEqual([])
    const [one, ...more] = received()
    expect(more).toEqual([])
    const { plaintext, protectedHeader } = await compactDecrypt(tokenIn(one!), encryption.privateKey)
    expect(protectedHeader).toMatchObject({ alg: 'ECDH-ES', enc: 'A256GCM', kid: 'sealed', cty: 'JWT' })
    const { payload } = await jwtVerify(plaintext, keys, {
      issuer: server.url,
      audience: 'sealed',
      typ: 'logout+jwt',
    })
    expect(payload['sid']).toEqual(expect.any(String))
  })

  test('names the user as the client knows them, signed as its ID tokens are', async () => {
    const signedIn = await signIn('pairwise')
    await signOut(signedIn)
    await expect.poll(waiting).toEqual([])
    const [one] = received()
    expect(signedIn.sub).not.toBe((await signIn('told')).sub)
    expect(decodeJwt(tokenIn(one!))).toMatchObject({ sub: signedIn.sub, sid: signedIn.sid })
    expect(decodeProtectedHeader(tokenIn(one!)).alg).toBe('ES256')
  })

  test('is no ID token and no access token: nothing here takes it for one', async () => {
    const signedIn = await signIn('told')
    await signOut(signedIn)
    await expect.poll(waiting).toEqual([])
    const token = tokenIn(received()[0]!)
    const again = await signIn('told')
    const hinted = await again.agent.get(`${server.url}/end-session?id_token_hint=${token}`)
    expect([hinted.status, hinted.body]).toEqual([
      400,
      expect.stringContaining('id_token_hint is not an ID token'),
    ])
    expect((await server.get('/userinfo', { authorization: `Bearer ${token}` })).status).toBe(401)
    const page = await again.agent.get(authorizationUrl(server, { client_id: 'told', id_token_hint: token }))
    expect(page.headers.get('location')).toContain('error=invalid_request')
  })
})

describe('who is told', () => {
  test('every app that the session signed in to and that has an address; nobody else, and nothing waits for them', async () => {
    const { agent, sid } = await signIn('told')
    const other = await signIn('by-session', { agent })
    await signIn('web', { agent })
    const elsewhere = await signIn('told')
    expect(other.sid).toBe(sid)
    await signOut(other)
    expect(await told()).toEqual([
      ['by-session', sid],
      ['told', sid],
    ])
    // The other browser's session goes on.
    expect((await elsewhere.agent.get(`${server.url}/account`)).body).toContain('id="signed-in-as"')
  })

  test('nothing is stored for an app that has registered no address', async () => {
    const signedIn = await signIn('web')
    const enqueued = async () =>
      (await server.database.query(`select key from changes where kind = 'delivery'`)).length
    const before = await enqueued()
    await signOut(signedIn)
    expect(await enqueued()).toBe(before)
  })

  test('also an app that keeps its refresh token, by offline_access; that one stays good, the others end (§2.7)', async () => {
    const { agent, tokens, sid } = await signIn('told')
    const kept = await signIn('by-session', { agent, scope: 'openid offline_access' })
    await signOut({ agent, tokens })
    expect(await told()).toEqual([
      ['by-session', sid],
      ['told', sid],
    ])
    const refresh = async (client_id: string, refresh_token: string) =>
      (
        await server.post('/token', {
          grant_type: 'refresh_token',
          refresh_token,
          client_id,
          client_secret: WEB.client_secret,
        })
      ).status
    expect([
      await refresh('by-session', kept.tokens.refresh_token),
      await refresh('told', tokens.refresh_token),
    ]).toEqual([200, 400])
  })

  test('of a session that is ended elsewhere, and of all others at once', async () => {
    const [here, there, third] = [await signIn('told'), await signIn('told'), await signIn('by-session')]
    const sessions = await here.agent.get(`${server.url}/account/sessions`)
    expect((await here.agent.submit(sessions, 'end-others', {})).status).toBe(200)
    expect(await told()).toEqual(
      expect.arrayContaining([
        ['told', there.sid],
        ['by-session', third.sid],
      ]),
    )
    expect(await oauth.sessions.endOne(here.sub, here.sid)).toBe(true)
    expect(await told()).toEqual([['told', here.sid]])
  })

  test('when somebody else signs in with the browser', async () => {
    const { agent, sid } = await signIn('told')
    const login = await agent.get(`${server.url}/sign-in?account=other&return_to=/account`)
    await goThrough(agent, login, BOB)
    expect(await told()).toEqual([['told', sid]])
  })

  test('when a password is changed, a user disabled, a user deleted', async () => {
    const user = { username: 'carla', password: 'a password of carla' }
    const { username } = await oauth.users.create(user)
    const first = await signIn('told', { user })
    await oauth.users.setPassword(username, 'the next one of carla')
    expect(await told()).toEqual([['told', first.sid]])
    const next = { username, password: 'the next one of carla' }
    const second = await signIn('told', { user: next })
    await oauth.users.disable(username)
    expect(await told()).toEqual([['told', second.sid]])
    await oauth.users.enable(username)
    const third = await signIn('pairwise', { user: next })
    await oauth.users.delete(username)
    await expect.poll(waiting).toEqual([])
    expect(decodeJwt(tokenIn(received()[0]!))).toMatchObject({ sub: third.sub, sid: third.sid })
  })

  test('when its access is taken back; not when it gives a token back itself, nor when one came twice', async () => {
    const ella = { username: 'ella', password: 'a password of ella' }
    await oauth.users.create(ella)
    const withdrawn = await signIn('told', { user: ella })
    const apps = await withdrawn.agent.get(`${server.url}/account/apps`)
    await withdrawn.agent.submit(apps, 'revoke-0', {})
    expect(await told()).toEqual([['told', withdrawn.sid]])

    const { tokens } = await signIn('told')
    const credentials = { client_id: 'told', client_secret: WEB.client_secret }
    const revoked = await server.post('/revoke', { token: tokens.refresh_token, ...credentials })
    expect(revoked.status).toBe(200)
    const twice = await signIn('told')
    const form = { grant_type: 'refresh_token', refresh_token: twice.tokens.refresh_token, ...credentials }
    const next = (await (await server.post('/token', form)).json()) as Tokens
    await server.post('/token', { ...form, refresh_token: next.refresh_token })
    expect((await server.post('/token', form)).status).toBe(400)
    expect((await oauth.audit.list({ type: 'authorization.replayed' })).events).not.toEqual([])
    expect(await told()).toEqual([])
  })

  describe('also who holds nothing of it any more', () => {
    const credentials = { client_id: 'told', client_secret: WEB.client_secret }
    const MOLLY = { username: 'molly', password: 'a password of molly' }

    async function giveBack({ tokens }: SignedIn): Promise<void> {
      const answer = await server.post('/revoke', { token: tokens.refresh_token, ...credentials })
      expect(answer.status).toBe(200)
    }

    async function takeIdToken(agent: UserAgent, client_id = 'implicit'): Promise<string> {
      const asked = { client_id, response_type: 'id_token', nonce: 'n' }
      const page = await goThrough(agent, await agent.get(authorizationUrl(server, asked)), MOLLY)
      const answer = new URLSearchParams(new URL(page.headers.get('location')!).hash.slice(1))
      return decodeJwt(answer.get('id_token')!)['sid'] as string
    }

    test('an app that asks for no consent, to which they came once more since its access was taken back', async () => {
      const tess = { username: 'tess', password: 'a password of tess' }
      await oauth.users.create(tess)
      const { agent, sid } = await signIn('trusted', { user: tess })
      await agent.submit(await agent.get(`${server.url}/account/apps`), 'revoke-0', {})
      expect(await told()).toEqual([['trusted', sid]])
      const { tokens } = await signIn('trusted', { agent, user: tess })
      const form = { token: tokens.refresh_token, ...credentials, client_id: 'trusted' }
      expect((await server.post('/revoke', form)).status).toBe(200)
      await signOut({ agent, tokens })
      expect(await told()).toEqual([['trusted', sid]])
    })

    test('an app that gave its token back before the sign-out, or whose token came twice', async () => {
      await oauth.users.create(MOLLY)
      const first = await signIn('told', { user: MOLLY })
      await giveBack(first)
      const again = await signIn('by-session', { agent: first.agent })
      expect(await told()).toEqual([])
      await signOut(again)
      expect(await told()).toEqual([
        ['by-session', first.sid],
        ['told', first.sid],
      ])
    })

    test('an app that got an ID token alone, by the implicit flow', async () => {
      const agent = createUserAgent(server.url)
      const sid = await takeIdToken(agent)
      const { tokens } = await signIn('web', { agent })
      await signOut({ agent, tokens })
      expect(await told()).toEqual([['implicit', sid]])
    })

    test('when the session is ended elsewhere, all others are, the user is disabled, or deleted', async () => {
      const users = oauth.users
      const each: ((user: string, sid: string) => Promise<unknown>)[] = [
        async (user, sid) => oauth.sessions.endOne(user, sid),
        async (user) => oauth.sessions.endAll(user),
        async () => users.disable(MOLLY.username),
        async () => users.delete(MOLLY.username),
      ]
      for (const end of each) {
        await users.enable(MOLLY.username)
        const first = await signIn('told', { user: MOLLY })
        await giveBack(first)
        const sid = await takeIdToken(first.agent)
        expect(sid).toBe(first.sid)
        await end(first.sub, sid)
        expect(await told()).toEqual([
          ['implicit', sid],
          ['told', sid],
        ])
      }
    })

    test('when its access is taken back, and then no more, until it signs somebody in again', async () => {
      const user = await oauth.users.create(MOLLY)
      const { agent, sid } = await signIn('told', { user: MOLLY })
      expect(await takeIdToken(agent)).toBe(sid)
      expect(await kernelOf(server.server).consents.withdraw(user.id, 'implicit')).toBe(true)
      expect(await told()).toEqual([['implicit', sid]])
      await oauth.sessions.endAll(user.id)
      expect(await told()).toEqual([['told', sid]])

      const next = await signIn('told', { user: MOLLY })
      await takeIdToken(next.agent)
      await kernelOf(server.server).consents.withdraw(user.id, 'implicit')
      await takeIdToken(next.agent)
      await told()
      await oauth.sessions.endAll(user.id)
      expect(await told()).toEqual([
        ['implicit', next.sid],
        ['told', next.sid],
      ])
      await oauth.users.delete(MOLLY.username)
    })

    test('each session by its own name, and no app that has the name of one that is gone', async () => {
      await oauth.users.create(MOLLY)
      const [one, two] = [await signIn('told', { user: MOLLY }), await signIn('told', { user: MOLLY })]
      await giveBack(one)
      await oauth.clients.create(registered('gone', IMPLICIT))
      await takeIdToken(one.agent, 'gone')
      await oauth.clients.delete('gone')
      // Long ago, as clocks may differ a little.
      const noted = await server.database.query(
        `update sessions set clients = clients || '{"gone": 1}' where clients ? 'gone' returning sid`,
      )
      expect(noted).toEqual([{ sid: one.sid }])
      await oauth.clients.create(registered('gone', IMPLICIT))
      await oauth.sessions.endAll(one.sub)
      expect(await told()).toEqual(
        [
          ['told', one.sid],
          ['told', two.sid],
        ].toSorted((a, b) => String(a).localeCompare(String(b))),
      )
    })
  })

  describe('never who has the name of an app that is gone', () => {
    const NORA = { username: 'nora', password: 'a password of nora' }

    /** Signed in to an app that is deleted then, long before another one is registered under its name. */
    async function signedInBefore(): Promise<{ user: string; sid: string; authorization: string; agent: UserAgent }> {
      const { clients: registry } = oauth
      await registry.delete('former')
      await registry.create(registered('former', { require_consent: false }))
      const { agent, sub, sid, tokens } = await signIn('former', { user: NORA })
      const authorization = String(decodeJwt(tokens.access_token)['authorization_id'])
      await registry.delete('former')
      // As clocks may differ a little.
      await server.database.query(`update authorizations set created_at = created_at - interval '1 hour' where subject = $1`, [sub])
      await server.database.query(`update sessions set clients = '{"former": 1}' where clients ? 'former'`)
      await registry.create(registered('former'))
      return { user: sub, sid, authorization, agent }
    } // prettier-ignore

    const endings: readonly (readonly [string, (before: Awaited<ReturnType<typeof signedInBefore>>) => Promise<unknown>])[] = [
      ['somebody signs out', async ({ agent }) => signOut(await signIn('web', { agent, user: NORA }))],
      ['the session is ended elsewhere', async ({ user, sid }) => oauth.sessions.endOne(user, sid)],
      ['all sessions are', async ({ user }) => oauth.sessions.endAll(user)],
      ['the access is taken back', async ({ user }) => kernelOf(server.server).consents.withdraw(user, 'former')],
      ['one Authorization is revoked', async ({ authorization }) => oauth.revoke(authorization, 'by hand')],
      ['the user is disabled', async () => oauth.users.disable(NORA.username)],
      ['the user is deleted', async () => oauth.users.delete(NORA.username)],
    ] // prettier-ignore

    test.each(endings)('%s', async (_name, end) => {
      await oauth.users.create(NORA).catch(async () => oauth.users.enable(NORA.username))
      const before = await signedInBefore()
      expect(await told()).toEqual([])
      await end(before)
      expect(await told()).toEqual([])
      const [row] = await server.database.query<{ revoked: boolean }>(
        'select revoked_at is not null as revoked from authorizations where id = $1',
        [before.authorization],
      )
      expect(row).toEqual({ revoked: true })
    })

    test('also where it was to be told already', async () => {
      const { clients: registry } = oauth
      await oauth.users.create(NORA)
      await registry.delete('former')
      await registry.create(registered('former', { backchannel_logout_uri: at('/broken') }))
      await signOut(await signIn('former', { user: NORA }))
      await expect.poll(async () => (await waiting())[0]?.last_error).toBe('the app answered with 500')
      await registry.delete('former')
      await server.database.query(`update outbox set enqueued_at = enqueued_at - interval '1 hour'`)
      await registry.create(registered('former'))
      received()
      await expect
        .poll(async () => {
          await server.database.query(`update outbox set due_at = now() - interval '1 second'`)
          await server.database.query(
            `insert into changes (id, kind, key) values (gen_random_uuid(), 'delivery', '')`,
          )
          return waiting()
        })
        .toEqual([])
      expect(received()).toEqual([])
    })
  })

  test('of an ending without a session: only where the app does not insist on one', async () => {
    const user = await oauth.users.create({ username: 'dan', password: 'a password of dan' })
    for (const client of ['told', 'by-session'])
      await server.database.query(
        `insert into authorizations (id, client_id, subject, scopes, resources, parameters) values (gen_random_uuid(), $1, $2, '{openid}', '{}', '{}')`,
        [client, user.id],
      )
    await oauth.users.disable('dan')
    expect(await told()).toEqual([['told', undefined]])
  })
})

describe('what becomes of it', () => {
  test.each([
    ['no-content', []],
    ['refused', ['the app answered with 400']],
    ['broken', ['the app answered with 500']],
    ['moved', ['the app answered with 302']],
  ])('at an app that answers with %s', async (client, errors) => {
    const { agent, tokens, sid } = await signIn(client)
    await signOut({ agent, tokens })
    await expect.poll(async () => (await waiting()).map((row) => row.last_error)).toEqual(errors)
    const tries = received()
    expect(await toldOf(tries[0]!)).toEqual([client, sid])
    if (errors.length === 0) return
    // Whoever is away has places of their own.
    expect(await server.database.query('select recipient from outbox')).toEqual([{ recipient: client }])
    // Once more, as the same; then it is taken, at the address that is registered by then.
    await oauth.clients.update(client, { backchannel_logout_uri: at('/taken') })
    const pass = async () => {
      await server.database.query(`update outbox set due_at = now() - interval '1 second'`)
      await server.database.query(
        `insert into changes (id, kind, key) values (gen_random_uuid(), 'delivery', '')`,
      )
      return waiting()
    }
    await expect.poll(pass).toEqual([])
    const all = [...tries, ...received()].map((one) => decodeJwt(tokenIn(one)).jti)
    expect(all.length).toBeGreaterThan(1)
    expect(new Set(all).size).toBe(1)
  })

  test('an app that is gone, or wants to hear nothing more, is told nothing, and nothing waits', async () => {
    const { clients: registry } = oauth
    for (const leave of [
      async (id: string) => registry.delete(id),
      async (id: string) => registry.update(id, { backchannel_logout_uri: null }),
    ]) {
      await registry.create(registered('leaving', { backchannel_logout_uri: at('/broken') }))
      await signOut(await signIn('leaving'))
      await expect.poll(async () => (await waiting())[0]?.last_error).toBe('the app answered with 500')
      received()
      await leave('leaving')
      await expect
        .poll(async () => {
          await server.database.query(`update outbox set due_at = now() - interval '1 second'`)
          await server.database.query(
            `insert into changes (id, kind, key) values (gen_random_uuid(), 'delivery', '')`,
          )
          return waiting()
        })
        .toEqual([])
      await registry.delete('leaving')
    }
  })
})

describe('the members', () => {
  const bad: readonly (readonly [object, string])[] = [
    [
      { backchannel_logout_uri: 'javascript:alert(1)' },
      'backchannel_logout_uri must be an absolute http or https URL',
    ],
    [{ backchannel_logout_uri: 'https://app.example/out#now' }, 'without a fragment'],
    [{ backchannel_logout_uri: '/out' }, 'backchannel_logout_uri must be an absolute'],
    [{ backchannel_logout_session_required: 'yes' }, 'backchannel_logout_session_required must be boolean'],
    [
      {
        token_endpoint_auth_method: 'none',
        client_secret: undefined,
        backchannel_logout_uri: 'http://app.example/out',
      },
      'backchannel_logout_uri must use https',
    ],
  ]
  test.each(bad)('%j are refused', async (members, message) => {
    const { client_id: _id, ...client } = registered('refused-client')
    await expect(oauth.clients.create({ ...client, ...members })).rejects.toMatchObject({
      code: 'invalid_client_metadata',
      message: expect.stringContaining(message) as string,
    })
  })

  test('are kept as they are, and read back', async () => {
    const members = {
      backchannel_logout_uri: 'https://app.example/out?a=b',
      backchannel_logout_session_required: true,
    }
    const { client_id } = await oauth.clients.create({ redirect_uris: ['https://app.example/'], ...members })
    expect(await oauth.clients.find(client_id!)).toMatchObject(members)
  })
})

test('left out, it is not offered, and nobody is told', async () => {
  const quiet = await startServer(
    { UNSAFE_OUTBOUND_ORIGINS: at(''), WITHOUT: 'latchkey-backchannel-logout' },
    { seed: { ...SEED, clients: [{ ...registered('web') }] } },
  )
  const metadata = await (await quiet.get('/.well-known/openid-configuration')).text()
  expect(metadata).not.toContain('backchannel')
  const agent = createUserAgent(quiet.url)
  const { id_token } = await getTokens(quiet, {}, agent)
  await agent.get(`${quiet.url}/end-session?id_token_hint=${id_token}`)
  expect(await quiet.database.query('select kind from outbox')).toEqual([])
  expect(received()).toEqual([])
})
