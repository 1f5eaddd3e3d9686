/** Tokens that are bound to a key by a sender constraint, wherever the server itself gives, takes or judges one. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import type { SenderConstraint } from '../../../src/doors/sender-constraint.ts'
import { createClient, introspect, type TestClient } from '../../support/clients.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { createDatabase } from '../../support/database.ts'
import { createFactsGrant, FACTS_GRANT } from '../../support/facts-grant.ts'
import { addKeyConstraint, KEY_CONSTRAINT } from '../../support/key-constraint.ts'
import { OAuthError } from '../../../src/protocol/errors.ts'
import { requestsTo } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { authorize, createPkce, REDIRECT_URI, SEED } from '../../support/sign-in.ts'

const grant = createFactsGrant()
const server = await startServer(
  { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  {
    seed: SEED,
    extend(app) {
      grant.add(app)
      addKeyConstraint(app)
      app.get('/books', { config: { scope: 'read_books' } }, async ({ token }) => ({ reader: token.subject }))
    },
  },
)
const metadata = { redirect_uri: REDIRECT_URI, scope: ['read_books'] }
const web = await createClient(server, metadata)
const opaqueWeb = await createClient(server, { ...metadata, access_token_format: 'opaque' })
const isPublic = { token_endpoint_auth_method: 'none' }
const app = await createClient(server, { ...metadata, ...isPublic })
const opaqueApp = await createClient(server, { ...metadata, ...isPublic, access_token_format: 'opaque' })
const service = await createClient(server, { scope: ['read_books'] })
const opaqueService = await createClient(server, { scope: ['read_books'], access_token_format: 'opaque' })

type Tokens = Readonly<Record<string, unknown>> & { status: number }
type Headers = Record<string, string>

async function ask(client: TestClient, form: Record<string, string>, headers: Headers = {}): Promise<Tokens> {
  const named = { ...form, client_id: client.clientId }
  const authentication = client === app || client === opaqueApp ? {} : client.basic
  const response = await server.post('/token', named, { ...authentication, ...headers })
  return { ...((await response.json()) as object), status: response.status }
}

/** The code flow to its end, as alice. */
async function signIn(client: TestClient, headers: Headers = {}): Promise<Tokens> {
  const { verifier, challenge } = createPkce()
  const asked = { client_id: client.clientId, scope: 'openid read_books', code_challenge: challenge }
  const code = (await authorize(server, { ...asked, code_challenge_method: 'S256' })).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: verifier }
  return ask(client, form, headers)
}

const refresh = async (client: TestClient, { refresh_token: token }: Tokens, headers: Headers = {}) =>
  ask(client, { grant_type: 'refresh_token', refresh_token: String(token) }, headers)

const getOwn = async (client: TestClient, headers: Headers = {}) =>
  ask(client, { grant_type: 'client_credentials' }, headers)

/** What userinfo and a guarded route answer to a token. */
async function present(
  { access_token: token }: Tokens,
  scheme: string,
  headers: Headers = {},
): Promise<{ userinfo: number; route: number; errors: unknown[]; challenges: (string | null)[] }> {
  const sent = { authorization: `${scheme} ${String(token)}`, ...headers }
  const answers = [await server.get('/userinfo', sent), await server.get('/books', sent)]
  const bodies = await Promise.all(answers.map(async (one) => (await one.json()) as { error?: string }))
  return {
    userinfo: answers[0]!.status,
    route: answers[1]!.status,
    errors: bodies.map(({ error }) => error),
    challenges: answers.map(({ headers: own }) => own.get('www-authenticate')),
  }
}

const a = { 'x-key': 'a' }
const b = { 'x-key': 'b' }

test.each([
  ['jwt', web, service],
  ['opaque', opaqueWeb, opaqueService],
])('a token is bound to the key that its request shows (%s)', async (_format, client, own) => {
  const given = [
    [client, await signIn(client, a)],
    [own, await getOwn(own, a)],
  ] as const
  for (const [caller, tokens] of given) {
    expect(tokens).toMatchObject({ status: 200, token_type: 'Key' })
    const token = String(tokens['access_token'])
    expect((await server.server.oauth.verify(token))?.claims.cnf).toEqual({ key: 'a' })
    const told = await introspect(server, caller, token)
    expect(told).toMatchObject({ active: true, token_type: 'Key', cnf: { key: 'a' } })
  }
})

