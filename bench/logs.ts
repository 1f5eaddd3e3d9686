// Owns the question what the log costs: the same requests without a log, with that of production, and with a line for
// each request.

import { tokenRow } from './contestants/latchkey.ts'
import { startLatchkey } from './contestants/latchkey-server.ts'
import type { Entry } from './contestant.ts'
import { enter, runRounds, warmUp, type Lane, type Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { factor, table, whole } from './markdown.ts'
import type { Part } from './parts.ts'
import { errorsIn } from './report.ts'
import { cpuRatios, median, summarize } from './result.ts'

const levels = {
  silent: 'silent: nothing',
  info: 'info, the default: what is not as usual',
  debug: 'debug: a line for each request, too',
}

const entries = Object.entries(levels).map(([level, label]): Entry => ({
  name: `latchkey-${level}`,
  enter: async (ground) => {
    const server = await startLatchkey(ground, `logs_${level}`, { LOG_LEVEL: level })
    return { ...server, rows: [tokenRow(label, 'jwt', await server.createClient('jwt'))] }
  },
}))

export async function measureLogs(stage: Stage): Promise<Part[]> {
  const lanes: Lane[] = []
  for (const entry of entries) lanes.push(...(await enter(entry, stage)))
  for (const lane of lanes) await warmUp(lane, stage)
  await runRounds(lanes, stage)
  const results = summarize(lanes.map(({ series }) => series))
  const rows = results.map((result) => [
    result.row.label,
    ...[result.rate, result.serverCpu, result.postgresCpu].map(whole),
    factor(median(cpuRatios(result, results[0]!))),
  ])
  const columns = ['LOG_LEVEL', 'requests/s', 'CPU µs/request: server', 'PostgreSQL', 'CPU, of silent']
  const text = [provenance(stage), table(columns, rows), ...errorsIn(results)].join('\n\n')
  return [{ name: 'logs', text }]
}
