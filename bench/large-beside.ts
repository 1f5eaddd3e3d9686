// Owns Latchkey on a copy of a large database, and how that compares with Latchkey on an empty one, in the same run.

import type { Cluster } from './cluster.ts'
import type { Entry } from './contestant.ts'
import { latchkey } from './contestants/latchkey.ts'
import { factor, table, whole } from './markdown.ts'
import { cpuRatios, median, type Result } from './result.ts'

const suffix = ', full'

/** `template` is a database of the cluster. */
export function onCopyOf(template: string, cluster: Cluster): Entry {
  return {
    name: 'latchkey-full',
    enter: async (ground) => {
      const createDatabase = async (name: string) => cluster.createDatabase(`${name}_full`, template)
      const { rows, ...contestant } = await latchkey.enter({ ...ground, createDatabase })
      return { ...contestant, rows: rows.map((row) => ({ ...row, label: `${row.label}${suffix}` })) }
    },
  }
}

/** The ratio is that of server and PostgreSQL together, the median of the rounds'. */
export function besideEmpty(results: readonly Result[]): string {
  const rows = results.flatMap((empty) => {
    const { endpoint, label } = empty.row
    const full = results.find(({ row }) => row.endpoint === endpoint && row.label === `${label}${suffix}`)
    if (full === undefined) return []
    const ratios = cpuRatios(full, empty)
    const range = `${factor(Math.min(...ratios))}–${factor(Math.max(...ratios))}`
    return [[`${endpoint}, ${label}`, cpuOf(empty), cpuOf(full), factor(median(ratios)), range]]
  })
  return table(['request', 'CPU µs: empty', 'full', 'ratio', 'of single rounds'], rows)
}

function cpuOf({ serverCpu, postgresCpu }: Result): string {
  return `${whole(serverCpu)} + ${postgresCpu === undefined ? 'not seen' : whole(postgresCpu)}`
}
