/** The authorization_code grant: everything that a code is bound to, broken alone and in pairs; and what it gives. */
import { decodeJwt } from 'jose'
import { hash } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf, mutantsOf, refreshAs } from '../../support/code-flow.ts'
import { createClient } from '../../support/clients.ts'
import { rowsWith } from '../../support/left-out.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { getAccessToken, toClient } from '../../support/service.ts'
import { createPkce, REDIRECT_URI, SEED, WEB } from '../../support/sign-in.ts'

const BOOKS = 'https://books.example'
const MUSIC = 'https://music.example'
const OTHER_URI = 'https://app.example/other'
const many = { ...WEB, client_id: 'many', redirect_uris: [REDIRECT_URI, OTHER_URI], redirect_uri: undefined }
const other = { ...many, client_id: 'other' }
const spa = { client_id: 'spa', redirect_uri: REDIRECT_URI, token_endpoint_auth_method: 'none' }
const once = { ...WEB, client_id: 'once', grant_types: ['authorization_code'] }
const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const media = { ...WEB, client_id: 'media', scope: ['read_books', 'play'] }
/** Of OAuth 2.1, which has no redirect_uri in token requests. */
const modern = { ...many, client_id: 'modern', profile: 'oauth-2.1' }
const changing = { ...many, client_id: 'changing' }
const alike = rowsWith('latchkey-mcp', [{ ...many, client_id: 'alike', profile: 'mcp' }])
const seed = {
  ...SEED,
  clients: [WEB, many, other, spa, once, opaque, media, modern, changing, ...alike],
  resources: [
    { resource: BOOKS, scopes: ['read_books'] },
    { resource: MUSIC, scopes: ['play'] },
  ],
  scopes: [...SEED.scopes, { name: 'play', description: 'Play your music' }],
}
const server = await startServer({}, { seed })
const getCode = codesOf(server)
const clientOf = (one: object) => toClient({ client_secret: '', ...one })
const [web, client, stranger] = [clientOf(WEB), clientOf(many), clientOf(other)]
const { verifier, challenge } = createPkce()
const PKCE = { code_challenge: challenge, code_challenge_method: 'S256' }
const challengeOf = (code_verifier: string) => hash('sha256', code_verifier, 'base64url')
const REFUSED = { status: 400, error: 'invalid_grant' }

describe('a code is bound', () => {
  type Attempt = { client: typeof client; form: Record<string, string | undefined> }
  /** Each breaks one binding of a code of the client `many`; what ends the code itself says so. */
  const breaches: Record<string, (attempt: Attempt, code: string) => Promise<unknown> | void> = {
    client: (attempt) => void (attempt.client = stranger),
    redirect_uri: ({ form }) => void (form['redirect_uri'] = OTHER_URI),
    'missing redirect_uri': ({ form }) => void (form['redirect_uri'] = undefined),
    verifier: ({ form }) => void (form['code_verifier'] = createPkce().verifier),
    'missing verifier': ({ form }) => void (form['code_verifier'] = undefined),
    'challenge for a verifier': ({ form }) => void (form['code_verifier'] = challenge),
    expiry: async (_, code) => expire(code),
    spent: async (_, code) =>
      expect(await exchangeAs(server, client, code, { code_verifier: verifier })).toMatchObject({
        status: 200,
      }),
  }

  async function expire(code: string): Promise<void> {
    const id = Buffer.from(code, 'base64url').toString('hex', 0, 16)
    const sql = `update authorization_codes set expires_at = now() where authorization_id = $1::uuid returning 1`
    expect(await server.database.query(sql, [id])).toHaveLength(1)
  }

  const names = Object.keys(breaches)
  // What is spent is gone, and expires no more.
  const pairs = names
    .flatMap((first, index) => names.slice(index).map((second) => [first, second] as const))
    .filter((pair) => pair.join() !== 'expiry,spent')
  test.each(pairs)('broken: %s, %s', async (...broken) => {
    const code = await getCode({ ...PKCE, client_id: 'many' })
    const attempt: Attempt = { client, form: { code_verifier: verifier } }
    const order = [...new Set(broken)].toSorted((one) => (one === 'spent' ? -1 : 1))
    for (const one of order) await breaches[one]!(attempt, code)
    expect(await exchangeAs(server, attempt.client, code, attempt.form)).toMatchObject(REFUSED)

    // Whoever proved nothing changed nothing: the right client may still come, and what it got is alive.
    const right = await exchangeAs(server, client, code, { code_verifier: verifier })
    const isGone = broken.includes('spent') || broken.includes('expiry')
    expect(right).toMatchObject(isGone ? REFUSED : { status: 200 })
    // One that came too late was never used: nobody is told of a thief.
    const told = (await server.server.oauth.audit.list({ type: 'authorization.replayed' })).events
    const id = Buffer.from(code, 'base64url').toString('hex', 0, 16)
    const replays = told.filter(({ details }) => JSON.stringify(details).replaceAll('-', '').includes(id))
    expect(replays.length > 0).toBe(broken.includes('spent'))
  })

  test('to its time: OIDC_CODE_EXPIRE', async () => {
    const brief = await startServer({ OIDC_CODE_EXPIRE: 1 }, { seed })
    const getCode = codesOf(brief)
    await getCode()
    expect((await exchangeAs(brief, web, await getCode())).status).toBe(200)
    const code = await getCode()
    await new Promise((resolve) => setTimeout(resolve, 1_050))
    expect(await exchangeAs(brief, web, code)).toMatchObject(REFUSED)
    expect(await brief.database.query('select from authorizations')).toHaveLength(1)
  })

  test('to the client that was registered then: not to another one under its id', async () => {
    const members = { ...WEB, client_id: 'again' }
    const { clients } = server.server.oauth
    await clients.create(members)
    const code = await getCode({ client_id: 'again' })
    const { tokens } = await exchangeAs(server, clientOf(members), await getCode({ client_id: 'again' }))
    for (const table of ['authorization_codes', 'authorizations'])
      await server.database.query(
        `update ${table} set created_at = now() - interval '3 seconds' where client_id = 'again'`,
      )
    await clients.delete('again')
    await clients.create(members)
    expect(await exchangeAs(server, clientOf(members), code)).toMatchObject(REFUSED)
    expect(await refreshAs(server, clientOf(members), tokens.refresh_token)).toMatchObject(REFUSED)
  })
})

