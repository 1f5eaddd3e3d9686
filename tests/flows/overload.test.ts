/** More than can be done: what is too much is refused at once and has not happened, and then all is as before. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { requestToken } from '../support/clients.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { codesOf, exchangeAs } from '../support/code-flow.ts'
import type { TestDatabase } from '../support/database.ts'
import { underLoad } from '../support/load.ts'
import { sumOf } from '../support/metrics.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import { HASHING_SLOWLY } from '../support/settings.ts'
import { bearer } from '../support/requests.ts'
import { statusOf, toClient } from '../support/service.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, SEED, type Tokens, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

/** At once: fewer than 500 are never too many. */
const LANES = 1000
const GRINDING = resolve(import.meta.dirname, '../support/grinding-plugin.ts')
const SERVICE = { client_id: 'service', client_secret: `lks_${'s'.repeat(43)}`, scope: ['read_books'] }
/** More than may wait to be hashed, whatever the machine. */
const CROWD = 100 * Math.max(1, Math.min(availableParallelism(), 4) - 1)
/** As many of one name at once are looked at as may fail. */
const CROWDED = [1, 2, 3, 4, 5].map((number) => ({
  username: `crowd-${number}`,
  password: ALICE.password,
  name: ALICE.name,
}))
const seed = { ...SEED, clients: [WEB, SERVICE], users: [...SEED.users, ...CROWDED] }

interface Answer {
  status: number
  /** Of an error. */
  description: string
  retryAfter: string | null
}

async function answerTo(asked: Promise<Response>): Promise<Answer> {
  const response = await asked
  const { error_description: description = '' } = (await response.json()) as { error_description?: string }
  return { status: response.status, description, retryAfter: response.headers.get('retry-after') }
}

/** Who is refused comes again, though sooner than it was told to. */
async function withPatience(asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked
  if (answer.status === 503) await sleep(100)
  return answer
}

const BUSY = { process: /^more requests came/, database: /^too many requests wait for the database/ }

/** Refused as one too many, rather than given up after it had waited. */
const shedIn = (answers: readonly Answer[], line: keyof typeof BUSY): Answer[] =>
  answers.filter(({ description }) => BUSY[line].test(description))

function assertOnlyBusy(answers: readonly Answer[]): void {
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]))
  const refused = answers.filter(({ status }) => status === 503)
  for (const { retryAfter } of refused) expect(retryAfter).toMatch(/^[1-9]\d*$/)
}

/** Of all that were refused, two lines remain: when it began, and when it was over. It may have been over in between. */
async function assertToldBriefly(server: SpawnedServer): Promise<void> {
  const told = (text: string): number => server.output().split(`"msg":"${text}`).length - 1
  const begun = (): number => told('overloaded: requests are answered with 503')
  await expect.poll(() => begun() > 0 && begun() === told('no longer overloaded')).toBe(true)
  expect(begun()).toBeLessThan(5)
}

/** Holds what every token of a user needs; two connections wait for it. */
async function holdDatabase({
  url,
  query,
}: TestDatabase): Promise<{ held(): Promise<void>; release(): Promise<void> }> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const release = atEndOfFile(async () => client.end())
  await client.query('begin')
  await client.query('lock table authorizations, refresh_tokens in access exclusive mode')
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const held = async (): Promise<void> => {
    await expect.poll(async () => (await query(waiting)).length).toBe(2)
  }
  return { held, release }
}

/** What people get: the error page, and when to come again. */
async function refusedPage(server: SpawnedServer): Promise<unknown[]> {
  const { status, headers, body } = await createUserAgent(server.url).get(`${server.url}/sign-in`)
  return [status, body.includes('id="error-code">temporarily_unavailable<'), headers.has('retry-after')]
}

/** What a script of another origin can read. */
async function refusedScript(server: SpawnedServer): Promise<unknown[]> {
  const response = await server.post('/token', { grant_type: 'none' }, { origin: 'https://app.example' })
  const { error_description: description } = (await response.json()) as { error_description: string }
  const isShed = BUSY.database.test(description)
  return [response.status, response.headers.get('access-control-allow-origin'), isShed]
}

