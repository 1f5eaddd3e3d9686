/**
 * Every route there is, by requests that it would take but for a few things that are wrong with them: no fault, no hang,
 * nothing shown as it was sent, and no growth. `FUZZ_RUNS=10000` sends as many to each, and tells what was answered.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { resolve } from 'node:path'
import { spawnBeside } from '../support/beside.ts'
import { CALL_CENTRE } from '../support/ciba.ts'
import { DEVICE_SEED, DEVICE_SETTINGS } from '../support/device.ts'
import { FORM_UPSTREAM, groundOf, SERVICE, UPSTREAM } from '../support/fuzz-ground.ts'
import { CERTIFICATES, PROVEN } from '../support/fuzz-proofs.ts'
import { anyRequest, type Ground, MARK } from '../support/fuzz-mutations.ts'
import { type Answer, type Draft, draft, rendered, send } from '../support/fuzz-request.ts'
import { type Route, routesOf } from '../support/routes.ts'
import { startServer } from '../support/server.ts'
import { seedOf, startUpstream } from '../support/upstreams.ts'
import { until } from '../support/until.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { freePort } from '../support/settings.ts'
import { ADMINISTRATION, FORMLESS } from '../security/forms.ts'
import { isThere } from '../support/left-out.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 100)
const ONLY = process.env['FUZZ_ROUTE']
/** Requests that are under way at once, and how many come before forms are opened anew: some are good once. */
const [AT_ONCE, FRESH] = [10, Math.min(500, Math.max(100, RUNS / 4))]
const MEGABYTE = 2 ** 20
const MAX_GROWTH = 20 * MEGABYTE
/** So many fill caches of their own. */
const MANY = 1000

const upstream = await startUpstream(UPSTREAM, 'http://127.0.0.1:1')
const seed = {
  ...DEVICE_SEED,
  upstreams: [seedOf(upstream), FORM_UPSTREAM],
  clients: [...DEVICE_SEED.clients, SERVICE, CALL_CENTRE, ...PROVEN.clients],
  trusted_issuers: PROVEN.trusted_issuers,
  resources: [{ resource: 'https://books.example/', scopes: ['read_books'] }],
}
/** Prepares, inside this process, what the other one is asked for. */
const UNSAFE_OUTBOUND_ORIGINS = upstream.issuer
const server = await startServer(
  {
    ...DEVICE_SETTINGS,
    UNSAFE_OUTBOUND_ORIGINS,
    OIDC_SIGN_UP: 'on',
    OIDC_REGISTRATION: 'open',
    OIDC_SESSION_MANAGEMENT: true,
    OIDC_CIBA: true,
    ...CERTIFICATES,
    LOG_LEVEL: 'warn',
  },
  { seed },
)
const metricsPort = await freePort()
const target = await spawnBeside(
  {
    ...server.settings,
    LOG_LEVEL: 'warn',
    METRICS_PORT: metricsPort,
    PLUGINS: resolve(import.meta.dirname, '../support/fuzz-heap-plugin.ts'),
  },
  server.database,
)
const origin = `http://127.0.0.1:${target.settings.PORT}`
// A mail of its own, to be read there.
const forgetful = createUserAgent(origin)
await server.server.oauth.users.create({
  username: 'forgetful',
  email: 'forgetful@example.com',
  email_verified: true,
})
const HAS_MAIL = isThere('latchkey-forgot-password')
const mailHasCome = async (): Promise<void> => {
  if ((await target.get('/dev/mail/1')).status !== 200) throw new Error('the mail has not come')
}
if (HAS_MAIL) {
  // The other process may be the one that delivers it, and keep it: another one is asked for then.
  await until(async () => {
    await forgetful.submit(await forgetful.get(`${origin}/forgot-password`), 'forgot-password', {
      email: 'forgetful@example.com',
    })
    await until(mailHasCome, 5000)
  })
}
const metrics = `http://127.0.0.1:${metricsPort}`
const routes = routesOf(server.server)
  .map(({ url, methods }): Route => ({ url: url.replace(/(?!^)\/$/, ''), methods }))
  .filter(({ url }, at, all) => all.findIndex((one) => kindOf(one) === kindOf({ url })) === at)
  .filter(({ url }) => (HAS_MAIL || url !== '/dev/mail/:number') && !FORMLESS.includes(url))

/** Files are served in one way: one of each type stands for all. */
function kindOf({ url }: Pick<Route, 'url'>): string {
  return /^\/assets\/[\w-]+\.[0-9a-f]+(\.\w+)$/.exec(url)?.[1] ?? url
}

async function heapUsed(path = '/heap'): Promise<number> {
  return ((await (await target.get(path)).json()) as { used: number }).used
}

/** Bytes after all garbage was collected for the last time, and what was swept since. */
let [collected, since] = [Infinity, [] as string[]]

/**
 * At most: to collect all garbage costs as much as fifty requests, and is not needed where little has grown even with it.
 * So it is mostly done for several routes at once, of which together no more may stay.
 */
async function growthWith(name: string): Promise<number> {
  since.push(name)
  const most = (await heapUsed('/heap?garbage')) - collected
  if (most < MAX_GROWTH) return most
  const now = await heapUsed()
  const growth = now - collected
  const told = `${since.join(', ')}: ${(growth / MEGABYTE).toFixed(1)} MB more`
  ;[collected, since] = [now, []]
  expect([told, growth < MAX_GROWTH]).toEqual([told, true])
  return growth
}

