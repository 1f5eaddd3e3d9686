/** Pushed requests where there are several processes, one dies, and the database does not answer: each is answered once. */
import { beforeAll, expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { janitorOf, openAs } from '../support/expired-rows.ts'
import { spawnServer } from '../support/process.ts'
import { addressWith, push, type Told } from '../support/pushed.ts'
import type { Requests } from '../support/requests.ts'
import { answerOf, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const one = await spawnServer({ OIDC_JANITOR_INTERVAL: 0 }, { seed: SEED })
const two = await spawnBeside(one.settings, one.database)
const both = (at: number): Requests => (at % 2 === 0 ? one : two)

/** Of somebody who is signed in and has allowed it: who comes with a request gets its answer at once. */
let cookie: string
beforeAll(async () => {
  const agent = createUserAgent(one.url)
  await goThrough(agent, await agent.get(one.url + addressWith(await push(one))))
  cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
})

/** `code`, the error that the app is told, or the status of a page that is shown instead. */
async function come(pushed: Told, server: Requests): Promise<string> {
  const response = await server.get(addressWith(pushed), { cookie })
  await response.body?.cancel()
  const location = response.headers.get('location')
  if (location === null) return String(response.status)
  const told = new URL(location, one.url).searchParams
  return told.has('code') ? 'code' : (told.get('error') ?? location)
}

test('what one process was given is good at the other', async () => {
  expect(await come(await push(two), one)).toBe('code')
})

test('T11: of 50 browsers that come to two processes with one request, one gets a code', async () => {
  const pushed = await push(one)
  const answers = await Promise.all(Array.from({ length: 50 }, async (_, at) => come(pushed, both(at))))
  const refused = answers.filter((answer) => answer !== 'code')
  expect(refused).toHaveLength(49)
  // At once, or where its answer would have been stored.
  for (const answer of refused) expect(['400', 'invalid_request_uri']).toContain(answer)
})

test('after SIGKILL, what was acknowledged is there, what was answered is spent, and nothing is answered twice', async () => {
  const dying = await spawnBeside(one.settings, one.database)
  const given = await Promise.all(Array.from({ length: 20 }, async () => push(one)))
  const acknowledged: Told[] = []
  const answered = new Set<Told>()
  let killed: Promise<unknown> | undefined
  const working = given.map(async (pushed) => {
    const told = await push(dying).catch(() => null)
    if (told?.status === 201) acknowledged.push(told)
    const answer = await come(pushed, dying).catch(() => null)
    if (answer === 'code') answered.add(pushed)
    // As soon as one was answered, in the middle of the others.
    if (answered.size > 0) killed ??= dying.stop('SIGKILL')
  })
  await Promise.all(working)
  await killed
  expect([acknowledged.length > 0, answered.size > 0]).toEqual([true, true])
  const successor = await spawnBeside(one.settings, one.database)
  for (const pushed of acknowledged) expect(await come(pushed, successor)).toBe('code')
  for (const pushed of given) {
    const answers = await Promise.all([come(pushed, one), come(pushed, two), come(pushed, successor)])
    const codes = answers.filter((answer) => answer === 'code').length
    expect(codes).toBeLessThanOrEqual(answered.has(pushed) ? 0 : 1)
  }
})

test('while the database does not answer, nothing is kept and nothing is answered, and then once', async () => {
  const proxy = await startDatabaseProxy(one.database.url)
  const behind = await spawnBeside({ ...one.settings, DATABASE_URL: proxy.url }, one.database)
  const pushed = await push(behind)
  expect(pushed.status).toBe(201)
  proxy.stall()
  expect(await Promise.all([push(behind), come(pushed, behind)])).toMatchObject([
    { status: 503, error: 'temporarily_unavailable' },
    '503',
  ])
  await proxy.restore()
  await expect.poll(async () => (await push(behind)).status).toBe(201)
  const answers = await Promise.all([come(pushed, behind), come(pushed, one), come(pushed, two)])
  expect(answers.filter((answer) => answer === 'code').length).toBeLessThanOrEqual(1)
  const next = await push(behind)
  expect(await come(next, behind)).toBe('code')
})

test('who decided while it was answered elsewhere is told so', async () => {
  const pushed = await push(one)
  const agent = createUserAgent(one.url)
  const page = await agent.get(one.url + addressWith(pushed))
  expect(await come(pushed, two)).toBe('code')
  const late = await goThrough(agent, page)
  expect([late.status, late.headers.get('location')]).not.toEqual([303, expect.stringContaining('code=')])
  expect(late.status < 500).toBe(true)
})

test('the janitor takes what is over, answered or not', async () => {
  const { query } = one.database
  await query(`delete from artifacts where kind = 'pushed_request'`)
  const given = await Promise.all(Array.from({ length: 20 }, async (_, at) => push(both(at))))
  for (const pushed of given.slice(10)) await come(pushed, one)
  const count = async (): Promise<number> =>
    (await query(`select 1 from artifacts where kind = 'pushed_request'`)).length
  expect(await count()).toBe(20)
  const janitor = janitorOf(await openAs(one.database))
  await janitor.round()
  expect(await count()).toBe(20)
  await query(`update artifacts set expires_at = expires_at - interval '2 hours'`)
  await janitor.round()
  expect(await count()).toBe(0)
})

test('answers of errors do not bring a code either', async () => {
  const agent = createUserAgent(one.url)
  const pushed = await push(one, { prompt: 'none' })
  const told = answerOf(await agent.get(one.url + addressWith(pushed)))
  expect(told.get('error')).toBe('login_required')
})