test('the database stands still: not all wait for it, and what needs none goes on', async () => {
  const METRICS_PORT = await freePort()
  const settings = { DATABASE_POOL_SIZE: 2, OIDC_REFRESH_REUSE_INTERVAL: 0, METRICS_PORT }
  const server = await spawnServer(settings, { seed })
  const [web, service] = [toClient(WEB), toClient(SERVICE)]
  const getCode = codesOf(server)
  const tokens: Tokens[] = []
  while (tokens.length < 10) tokens.push((await exchangeAs(server, web, await getCode())).tokens)
  const metric = async (name: string, labels = {}): Promise<number> =>
    sumOf(await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text(), name, labels)
  const userinfo = async (): Promise<Answer> =>
    answerTo(server.get('/userinfo', bearer(tokens[0]!.access_token)))
  expect((await userinfo()).status).toBe(200)
  expect(await statusOf(requestToken(server, service))).toBe(200)

  const database = await holdDatabase(server.database)
  const load = underLoad(async () => withPatience(userinfo()), LANES, 0)
  await database.held()
  await expect.poll(() => shedIn(load.results, 'database').length).toBeGreaterThan(50)

  await expect.poll(async () => refusedPage(server)).toEqual([503, true, true])
  // By the line itself, twice: a page does not say whether it was that, or that its time was over.
  for (const _ of [1, 2]) await expect.poll(async () => refusedScript(server)).toEqual([503, '*', true])
  const refresh = async (token: string): Promise<Answer> =>
    answerTo(server.post('/token', { grant_type: 'refresh_token', refresh_token: token }, web.basic))
  const refused: string[] = []
  for (const { refresh_token: token } of tokens) {
    if (refused.length === 3) break
    if (shedIn([await refresh(token)], 'database').length === 1) refused.push(token)
  }
  expect(refused).not.toEqual([])
  for (const path of ['/healthz', '/jwks', '/.well-known/openid-configuration'])
    expect([path, await statusOf(server.get(path))]).toEqual([path, 200])
  expect(await (await server.get('/readyz')).json()).toHaveProperty('status')
  expect(await statusOf(requestToken(server, service))).toBe(200)

  await database.release()
  await expect.poll(async () => (await userinfo()).status).toBe(200)
  await load.stop()
  assertOnlyBusy(load.results)
  const after = await Promise.all(Array.from({ length: 200 }, userinfo))
  expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]))
  for (const token of refused) expect((await refresh(token)).status).toBe(200)
  const shed = shedIn(load.results, 'database').length + refused.length
  expect(await metric('latchkey_shed_requests_total', { line: 'database' })).toBeGreaterThanOrEqual(shed + 2)
  await assertToldBriefly(server)
})

test('the process itself is what is too slow: what was refused was not begun', async () => {
  const server = await spawnServer({ PLUGINS: GRINDING })
  const grind = async (): Promise<Answer> => answerTo(server.get('/grind'))
  // Connected before, since nobody gets in while it grinds.
  const meet = async (): Promise<number> => statusOf(server.get(`/meet/${LANES}`))
  await Promise.all(Array.from({ length: LANES }, meet))
  const load = underLoad(grind, LANES, 0)
  await expect.poll(() => shedIn(load.results, 'process').length).toBeGreaterThan(50)
  expect(await statusOf(server.get('/healthz'))).toBe(200)
  const answers = await load.stop()
  assertOnlyBusy(answers)
  const served = answers.filter(({ status }) => status === 200).length
  // A probe that is under way when it begins is one of the database's too, now and then.
  const refused = [...shedIn(answers, 'process'), ...shedIn(answers, 'database')]
  expect(refused.length).toBe(answers.length - served)
  expect(await (await server.get('/ground')).json()).toEqual({ served })
  const after = await Promise.all(Array.from({ length: 200 }, grind))
  expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]))
  await assertToldBriefly(server)
})

/** Everybody on a page to sign in, each from a network of their own. */
async function peopleAt(server: SpawnedServer, count: number) {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const from = { 'x-forwarded-for': `10.${index >> 8}.${index & 255}.1` }
      const agent = createUserAgent(server.url, from)
      const { username } = CROWDED[index % CROWDED.length]!
      return { agent, username, page: await agent.get(`${server.url}/sign-in`) }
    }),
  )
}

test('hundreds sign in at once: who is one too many finds the form again, and then gets in', async () => {
  const server = await spawnServer({ TRUSTED_PROXIES: '127.0.0.1', ...HASHING_SLOWLY }, { seed })
  const { password, name } = ALICE
  const signIn = async ({ agent, username, page }: Awaited<ReturnType<typeof peopleAt>>[number]) => {
    const answer = await agent.submit(page, 'login', { username, password })
    return { agent, username, page: answer }
  }
  const burst = await Promise.all((await peopleAt(server, 20)).map(signIn))
  expect(new Set(burst.map(({ page }) => page.status))).toEqual(new Set([200]))

  const crowd = await Promise.all((await peopleAt(server, CROWD)).map(signIn))
  const refused = crowd.filter(({ page }) => page.status === 503)
  const inside = crowd.filter(({ page }) => page.status === 200)
  expect(refused.length).toBeGreaterThan(0)
  expect(inside.length).toBeGreaterThan(20)
  expect(refused.length + inside.length).toBe(crowd.length)
  for (const { page, username } of refused) {
    expect(page.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(page.body).toContain('id="login-error"')
    expect(page.body).toContain(`id="login-wait">${page.headers.get('retry-after')}<`)
    expect(page.body).toContain(`value="${username}"`)
    expect(page.body).not.toContain(password)
  }
  const homes = async (people: typeof crowd) =>
    Promise.all(people.map(async ({ agent }) => (await agent.get(`${server.url}/`)).body.includes(name)))
  expect(new Set(await homes(inside))).toEqual(new Set([true]))
  expect(new Set(await homes(refused))).toEqual(new Set([false]))

  const again = await Promise.all(refused.slice(0, 20).map(signIn))
  expect(new Set(again.map(({ page }) => page.status))).toEqual(new Set([200]))
  await assertToldBriefly(server)
})
