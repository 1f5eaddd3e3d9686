// Owns the question whether token requests feel the janitor, and whether it keeps up: two servers at half load in turn,
// one without a janitor and one whose janitor always has something to remove.

import { setTimeout as sleep } from 'node:timers/promises'
import { fastify } from 'fastify'
import { Client } from 'pg'
import { createJanitor, type Janitor } from '../src/services/janitor.ts'
import { openDatabase } from '../src/store/database.ts'
import { startLatchkey, type Started } from './contestants/latchkey-server.ts'
import { addExpired, countExpired, rowsEach } from './expired-logins.ts'
import { pidsOf, type Entry } from './contestant.ts'
import { giveWay, pause, resume } from './pinning.ts'
import { enter, runWindow, warmUp, type Lane, type Stage } from './lane.ts'
import { rowsOfUser, tokenRow } from './contestants/latchkey.ts'
import type { Measured } from './load-protocol.ts'
import { provenance } from './machine.ts'
import { factor, grouped, table, times, whole } from './markdown.ts'
import type { Part } from './parts.ts'
import { cpuEach, median, rateOf } from './result.ts'

const signInsPerSecond = 500
/** Seconds between rounds, so that there is always one. */
const restless = 1
const own = { log: fastify().log, interval: 0, longestLifetime: 3600, auditExpire: 0 }

interface Round {
  without: Measured
  beside: Measured
  /** Rows that were removed while the window and its warm-up lasted, for each second of it. */
  removed: number
  /** And by a janitor that took no rests, after the window. */
  hurried: number
}

export async function measureJanitor(stage: Stage): Promise<Part[]> {
  const { rounds: count, warmUp: before, seconds } = stage.options
  // Who asks for tokens is elsewhere, and not held up where PostgreSQL is busy.
  if (stage.cluster.postmasterPid !== undefined) giveWay(stage.cluster.postmasterPid)
  const databases: string[] = []
  const lanes: Lane[][] = []
  for (const interval of [0, restless]) lanes.push(await enter(entryWith(interval, databases), stage))
  const client = new Client({ connectionString: databases[1] })
  // What went wrong before is to be seen, and not that the database was stopped after it.
  client.on('error', () => {})
  await client.connect()
  const database = await openDatabase({ url: databases[1]! })
  const hurrying = createJanitor({ database, ...own })

  const tableRows: string[][] = []
  const all: Round[] = []
  for (const [index, still] of lanes[0]!.entries()) {
    const busy = lanes[1]![index]!
    for (const lane of [still, busy, still, busy]) await warmUp(lane, stage)
    const rate = Math.round(still.fastest / 20) * 10
    const rounds: Round[] = []
    for (let round = 1; round <= count; round++) {
      console.log(`round ${round} of ${count}, without a janitor and with`)
      const window = { warmUp: before, seconds, rate }
      const without = fine(await runWindow(still, stage, window))
      // More than it can remove until the end, if it rests.
      await addExpired(client, (before + seconds + 5) * signInsPerSecond * 4)
      const had = await countExpired(client)
      const began = performance.now()
      const beside = fine(await runWindow(busy, stage, window))
      const lasted = (performance.now() - began) / 1000
      const removed = (had - (await countExpired(client))) / lasted
      // It would take the time in which it stands still for its own, and hurry in the next window.
      await untilDone(busy, client)
      await addExpired(client, signInsPerSecond)
      rounds.push({ without, beside, removed, hurried: await speedOf(hurrying) })
    }
    tableRows.push(...rowsFor(still.series.row.endpoint, rate, rounds))
    all.push(...rounds)
  }
  await database.close()
  await client.end()

  const columns = [
    'request',
    'requests/s',
    'median time',
    '99th percentile',
    'CPU µs/request, with PostgreSQL',
  ]
  const text = [provenance(stage), table(columns, tableRows), keepsUp(all)].join('\n\n')
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

/** Lets the janitor of a server that stands still have its way with what is left. */
async function untilDone({ contestant }: Lane, client: Client): Promise<void> {
  const pids = pidsOf(contestant)
  resume(pids)
  while ((await countExpired(client)) > 0) await sleep(200)
  pause(pids)
}

/** Rows a second, until there is nothing left. */
async function speedOf(janitor: Janitor): Promise<number> {
  const began = performance.now()
  const counts = Object.values(await janitor.round())
  return (1000 * counts.reduce((sum, count) => sum + count, 0)) / (performance.now() - began)
}

function keepsUp(rounds: readonly Round[]): string {
  const [rested, hurried] = [
    median(rounds.map(({ removed }) => removed)),
    median(rounds.map((one) => one.hurried)),
  ]
  return [
    `While at work, with its rests, the janitor removed ${grouped(rested)} rows a second; ${signInsPerSecond} sign-ins a second make`,
    `${grouped(signInsPerSecond * rowsEach)} (${rowsEach} each). Without rests one removed ${grouped(hurried)} a second, with nothing else to do.`,
  ].join('\n')
}