test('without a key, nothing is bound', async () => {
  const given = [
    [web, await signIn(web)],
    [service, await getOwn(service)],
  ] as const
  for (const [caller, tokens] of given) {
    expect(String(tokens['token_type']).toLowerCase()).toBe('bearer')
    const token = String(tokens['access_token'])
    expect(decodeJwt(token)).not.toHaveProperty('cnf')
    const told = await introspect(server, caller, token)
    expect(told).toMatchObject({ active: true, token_type: 'Bearer' })
    expect(told).not.toHaveProperty('cnf')
  }
})

test.each([
  ['jwt', web],
  ['opaque', opaqueWeb],
])('userinfo and guarded routes take a bound token from its holder alone (%s)', async (_format, client) => {
  const tokens = await signIn(client, a)
  expect(await present(tokens, 'Key', a)).toMatchObject({ userinfo: 200, route: 200 })
  for (const headers of [{}, b] as Headers[]) {
    const refused = await present(tokens, 'Key', headers)
    expect(refused).toMatchObject({ userinfo: 401, route: 401, errors: ['invalid_key', 'invalid_key'] })
    for (const challenge of refused.challenges)
      expect(challenge).toMatch(/^Key .*keys="any".*error="invalid_key"/)
  }
  expect(await present(tokens, 'Key', { 'x-key': 'away' })).toMatchObject({ userinfo: 503, route: 503 })
})

test.each([
  ['jwt', web],
  ['opaque', opaqueWeb],
])(
  'stolen, a bound token is no bearer token, and an unbound one gains nothing (%s)',
  async (_format, client) => {
    const refusals = { userinfo: 401, route: 401, errors: ['invalid_token', 'invalid_token'] }
    expect(await present(await signIn(client, a), 'Bearer', a)).toMatchObject(refusals)
    const plain = await signIn(client)
    expect(await present(plain, 'Key', a)).toMatchObject(refusals)
    expect(await present(plain, 'Bearer')).toMatchObject({ userinfo: 200, route: 200 })
  },
)

test('a bound token in the query of userinfo is refused too', async () => {
  const token = String((await signIn(web, a))['access_token'])
  const response = await server.get(`/userinfo?access_token=${token}`, a)
  expect([response.status, await response.json()]).toMatchObject([401, { error: 'invalid_token' }])
})

test('what a constraint refuses is refused before anything is spent', async () => {
  const { verifier, challenge } = createPkce()
  const asked = { client_id: app.clientId, code_challenge: challenge, code_challenge_method: 'S256' }
  const code = (await authorize(server, asked)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: verifier }
  const named = { ...form, client_id: app.clientId }
  const refused = await server.post('/token', named, { 'x-key': 'refused' })
  expect([refused.status, refused.headers.get('x-hint'), await refused.json()]).toEqual([
    400,
    'another',
    { error: 'invalid_key', error_description: 'this key is refused' },
  ])
  expect(await ask(app, form, a)).toMatchObject({ status: 200, token_type: 'Key' })
})

test.each([
  ['jwt', app],
  ['opaque', opaqueApp],
])(
  'the bound refresh token of a public client stays, and works with its key alone (%s)',
  async (_format, client) => {
    const first = await signIn(client, a)
    for (let times = 0; times < 3; times++) {
      const tokens = await refresh(client, first, a)
      expect(tokens).toMatchObject({ status: 200, token_type: 'Key', refresh_token: first['refresh_token'] })
      expect(await present(tokens, 'Key', a)).toMatchObject({ userinfo: 200, route: 200 })
    }
    for (const headers of [{}, b] as Headers[])
      expect(await refresh(client, first, headers)).toMatchObject({ status: 400, error: 'invalid_grant' })
    // Nobody's mistake ends it.
    expect(await refresh(client, first, a)).toMatchObject({ status: 200 })
  },
)

