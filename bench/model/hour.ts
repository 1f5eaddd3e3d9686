// Owns the comparison of the simulation with a real run: as many journeys as an hour has in five minutes, at a rate that rises and falls,
// on one server and its PostgreSQL, beside the same in `cell.ts` from costs that were measured before, at two other rates.

import { startLatchkey, toldOfClients } from '../contestants/latchkey-server.ts'
import { cpuOf, cpuOfCluster } from '../cpu.ts'
import { journeysOf } from '../journeys.ts'
import type { Stage } from '../lane.ts'
import { provenance } from '../machine.ts'
import { grouped, table } from '../markdown.ts'
import { closedPace, openPace } from '../pace.ts'
import type { Part } from '../parts.ts'
import { otherCore, pinFamily } from '../pinning.ts'
import { load, total, type Tally } from '../soak.ts'
import { createClock, createRandom, createStation, exponential } from './cell.ts'

/** Of the peak, in each twelfth of the hour. */
const SHAPE = [0.3, 0.4, 0.55, 0.7, 0.9, 1, 1, 0.9, 0.75, 0.6, 0.45, 0.35]
/** Seconds of a twelfth: an hour in five minutes. */
const TWELFTH = 25
/** Of what the server can do, at the peak. */
const PEAK = 0.6
/** Seconds of what is measured before: all that it can do, and little. */
const [WARM, FULL, QUIET] = [10, 15, 20]
/** Of what it can do, where less is asked: half of the peak that is simulated. */
const LITTLE = 0.3

/** Seconds of CPU. */
export interface Spent {
  journeys: number
  server: number
  database: number
}

/** Of a journey: what it costs anyway, and what it costs more to be woken for it. */
export interface Measured {
  server: number
  database: number
  serverWake: number
  databaseWake: number
}

export async function measureHour({ cluster, options, ...stage }: Stage): Promise<Part[]> {
  pinFamily(process.pid, otherCore)
  const server = await startLatchkey(
    { nodeArgs: [], createDatabase: cluster.createDatabase },
    'hour',
    toldOfClients,
  )
  const journeys = await journeysOf(server)
  const pid = cluster.postmasterPid
  if (pid === undefined) throw new Error('PostgreSQL of another machine: its CPU cannot be read')
  const spent = () => ({ server: cpuOf(server.pid) / 1e6, database: cpuOfCluster(pid) / 1e6 })

  async function measured(work: () => Promise<Tally>): Promise<Spent> {
    const before = spent()
    const tally = await work()
    if (tally.errors.length > 0) throw new Error(tally.errors[0])
    const now = spent()
    return {
      journeys: total(tally),
      server: now.server - before.server,
      database: now.database - before.database,
    }
  }

  await load(journeys, closedPace(), WARM)
  const full = await measured(async () => load(journeys, closedPace(), FULL))
  const most = full.journeys / FULL
  const little = await measured(async () => load(journeys, openPace(most * LITTLE, 32), QUIET))
  const costs = costsOf(full, little)
  const peak = most * PEAK
  console.log(`${most.toFixed(0)} journeys a second at most`, costs)

  const real: Spent[] = []
  for (const share of SHAPE)
    real.push(await measured(async () => load(journeys, openPace(peak * share, 32), TWELFTH)))
  const simulated = simulateHour(costs, peak)
  return [describe({ cluster, options, ...stage }, real, simulated, most)]
}

/** By the load of both: what is woken pays once, and others that have come meanwhile do not. */
function costsOf(full: Spent, little: Spent): Measured {
  const each = ({ server, database, journeys: count }: Spent) => ({
    server: server / count,
    database: database / count,
  })
  const [busy, quiet] = [each(full), each(little)]
  const extra = (what: 'server' | 'database', rate: number): number =>
    Math.max(0, quiet[what] - busy[what]) / (1 - rate * quiet[what])
  const rate = little.journeys / QUIET
  return { ...busy, serverWake: extra('server', rate), databaseWake: extra('database', rate) }
}

/** Poisson arrivals by the same shape. The same random numbers each time. */
export function simulateHour(costs: Measured, peak: number): Spent[] {
  const clock = createClock()
  const random = createRandom(3)
  const server = createStation(clock, 1, costs.serverWake)
  const database = createStation(clock, 1, costs.databaseWake)
  let done = 0
  const next = (rate: number, end: number): void =>
    clock.after(exponential(random, 1 / rate), () => {
      if (clock.now() >= end) return
      server.enter(exponential(random, costs.server), () =>
        database.enter(exponential(random, costs.database), () => done++),
      )
      next(rate, end)
    })
  return SHAPE.map((share, twelfth) => {
    const before = { done, server: server.worked(), database: database.worked() }
    const end = (twelfth + 1) * TWELFTH
    next(peak * share, end)
    clock.run(end)
    return {
      journeys: done - before.done,
      server: server.worked() - before.server,
      database: database.worked() - before.database,
    }
  })
}

/** The greatest of what the simulation is off by, in any twelfth. */
function furthest(real: readonly Spent[], simulated: readonly Spent[], what: keyof Spent): number {
  return Math.max(...real.map((one, at) => Math.abs(simulated[at]![what] / one[what] - 1)))
}

function sum(all: readonly Spent[], what: keyof Spent): number {
  return all.reduce((all, one) => all + one[what], 0)
}

function describe(
  stage: Parameters<typeof provenance>[0],
  real: readonly Spent[],
  simulated: readonly Spent[],
  most: number,
): Part {
  const row = (name: string, what: keyof Spent, show: (value: number) => string) => {
    const [was, said] = [sum(real, what), sum(simulated, what)]
    return [
      name,
      show(was),
      show(said),
      (said / was).toFixed(2),
      `${(furthest(real, simulated, what) * 100).toFixed(0)} %`,
    ]
  }
  const seconds = (value: number): string => value.toFixed(1)
  const rows = [
    row('journeys done', 'journeys', grouped),
    row('CPU seconds of the server', 'server', seconds),
    row('CPU seconds of PostgreSQL', 'database', seconds),
  ]
  const how = `twelve times ${TWELFTH} s, at the peak ${PEAK * 100} % of the ${most.toFixed(0)} journeys a second that it can do`
  const text = `${provenance(stage, how)}\n\n${table(['', 'real', 'simulated', 'ratio', 'most of a twelfth off'], rows)}`
  return { page: 'capacity.md', name: 'hour', text }
}
