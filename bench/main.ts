// Owns a run of the benchmark: who takes part, the rounds, and that every process has ended when it is over.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openCluster } from './cluster.ts'
import { ceiling } from './contestants/ceiling.ts'
import { latchkey, latchkeyByJose } from './contestants/latchkey.ts'
import { oidcProvider } from './contestants/oidc-provider.ts'
import { Generator } from './generator.ts'
import { enter, runCalmWindow, runWindow, type Lane, type Stage } from './lane.ts'
import { measureSignIns } from './sign-ins.ts'
import { besideEmpty, onCopyOf } from './large-beside.ts'
import { readOptions, usage, type Options } from './options.ts'
import { endAll } from './pinning.ts'
import { machine, page, remarks, signInTable, tables } from './report.ts'
import { summarize, type Result } from './result.ts'

const entries = [ceiling, latchkey, latchkeyByJose, oidcProvider]

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
    const stage = { options, cluster, generator: new Generator() }
    const results = options.logins ? [] : await compare(stage)
    const whole = options.only === undefined && options.rows === '' && options.template === undefined
    const signIns = options.logins || whole ? await measureSignIns(stage) : undefined

    const compared = options.template === undefined ? tables(results) : besideEmpty(results)
    const sections = [machine(cluster, options), compared, signInTable(signIns), remarks(results)]
    console.log(`\n${sections.filter((section) => section !== '').join('\n\n')}`)
    if (options.write && !options.profile && !options.logins && options.template === undefined)
      write(page(results, signIns, cluster, options))
  } finally {
    await shutDown()
  }
}

async function compare(stage: Stage): Promise<Result[]> {
  const { options, cluster } = stage
  const lanes: Lane[] = []
  const { template } = options
  const entering = template === undefined ? entries : [latchkey, onCopyOf(template, cluster)]
  for (const entry of entering.filter(({ name }) => name.includes(options.only?.toLowerCase() ?? ''))) {
    lanes.push(...(await enter(entry, stage)))
  }
  console.log('warm-up')
  for (const lane of lanes) await runWindow(lane, stage, options.seconds)
  for (let round = 1; round <= options.rounds; round++) {
    console.log(`round ${round} of ${options.rounds}`)
    // Every other round runs backwards: who comes first or last gains nothing.
    for (const lane of round % 2 === 1 ? lanes : lanes.toReversed()) await runCalmWindow(lane, stage)
  }
  return summarize(lanes.map(({ series }) => series))
}

/** `npm run bench` has oxfmt in its path; without it only the columns of the tables are ragged. */
function write(text: string): void {
  const file = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
  writeFileSync(file, text)
  spawnSync('oxfmt', [file])
}
