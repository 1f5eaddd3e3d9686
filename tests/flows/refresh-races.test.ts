/** One refresh token, many who present it, at two processes: one successor, and who replays is found out. */
import { expect, test } from 'vitest'
import { hashOf } from '../../src/protocol/handle.ts'
import { parseRefreshToken } from '../../src/services/tokens/refresh-token-form.ts'
import { spawnBeside } from '../support/beside.ts'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf, refreshAs } from '../support/code-flow.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { spawnServer } from '../support/process.ts'
import { toClient } from '../support/service.ts'
import { SPA } from '../support/families.ts'
import { createPkce, SEED, type Tokens, WEB } from '../support/sign-in.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const seed = { ...SEED, clients: [WEB, opaque, SPA] }
const one = await spawnServer({}, { seed })
const two = await spawnBeside(one.settings, one.database)
const strict = await spawnBeside({ ...one.settings, OIDC_REFRESH_REUSE_INTERVAL: 0 }, one.database)
const strictToo = await spawnBeside({ ...one.settings, OIDC_REFRESH_REUSE_INTERVAL: 0 }, one.database)
const servers = [one, two] as const
const web = toClient(WEB)
const spa = toClient({ ...SPA, client_secret: '' })
const getCode = codesOf(one)
const { verifier, challenge } = createPkce()

async function getTokens(client = web): Promise<Tokens> {
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const code = await getCode({ client_id: client.clientId, ...pkce })
  return (await exchangeAs(one, client, code, { code_verifier: verifier })).tokens
}

/** Moves every use of a refresh token into the past. */
async function passTime(seconds: number): Promise<void> {
  await one.database.query(`update refresh_tokens set created_at = created_at - make_interval(secs => $1)`, [
    seconds,
  ])
}

/** What is stored of the family that `token` belongs to. */
async function storedOf({ query }: TestDatabase, token: string): Promise<unknown> {
  const { authorizationId } = parseRefreshToken(token)!
  return query('select hash, generation from refresh_tokens where authorization_id = $1', [authorizationId])
}

test.each([WEB, opaque])(
  'fifty refreshes of one token at once by $client_id: all get the same successor, which is the only one stored',
  async ({ client_id }) => {
    const client = toClient({ ...WEB, client_id })
    const first = await getTokens(client)
    const refreshes = Array.from({ length: 50 }, async (_, index) =>
      refreshAs(servers[index % 2]!, client, first.refresh_token),
    )
    const answers = await Promise.all(refreshes)
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const successors = new Set(answers.map(({ tokens }) => tokens.refresh_token))
    expect(successors.size).toBe(1)
    expect(successors).not.toContain(first.refresh_token)
    expect(new Set(answers.map(({ tokens }) => tokens.access_token)).size).toBe(50)
    const [successor] = successors
    expect(await storedOf(one.database, successor!)).toEqual([{ hash: hashOf(successor!), generation: 1 }])
    expect(await lifeOf(two, client, answers[0]!.tokens)).toEqual(ALIVE)
  },
)

test('without an interval, fifty at once: one success, and the others have ended what it got', async () => {
  const { refresh_token: token } = await getTokens()
  const refreshes = Array.from({ length: 50 }, async (_, index) =>
    refreshAs([strict, strictToo][index % 2]!, web, token),
  )
  const answers = await Promise.all(refreshes)
  const successes = answers.filter(({ status }) => status === 200)
  expect(successes).toHaveLength(1)
  const errors = answers.filter((answer) => !successes.includes(answer)).map(({ error }) => error)
  expect(new Set(errors)).toEqual(new Set(['invalid_grant']))
  expect(await lifeOf(one, web, successes[0]!.tokens)).toEqual(DEAD)
})

test.each([web, spa])(
  'a retry within the interval, at the other process, gets the successor that is unused: $clientId',
  async (client) => {
    const first = await getTokens(client)
    const { tokens } = await refreshAs(one, client, first.refresh_token)
    const retried = await refreshAs(two, client, first.refresh_token)
    expect(retried.tokens.refresh_token).toBe(tokens.refresh_token)
    await passTime(59)
    expect((await refreshAs(one, client, first.refresh_token)).tokens.refresh_token).toBe(
      tokens.refresh_token,
    )
    expect(await lifeOf(two, client, tokens)).toMatchObject({ userinfo: 200, refresh: 200 })
  },
)

test('a retry of a client that authenticates gets the successor that is unused at any age, while that is good', async () => {
  const first = await getTokens()
  const { tokens } = await refreshAs(one, web, first.refresh_token)
  await passTime(86_400)
  const retried = await refreshAs(two, web, first.refresh_token)
  expect(retried.tokens.refresh_token).toBe(tokens.refresh_token)
  expect(await lifeOf(one, web, retried.tokens)).toEqual(ALIVE)

  const other = await getTokens()
  await refreshAs(one, web, other.refresh_token)
  await one.database.query('update refresh_tokens set expires_at = now()')
  expect(await refreshAs(two, web, other.refresh_token)).toMatchObject({
    status: 400,
    error: 'invalid_grant',
  })
})