test('many refreshes at once with one bound token all succeed, and revoking it ends them all', async () => {
  const first = await signIn(app, a)
  const all = await Promise.all(Array.from({ length: 12 }, async () => refresh(app, first, a)))
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(all.map((tokens) => tokens['refresh_token']))).toEqual(new Set([first['refresh_token']]))
  await server.post('/revoke', { token: String(first['refresh_token']), client_id: app.clientId })
  expect(await refresh(app, first, a)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await present(all[0]!, 'Key', a)).toMatchObject({ userinfo: 401, route: 401 })
})

test('each use of a bound refresh token begins its idle time anew', async () => {
  const first = await signIn(app, a)
  const id = decodeJwt(String(first['access_token']))['authorization_id']
  const left = async (): Promise<number> => {
    const [row] = await server.database.query<{ left: number }>(
      `select extract(epoch from expires_at - now())::float8 as left from refresh_tokens where authorization_id = $1`,
      [id],
    )
    return row!.left
  }
  const before = await left()
  await server.database.query(
    `update refresh_tokens set expires_at = now() + interval '1 minute' where authorization_id = $1`,
    [id],
  )
  await refresh(app, first, a)
  expect(await left()).toBeGreaterThan(before - 60)
  await server.database.query(`update refresh_tokens set expires_at = now() where authorization_id = $1`, [
    id,
  ])
  expect(await refresh(app, first, a)).toMatchObject({ status: 400, error: 'invalid_grant' })
})

test.each([
  ['jwt', app],
  ['opaque', opaqueApp],
])(
  'a public client that was not bound may begin to be: from then on its refresh token is, too (RFC 9449 §5, %s)',
  async (_format, client) => {
    const first = await signIn(client)
    const tokens = await refresh(client, first, a)
    expect(tokens).toMatchObject({ status: 200, token_type: 'Key' })
    expect(tokens['refresh_token']).not.toBe(first['refresh_token'])
    for (const headers of [{}, b] as Headers[])
      expect(await refresh(client, tokens, headers)).toMatchObject({ status: 400, error: 'invalid_grant' })
    // Who did not hear the answer asks once more, and is bound as well.
    for (const shown of [first, tokens])
      expect(await refresh(client, shown, a)).toMatchObject({
        status: 200,
        token_type: 'Key',
        refresh_token: tokens['refresh_token'],
      })
  },
)

test('of two that begin with keys of their own at once, one is bound, and the other gets nothing', async () => {
  const first = await signIn(app)
  const both = await Promise.all([refresh(app, first, a), refresh(app, first, b)])
  expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 400])
  const key = both[0].status === 200 ? a : b
  const tokens = both.find(({ status }) => status === 200)!
  expect(await refresh(app, tokens, key)).toMatchObject({ status: 200, token_type: 'Key' })
  expect(await refresh(app, tokens, key === a ? b : a)).toMatchObject({ status: 400 })
})

test('of two of which one begins with a key at once, one gets something, and nobody a refresh token of no use', async () => {
  for (let round = 0; round < 10; round++) {
    const first = await signIn(app)
    const both = await Promise.all([refresh(app, first, a), refresh(app, first)])
    expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 400])
    const [tokens, headers] = both[0].status === 200 ? [both[0], a] : [both[1], {}]
    expect(await refresh(app, tokens, headers as Headers)).toMatchObject({ status: 200 })
  }
})

test('two with one key at once both get the one that is bound to it', async () => {
  const first = await signIn(app)
  const both = await Promise.all([refresh(app, first, a), refresh(app, first, a)])
  expect(both.map(({ status }) => status)).toEqual([200, 200])
  expect(both[0]['refresh_token']).toBe(both[1]['refresh_token'])
  expect(await refresh(app, both[0])).toMatchObject({ status: 400 })
})

test('a retry gets what the first use got: one that had no key binds nothing with one', async () => {
  const first = await signIn(app)
  const second = await refresh(app, first)
  expect(await refresh(app, first, a)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await refresh(app, first)).toMatchObject({ status: 200, refresh_token: second['refresh_token'] })
  expect(await refresh(app, second)).toMatchObject({ status: 200, token_type: 'bearer' })
})

