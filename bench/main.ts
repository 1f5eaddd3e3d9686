// Owns a run of the benchmark: who takes part, the rounds, and that every process has ended when it is over.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openCluster, type Cluster } from './cluster.ts'
import type { Contestant, Entry } from './contestant.ts'
import { ceiling } from './contestants/ceiling.ts'
import { latchkey, latchkeyByJose } from './contestants/latchkey.ts'
import { oidcProvider } from './contestants/oidc-provider.ts'
import { Generator } from './generator.ts'
import { readOptions, usage, type Options } from './options.ts'
import { endAll, otherCore, pause, resume, serverCore } from './pinning.ts'
import { machine, page, remarks, tables } from './report.ts'
import { strangersOf, summarize, type Result, type Series } from './result.ts'

const entries = [ceiling, latchkey, latchkeyByJose, oidcProvider]
const repeatedTokens = 256

/** A window in which strangers took more than this share of a core is measured again, a few times. */
const tolerated = 0.1
const maximumTries = 3

interface Lane {
  name: string
  contestant: Contestant
  series: Series
}

const options = readOptions(process.argv.slice(2))
if (options) await main(options)
else console.log(usage)

async function main(options: Options): Promise<void> {
  const cluster = await openCluster()
  let over: Promise<void> | undefined
  const shutDown = () => (over ??= endAll().then(cluster.close))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void shutDown().finally(() => process.exit(1)))
  }
  try {
    const results = await measure(options, cluster)
    console.log(`\n${machine(cluster, options)}\n\n${tables(results)}\n\n${remarks(results)}`)
    if (options.write && !options.profile) write(page(results, cluster, options))
  } finally {
    await shutDown()
  }
}

async function measure(options: Options, cluster: Cluster): Promise<Result[]> {
  const generator = new Generator()
  const lanes: Lane[] = []
  for (const entry of entries.filter(({ name }) => name.includes(options.only?.toLowerCase() ?? ''))) {
    lanes.push(...(await enter(entry, options, cluster, generator)))
  }

  const window = async (lane: Lane, warmUp: number) => {
    resume(lane.contestant.child)
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
    const others = `${(strangersOf(measured) * 100).toFixed(0)} % of a core taken by others`
    console.log(`  ${lane.name}: ${rate.toFixed(0)} requests/s, ${measured.errors} errors, ${others}`)
    return measured
  }
  const calmWindow = async (lane: Lane) => {
    const tries = [await window(lane, options.warmUp)]
    while (tries.length < maximumTries && tries.every((one) => strangersOf(one) > tolerated)) {
      tries.push(await window(lane, options.warmUp))
    }
    return tries.reduce((best, one) => (strangersOf(one) < strangersOf(best) ? one : best))
  }

  console.log('warm-up')
  for (const lane of lanes) await window(lane, options.seconds)
  for (let round = 1; round <= options.rounds; round++) {
    console.log(`round ${round} of ${options.rounds}`)
    // Every other round runs backwards: who comes first or last gains nothing.
    for (const lane of round % 2 === 1 ? lanes : lanes.toReversed()) {
      const measured = await calmWindow(lane)
      const good = measured.errors === 0 && measured.requests > 0
      lane.series.windows.push(good ? measured : undefined)
      lane.series.firstError ??= good ? undefined : (measured.firstError ?? 'no response')
    }
  }
  return summarize(lanes.map(({ series }) => series))
}

/** Starts a contestant, gives its requests to the generator, and stops it until its first window. */
async function enter(
  entry: Entry,
  options: Options,
  cluster: Cluster,
  generator: Generator,
): Promise<Lane[]> {
  console.log(`starting ${entry.name}`)
  const contestant = await entry.enter({
    nodeArgs: profiling(options, entry.name),
    createDatabase: cluster.createDatabase,
    repeatedTokens,
    freshTokens: options.freshTokens,
  })
  const lanes: Lane[] = []
  for (const row of contestant.rows) {
    const name = `${row.endpoint}, ${row.label}`
    if (!name.toLowerCase().includes(options.rows)) continue
    await generator.prepare({ name, port: contestant.port, ...row })
    lanes.push({ name, contestant, series: { row, windows: [], firstError: undefined } })
  }
  pause(contestant.child)
  return lanes
}

function profiling({ profile }: Options, name: string): string[] {
  return profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`] : []
}

/** `npm run bench` has oxfmt in its path; without it only the columns of the tables are ragged. */
function write(text: string): void {
  const file = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url))
  writeFileSync(file, text)
  spawnSync('oxfmt', [file])
}