test('a client that was registered while the clock was ahead gets its tokens once the clock is right', async () => {
  const members = { ...WEB, client_id: 'ahead' }
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  await server.server.oauth.clients.create(members)
  vi.useRealTimers()
  const { status } = await exchangeAs(server, toClient(members), await getCode({ client_id: 'ahead' }))
  expect(status).toBe(200)
})

test('a client that is registered again while the clock is behind has nothing of what the former one was given', async () => {
  const { clients, verify } = server.server.oauth
  const members = {
    client_id: 'behind',
    client_secret: WEB.client_secret,
    scope: ['read'],
  }
  const behind = await createClient(server, members)
  await server.database.query(
    `update clients set created_at = created_at - interval '2 hours' where client_id = 'behind'`,
  )
  await kernelOf(server.server).feed.announce('client', 'behind')
  onTestFinished(() => void vi.useRealTimers())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 })
  const token = await getAccessToken(server, behind)
  vi.useRealTimers()
  expect(await verify(token)).not.toBeNull()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  await clients.delete('behind')
  await clients.create(members)
  vi.useRealTimers()
  expect(await verify(token)).toBeNull()
})

test('a second use ends what the first gave; one that proves less ends nothing', async () => {
  const code = await getCode(PKCE)
  const { tokens } = await exchangeAs(server, web, code, { code_verifier: verifier })
  const unproven: [typeof web, object][] = [
    [client, { code_verifier: verifier }],
    [web, {}],
    [web, { code_verifier: createPkce().verifier }],
    [web, { code_verifier: verifier, redirect_uri: OTHER_URI }],
  ]
  for (const [who, form] of unproven)
    expect(await exchangeAs(server, who, code, { ...form })).toMatchObject(REFUSED)
  expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
  expect(await exchangeAs(server, web, code, { code_verifier: verifier })).toMatchObject(REFUSED)
  expect(await lifeOf(server, web, tokens)).toEqual(DEAD)
})

