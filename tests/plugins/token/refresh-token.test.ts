/** The refresh_token grant: what it goes on with, whom it refuses, and what ends it. */
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { createHandle, hashOf } from '../../../src/protocol/handle.ts'
import { parseRefreshToken } from '../../../src/services/tokens/refresh-token-form.ts'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf, mutantsOf, refreshAs } from '../../support/code-flow.ts'
import { bearer, requestsTo, type Requests } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { toClient } from '../../support/service.ts'
import { freePort } from '../../support/settings.ts'
import { createPkce, SEED, type Tokens, WEB } from '../../support/sign-in.ts'

const other = { ...WEB, client_id: 'other' }
const wide = { ...WEB, client_id: 'wide', scope: ['read_books', 'play'] }
const spa = { ...WEB, client_id: 'spa', client_secret: undefined, token_endpoint_auth_method: 'none' }
const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const seed = {
  ...SEED,
  clients: [WEB, other, wide, spa, opaque],
  scopes: [...SEED.scopes, { name: 'play', description: 'Play your music' }],
}
const server = await startServer({}, { seed })
// Registered long ago, so that what they were given can be old.
await server.database.query(`update clients set created_at = created_at - interval '1 year'`)
const getCode = codesOf(server)
const clientOf = (one: object) => toClient({ ...one, client_secret: WEB.client_secret })
const [web, stranger] = [clientOf(WEB), clientOf(other)]
const REFUSED = { status: 400, error: 'invalid_grant' }

async function getTokens(client = web, parameters: Record<string, string> = {}): Promise<Tokens> {
  const code = await getCode({ client_id: client.clientId, ...parameters })
  return (await exchangeAs(server, client, code)).tokens
}

test.each([WEB, opaque])(
  '$client_id: a new access token, a new refresh token, a new ID token of the same',
  async (one) => {
    const client = clientOf(one)
    const tokens = await getTokens(client, { nonce: 'n', scope: 'openid email read_books' })
    const refreshed = (await refreshAs(server, client, tokens.refresh_token)).tokens
    expect(refreshed).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: tokens.scope })
    expect(refreshed.refresh_token).toMatch(/^lkr_[\w-]{88}$/)
    expect(new Set([refreshed.refresh_token, refreshed.access_token])).not.toContain(tokens.refresh_token)
    expect(refreshed.access_token).not.toBe(tokens.access_token)
    const [before, after] = [decodeJwt(tokens.id_token), decodeJwt(refreshed.id_token)]
    for (const name of ['iss', 'sub', 'aud', 'auth_time', 'sid', 'acr', 'email'])
      expect([name, after[name]]).toEqual([name, before[name]])
    // OpenID Connect Core §12.2: the nonce should not be there again.
    expect([before['nonce'], after['nonce']]).toEqual(['n', undefined])
    // The access token from before goes on.
    expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(200)
    expect(await lifeOf(server, client, refreshed)).toEqual(ALIVE)
  },
)

test('a missing refresh token is invalid_request', async () => {
  for (const token of [undefined, ''])
    expect(await refreshAs(server, web, token as string)).toMatchObject({
      status: 400,
      error: 'invalid_request',
    })
})

test('it is bound to its client, whose right it stays', async () => {
  const tokens = await getTokens()
  expect(await refreshAs(server, stranger, tokens.refresh_token)).toMatchObject(REFUSED)
  const { tokens: next } = await refreshAs(server, web, tokens.refresh_token)
  expect(await refreshAs(server, stranger, tokens.refresh_token)).toMatchObject(REFUSED)
  expect(await lifeOf(server, web, next)).toEqual(ALIVE)
})

test('a public client refreshes by naming itself', async () => {
  const { verifier, challenge } = createPkce()
  const code = await getCode({ client_id: 'spa', code_challenge: challenge, code_challenge_method: 'S256' })
  const named = { client_id: 'spa' }
  const anonymous = toClient({ client_id: 'spa', client_secret: '' })
  const { tokens } = await exchangeAs(server, anonymous, code, { ...named, code_verifier: verifier })
  expect((await refreshAs(server, anonymous, tokens.refresh_token, named)).status).toBe(200)
})

