// Owns a row on its way through the rounds: its requests, made when they are needed, and its windows.

import type { Cluster } from './cluster.ts'
import { pidsOf, type Contestant, type Entry, type Row } from './contestant.ts'
import type { Generator } from './generator.ts'
import type { Measured } from './load-protocol.ts'
import type { Options } from './options.ts'
import { times } from './markdown.ts'
import { otherCore, pause, resume, serverCore } from './pinning.ts'
import { strangersOf, type Series } from './result.ts'

const repeatedTokens = 256

/** A window in which strangers took more than this share of a core is measured again. */
const tolerated = 0.1

/** Requests that are good once: for so many a second of the first window, later for a share more than were used. */
const firstGuess = 1500
const reserve = 1.3
/** Fewer are never made: other work may have kept the server from its rate so far. */
const least = 600

/** What all windows of a run have in common. */
export interface Stage {
  options: Options
  cluster: Cluster
  generator: Generator
  /** What all of it runs on, unless it is the server's core and the other one. */
  cores?: readonly number[]
}

export interface Window {
  warmUp: number
  seconds: number
  /** Requests a second; absent: as many as there can be. */
  rate?: number | undefined
  /** Absent: as many for each process as the run has. */
  connections?: number
}

/** What a window of some lanes has otherwise than the others of the run. */
export type Otherwise = Partial<Omit<Window, 'seconds'>>

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
    .filter(({ name }) => options.rows.some((text) => name.toLowerCase().includes(text)))
  for (const lane of lanes)
    if (lane.series.row.order !== 'once') await supply(lane, connectionsOf(lane, options), stage)
  pause(pidsOf(contestant))
  return lanes
}

export function newLane(contestant: Contestant, row: Row): Lane {
  const series = { row, windows: [], firstError: undefined }
  return { name: `${row.endpoint}, ${row.label}`, contestant, series, fastest: 0 }
}

export async function supply(lane: Lane, count: number, stage: Stage): Promise<void> {
  const { contestant, series } = lane
  const { path, order, expectation, closing = false } = series.row
  const { port, ports = [port] } = contestant
  const requests = await series.row.requests(count)
  await stage.generator.prepare({ name: keyOf(lane), ports, path, order, expectation, closing, requests })
}

/** What a row needs before its first window that counts: a second for each process, beside what made its requests. */
export async function warmUp(lane: Lane, stage: Stage): Promise<void> {
  const window = { warmUp: lane.contestant.serving ?? 1, seconds: 0.5 }
  // Of requests that are good once, until there were enough of them: then it is known how many it uses.
  for (let tries = 0; tries < 5; tries++)
    if (!ranOut(await runWindow(lane, stage, window), window.seconds)) return
}

function connectionsOf({ contestant }: Lane, { connections }: Options): number {
  return connections * (contestant.serving ?? 1)
}

export async function runWindow(lane: Lane, stage: Stage, window: Window): Promise<Measured> {
  const { options, cluster, generator, cores = [serverCore, otherCore] } = stage
  const pids = pidsOf(lane.contestant)
  resume(pids)
  const supplied = lane.series.row.order === 'once' ? await refill(lane, window, stage) : 0
  const measured = await generator.run({
    name: keyOf(lane),
    connections: window.connections ?? connectionsOf(lane, options),
    warmUp: window.warmUp,
    seconds: window.seconds,
    rate: window.rate,
    serverPids: pids,
    postmasterPid: cluster.postmasterPid,
    cores: cluster.pinned ? cores : undefined,
  })
  pause(pids)

  const rate = measured.elapsed === 0 ? 0 : (measured.requests / measured.elapsed) * 1_000_000
  // What used them up too early is faster than they were made for.
  const least = ranOut(measured, window.seconds) ? (2 * supplied) / (window.warmUp + window.seconds) : 0
  lane.fastest = Math.max(lane.fastest, rate, least)
  const others = `${(strangersOf(measured) * 100).toFixed(0)} % of a core taken by others`
  const paced =
    window.rate === undefined
      ? ''
      : `, ${times(measured.p50)} and ${times(measured.p99)} at the 99th percentile`
  const errors = `${measured.errors} errors${measured.firstError ? ` (${measured.firstError})` : ''}`
  console.log(`  ${lane.name}: ${rate.toFixed(0)} requests/s${paced}, ${errors}, ${others}`)
  return measured
}

/** Two contestants may have rows of the same name. */
function keyOf({ name, contestant }: Lane): string {
  return `${name}, port ${contestant.port}`
}

/** Returns how many there are. */
async function refill(lane: Lane, { warmUp, seconds, rate }: Window, stage: Stage): Promise<number> {
  const most = rate ?? (lane.fastest === 0 ? firstGuess : lane.fastest)
  const count = Math.ceil(Math.max(least, most * reserve) * (warmUp + seconds))
  const began = performance.now()
  await supply(lane, count, stage)
  const took = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`  ${lane.name}: ${count} requests made in ${took} s`)
  return count
}

/** A window that counts: the calmest of a few tries, and none that ran out of requests if there is another. */
async function runCalmWindow(lane: Lane, stage: Stage, otherwise: Otherwise = {}): Promise<void> {
  const { warmUp, seconds } = stage.options
  const unrest = (one: Measured) => (ranOut(one, seconds) ? Infinity : strangersOf(one))
  const tries: Measured[] = []
  do tries.push(await runWindow(lane, stage, { warmUp, seconds, ...otherwise }))
  while (tries.length < stage.options.tries && tries.every((one) => unrest(one) > tolerated))
  const calmest = tries.reduce((best, one) => (unrest(one) < unrest(best) ? one : best))
  const problem = problemWith(calmest, seconds)
  lane.series.windows.push(problem === undefined ? calmest : undefined)
  lane.series.firstError ??= problem
}

/** Rounds over all of them, every other one backwards: who comes first or last gains nothing. */
export async function runRounds(
  lanes: readonly Lane[],
  stage: Stage,
  otherwise?: (lane: Lane) => Otherwise,
): Promise<void> {
  for (let round = 1; round <= stage.options.rounds; round++) {
    console.log(`round ${round} of ${stage.options.rounds}`)
    for (const lane of round % 2 === 1 ? lanes : lanes.toReversed())
      await runCalmWindow(lane, stage, otherwise?.(lane))
  }
}

function ranOut({ elapsed }: Measured, seconds: number): boolean {
  return elapsed < seconds * 500_000
}

function problemWith(window: Measured, seconds: number): string | undefined {
  if (ranOut(window, seconds)) return 'the requests were used up in less than half of the window'
  return window.errors > 0 || window.requests === 0 ? (window.firstError ?? 'no response') : undefined
}

function profiling({ profile }: Options, name: string): string[] {
  return profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`] : []
}
