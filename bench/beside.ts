// Owns what Latchkey is compared with when that is Latchkey: itself on a copy of a large database, or another checkout of it,
// such as the one before a change; in the same run, since the machine is never twice the same.

import type { Cluster } from './cluster.ts'
import type { Contestant, Entry } from './contestant.ts'
import { latchkey } from './contestants/latchkey.ts'
import { factor, table, whole } from './markdown.ts'
import { cpuEach, cpuRatios, median, type Result } from './result.ts'

const full = ', full'
const other = ', other'

/** `template` is a database of the cluster. */
export function onCopyOf(template: string, cluster: Cluster): Entry {
  return {
    name: 'latchkey-full',
    enter: async (ground) => {
      const createDatabase = async (name: string) => cluster.createDatabase(`${name}_full`, template)
      return marked(full, await latchkey.enter({ ...ground, createDatabase }))
    },
  }
}

/** `checkout` is a directory with its own `node_modules`. */
export function ofCheckout(checkout: string, cluster: Cluster): Entry {
  return {
    name: 'latchkey-other',
    enter: async (ground) => {
      const createDatabase = async (name: string) => cluster.createDatabase(`${name}_other`)
      return marked(other, await latchkey.enter({ ...ground, checkout, createDatabase }))
    },
  }
}

function marked(mark: string, { rows, ...contestant }: Contestant): Contestant {
  return { ...contestant, rows: rows.map((row) => ({ ...row, label: `${row.label}${mark}` })) }
}

export const besideEmpty = (results: readonly Result[]): string =>
  ratios(results, { title: 'empty', mark: '' }, { title: 'full', mark: full })

export const besideCheckout = (results: readonly Result[]): string =>
  ratios(results, { title: 'the other', mark: other }, { title: 'this', mark: '' })

interface Column {
  title: string
  mark: string
}

/** Of server and PostgreSQL together, the median of the rounds': above 1 what stands on the right costs more. */
function ratios(results: readonly Result[], left: Column, right: Column): string {
  const names = new Map(results.map((one) => [`${one.row.endpoint}, ${one.row.label}`, one]))
  const rows = [...names.keys()].flatMap((name) => {
    const [base, own] = [names.get(`${name}${left.mark}`), names.get(`${name}${right.mark}`)]
    if (base === undefined || own === undefined) return []
    const ratios = cpuRatios(own, base)
    const range = `${factor(Math.min(...ratios))}–${factor(Math.max(...ratios))}`
    return [[name, cpuOf(base), cpuOf(own), factor(median(ratios)), range, factor(calm(own) / calm(base))]]
  })
  return table(
    ['request', `CPU µs: ${left.title}`, right.title, 'ratio', 'of single rounds', 'of the calmest quarter'],
    rows,
  )
}

/** Microseconds a request in the windows in which other work on the machine cost least. */
function calm({ windows }: Result): number {
  const sorted = windows.flatMap((window) => (window ? [cpuEach(window)] : [])).toSorted((a, b) => a - b)
  return median(sorted.slice(0, Math.ceil(sorted.length / 4)))
}

function cpuOf({ serverCpu, postgresCpu }: Result): string {
  return `${whole(serverCpu)} + ${postgresCpu === undefined ? 'not seen' : whole(postgresCpu)}`
}