test('a client that has lost the grant is refused', async () => {
  const members = { ...WEB, client_id: 'loser' }
  const { clients } = server.server.oauth
  await clients.create(members)
  const { refresh_token: token } = await getTokens(clientOf(members))
  const client = await clients.find('loser')
  client!.grant_types = ['authorization_code']
  await clients.save(client!)
  expect(await refreshAs(server, clientOf(members), token)).toMatchObject({ error: 'unauthorized_client' })
})

test('what is made up is refused and harmless, also around a living Authorization', async () => {
  const tokens = await getTokens()
  const { refresh_token: token } = tokens
  const id = String(decodeJwt(tokens.access_token)['authorization_id'])
  const bytes = Buffer.concat([Buffer.from(id.replaceAll('-', ''), 'hex'), Buffer.alloc(50, 7)])
  const lengths = [16, 48, 66].map((length) => bytes.subarray(0, length).toString('base64url'))
  const forged = [...lengths, ...lengths.map((one) => `lkr_${one}`), id]
  const others = [`${token}A`, ` ${token}`, token.slice(4), tokens.id_token]
  for (const one of [...forged, ...mutantsOf(token), ...others]) {
    expect(await refreshAs(server, web, one)).toMatchObject(REFUSED)
    expect((await server.post('/revoke', { token: one }, web.basic)).status).toBe(200)
  }
  expect(await refreshAs(server, web, tokens.access_token)).toMatchObject(REFUSED)
  expect(await refreshAs(server, web, await getCode())).toMatchObject(REFUSED)
  expect(await exchangeAs(server, web, token)).toMatchObject(REFUSED)
  expect(await lifeOf(server, web, tokens)).toEqual(ALIVE)
})

/** The token after so many turns. */
async function refreshTimes(times: number, token: string, at: Requests = server): Promise<string> {
  let current = token
  for (let turn = 0; turn < times; turn++) current = (await refreshAs(at, web, current)).tokens.refresh_token
  return current
}

describe('one that is spent', () => {
  test('is known again however many came after it', async () => {
    const tokens = await getTokens()
    await refreshTimes(5, tokens.refresh_token)
    expect(await refreshAs(server, web, tokens.refresh_token)).toMatchObject(REFUSED)
    expect(await lifeOf(server, web, tokens)).toEqual(DEAD)
  })

  test('and changed is one that somebody made up', async () => {
    const tokens = await getTokens()
    const current = await refreshTimes(2, tokens.refresh_token)
    for (const one of mutantsOf(tokens.refresh_token).filter((mutant) => mutant !== tokens.refresh_token))
      expect(await refreshAs(server, web, one)).toMatchObject(REFUSED)
    expect((await refreshAs(server, web, current)).status).toBe(200)
  })

  test('is nobody else’s to end anything with', async () => {
    const tokens = await getTokens()
    const current = await refreshTimes(2, tokens.refresh_token)
    expect(await refreshAs(server, stranger, tokens.refresh_token)).toMatchObject(REFUSED)
    const given = await server.post('/revoke', { token: tokens.refresh_token }, stranger.basic)
    expect(given.status).toBe(400)
    expect((await refreshAs(server, web, current)).status).toBe(200)
  })

  test('given back, it ends the others too', async () => {
    const tokens = await getTokens()
    const current = await refreshTimes(2, tokens.refresh_token)
    expect((await server.post('/revoke', { token: tokens.refresh_token }, web.basic)).status).toBe(200)
    expect(await lifeOf(server, web, { ...tokens, refresh_token: current })).toEqual(DEAD)
  })

  test('is known by a SECRET_KEY that is on its way out, and harmless without it', async () => {
    const [before, after] = ['b', 'a'].map((letter) => letter.repeat(32))
    const first = await startServer({ SECRET_KEY: before! }, { seed })
    const getCode = codesOf(first)
    /** The same server with other keys. */
    const startBeside = async (...keys: string[]) => {
      const port = await freePort()
      const settings = { ...first.settings, PORT: port, SECRET_KEY: keys.join(',') }
      await startServer(settings, { database: first.database })
      return requestsTo(`http://127.0.0.1:${port}`)
    }
    const give = async () => (await exchangeAs(first, web, await getCode())).tokens
    const [replayed, kept] = [await give(), await give()]
    const current = await refreshTimes(3, kept.refresh_token, first)
    await refreshTimes(3, replayed.refresh_token, first)

    const both = await startBeside(after!, before!)
    expect(await refreshAs(both, web, replayed.refresh_token)).toMatchObject(REFUSED)
    expect(await lifeOf(both, web, replayed)).toEqual(DEAD)
    const next = await refreshAs(both, web, current)
    expect((await refreshAs(both, web, current)).tokens.refresh_token).toBe(next.tokens.refresh_token)

    const only = await startBeside(after!)
    expect(await refreshAs(only, web, kept.refresh_token)).toMatchObject(REFUSED)
    expect(await refreshAs(only, web, next.tokens.refresh_token)).toMatchObject({ status: 200 })
  })
})

