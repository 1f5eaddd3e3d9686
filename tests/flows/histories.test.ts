/**
 * Histories of codes, families and Authorizations at two processes, while the database and the processes break in an order
 * that fast-check chooses: what clients are told is compared with a model that knows of every answer that was lost.
 * HISTORIES_SEED and HISTORIES_RUNS make other and more of them; a failure names its seed.
 */
import fc from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { codesOf } from '../support/code-flow.ts'
import { execute } from '../support/connection.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { FAMILIES_SEED, SPA } from '../support/families.ts'
import * as histories from '../support/histories.ts'
import { createOwnPostgres } from '../support/own-postgres.ts'
import { type SpawnedServer, spawnServer } from '../support/process.ts'
import { statusOf, toClient } from '../support/service.ts'
import { WEB } from '../support/sign-in.ts'
import { STALLS } from '../support/stalls.ts'
import { until } from '../support/until.ts'

const seed = Number(process.env['HISTORIES_SEED'] ?? 17)
const numRuns = Number(process.env['HISTORIES_RUNS'] ?? 1)
/** Seconds: longer than we wait for a statement. */
const STALL = 6
/** Seconds in which a public client's retry is answered, and nobody's is by its age where it is shorter than a stall. */
const INTERVAL = 1
const LANES = 10
/** What everybody does at least from one fault to the next. */
const STEPS_BETWEEN = 6

interface Stage {
  servers: SpawnedServer[]
  /** By name; each resolves when it is over. */
  faults: Record<string, () => Promise<void>>
}

/** A primary with a standby that each commit waits for, and two processes. */
async function setStage(): Promise<Stage> {
  const primary = await createOwnPostgres(await temporaryDirectory(), { begins: 'migrated' })
  const standby = await createOwnPostgres(await temporaryDirectory(), { begins: 'nothing' })
  await primary.copyTo(standby)
  await standby.sh('touch "$1/standby.signal"', standby.cluster)
  await primary.start()
  const proxy = await startDatabaseProxy(primary.url)
  await standby.start({
    primary_conninfo: `host=${primary.socketDir} user=postgres application_name=standby`,
  })
  const isStreaming = async () =>
    execute(primary.url, `select from pg_stat_replication where application_name = 'standby'`)
  await expect.poll(isStreaming).toHaveLength(1)
  const waitFor = async (whom: string): Promise<void> => {
    await execute(primary.url, `alter system set synchronous_standby_names = '${whom}'`)
    await execute(primary.url, 'select pg_reload_conf()')
  }
  await waitFor('standby')
  const settings = { DATABASE_URL: proxy.url, OIDC_REFRESH_REUSE_INTERVAL: INTERVAL, LOG_LEVEL: 'error' }
  const one = await spawnServer(settings, { seed: FAMILIES_SEED })
  const two = await spawnBeside(one.settings, one.database)
  const servers = [one, two]
  const kill = async (which: number): Promise<void> => {
    const server = servers[which]!
    await server.stop('SIGKILL')
    server.stop = (await spawnServer(server.settings, { database: server.database })).stop
  }
  const ground = { postgres: primary, proxy }
  let promoted = false
  const before = (fault: () => Promise<void>) => async () => (promoted ? undefined : fault())
  return {
    servers,
    faults: {
      ...Object.fromEntries(
        ['nothing is passed on', 'its answers are not passed on', 'a table is locked'].map((name) => [
          name,
          before(async () => STALLS[name]!(ground, STALL)),
        ]),
      ),
      'its synchronous standby is away': before(async () => {
        await waitFor('nobody')
        await sleep(STALL * 1000)
        await waitFor('standby')
      }),
      'connections are cut': async () => {
        for (const when of ['before', 'after'] as const) {
          proxy.cutAt('refresh-token-rotate', when)
          await sleep(100)
          proxy.cutAt('authorization-code-exchange', when)
          await sleep(100)
        }
        await proxy.cut()
        await sleep(200)
        await proxy.restore()
      },
      'it is killed and started again': before(async () =>
        STALLS['it is killed and started again']!(ground, 1),
      ),
      'the first process is killed': async () => kill(0),
      'the second process is killed': async () => kill(1),
      'its standby takes its place': before(async () => {
        promoted = true
        await primary.stop('SIGQUIT')
        await proxy.cut()
        await execute(standby.url, 'select pg_promote()')
        await execute(standby.url, 'alter system reset synchronous_standby_names')
        await execute(standby.url, 'select pg_reload_conf()')
        await proxy.restore(standby.url)
      }),
    },
  }
}