test.each([
  ['without a key', {}, 0],
  ['with their own', b, 0],
  ['without a key two hours later', {}, 2],
  ['with their own two hours later', b, 2],
] as [string, Headers, number][])(
  'who began to bind a stolen refresh token loses it to its owner, who comes %s (RFC 9700 §4.14.2)',
  async (_how, headers, hours) => {
    const first = await signIn(app)
    const stolen = await refresh(app, first, a)
    const id = decodeJwt(String(first['access_token']))['authorization_id']
    await server.database.query(
      `update refresh_tokens set created_at = created_at - make_interval(hours => $2) where authorization_id = $1`,
      [id, hours],
    )
    // No retry: that would have the key.
    expect(await refresh(app, first, headers)).toMatchObject({ status: 400, error: 'invalid_grant' })
    expect(await refresh(app, stolen, a)).toMatchObject({ status: 400, error: 'invalid_grant' })
    expect(await present(stolen, 'Key', a)).toMatchObject({ userinfo: 401, route: 401 })
  },
)

test('who has the key is no thief, however late they ask again, and whatever was used meanwhile', async () => {
  const first = await signIn(app)
  const lost = await refresh(app, first, a)
  const id = decodeJwt(String(first['access_token']))['authorization_id']
  await server.database.query(
    `update refresh_tokens set created_at = created_at - interval '2 hours' where authorization_id = $1`,
    [id],
  )
  expect(await refresh(app, first, a)).toMatchObject({ status: 200, refresh_token: lost['refresh_token'] })
  expect(await refresh(app, lost, a)).toMatchObject({ status: 200 })
  expect(await refresh(app, first, a)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await refresh(app, lost, a)).toMatchObject({ status: 200 })
})

test('a client that proves who it is begins to be bound by none of its refreshes', async () => {
  const first = await signIn(web)
  const second = await refresh(web, first, a)
  expect(second).toMatchObject({ status: 200, token_type: 'Key' })
  expect(await refresh(web, second)).toMatchObject({ status: 200, token_type: 'bearer' })
})

test('a client that proves who it is may change keys, and its refresh token stays too', async () => {
  const first = await signIn(web, a)
  const second = await refresh(web, first, b)
  expect(second).toMatchObject({ status: 200, token_type: 'Key', refresh_token: first['refresh_token'] })
  expect(await present(second, 'Key', a)).toMatchObject({ userinfo: 401, route: 401 })
  expect(await present(second, 'Key', b)).toMatchObject({ userinfo: 200, route: 200 })
  expect(await refresh(web, second)).toMatchObject({ status: 200, token_type: 'bearer' })
})

test('no grant binds: what it says is what the request must show, and no more than that', async () => {
  const facts = await createClient(server, { scope: ['read'], grant_types: [FACTS_GRANT, 'refresh_token'] })
  const binding = { tokenType: 'Key', cnf: { key: 'a' } }
  const tokens = await grant.get(server, facts, { binding })
  expect(tokens).toMatchObject({ status: 200, token_type: 'bearer' })
  expect(decodeJwt(String(tokens['access_token']))).not.toHaveProperty('cnf')
})

test('discovery and the metadata of our own resource say what is registered', async () => {
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-protected-resource'])
    expect(await (await server.get(path)).json()).toMatchObject({ keys_supported: ['any'] })
  const challenge = (await server.get('/books')).headers.get('www-authenticate')
  expect(challenge).toMatch(/^Bearer realm=[^,]+, .*, Key realm=[^,]+, keys="any"/)
})

/** What a client gets for a proof of either of two ways, of which the other is presented under `scheme`. */
async function boundTwice(scheme: string): Promise<Readonly<Record<string, unknown>>> {
  const other: SenderConstraint = {
    ...KEY_CONSTRAINT,
    scheme,
    confirmation: 'seal',
    metadata: {},
    bind: async ({ request: { headers } }) => headers['x-seal'] as string | undefined,
    async verify() {},
  }
  const both = await startServer(
    {},
    {
      extend(instance) {
        addKeyConstraint(instance)
        instance.oauth.add('senderConstraint', other)
      },
    },
  )
  const client = await createClient(both, { scope: ['read'] })
  const headers = { ...client.basic, ...a, 'x-seal': 'x' }
  const response = await both.post('/token', { grant_type: 'client_credentials' }, headers)
  return (await response.json()) as Readonly<Record<string, unknown>>
}

