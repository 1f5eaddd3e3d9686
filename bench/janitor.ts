// Owns the question whether token requests feel the janitor, and whether it keeps up: two servers at half load in turn,
// one without a janitor and one whose janitor always has something to remove.

import { Client } from 'pg'
import { startLatchkey, type Started } from './contestants/latchkey-server.ts'
import { addExpired, countRows, rowsEach } from './expired-logins.ts'
import type { Entry } from './contestant.ts'
import { enter, runWindow, warmUp, type Lane, type Stage } from './lane.ts'
import { rowsOfUser, tokenRow } from './contestants/latchkey.ts'
import type { Measured } from './load-protocol.ts'
import { provenance } from './machine.ts'
import { factor, grouped, table, times, whole } from './markdown.ts'
import type { Part } from './parts.ts'
import { cpuEach, median, rateOf } from './result.ts'

const signInsPerSecond = 500
/** Seconds that a round of a janitor may last, and until the next one, on average, where something is left over. */
const [budget, pauses] = [10, 1]
/** Seconds between rounds that leave a janitor no rest to speak of. */
const restless = 1

interface Round {
  without: Measured
  beside: Measured
  /** Removed while the window and its warm-up lasted, for each second of it. */
  removed: number
}

export async function measureJanitor(stage: Stage): Promise<Part[]> {
  const { rounds: count, warmUp: before, seconds } = stage.options
  const databases: string[] = []
  const lanes: Lane[][] = []
  for (const interval of [0, restless]) lanes.push(await enter(entryWith(interval, databases), stage))
  const client = new Client({ connectionString: databases[1] })
  await client.connect()

  const tableRows: string[][] = []
  let removed: number[] = []
  for (const [index, still] of lanes[0]!.entries()) {
    const busy = lanes[1]![index]!
    for (const lane of [still, busy, still]) await warmUp(lane, stage)
    const rate = Math.round(still.fastest / 20) * 10
    const rounds: Round[] = []
    for (let round = 1; round <= count; round++) {
      console.log(`round ${round} of ${count}, without a janitor and with`)
      const window = { warmUp: before, seconds, rate }
      const without = fine(await runWindow(still, stage, window))
      // More than it can remove until the end.
      await addExpired(client, (before + seconds + 5) * signInsPerSecond * 6)
      const had = await countRows(client)
      const began = performance.now()
      const beside = fine(await runWindow(busy, stage, window))
      const lasted = (performance.now() - began) / 1000
      rounds.push({ without, beside, removed: (had - (await countRows(client))) / lasted })
    }
    tableRows.push(...rowsFor(still.series.row.endpoint, rate, rounds))
    removed.push(...rounds.map((round) => round.removed))
  }
  await client.end()

  const columns = [
    'request',
    'requests/s',
    'median time',
    '99th percentile',
    'CPU µs/request, with PostgreSQL',
  ]
  const text = [provenance(stage), table(columns, tableRows), keepsUp(median(removed))].join('\n\n')
  return [{ name: 'janitor', text }]
}

function entryWith(interval: number, databases: string[]): Entry {
  return {
    name: interval === 0 ? 'latchkey without a janitor' : 'latchkey with a busy janitor',
    enter: async (ground) => {
      const settings = { OIDC_JANITOR_INTERVAL: String(interval) }
      const server: Started = await startLatchkey(ground, `janitor_${interval}`, settings)
      databases.push(server.databaseUrl)
      const machine = tokenRow('JWT', 'jwt', await server.createClient('jwt'))
      const [, refresh] = await rowsOfUser(server, await server.createUser('bench'), 'jwt', 'ES256', [])
      return { ...server, rows: [machine, refresh!] }
    },
  }
}

function fine(window: Measured): Measured {
  if (window.errors > 0 || window.requests === 0)
    throw new Error(`token requests failed: ${window.firstError ?? 'no response'}`)
  return window
}

function rowsFor(endpoint: string, rate: number, rounds: readonly Round[]): string[][] {
  const over = (pick: (round: Round) => number) => median(rounds.map(pick))
  const cells = (which: 'without' | 'beside') => [
    whole(over((round) => rateOf(round[which]))),
    times(over((round) => round[which].p50)),
    times(over((round) => round[which].p99)),
    whole(over((round) => cpuEach(round[which]))),
  ]
  const ratio = (of: (window: Measured) => number) =>
    factor(over(({ without, beside }) => of(beside) / of(without)))
  return [
    [`${endpoint} at ${rate}/s, no janitor`, ...cells('without')],
    [`${endpoint} at ${rate}/s, janitor at work`, ...cells('beside')],
    ['ratio', ratio(rateOf), ratio(({ p50 }) => p50), ratio(({ p99 }) => p99), ratio(cpuEach)],
  ]
}

function keepsUp(removed: number): string {
  const made = signInsPerSecond * rowsEach
  const sustained = (removed * budget) / (pauses + budget)
  return [
    `While at work the janitor removed ${grouped(removed)} rows a second; ${signInsPerSecond} sign-ins a second make`,
    `${grouped(made)} (${rowsEach} each). Rounds of ${budget} s with ${pauses} s between them, which is how`,
    `it goes on while something is left over, are ${grouped(sustained)} rows a second for each process, or`,
    `${grouped(sustained / rowsEach)} sign-ins a second.`,
  ].join('\n')
}