/** What is stored of the family that `token` belongs to. */
async function storedOf(token: string): Promise<{ authorizationId: string; row: Record<string, unknown> }> {
  const { authorizationId } = parseRefreshToken(token)!
  const [row] = await server.database.query('select * from refresh_tokens where authorization_id = $1', [
    authorizationId,
  ])
  return { authorizationId, row: row! }
}

test('one that a restored backup does not know yet is refused, and is no replay', async () => {
  const tokens = await getTokens()
  const { authorizationId, row } = await storedOf(tokens.refresh_token)
  const lost = await refreshTimes(1, tokens.refresh_token)
  const restored = [authorizationId, row['hash'], row['generation'], row['sealed']]
  await server.database.query(
    'update refresh_tokens set hash = $2, generation = $3, sealed = $4 where authorization_id = $1',
    restored,
  )
  expect(await refreshAs(server, web, lost)).toMatchObject(REFUSED)
  const current = await refreshTimes(1, tokens.refresh_token)
  expect(await refreshAs(server, web, lost)).toMatchObject(REFUSED)
  expect((await refreshAs(server, web, current)).status).toBe(200)
})

test('one from before tags is replaced, retried, and found out when it is replayed', async () => {
  const { verifier, challenge } = createPkce()
  const code = await getCode({ client_id: 'spa', code_challenge: challenge, code_challenge_method: 'S256' })
  const anonymous = toClient({ client_id: 'spa', client_secret: '' })
  const { tokens } = await exchangeAs(server, anonymous, code, { code_verifier: verifier })
  const { authorizationId } = await storedOf(tokens.refresh_token)
  const former = createHandle(authorizationId, 'lkr_')
  await server.database.query('update refresh_tokens set hash = $2 where authorization_id = $1', [
    authorizationId,
    hashOf(former),
  ])
  const next = (await refreshAs(server, anonymous, former)).tokens
  expect(next.refresh_token).toMatch(/^lkr_[\w-]{88}$/)
  expect((await refreshAs(server, anonymous, former)).tokens.refresh_token).toBe(next.refresh_token)
  await server.database.query(
    `update refresh_tokens set created_at = created_at - interval '61 seconds' where authorization_id = $1`,
    [authorizationId],
  )
  expect(await refreshAs(server, anonymous, former)).toMatchObject(REFUSED)
  expect(await lifeOf(server, anonymous, next)).toMatchObject({ userinfo: 401, refresh: 'invalid_grant' })
})

