// Owns a run of the benchmark: which question it answers, and that every process has ended when it is over.

import { measureAudit } from './audit.ts'
import { openCluster } from './cluster.ts'
import { writeCapacity } from './capacity.ts'
import { measureChosenSecrets } from './chosen-secrets.ts'
import { compare, compareProofs } from './compare.ts'
import { measureCosts } from './costs.ts'
import { keep } from './figures.ts'
import { Generator } from './generator.ts'
import { measureGuesses } from './guesses.ts'
import { measureHour } from './model/hour.ts'
import { measureJanitor } from './janitor.ts'
import type { Stage } from './lane.ts'
import { measureLogs } from './logs.ts'
import { readOptions, usage, type Mode, type Options } from './options.ts'
import { writeParts, type Part } from './parts.ts'
import { endAll } from './pinning.ts'
import { measureSignIns } from './sign-ins.ts'
import { soak } from './soak.ts'
import { measureShards } from './shards.ts'
import { measureStarts } from './starts.ts'
import { measureWorkers } from './workers.ts'

const questions: Record<Mode, (stage: Stage) => Promise<Part[]>> = {
  compare,
  proofs: compareProofs,
  logins: measureSignIns,
  workers: measureWorkers,
  logs: measureLogs,
  costs: measureCosts,
  janitor: measureJanitor,
  secrets: measureChosenSecrets,
  audit: measureAudit,
  guesses: measureGuesses,
  starts: measureStarts,
  shards: measureShards,
  hour: measureHour,
  soak,
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
    const began = performance.now()
    const parts = await questions[options.mode]({ options, cluster, generator: new Generator() })
    for (const { text } of parts) console.log(`\n${text}`)
    console.log(`\n${((performance.now() - began) / 60_000).toFixed(1)} minutes`)
    if (options.write) write(parts)
  } finally {
    await shutDown()
  }
}

/** The capacity page is arithmetic on what was found. */
function write(parts: readonly Part[]): void {
  writeParts(parts)
  for (const { figures } of parts) if (figures) keep(figures)
  writeCapacity()
}