describe('under OAuth 2.1, the redirect URI need not come with the code (§4.1.3)', () => {
  const LEFT_OUT = { code_verifier: verifier, redirect_uri: undefined }
  const SENT = { code_verifier: verifier }
  const WRONG = { code_verifier: verifier, redirect_uri: OTHER_URI }

  test.each([modern, ...alike])('$profile: it passes, and one that is sent must match', async (one) => {
    const code = await getCode({ ...PKCE, client_id: one.client_id })
    for (const form of [WRONG, { redirect_uri: undefined }, { ...LEFT_OUT, code_verifier: challenge }])
      expect(await exchangeAs(server, clientOf(one), code, form)).toMatchObject(REFUSED)
    expect(await exchangeAs(server, clientOf(one), code, LEFT_OUT)).toMatchObject({ status: 200 })
  })

  test.each([
    ['without, then with', LEFT_OUT, SENT],
    ['with, then without', SENT, LEFT_OUT],
    ['without, twice', LEFT_OUT, LEFT_OUT],
  ])('a second use ends what the first gave: %s', async (_how, first, second) => {
    const by = clientOf(modern)
    const code = await getCode({ ...PKCE, client_id: 'modern' })
    const { tokens } = await exchangeAs(server, by, code, first)
    for (const form of [WRONG, { redirect_uri: undefined }])
      expect(await exchangeAs(server, by, code, form)).toMatchObject(REFUSED)
    expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
    expect(await exchangeAs(server, by, code, second)).toMatchObject(REFUSED)
    expect(await lifeOf(server, by, tokens)).toEqual(DEAD)
  })

  describe('where that changes between the code and its use', () => {
    const by = clientOf(changing)
    const need = (isNeeded: boolean) =>
      server.server.oauth.clients.update('changing', { require_redirect_uri_with_code: isNeeded })
    const getCodeUnder = async (isNeeded: boolean) => {
      await need(isNeeded)
      return getCode({ ...PKCE, client_id: 'changing' })
    }

    test('a code that was made under the need of it is not good without', async () => {
      const code = await getCodeUnder(true)
      await need(false)
      expect(await exchangeAs(server, by, code, LEFT_OUT)).toMatchObject(REFUSED)
      const { tokens } = await exchangeAs(server, by, code, SENT)
      expect(await exchangeAs(server, by, code, LEFT_OUT)).toMatchObject(REFUSED)
      expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
      expect(await exchangeAs(server, by, code, SENT)).toMatchObject(REFUSED)
      expect(await lifeOf(server, by, tokens)).toEqual(DEAD)
    })

    test.each([
      ['without, twice', LEFT_OUT, LEFT_OUT],
      ['with, then without', SENT, LEFT_OUT],
      ['without, then with', LEFT_OUT, SENT],
    ])('a second use under the need of it ends what the first gave: %s', async (_how, first, second) => {
      const code = await getCodeUnder(false)
      const { tokens } = await exchangeAs(server, by, code, first)
      await need(true)
      const unproven = [{ redirect_uri: undefined }, { ...LEFT_OUT, code_verifier: challenge }, WRONG]
      for (const form of unproven) expect(await exchangeAs(server, by, code, form)).toMatchObject(REFUSED)
      expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
      expect(await exchangeAs(server, by, code, second)).toMatchObject(REFUSED)
      expect(await lifeOf(server, by, tokens)).toEqual(DEAD)
    })

    test('the need of it counts at once: a code of before it is not good without', async () => {
      const code = await getCodeUnder(false)
      await need(true)
      expect(await exchangeAs(server, by, code, LEFT_OUT)).toMatchObject(REFUSED)
      expect(await exchangeAs(server, by, code, SENT)).toMatchObject({ status: 200 })
    })
  })
})

describe('PKCE', () => {
  test.each([
    ['a verifier without a challenge', {}, verifier],
    ['a challenge without a verifier', PKCE, undefined],
    ['an empty verifier', PKCE, ''],
    ['a verifier of 42 characters', PKCE, verifier.slice(1)],
    ['a verifier of 128 characters', PKCE, 'v'.repeat(128)],
    ['a verifier with a foreign character', PKCE, `${verifier.slice(1)}+`],
    ['a verifier with something behind it', PKCE, `${verifier}\n`],
  ])('%s: invalid_grant, and the code is still good', async (_, parameters, code_verifier) => {
    const code = await getCode(parameters)
    expect(await exchangeAs(server, web, code, { code_verifier })).toMatchObject(REFUSED)
    const right = 'code_challenge' in parameters ? { code_verifier: verifier } : {}
    expect(await exchangeAs(server, web, code, right)).toMatchObject({ status: 200 })
  })

  test.each([
    ['git-credential-oauth: standard base64', `${'a+/'.repeat(14)}b=`],
    ['42 characters', 'v'.repeat(42)],
    ['43 characters', 'v'.repeat(43)],
    ['128 characters', '~'.repeat(128)],
    ['any characters', `ü € 😀 ${'%&=+ '.repeat(10)}`],
  ])('a verifier is judged by its hash and its length: %s', async (name, code_verifier) => {
    const code = await getCode({ ...PKCE, code_challenge: challengeOf(code_verifier) })
    for (const wrong of [`${code_verifier} `, `x${code_verifier}`.slice(0, 128)])
      expect(await exchangeAs(server, web, code, { code_verifier: wrong })).toMatchObject({ status: 400 })
    const answer = await exchangeAs(server, web, code, { code_verifier })
    expect(answer).toMatchObject(name === '42 characters' ? REFUSED : { status: 200 })
  })

  test('a public client needs nothing but its verifier', async () => {
    const code = await getCode({ ...PKCE, client_id: 'spa' })
    const form = { client_id: 'spa', code_verifier: verifier }
    const { client_id } = form
    expect((await exchangeAs(server, clientOf(spa), code, { ...form, client_id: '' })).status).toBe(401)
    expect(await exchangeAs(server, clientOf(spa), code, { client_id })).toMatchObject(REFUSED)
    expect(await exchangeAs(server, clientOf(spa), code, form)).toMatchObject({ status: 200 })
  })
})

