/** Pushed authorization requests (RFC 9126): what is refused, what is remembered, what stands in the database. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import { shownError } from '../../../support/error-page.ts'
import { addressWith, ASKED, PUBLIC, push } from '../../../support/pushed.ts'
import { basic } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  createPkce,
  exchange,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../../support/user-agent.ts'

const PUSHING = { ...WEB, client_id: 'pushing', require_pushed_authorization_requests: true }
const seed = { ...SEED, clients: [WEB, PUSHING, PUBLIC] }
const server = await startServer({ TRUSTED_PROXIES: '127.0.0.1' }, { seed })
const S256 = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' }
const PERSON = { username: ALICE.username, password: ALICE.password }
const KIND = `kind = 'pushed_request'`

const metadataOf = async (at = server): Promise<Record<string, unknown>> =>
  (await (await at.get('/.well-known/openid-configuration')).json()) as Record<string, unknown>
const askedPlainly = (client_id: string): string => {
  const { pathname, search } = new URL(authorizationUrl(server, { client_id }))
  return pathname + search
}

test('the answer is 201, is not stored, and may be read by pages of elsewhere', async () => {
  const headers = { ...basic(WEB.client_id, WEB.client_secret), origin: 'https://app.example' }
  const response = await server.post('/par', ASKED, headers)
  expect([response.status, Object.fromEntries(response.headers)]).toMatchObject([
    201,
    { 'cache-control': 'no-store', 'content-type': 'application/json', 'access-control-allow-origin': '*' },
  ])
  expect(await response.json()).toEqual({
    request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]{43}$/) as string,
    expires_in: 60,
  })
})

test('the metadata says where, and that nobody must', async () => {
  expect(await metadataOf()).toMatchObject({
    pushed_authorization_request_endpoint: `${server.url}/par`,
    require_pushed_authorization_requests: false,
  })
})

describe('refused when it is pushed, with the error that the authorization endpoint has for it:', () => {
  test.each([
    ['a redirect URI that is not registered', { redirect_uri: 'https://evil.example/' }, 'web', 'invalid_request'],
    ['no redirect URI', { redirect_uri: undefined }, 'web', 'invalid_request'],
    ['no response type', { response_type: undefined }, 'web', 'invalid_request'],
    ['another response type', { response_type: 'token' }, 'web', 'unsupported_response_type'],
    ['a response mode that is none', { response_mode: 'smoke' }, 'web', 'invalid_request'],
    ['no scope that it may have', { scope: 'nothing' }, 'web', 'invalid_scope'],
    ['no scope', { scope: undefined }, 'web', 'invalid_scope'],
    ['an API that is not there', { resource: 'https://nowhere.example/' }, 'web', 'invalid_target'],
    ['a request_uri of ours', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'web', 'invalid_request'],
    ['a request_uri of another', { request_uri: 'https://app.example/request' }, 'web', 'invalid_request'],
    ['a request object that is none', { request: 'x.y.z' }, 'web', 'invalid_request_object'],
    ['no PKCE, of a public client', {}, 'public', 'invalid_request'],
    ['PKCE as plain', { ...S256, code_challenge_method: 'plain' }, 'web', 'invalid_request'],
    ['a bad max_age', { max_age: 'x' }, 'web', 'invalid_request'],
    ['claims that are no JSON', { claims: '{' }, 'web', 'invalid_request'],
    ['prompts that contradict', { prompt: 'none login' }, 'web', 'invalid_request'],
    ['a state that is too long', { state: 'x'.repeat(4097) }, 'web', 'invalid_request'],
    ['a client_id of another', { client_id: 'pushing' }, 'web', 'invalid_request'],
    ['two ways to prove who it is', { client_id: 'web', client_secret: WEB.client_secret }, 'web', 'invalid_request'],
  ])('%s', async (_what, more, id, error) => {
    expect(await push(server, more, id)).toMatchObject({ status: 400, error })
  }) // prettier-ignore

  test('a parameter twice', async () => {
    const twice: [string, string][] = [...Object.entries(ASKED), ['state', 'again']]
    const response = await server.post('/par', twice, basic(WEB.client_id, WEB.client_secret))
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }])
  })

  test.each([
    ['a wrong secret', basic('web', 'wrong'), {}],
    ['a client that is not there', basic('nobody', 'wrong'), {}],
    ['no client', {}, {}],
    ['a client that has a secret and shows none', {}, { client_id: 'web' }],
  ])('%s is 401', async (_what, headers, more) => {
    const response = await server.post('/par', { ...ASKED, ...more }, headers)
    expect([response.status, await response.json()]).toMatchObject([401, { error: 'invalid_client' }])
  })

  test('a GET is 405, and JSON 415', async () => {
    const got = await server.get('/par')
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
    const headers = { ...basic('web', WEB.client_secret), 'content-type': 'application/json' }
    const sent = await server.request('/par', { method: 'POST', headers, body: JSON.stringify(ASKED) })
    expect(sent.status).toBe(415)
  })
})

describe('the browser', () => {
  test('needs the reference alone, and what stands beside it is not read', async () => {
    const agent = createUserAgent(server.url)
    const beside = new URLSearchParams({ state: 'forged', scope: 'openid email', redirect_uri: REDIRECT_URI })
    const pushed = await push(server, { scope: 'openid profile' })
    const page = await goThrough(agent, await agent.get(`${server.url}${addressWith(pushed)}&${beside.toString()}`))
    const told = answerOf(page)
    expect(told.get('state')).toBe('pushed')
    const tokens = (await (await exchange(server, told.get('code')!)).json()) as { scope: string }
    expect(tokens.scope).toBe('openid profile')
  })

  test('is told invalid_request_uri for one of another client, of nobody, or changed', async () => {
    const pushed = await push(server)
    const { request_uri: uri } = pushed
    for (const path of [
      addressWith(pushed, 'pushing'),
      addressWith({ request_uri: `${uri.slice(0, -1)}${uri.endsWith('A') ? 'B' : 'A'}` }),
      addressWith({ request_uri: 'urn:ietf:params:oauth:request_uri:' }),
      addressWith({ request_uri: `urn:ietf:params:oauth:request_uri:${'x'.repeat(3000)}` }),
    ])
      expect(await shownError(server.get(path))).toEqual([400, 'invalid_request_uri'])
    expect(await shownError(server.get(addressWith({ request_uri: uri.toUpperCase() })))).toEqual([
      400,
      'invalid_request',
    ])
    expect(findForm(await createUserAgent(server.url).get(server.url + addressWith(pushed)), 'login')).toBeDefined()
  }) // prettier-ignore

  test('may open it again, reload and go back, until the one answer', async () => {
    const agent = createUserAgent(server.url)
    const url = server.url + addressWith(await push(server))
    const first = await agent.get(url)
    const other = createUserAgent(server.url)
    expect(findForm(await other.get(url), 'login')).toBeDefined()
    const reloaded = await agent.get(first.url)
    const consent = await agent.submit(reloaded, 'login', PERSON)
    // Back, to a page that has been through; forward again.
    await agent.get(first.url)
    const answer = await goThrough(agent, consent)
    const code = answerOf(answer).get('code')!
    expect((await exchange(server, code)).status).toBe(200)
    expect(await shownError(await agent.get(url))).toEqual([400, 'invalid_request_uri'])
    const back = await agent.get(first.url)
    expect([back.status, back.body]).toEqual([400, expect.stringContaining('This step is done')])
    // The way on is no second answer to it.
    expect(back.body).not.toContain('/interaction/')
  })

  test('has not answered it while anything of the answer cannot be stored', async () => {
    const agent = createUserAgent(server.url)
    const url = server.url + addressWith(await push(server))
    await server.database.query(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create trigger refuse before update of clients on sessions for each row execute function refuse()`)
    const refused = await goThrough(agent, await agent.get(url), PERSON)
    expect(refused.status).toBe(500)
    await server.database.query('drop function refuse cascade')
    expect(answerOf(await goThrough(agent, await agent.get(url), PERSON)).has('code')).toBe(true)
  })

  test('ends it by refusing, too', async () => {
    const agent = createUserAgent(server.url)
    const url = server.url + addressWith(await push(server, { scope: 'openid phone' }))
    const consent = await agent.submit(await agent.get(url), 'login', PERSON)
    const refused = await agent.submit(consent, 'consent', { decision: 'deny' })
    expect(answerOf(refused).get('error')).toBe('access_denied')
    expect(await shownError(await agent.get(url))).toEqual([400, 'invalid_request_uri'])
  })

  test('comes as soon as the server says, and may then decide for longer', async () => {
    const short = await startServer({ OIDC_PAR_EXPIRE: 5 }, { seed })
    const pushed = await push(short)
    expect(pushed.expires_in).toBe(5)
    const agent = createUserAgent(short.url)
    const page = await agent.get(short.url + addressWith(pushed))
    onTestFinished(() => void vi.useRealTimers())
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5000 })
    expect(await shownError(short.get(addressWith(pushed)))).toEqual([400, 'invalid_request_uri'])
    vi.setSystemTime(Date.now() + 40_000)
    expect(answerOf(await goThrough(agent, page)).get('code')).toMatch(/./)
  })
}) // prettier-ignore

describe('who must push', () => {
  test('is refused without, by redirect; others need not', async () => {
    const asked = async (id: string): Promise<string> =>
      (await server.get(askedPlainly(id))).headers.get('location')!
    expect(await asked('pushing')).toMatch(/^https:\/\/app\.example\/callback\?error=invalid_request/)
    expect(await asked('web')).toMatch(/^\/interaction\//)
    const agent = createUserAgent(server.url)
    const url = server.url + addressWith(await push(server, {}, 'pushing'), 'pushing')
    expect(answerOf(await goThrough(agent, await agent.get(url))).get('code')).toMatch(/./)
  })

  test('may be everybody, and the metadata says so', async () => {
    const strict = await startServer({ OIDC_REQUIRE_PAR: true }, { seed })
    expect(await metadataOf(strict)).toHaveProperty('require_pushed_authorization_requests', true)
    const agent = createUserAgent(strict.url)
    expect(answerOf(await agent.get(authorizationUrl(strict))).get('error')).toBe('invalid_request')
    const page = await goThrough(agent, await agent.get(strict.url + addressWith(await push(strict))))
    expect(answerOf(page).get('code')).toMatch(/./)
    // Our own pages are of no client.
    const account = await createUserAgent(strict.url).get(`${strict.url}/account`)
    expect(findForm(account, 'sign-in') ?? findForm(account, 'login')).toBeDefined()
  })

  test('is a member that apps may register by themselves', async () => {
    const open = await startServer({ OIDC_REGISTRATION: 'open' }, { seed })
    const member = { require_pushed_authorization_requests: true }
    const registration = { redirect_uris: [REDIRECT_URI], ...member }
    const response = await open.request('/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(registration),
    })
    expect([response.status, await response.json()]).toMatchObject([201, member])
    const wrong = { client_id: 'wrong', redirect_uri: REDIRECT_URI, require_pushed_authorization_requests: 'yes' }
    await expect(open.server.oauth.clients.create(wrong)).rejects.toThrow('require_pushed_authorization_requests')
  }) // prettier-ignore

  test.each([['4'], ['600'], ['x'], ['5.5']])('OIDC_PAR_EXPIRE is 5 to 599: %j', async (value) => {
    await expect(startServer({ OIDC_PAR_EXPIRE: value })).rejects.toThrow('OIDC_PAR_EXPIRE')
  })
})

describe('a key that is shown with it (RFC 9449 section 10.1)', async () => {
  const key = await createDpopKey()
  const proof = async (): Promise<string> => prove(key, { method: 'POST', url: `${server.url}/par` })
  const pushWith = async (dpop: string, more: Record<string, string> = {}) => {
    const headers = { ...basic(WEB.client_id, WEB.client_secret), dpop }
    return server.post('/par', { ...ASKED, ...more }, headers)
  }

  test('binds the code, as dpop_jkt does', async () => {
    const pushed = (await (await pushWith(await proof())).json()) as { request_uri: string }
    const agent = createUserAgent(server.url)
    const code = answerOf(await goThrough(agent, await agent.get(server.url + addressWith(pushed)))).get(
      'code',
    )!
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const at = async (by?: typeof key) => {
      const dpop = by && (await prove(by, { method: 'POST', url: `${server.url}/token` }))
      const headers = { ...basic(WEB.client_id, WEB.client_secret), ...(dpop && { dpop }) }
      return (await (await server.post('/token', form, headers)).json()) as object
    }
    expect(await at()).toMatchObject({ error: 'invalid_grant' })
    expect(await at(await createDpopKey())).toMatchObject({ error: 'invalid_grant' })
    expect(await at(key)).toMatchObject({ token_type: 'DPoP' })
  })

  test('is refused where dpop_jkt names another, and where the proof is not good', async () => {
    const same = await pushWith(await proof(), { dpop_jkt: key.thumbprint })
    expect(same.status).toBe(201)
    const other = await pushWith(await proof(), { dpop_jkt: (await createDpopKey()).thumbprint })
    expect([other.status, await other.json()]).toMatchObject([400, { error: 'invalid_request' }])
    const used = await proof()
    expect((await pushWith(used)).status).toBe(201)
    const again = await pushWith(used)
    expect([again.status, await again.json()]).toMatchObject([400, { error: 'invalid_dpop_proof' }])
  })
})

describe('in the database', () => {
  test('there is nothing in the clear, and it ends an hour after nobody may come any more', async () => {
    await server.database.query(`delete from artifacts where ${KIND}`)
    const { request_uri: uri } = await push(server, { login_hint: 'somebody@example.com' })
    const rows = await server.database.query<{ left: number }>(
      `select *, extract(epoch from expires_at - now())::int as left from artifacts where ${KIND}`,
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]!.left).toBeGreaterThan(3600)
    expect(rows[0]!.left).toBeLessThanOrEqual(3660)
    for (const secret of [uri.split(':').at(-1)!, 'somebody@example.com', WEB.client_secret])
      expect(JSON.stringify(rows)).not.toContain(secret)
    expect(server.output()).not.toContain(uri.split(':').at(-1))
  })

  test('what anybody pushes has a bound, in which one network pushes out few of the others', async () => {
    await server.database.query(`delete from artifacts where ${KIND}`)
    const from = async (address: string, more: object = {}): Promise<number> =>
      (await server.post('/par', { client_id: 'public', ...ASKED, ...S256, ...more }, { 'x-forwarded-for': address }))
        .status
    const rows = async (): Promise<{ owner: string; count: number }[]> =>
      server.database.query(
        `select owner, count(*)::int from artifacts where ${KIND} and owner is not null group by owner`,
      )
    expect(await from('192.0.2.7')).toBe(201)
    const { owner } = (await rows())[0]!
    await server.database.query(`insert into artifacts (kind, hash, value, owner, expires_at)
      select 'pushed_request', 'of anybody ' || n, '{}', '${owner}', now() + interval '1 minute' from generate_series(1, 1500) n`)
    expect(await from('192.0.2.7')).toBe(201)
    expect(await rows()).toEqual([{ owner, count: 1000 }])
    await server.database.query(`delete from artifacts where hash like 'of anybody %'`)
    for (let network = 0; network < 40; network++) expect(await from(`2001:db8:0:${network}::1`)).toBe(201)
    const places = await rows()
    expect(places.length).toBeGreaterThan(20)
    for (const { owner: place } of places) expect(Number(/^anybody (\d+)$/.exec(place)?.[1])).toBeLessThan(256)
    // The hosts of one network are one.
    for (let host = 0; host < 20; host++) expect(await from(`2001:db8:0:1::${host}`)).toBe(201)
    expect((await rows()).length).toBe(places.length)
    const long = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`x${at}`, 'x'.repeat(4000)]))
    expect(await from('192.0.2.7', long)).toBe(400)
    expect(await push(server, long)).toMatchObject({ status: 201 })
  })

  test('of a client that proves who it is, none gives way', async () => {
    await server.database.query(`delete from artifacts where ${KIND}`)
    await push(server)
    expect(await server.database.query(`select 1 from artifacts where ${KIND} and owner is null`)).toHaveLength(1)
  })
}) // prettier-ignore