describe('scope', () => {
  const client = clientOf(wide)
  const all = 'openid email read_books play'

  test('narrows this access token alone', async () => {
    const tokens = await getTokens(client, { scope: all })
    const narrowed = (await refreshAs(server, client, tokens.refresh_token, { scope: 'openid play' })).tokens
    expect(narrowed.scope).toBe('openid play')
    expect(decodeJwt(narrowed.access_token)['scope']).toBe('openid play')
    const userinfo = await server.get('/userinfo', bearer(narrowed.access_token))
    expect(await userinfo.json()).not.toHaveProperty('email')
    expect((await refreshAs(server, client, narrowed.refresh_token)).tokens.scope).toBe(all)
  })

  test('without openid there is no ID token', async () => {
    const { refresh_token: token } = await getTokens(client, { scope: all })
    const { tokens } = await refreshAs(server, client, token, { scope: 'play' })
    expect([tokens.scope, tokens.id_token]).toEqual(['play', undefined])
  })

  test.each([
    ['openid profile', 'beyond what was approved'],
    ['openid unheard-of', 'of nobody'],
    ['openid offline_access', 'that keeps it for ever'],
    ['openid\tplay', 'with a character that none has'],
  ])('%j, %s: invalid_scope, and the refresh token is still good', async (scope) => {
    const { refresh_token: token } = await getTokens(client, { scope: 'openid email' })
    expect(await refreshAs(server, client, token, { scope })).toMatchObject({
      status: 400,
      error: 'invalid_scope',
    })
    expect((await refreshAs(server, client, token, { scope: '' })).tokens.scope).toBe('openid email')
  })

  test('one that was asked for at /authorize and dropped there is dropped again', async () => {
    const asked = 'openid play unheard-of'
    const tokens = await getTokens(web, { scope: asked })
    expect(tokens.scope).toBe('openid')
    const again = await refreshAs(server, web, tokens.refresh_token, { scope: asked })
    expect([again.status, again.tokens.scope]).toEqual([200, 'openid'])
    const nothing = await refreshAs(server, web, again.tokens.refresh_token, { scope: 'play unheard-of' })
    expect(nothing).toMatchObject({ status: 400, error: 'invalid_scope' })
    expect((await refreshAs(server, web, again.tokens.refresh_token)).status).toBe(200)
  })

  test('one that the client has lost since is dropped, and comes back with the right', async () => {
    const { clients } = server.server.oauth
    const members = { ...wide, client_id: 'fading' }
    await clients.create(members)
    let tokens = await getTokens(clientOf(members), { scope: all })
    for (const [scope, granted] of [
      [['play'], 'openid email play'],
      [['read_books', 'play'], all],
    ] as const) {
      const client = await clients.find('fading')
      client!.scope = [...scope]
      await clients.save(client!)
      ;({ tokens } = await refreshAs(server, clientOf(members), tokens.refresh_token))
      expect(tokens.scope).toBe(granted)
    }
  })
})

describe('expiry', () => {
  /** As if so much time had passed since everything was made. */
  async function age(seconds: number): Promise<void> {
    const back = (column: string) => `${column} = ${column} - make_interval(secs => ${seconds})`
    await server.database.query(`update refresh_tokens set ${back('created_at')}, ${back('expires_at')}`)
    await server.database.query(`update authorizations set ${back('created_at')}`)
  }

  test('idle: 30 days unless it is used, which begins them anew', async () => {
    const DAY = 86_400
    let { refresh_token: token } = await getTokens()
    await age(29 * DAY)
    ;({
      tokens: { refresh_token: token },
    } = await refreshAs(server, web, token))
    await age(29 * DAY)
    ;({
      tokens: { refresh_token: token },
    } = await refreshAs(server, web, token))
    await age(30 * DAY)
    expect(await refreshAs(server, web, token)).toMatchObject(REFUSED)
  })

  test('absolute: 90 days however often it is used', async () => {
    const DAY = 86_400
    let { refresh_token: token } = await getTokens()
    for (let days = 20; days <= 80; days += 20) {
      await age(20 * DAY)
      ;({
        tokens: { refresh_token: token },
      } = await refreshAs(server, web, token))
    }
    await age(10 * DAY)
    expect(await refreshAs(server, web, token)).toMatchObject(REFUSED)
  })

  test.each([{ OIDC_REFRESH_TOKEN_IDLE: 1 }, { OIDC_REFRESH_TOKEN_EXPIRE: 1 }])('by %o', async (settings) => {
    const brief = await startServer(settings, { seed })
    const getCode = codesOf(brief)
    const { tokens } = await exchangeAs(brief, web, await getCode())
    const refreshed = await refreshAs(brief, web, tokens.refresh_token)
    expect(refreshed.status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 1_050))
    expect(await refreshAs(brief, web, refreshed.tokens.refresh_token)).toMatchObject(REFUSED)
    expect((await brief.get('/userinfo', bearer(refreshed.tokens.access_token))).status).toBe(200)
  })
})

test('given back, it takes everything of its Authorization along, and nothing else', async () => {
  const [tokens, beside] = [await getTokens(), await getTokens()]
  expect((await server.post('/revoke', { token: tokens.refresh_token }, web.basic)).status).toBe(200)
  expect(await lifeOf(server, web, tokens)).toEqual(DEAD)
  expect(await lifeOf(server, web, beside)).toEqual(ALIVE)
})