test('two ways that go together are both kept', async () => {
  const tokens = await boundTwice('Bearer')
  expect(tokens).toMatchObject({ token_type: 'Key' })
  expect(decodeJwt(String(tokens['access_token']))['cnf']).toEqual({ key: 'a', seal: 'x' })
})

test('two that do not are refused', async () => {
  expect(await boundTwice('Seal')).toMatchObject({ error: 'invalid_request' })
})

test('where the constraint is gone, what was bound by it is good for nobody, and the rest goes on', async () => {
  const bound = [await signIn(app, a), await signIn(web, a)] as const
  const plain = await signIn(app)
  const PORT = await freePort()
  await startServer({ ...server.settings, PORT }, { database: server.database })
  const without = requestsTo(`http://127.0.0.1:${PORT}`)
  const asked = async ({ access_token: token }: Tokens, scheme: string) =>
    (await without.get('/userinfo', { authorization: `${scheme} ${String(token)}`, ...a })).status
  for (const tokens of bound) {
    expect(await asked(tokens, 'Bearer')).toBe(401)
    expect(await asked(tokens, 'Key')).toBe(401)
  }
  const told = await introspect(without, web, String(bound[1]['access_token']))
  expect(told).toMatchObject({ active: true, cnf: { key: 'a' } })
  expect(told).not.toHaveProperty('token_type')
  const form = { grant_type: 'refresh_token', refresh_token: String(bound[0]['refresh_token']) }
  const refused = await without.post('/token', { ...form, client_id: app.clientId }, a)
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_grant' }])
  expect(await asked(plain, 'Bearer')).toBe(200)
})

test('a code whose answer was lost gives what it gave to its key alone', async () => {
  const database = await createDatabase({ refusing: false })
  const proxy = await startDatabaseProxy(database.url)
  const settings = { DATABASE_URL: proxy.url }
  const behind = await startServer(settings, { seed: SEED, database, extend: addKeyConstraint })
  const lone = await createClient(behind, { ...metadata, ...isPublic })
  const { verifier, challenge } = createPkce()
  const asked = { client_id: lone.clientId, code_challenge: challenge, code_challenge_method: 'S256' }
  const code = (await authorize(behind, asked)).get('code')!
  const exchange = async (headers: Headers): Promise<Tokens> => {
    const form = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      code_verifier: verifier,
    }
    const response = await behind.post('/token', { ...form, client_id: lone.clientId }, headers)
    return { ...((await response.json()) as object), status: response.status }
  }
  proxy.cutAt('authorization-code-exchange', 'after')
  expect(await exchange(a)).toMatchObject({ status: 503 })
  for (const headers of [{}, b] as Headers[])
    expect(await exchange(headers)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await exchange(a)).toMatchObject({ status: 200, token_type: 'Key' })
})

test('a constraint that answers at once is as good as one that is waited for', async () => {
  const plain = {
    ...KEY_CONSTRAINT,
    bind: ({ request }: { request: { headers: Headers } }) => request.headers['x-key'],
    verify({ headers }: { headers: Headers }, { confirmation }: { confirmation: string }) {
      if (headers['x-key'] !== confirmation) throw new OAuthError('invalid_key', 'the key is another')
    },
  }
  const other = await startServer(
    {},
    {
      seed: SEED,
      extend(app) {
        app.oauth.add('senderConstraint', plain as unknown as SenderConstraint)
        app.oauth.extend('access_token', ['shelf'], (async () => undefined) as never)
        app.get('/books', { config: { scope: 'read_books' } }, async ({ token }) => ({
          reader: token.subject,
        }))
      },
    },
  )
  const client = await createClient(other, { scope: ['read_books'] })
  const get = async (headers: Headers): Promise<Tokens> => {
    const form = { grant_type: 'client_credentials' }
    const response = await other.post('/token', form, { ...client.basic, ...headers })
    return { ...((await response.json()) as object), status: response.status }
  }
  expect(await get({})).toMatchObject({ status: 200, token_type: 'Bearer' })
  const { token_type: type, access_token: token } = await get(a)
  expect(type).toBe('Key')
  const shown = async (headers: Headers) =>
    (await other.get('/books', { authorization: `Key ${String(token)}`, ...headers })).status
  expect([await shown(a), await shown(b)]).toEqual([200, 401])
})