const FAULTS = [
  'nothing is passed on', 'its answers are not passed on', 'a table is locked', 'its synchronous standby is away',
  'connections are cut', 'it is killed and started again', 'the first process is killed', 'the second process is killed',
] // prettier-ignore

const { begin, exchange, exchangeAgain, refresh, repeat, replay, giveBack, look } = histories
const WEIGHTS = [
  [begin, 4], [exchange, 4], [refresh, 12], [repeat, 3], [look, 3], [exchangeAgain, 1], [replay, 1], [giveBack, 1],
] as const // prettier-ignore
const step = fc
  .record({
    make: fc.oneof(...WEIGHTS.map(([make, weight]) => ({ weight, arbitrary: fc.constant(make) }))),
    server: fc.nat({ max: 1 }),
    pace: fc.integer({ min: 20, max: 250 }),
  })
  .map(({ make, server, pace }) => make(server, pace))
/** More than any lane comes to. */
const lane = fc.array(step, { minLength: 1000, maxLength: 1000 })
const plan = fc.record({
  faults: fc.shuffledSubarray(FAULTS, { minLength: 4, maxLength: numRuns > 1 ? FAULTS.length : 4 }),
  lanes: fc.tuple(...Array.from({ length: LANES }, () => lane)),
})

test(`what clients are told is what a model allows, with seed ${seed}`, async () => {
  const run = async ({ faults, lanes }: { faults: string[]; lanes: histories.Step[][] }): Promise<void> => {
    const stage = await setStage()
    const { servers } = stage
    const getCode = codesOf(servers[0]!)
    await getCode()
    const clients = [toClient(WEB), toClient({ ...SPA, client_secret: '' })]
    const reals: histories.Real[] = lanes.map(() => ({
      servers, getCode, interval: INTERVAL, history: [],
      over: false,
      held: { code: '', verifier: '', accessToken: '' },
    })) // prettier-ignore
    const going = lanes.map(async (steps, number) => {
      const model = histories.createModel(clients[number % 3 === 2 ? 1 : 0]!)
      await fc.asyncModelRun(async () => ({ model, real: reals[number]! }), steps)
    })
    const breaking = breakAll(faults, stage, reals)
    try {
      await Promise.race([breaking, Promise.all(going)])
    } finally {
      for (const real of reals) real.over = true
      await Promise.allSettled([breaking, ...going])
      for (const server of stage.servers) await server.stop('SIGKILL')
    }
    await Promise.all(going)
    const answered = reals.flatMap(({ history }) => history)
    for (const kind of ['200 ', '400 invalid_grant', 'no answer'])
      expect(answered.some((one) => one.endsWith(kind))).toBe(true)
  }
  await fc.assert(fc.asyncProperty(plan, run), { seed, numRuns, endOnFailure: true })
})

/** One after the other, each when all is well again and everybody has gone on for a while. */
async function breakAll(faults: readonly string[], stage: Stage, reals: histories.Real[]): Promise<void> {
  const sent = (): number => Math.min(...reals.map(({ history }) => history.length))
  const note = (what: string): void => reals.forEach(({ history }) => history.push(`--- ${what}`))
  for (const fault of [...faults, 'its standby takes its place', 'no more']) {
    const goal = sent() + STEPS_BETWEEN
    await until(() => expect(reals[0]!.over || sent() >= goal).toBe(true))
    if (reals[0]!.over || fault === 'no more') return
    note(fault)
    await stage.faults[fault]!()
    note('it is over')
    await until(async () => {
      for (const server of stage.servers) expect(await statusOf(server.get('/readyz'))).toBe(200)
    })
  }
}
