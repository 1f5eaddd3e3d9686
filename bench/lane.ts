// Owns a row on its way through the rounds: its requests, made when they are needed, and its windows.

import type { Cluster } from './cluster.ts'
import type { Contestant, Entry, Row } from './contestant.ts'
import type { Generator } from './generator.ts'
import type { Measured } from './load-protocol.ts'
import type { Options } from './options.ts'
import { otherCore, pause, resume, serverCore } from './pinning.ts'
import { strangersOf, type Series } from './result.ts'

const repeatedTokens = 256

/** A window in which strangers took more than this share of a core is measured again, a few times. */
const tolerated = 0.1
const maximumTries = 3

/** Requests that are good once: so many are made for a second of the first window, later a share more than were used. */
const firstGuess = 2000
const reserve = 1.3

/** What all windows of a run have in common. */
export interface Stage {
  options: Options
  cluster: Cluster
  generator: Generator
}

export interface Lane {
  name: string
  contestant: Contestant
  series: Series
  /** Requests per second of its best window so far. */
  fastest: number
}

/** Starts a contestant, makes the requests that last for the whole run, and stops it until its first window. */
export async function enter(entry: Entry, stage: Stage): Promise<Lane[]> {
  const { options, cluster } = stage
  console.log(`starting ${entry.name}`)
  const contestant = await entry.enter({
    nodeArgs: profiling(options, entry.name),
    createDatabase: cluster.createDatabase,
    repeatedTokens,
    freshTokens: options.freshTokens,
  })
  const lanes = contestant.rows
    .map((row) => newLane(contestant, row))
    .filter(({ name }) => options.rows.split('|').some((text) => name.toLowerCase().includes(text)))
  for (const lane of lanes)
    if (lane.series.row.order !== 'once') await supply(lane, options.connections, stage)
  pause(contestant.child)
  return lanes
}

export function newLane(contestant: Contestant, row: Row): Lane {
  const series = { row, windows: [], firstError: undefined }
  return { name: `${row.endpoint}, ${row.label}`, contestant, series, fastest: 0 }
}

export async function supply({ name, contestant, series }: Lane, count: number, stage: Stage): Promise<void> {
  const { path, order, expectation } = series.row
  const requests = await series.row.requests(count)
  await stage.generator.prepare({ name, port: contestant.port, path, order, expectation, requests })
}

/** With requests that are good once the longest warm-up is the ordinary one: making them has warmed the server up. */
export async function runWindow(lane: Lane, stage: Stage, longWarmUp: number): Promise<Measured> {
  const { options, cluster, generator } = stage
  const once = lane.series.row.order === 'once'
  const warmUp = once ? options.warmUp : longWarmUp
  resume(lane.contestant.child)
  if (once) await refill(lane, warmUp + options.seconds, stage)
  const measured = await generator.run({
    name: lane.name,
    connections: options.connections,
    warmUp,
    seconds: options.seconds,
    serverPid: lane.contestant.pid,
    postmasterPid: cluster.postmasterPid,
    cores: cluster.pinned ? [serverCore, otherCore] : undefined,
  })
  pause(lane.contestant.child)

  const rate = (measured.requests / measured.elapsed) * 1_000_000
  lane.fastest = Math.max(lane.fastest, rate)
  const others = `${(strangersOf(measured) * 100).toFixed(0)} % of a core taken by others`
  const errors = `${measured.errors} errors${measured.firstError ? ` (${measured.firstError})` : ''}`
  console.log(`  ${lane.name}: ${rate.toFixed(0)} requests/s, ${errors}, ${others}`)
  return measured
}

async function refill(lane: Lane, seconds: number, stage: Stage): Promise<void> {
  const rate = lane.fastest === 0 ? firstGuess : lane.fastest * reserve
  const count = Math.ceil(rate * seconds)
  const began = performance.now()
  await supply(lane, count, stage)
  const took = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`  ${lane.name}: ${count} requests made in ${took} s`)
}

/** A window that counts: the calmest of a few tries. */
export async function runCalmWindow(lane: Lane, stage: Stage): Promise<void> {
  const tries = [await runWindow(lane, stage, stage.options.warmUp)]
  while (tries.length < maximumTries && tries.every((one) => strangersOf(one) > tolerated)) {
    tries.push(await runWindow(lane, stage, stage.options.warmUp))
  }
  const calmest = tries.reduce((best, one) => (strangersOf(one) < strangersOf(best) ? one : best))
  const problem = problemWith(calmest, stage.options)
  lane.series.windows.push(problem === undefined ? calmest : undefined)
  lane.series.firstError ??= problem
}

function problemWith({ requests, errors, firstError, elapsed }: Measured, { seconds }: Options) {
  if (errors > 0 || requests === 0) return firstError ?? 'no response'
  return elapsed < seconds * 500_000 ? 'the requests were used up in less than half of the window' : undefined
}

function profiling({ profile }: Options, name: string): string[] {
  return profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`] : []
}
