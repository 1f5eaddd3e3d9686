// Owns the question what one operation costs: CPU of the server and of PostgreSQL, bytes of its log, and rows. One
// operation after the other, eight at a time, right after a checkpoint; what an idle server takes is taken off.

import { setTimeout as sleep } from 'node:timers/promises'
import { startLatchkey } from './contestants/latchkey-server.ts'
import { cpuOf, cpuOfCluster } from './cpu.ts'
import type { Costs } from './figures.ts'
import type { Stage } from './lane.ts'
import { provenance } from './machine.ts'
import { grouped, table, whole } from './markdown.ts'
import { operationsOf, runAll, type Operation } from './operations.ts'
import type { Part } from './parts.ts'
import { otherCore, pinFamily } from './pinning.ts'
import { openAccount, type Account, type Written } from './wal.ts'

interface Spent {
  server: number
  postgres: number
}

/** Milliseconds until the audit log has what happened. */
const AUDITED = 1500
const IDLE = 5000

export async function measureCosts(stage: Stage): Promise<Part[]> {
  const { cluster, options } = stage
  const { template } = options
  // This process sends the requests: it stays off the server's core.
  pinFamily(process.pid, otherCore)
  const ground = {
    nodeArgs: [],
    createDatabase: async (name: string) => cluster.createDatabase(name, template),
  }
  const server = await startLatchkey(ground, 'costs', { OIDC_JANITOR_INTERVAL: '0' })
  const account = await openAccount(server.databaseUrl)
  const spent = (): Spent => ({
    server: cpuOf(server.pid),
    postgres: cluster.postmasterPid === undefined ? Number.NaN : cpuOfCluster(cluster.postmasterPid),
  })

  const operations = await operationsOf(server)
  for (const { prepare } of operations) await runAll(await prepare(200))
  await sleep(AUDITED)
  const idle = since(spent(), await after(IDLE, spent))

  const costs: Record<string, Costs> = {}
  const rows: string[][] = []
  for (const operation of operations) {
    console.log(`  ${operation.name}`)
    const [cost, written] = await measure(operation, account, spent, idle)
    costs[operation.name] = cost
    rows.push([operation.name, ...cells(cost), rowsOf(written, operation.count)])
  }
  await account.close()
  const columns = [
    'operation',
    'CPU µs: server',
    'PostgreSQL',
    'transactions',
    'WAL bytes',
    'of that full pages',
    'WAL syncs',
    'tables',
  ]
  const text = `${provenance(stage, 'eight at a time')}\n\n${table(columns, rows)}`
  return [
    template === undefined
      ? { page: 'capacity.md', name: 'costs', text, figures: { costs } }
      : { page: 'capacity.md', name: 'costs-large', text, figures: { costsLarge: costs } },
  ]
}

async function measure(
  { count, prepare }: Operation,
  account: Account,
  spent: () => Spent,
  idle: Spent,
): Promise<[Costs, Written]> {
  const work = await prepare(count)
  await sleep(AUDITED)
  const finish = await account.begin()
  const [before, began] = [spent(), performance.now()]
  await runAll(work)
  await sleep(AUDITED)
  const used = since(before, spent())
  const share = (performance.now() - began) / IDLE
  const written = await finish()
  const each = (value: number): number => value / count
  const cost = {
    server: each(used.server - idle.server * share),
    postgres: each(used.postgres - idle.postgres * share),
    transactions: each(written.transactions),
    wal: each(written.bytes),
    pages: each(written.pages),
    syncs: each(written.syncs),
  }
  return [cost, written]
}

function cells({ server, postgres, transactions, wal, pages, syncs }: Costs): string[] {
  return [
    whole(server),
    whole(postgres),
    transactions.toFixed(1),
    grouped(wal),
    pages.toFixed(2),
    syncs.toFixed(2),
  ]
}

/** Such as `authorizations +1`; what is below a twentieth of a row each is left out. */
function rowsOf({ rows }: Written, count: number): string {
  return Object.entries(rows)
    .map(([table, [inserted, updated, deleted]]) => {
      const counts = [['+', inserted], ['~', updated], ['−', deleted]] as const // prettier-ignore
      const told = counts.filter(([, rows]) => rows / count >= 0.05)
      return told.length > 0
        ? `${table} ${told.map(([sign, rows]) => `${sign}${short(rows / count)}`).join(' ')}`
        : ''
    })
    .filter((one) => one !== '')
    .join(', ')
}

function short(value: number): string {
  return String(Number(value.toFixed(1)))
}

function since(before: Spent, now: Spent): Spent {
  return { server: now.server - before.server, postgres: now.postgres - before.postgres }
}

async function after<T>(milliseconds: number, then: () => T): Promise<T> {
  await sleep(milliseconds)
  return then()
}