/** One of ours, whatever was sent: no fault, no markup that was sent, and nowhere but to us or to the client. */
function assertClean(sent: Draft, { status, headers, body }: Answer): void {
  const told = [status, rendered(sent), body.slice(0, 500)]
  const type = headers['content-type'] ?? ''
  if (status >= 500) throw new Error(`a fault: ${JSON.stringify(told)}`)
  if (type.startsWith('text/html') && body.includes(MARK.slice(0, 6)))
    throw new Error(`an echo: ${JSON.stringify(told)}`)
  if (/\bat .*\.[jt]s:\d/.test(body)) throw new Error(`a stack: ${JSON.stringify(told)}`)
  if (!/^(?:\/(?![/\\])|https:\/\/app\.example\/callback\b)/.test(headers.location ?? '/'))
    throw new Error(`a way out: ${headers.location} ${JSON.stringify(told)}`)
  if (headers['set-cookie']?.some((cookie) => cookie.startsWith('a=')) === true)
    throw new Error(`a split: ${JSON.stringify(told)}`)
  if (type.startsWith('application/json') && body !== '') JSON.parse(body)
}

/** The same ground for `FRESH` requests, `AT_ONCE` of which go by each call; then what was opened may be spent. */
function lasting(first: Ground, renew: () => Promise<Ground>): () => Promise<Ground> {
  let [ground, left] = [first, FRESH]
  return async () => {
    if (left <= 0) [ground, left] = [await renew(), FRESH]
    left -= AT_ONCE
    return ground
  }
}

/** Sends half of the requests, `AT_ONCE` at a time, and counts how often each status came. */
async function fuzz(to: string, next: () => Promise<Ground>, statuses: Map<number, number>): Promise<void> {
  const several = fc.array(anyRequest, { minLength: AT_ONCE, maxLength: AT_ONCE })
  await fc.assert(
    fc.asyncProperty(several, async (requests) => {
      const ground = await next()
      const drafts = requests.map((one) => one(ground))
      const answers = await Promise.all(drafts.map(async (one) => send(to, one)))
      for (const [at, answer] of answers.entries()) {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        assertClean(drafts[at]!, answer)
      }
    }),
    // Not shrunk: few things are wrong with each, and the failure shows the one it was.
    { numRuns: Math.ceil(RUNS / 2 / AT_ONCE), endOnFailure: true },
  )
}

function isTaken(status: number): boolean {
  return status > 0 && status < 400
}

/** Whether requests with nothing wrong are taken, where all others were refused. What is shown once was, and is gone. */
async function takes(to: string, { skeletons }: Ground): Promise<boolean> {
  const answers = await Promise.all(skeletons.map(async (one) => send(to, one)))
  return answers.some(({ status }) => isTaken(status) || status === 410)
}

async function sweep(name: string, to: string, first: Ground, renew: () => Promise<Ground>): Promise<void> {
  const next = lasting(first, renew)
  const statuses = new Map<number, number>()
  const began = performance.now()
  await fuzz(to, next, statuses)
  // What the first ones leave in caches is no growth.
  if (collected === Infinity || RUNS >= MANY) [collected, since] = [await heapUsed(), []]
  await fuzz(to, next, statuses)
  const growth = await growthWith(name)
  const seconds = Math.round((performance.now() - began) / 1000)
  const told = [...statuses].toSorted(([one], [other]) => one - other).map((pair) => pair.join(': '))
  if (process.env['FUZZ_RUNS'] !== undefined)
    process.stdout.write(
      `${name}  ${told.join(', ')}; heap ${(growth / MEGABYTE).toFixed(1)} MB more at most; ${seconds} s\n`,
    )
  // Else nothing behind the door was tried.
  expect([...statuses.keys()].some(isTaken) || (await takes(to, await renew()))).toBe(true)
  expect(target.output()).not.toMatch(/"level":"(?:error|fatal)"/)
  expect(target.output()).not.toContain('Zq7')
}

describe('any request at', () => {
  // First, while there is little to tell of.
  test('/metrics', { timeout: 1_200_000 }, async () => {
    const ground = { skeletons: [draft({ path: '/metrics' })], values: ['latchkey'] }
    await sweep('/metrics', metrics, ground, async () => ground)
  })

  // The setup is open until there is an administrator.
  const ordered = routes.toSorted(
    (one, other) => Number(other.url === '/setup') - Number(one.url === '/setup'),
  )
  test.each(ordered.filter(({ url }) => ONLY === undefined || url === ONLY))(
    '$url',
    { timeout: 1_200_000 },
    async (route) => {
      const ground = await groundOf(server, route)
      // Who may do everything posts nothing: what does not refuse the method takes forms, so some must be known.
      const { agent } = await ADMINISTRATION['new client'].open(server)
      const { status } = await agent.post(server.url + route.url, {})
      const takesForms = route.methods.includes('POST') && status !== 405
      expect(ground.skeletons.some(({ method }) => method === 'POST')).toBe(takesForms)
      if (route.url === '/setup') await server.database.query(`delete from users where 'admin' = any(roles)`)
      await sweep(route.url, origin, ground, async () => groundOf(server, route))
    },
  )
})