test('a verifier that is longer than any may be is invalid_request (RFC 7636 §4.1)', async () => {
  const answer = await exchangeAs(server, web, await getCode(PKCE), { code_verifier: 'v'.repeat(129) })
  expect(answer).toMatchObject({ status: 400, error: 'invalid_request' })
})

test('a missing code is invalid_request', async () => {
  for (const code of [undefined, ''])
    expect(await exchangeAs(server, web, code as string)).toMatchObject({
      status: 400,
      error: 'invalid_request',
    })
})

test('every prefix and every changed character of a code is refused, and changes nothing', async () => {
  const code = await getCode()
  const mutants = mutantsOf(code)
  for (const mutant of [...mutants, `${code}A`, ` ${code}`, `${code}=`, code.toLowerCase()])
    expect(await exchangeAs(server, web, mutant)).toMatchObject(REFUSED)
  const { tokens } = await exchangeAs(server, web, code)
  for (const mutant of mutants) expect(await exchangeAs(server, web, mutant)).toMatchObject(REFUSED)
  expect(await lifeOf(server, web, tokens)).toEqual(ALIVE)
})

describe('what it gives', () => {
  test('a client without the refresh_token grant gets no refresh token', async () => {
    const { status, tokens } = await exchangeAs(server, clientOf(once), await getCode({ client_id: 'once' }))
    expect([status, tokens.refresh_token]).toEqual([200, undefined])
    const rows = await server.database.query(
      `select r.hash from refresh_tokens r join authorizations a on a.id = r.authorization_id where client_id = 'once'`,
    )
    expect(rows).toEqual([])
  })

  test('an opaque access token is good at userinfo and introspection, and is stored as a hash alone', async () => {
    const { tokens } = await exchangeAs(server, clientOf(opaque), await getCode({ client_id: 'opaque' }))
    expect(tokens.access_token).toMatch(/^lka_[\w-]{64}$/)
    expect(decodeJwt(tokens.id_token).aud).toBe('opaque')
    expect(await lifeOf(server, clientOf(opaque), tokens)).toEqual(ALIVE)
  })

  test('scopes that the client may not have are dropped, and the rest reported', async () => {
    const code = await getCode({ scope: 'openid unknown play read_books' })
    expect((await exchangeAs(server, web, code, { scope: 'ignored' })).tokens.scope).toBe('openid read_books')
  })
})

describe('resource (RFC 8707)', () => {
  const listener = clientOf(media)
  const scope = 'openid read_books play'
  const audienceOf = (token: string): unknown => decodeJwt(token).aud
  const get = async (resource?: string, at: Record<string, string> = {}) => {
    const code = await getCode({ client_id: 'media', scope, ...(resource === undefined ? {} : { resource }) })
    return { code, answer: await exchangeAs(server, listener, code, at) }
  }

  test('by default the token is for all that was approved', async () => {
    const { tokens } = (await get()).answer
    expect(audienceOf(tokens.access_token)).toEqual([server.url, BOOKS, MUSIC])
    expect(audienceOf((await get(BOOKS)).answer.tokens.access_token)).toBe(BOOKS)
  })

  test('narrows this access token alone: a refresh may still have the others', async () => {
    const { tokens } = (await get(undefined, { resource: BOOKS })).answer
    expect(audienceOf(tokens.access_token)).toBe(BOOKS)
    expect(decodeJwt(tokens.id_token).aud).toBe('media')
    expect(tokens.scope).toBe(scope)
    const music = await refreshAs(server, listener, tokens.refresh_token, { resource: MUSIC })
    expect(audienceOf(music.tokens.access_token)).toBe(MUSIC)
    const all = await refreshAs(server, listener, music.tokens.refresh_token)
    expect(audienceOf(all.tokens.access_token)).toEqual([server.url, BOOKS, MUSIC])
  })

  test('never widens: invalid_target, now and at a refresh, and nothing is spent', async () => {
    const { code, answer } = await get(BOOKS, { resource: MUSIC })
    expect(answer).toMatchObject({ status: 400, error: 'invalid_target' })
    const { tokens } = await exchangeAs(server, listener, code, { resource: BOOKS })
    for (const resource of [MUSIC, server.url, 'https://nowhere.example']) {
      const widened = await refreshAs(server, listener, tokens.refresh_token, { resource })
      expect(widened).toMatchObject({ status: 400, error: 'invalid_target' })
    }
    const { tokens: next } = await refreshAs(server, listener, tokens.refresh_token)
    expect(audienceOf(next.access_token)).toBe(BOOKS)
  })
})
