// Owns Latchkey on a copy of a large database, and how that compares with Latchkey on an empty one, in the same run.

import type { Cluster } from './cluster.ts'
import type { Entry } from './contestant.ts'
import { latchkey } from './contestants/latchkey.ts'
import type { Result } from './result.ts'

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

/** CPU microseconds a request, server and PostgreSQL; the ratio is that of the two together. */
export function besideEmpty(results: Result[]): string {
  const lines = results.flatMap((empty) => {
    const { endpoint, label } = empty.row
    const full = results.find(({ row }) => row.endpoint === endpoint && row.label === `${label}${suffix}`)
    if (full === undefined) return []
    const both = ({ serverCpu, postgresCpu = 0 }: Result): number => serverCpu + postgresCpu
    const cpu = ({ serverCpu, postgresCpu }: Result): string =>
      `${serverCpu.toFixed(0)} + ${postgresCpu?.toFixed(0) ?? 'not seen'}`
    return [
      `| ${endpoint}, ${label} | ${cpu(empty)} | ${cpu(full)} | ${(both(full) / both(empty)).toFixed(2)} |`,
    ]
  })
  return ['| request | CPU µs: empty | full | ratio |', '| --- | --: | --: | --: |', ...lines].join('\n')
}