test('T1: a replay of a public client after the interval ends the family: every access token and every refresh token of it', async () => {
  const first = await getTokens(spa)
  const second = (await refreshAs(one, spa, first.refresh_token)).tokens
  await passTime(61)
  expect(await refreshAs(two, spa, first.refresh_token)).toMatchObject({
    status: 400,
    error: 'invalid_grant',
  })
  for (const tokens of [first, second])
    for (const server of servers)
      expect(await lifeOf(server, spa, tokens)).toMatchObject({ userinfo: 401, refresh: 'invalid_grant' })
})

test('what was sent before the successor was used, and read after, is refused and ends nothing', async () => {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  const slow = await spawnServer(
    { DATABASE_URL: proxy.url, SECRET_KEY: String(one.settings['SECRET_KEY']) },
    { seed, database },
  )
  const quick = await spawnBeside({ ...slow.settings, DATABASE_URL: database.url }, database)
  const { tokens: first } = await exchangeAs(slow, web, await codesOf(slow)())
  proxy.stall()
  const late = refreshAs(slow, web, first.refresh_token)
  const second = (await refreshAs(quick, web, first.refresh_token)).tokens
  const third = (await refreshAs(quick, web, second.refresh_token)).tokens
  await proxy.restore()
  expect(await late).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await lifeOf(quick, web, third)).toEqual(ALIVE)
})

test('a replay at once ends the family where there is no interval', async () => {
  const first = await getTokens()
  const second = (await refreshAs(strict, web, first.refresh_token)).tokens
  expect(await refreshAs(strict, web, first.refresh_token)).toMatchObject({ error: 'invalid_grant' })
  expect(await lifeOf(one, web, second)).toEqual(DEAD)
})

test('a replay within the interval ends the family when the successor was used', async () => {
  const first = await getTokens()
  const second = (await refreshAs(one, web, first.refresh_token)).tokens
  const third = (await refreshAs(two, web, second.refresh_token)).tokens
  expect(await refreshAs(one, web, first.refresh_token)).toMatchObject({ error: 'invalid_grant' })
  for (const tokens of [first, second, third]) expect(await lifeOf(two, web, tokens)).toEqual(DEAD)
})

test.each([
  ['the thief first', 0],
  ['the owner first', 1],
])(
  'a thief and the owner, who each go on with what they got, %s: found out in the second turn',
  async (_, turn) => {
    const stolen = await getTokens(spa)
    const held = [stolen, stolen]
    const outcomes: (string | number)[] = []
    for (let count = 0; count < 6; count++) {
      const who = (turn + count) % 2
      const { status, error = status, tokens } = await refreshAs(servers[who]!, spa, held[who]!.refresh_token)
      outcomes.push(error)
      if (status === 200) held[who] = tokens
      await passTime(61)
    }
    expect(outcomes).toEqual([200, ...Array.from({ length: 5 }, () => 'invalid_grant')])
    for (const tokens of held)
      expect(await lifeOf(one, spa, tokens)).toMatchObject({ userinfo: 401, refresh: 'invalid_grant' })
  },
)

test('a family that was revoked while its token was refreshed leaves nothing alive', async () => {
  for (let round = 0; round < 10; round++) {
    const first = await getTokens()
    const [refreshed, revoked] = await Promise.all([
      refreshAs(one, web, first.refresh_token),
      two.post('/revoke', { token: first.refresh_token }, web.basic),
    ])
    expect(revoked.status).toBe(200)
    expect([200, 400]).toContain(refreshed.status)
    expect(await lifeOf(one, web, refreshed.status === 200 ? refreshed.tokens : first)).toEqual(DEAD)
  }
})

test('a connection cut before or after the refresh is stored: 503, and the retry gets the one successor', async () => {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  const server = await spawnServer({ DATABASE_URL: proxy.url }, { seed, database })
  let { tokens } = await exchangeAs(server, web, await codesOf(server)())
  for (const when of ['before', 'after'] as const) {
    proxy.cutAt('refresh-token-rotate', when)
    expect(await refreshAs(server, web, tokens.refresh_token)).toMatchObject({ status: 503 })
    const retried = await refreshAs(server, web, tokens.refresh_token)
    expect(retried.status).toBe(200)
    tokens = retried.tokens
  }
  const { refresh_token: token } = tokens
  expect(await storedOf(database, token)).toEqual([{ hash: hashOf(token), generation: 2 }])
  expect(await lifeOf(server, web, tokens)).toEqual(ALIVE)
})
