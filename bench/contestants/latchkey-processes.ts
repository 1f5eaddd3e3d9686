// Owns Latchkey as several processes on one database: WORKERS of one server, and two servers side by side.

import type { Contestant, Entry, Ground, Row } from '../contestant.ts'
import { childrenOf } from '../cpu.ts'
import { everyCore } from '../pinning.ts'
import { introspectionRow, rowsOfUser, tokenRow } from './latchkey.ts'
import { startLatchkey, toldOfClients, type Started } from './latchkey-server.ts'

/** Of each process, so that all that there are in a run fit into what PostgreSQL takes by default. */
const settings = { DATABASE_POOL_SIZE: '5', ...toldOfClients }

export const processes: readonly Entry[] = [
  ...[1, 2, 4].map((count) => ({
    name: `WORKERS=${count}`,
    enter: async (ground: Ground) => ({
      ...(await enterWith(await startWorkers(ground, `workers_${count}`, count), ground)),
      serving: count,
    }),
  })),
  ...[2, 4].map((count) => ({
    name: `WORKERS=${count}, as few as can`,
    enter: async (ground: Ground) => ({
      ...(await enterWith(
        await startWorkers(ground, `few_${count}`, count, { WORKERS_SPREAD: 'false' }),
        ground,
      )),
      serving: count,
    }),
  })),
  {
    name: 'two servers',
    enter: async (ground: Ground) => {
      const first = await startWorkers(ground, 'servers', 1)
      const second = await first.startAnother()
      const both = { pids: [first.pid, second.pid], ports: [first.port, second.port], serving: 2 }
      return { ...(await enterWith(first, ground)), ...both }
    },
  },
]

async function startWorkers(
  ground: Ground,
  database: string,
  count: number,
  more: Record<string, string> = {},
): Promise<Started> {
  const isReady = (output: string) => output.split('"ready"').length > count
  const workers = { ...settings, WORKERS: String(count), ...more }
  return startLatchkey(ground, database, workers, { cores: everyCore, isReady })
}

async function enterWith(server: Started, ground: Ground): Promise<Contestant> {
  const client = await server.createClient('jwt')
  const machine = tokenRow('JWT', 'jwt', client)
  const rows: Row[] = [
    machine,
    { ...machine, label: `${machine.label}, a connection for each`, closing: true },
    introspectionRow('JWT', server.port, 'jwt', client, ground.repeatedTokens),
    ...(await rowsOfUser(server, await server.createUser('bench'), 'jwt', 'ES256', [])),
  ]
  return { ...server, rows, pids: [server.pid, ...childrenOf(server.pid)] }
}
