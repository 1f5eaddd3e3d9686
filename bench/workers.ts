// Owns the question whether a request costs more where several processes serve, by WORKERS on one port or as servers
// side by side. At half load all get the same number of requests a second, half of what one process can answer, on as many connections,
// and have had it for some seconds; at full load each process has as many connections as the one. Everything may run on every core.

import { availableParallelism } from 'node:os'
import { processes } from './contestants/latchkey-processes.ts'
import { enter, runRounds, runWindow, warmUp, type Lane, type Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { factor, table, whole } from './markdown.ts'
import type { Part } from './parts.ts'
import { everyCore, pinFamily } from './pinning.ts'
import { errorsIn } from './report.ts'
import { cpuRatios, median, summarize, type Result } from './result.ts'

const columns = [
  'request',
  'load',
  'processes',
  'requests/s',
  'CPU µs/request: server',
  'of that the supervisor',
  'PostgreSQL',
  'CPU, of WORKERS=1',
  'of single rounds',
  'RSS MiB',
]

/** Seconds of half load until workers that are not needed for it take no connections any more: five, and some for a load that is not even. */
const SETTLING = 12

export async function measureWorkers(spread: Stage): Promise<Part[]> {
  const stage = { ...spread, cores: Array.from({ length: availableParallelism() }, (_, core) => core) }
  const { cluster, generator } = stage
  for (const pid of [generator.pid, cluster.postmasterPid]) if (pid !== undefined) pinFamily(pid, everyCore)

  const entered: { name: string; lanes: Lane[] }[] = []
  for (const entry of processes) entered.push({ name: entry.name, lanes: await enter(entry, stage) })
  const lanes = entered.flatMap((one) => one.lanes)
  for (const lane of lanes) await warmUp(lane, stage)
  // Of a server that is warm.
  for (const lane of entered[0]!.lanes) await runWindow(lane, stage, { warmUp: 0.5, seconds: 1 })
  const halves = new Map(entered[0]!.lanes.map(({ name, fastest }) => [name, Math.round(fastest / 20) * 10]))

  const kept = lanes.filter(({ series }) => !series.row.closing)
  const closing = lanes.filter(({ series }) => series.row.closing)
  // Who is left connections that do not last leaves none to others for seconds.
  const { connections } = stage.options
  for (const some of [kept, closing])
    await runRounds(some, stage, ({ name }) => ({ warmUp: SETTLING, rate: halves.get(name)!, connections }))
  const half = takeResults(entered)
  // What is found so far, also where the other load is not waited for.
  console.log(
    `\n${table(
      columns,
      half[0]!.results.flatMap((base, at) =>
        half.map(({ name, results }) => cells('half', name, results[at]!, base)),
      ),
    )}\n`,
  )
  // On connections that are not kept it shows how they are made.
  await runRounds(kept, stage)
  const loads = { half, full: takeResults(entered) }

  const rows = half[0]!.results.flatMap((_, index) =>
    Object.entries(loads).flatMap(([load, all]) => {
      const base = all[0]!.results[index]!
      return base.kept === 0 ? [] : all.map(({ name, results }) => cells(load, name, results[index]!, base))
    }),
  )
  const errors = errorsIn(Object.values(loads).flatMap((all) => all.flatMap(({ results }) => results)))
  return [{ name: 'workers', text: [provenance(stage), table(columns, rows), ...errors].join('\n\n') }]
}

/** The windows since the last time. */
function takeResults(entered: readonly { name: string; lanes: Lane[] }[]) {
  return entered.map(({ name, lanes }) => {
    const results = summarize(lanes.map(({ series }) => series))
    for (const lane of lanes) lane.series = { row: lane.series.row, windows: [], firstError: undefined }
    return { name, results }
  })
}

function cells(load: string, name: string, result: Result, base: Result): string[] {
  const { row, rate, serverCpu, firstCpu, postgresCpu, memory } = result
  const ratios = cpuRatios(result, base)
  const supervised = /WORKERS=[^1]/.test(name)
  return [
    name === 'WORKERS=1' && load === 'half' ? `${row.endpoint}, ${row.label}` : '',
    name === 'WORKERS=1' ? load : '',
    name,
    ...[rate, serverCpu].map(whole),
    supervised ? whole(firstCpu) : '',
    whole(postgresCpu),
    factor(median(ratios)),
    `${factor(Math.min(...ratios))}–${factor(Math.max(...ratios))}`,
    whole(memory),
  ]
}
