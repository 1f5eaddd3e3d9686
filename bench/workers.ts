// Owns the question whether a request costs more where several processes serve, by WORKERS on one port or as servers
// side by side. Each gets the same number of requests a second, half of what one process can answer, and everything
// may run on every core: with two cores, whoever gets all there is measures how processes fight for them.

import { availableParallelism } from 'node:os'
import { processes } from './contestants/latchkey-processes.ts'
import { enter, runRounds, warmUp, type Lane, type Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { factor, table, whole } from './markdown.ts'
import type { Part } from './parts.ts'
import { everyCore, pinFamily } from './pinning.ts'
import { errorsIn } from './report.ts'
import { cpuRatios, median, summarize, type Result } from './result.ts'

const columns = [
  'request',
  'processes',
  'requests/s',
  'CPU µs/request: server',
  'of that the supervisor',
  'PostgreSQL',
  'CPU, of WORKERS=1',
  'of single rounds',
  'RSS MiB',
]

export async function measureWorkers(spread: Stage): Promise<Part[]> {
  const stage = { ...spread, cores: Array.from({ length: availableParallelism() }, (_, core) => core) }
  const { cluster, generator } = stage
  for (const pid of [generator.pid, cluster.postmasterPid]) if (pid !== undefined) pinFamily(pid, everyCore)

  const entered: { name: string; lanes: Lane[] }[] = []
  for (const entry of processes) entered.push({ name: entry.name, lanes: await enter(entry, stage) })
  const lanes = entered.flatMap((one) => one.lanes)
  for (const lane of lanes) await warmUp(lane, stage)
  const halves = new Map(entered[0]!.lanes.map(({ name, fastest }) => [name, Math.round(fastest / 20) * 10]))
  await runRounds(lanes, stage, ({ name }) => halves.get(name)!)

  const results = entered.map(({ name, lanes }) => ({
    name,
    results: summarize(lanes.map((lane) => lane.series)),
  }))
  const rows = results[0]!.results.flatMap((base, index) =>
    results.map(({ name, results }) => cells(name, results[index]!, base)),
  )
  const errors = errorsIn(results.flatMap((one) => one.results))
  return [{ name: 'workers', text: [provenance(stage), table(columns, rows), ...errors].join('\n\n') }]
}

function cells(name: string, result: Result, base: Result): string[] {
  const { row, rate, serverCpu, firstCpu, postgresCpu, memory } = result
  const ratios = cpuRatios(result, base)
  const supervised = /WORKERS=[^1]/.test(name)
  return [
    name === 'WORKERS=1' ? `${row.endpoint}, ${row.label}` : '',
    name,
    ...[rate, serverCpu].map(whole),
    supervised ? whole(firstCpu) : '',
    whole(postgresCpu),
    factor(median(ratios)),
    `${factor(Math.min(...ratios))}–${factor(Math.max(...ratios))}`,
    whole(memory),
  ]
}
