/** The ways in which a PostgreSQL of a test's own stops answering for a while, each with its end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { execute } from './connection.ts'
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.ts'
import { createOwnPostgres, type OwnPostgres } from './own-postgres.ts'
import { temporaryDirectory } from './cleanup.ts'

export interface Ground {
  postgres: OwnPostgres
  /** Between the servers and it. */
  proxy: DatabaseProxy
}

/** Of `seconds`; resolves when it is over. */
export type Stall = (ground: Ground, seconds: number) => Promise<void>

/** The pool that the servers are to have on it. */
export const POOL = 10

export async function createGround(): Promise<Ground> {
  const postgres = await createOwnPostgres(await temporaryDirectory(), { begins: 'migrated' })
  await postgres.start({})
  return { postgres, proxy: await startDatabaseProxy(postgres.url) }
}

const OURS = `from pg_stat_activity where application_name = 'latchkey'`

/** Those that serve our servers, at once and by their ids. */
async function signalBackends({ postgres }: Ground, signal: NodeJS.Signals): Promise<void> {
  const backends = await execute<{ pid: number }>(postgres.url, `select pid ${OURS}`)
  for (const { pid } of backends) process.kill(pid, signal)
}

export const STALLS: Readonly<Record<string, Stall>> = {
  /** A network that has lost the other side, and finds it again. */
  async 'nothing is passed on'({ proxy }, seconds) {
    proxy.stall()
    await sleep(seconds * 1000)
    await proxy.restore()
  },
  /** What it is asked is done. */
  async 'its answers are not passed on'({ proxy }, seconds) {
    proxy.stall('answers')
    await sleep(seconds * 1000)
    await proxy.restore()
  },
  async 'its backends stand still'(ground, seconds) {
    await signalBackends(ground, 'SIGSTOP')
    await sleep(seconds * 1000)
    await signalBackends(ground, 'SIGCONT')
  },
  async 'a table is locked'({ postgres }, seconds) {
    const holder = new Client({ connectionString: postgres.url })
    await holder.connect()
    await holder.query('begin')
    // Who reads goes on, and then writes.
    await holder.query('lock table refresh_tokens in share mode')
    await sleep(seconds * 1000)
    await holder.end()
  },
  /** Commits wait for one that is not there. */
  async 'its synchronous standby is away'({ postgres }, seconds) {
    await execute(postgres.url, `alter system set synchronous_standby_names = 'nobody'`)
    await execute(postgres.url, 'select pg_reload_conf()')
    await sleep(seconds * 1000)
    await execute(postgres.url, 'alter system reset synchronous_standby_names')
    await execute(postgres.url, 'select pg_reload_conf()')
  },
  /** In the middle of statements, before they are done and after. */
  async 'connections are cut'({ proxy }, seconds) {
    const end = Date.now() + seconds * 1000
    for (let turn = 0; Date.now() < end; turn++) {
      proxy.cutAt('refresh-token-rotate', turn % 2 === 0 ? 'after' : 'before')
      await sleep(50)
      if (turn % 20 !== 0) continue
      await proxy.cut()
      await sleep(500)
      await proxy.restore()
    }
  },
  async 'it is killed and started again'({ postgres }, seconds) {
    await postgres.stop('SIGQUIT')
    await sleep(seconds * 1000)
    await postgres.start()
  },
}

/** Looks all the time how many backends serve our servers. */
export function countBackends({ postgres }: Ground): { most(): number; stop(): Promise<void> } {
  const state = { most: 0, stopped: false }
  async function look(): Promise<void> {
    const client = new Client({ connectionString: postgres.url })
    client.on('error', () => {})
    await client.connect()
    try {
      while (!state.stopped) {
        const { rows } = await client.query<{ count: number }>(`select count(*)::int as count ${OURS}`)
        state.most = Math.max(state.most, rows[0]!.count)
        await sleep(20)
      }
    } finally {
      await client.end()
    }
  }
  async function go(): Promise<void> {
    while (!state.stopped) await look().catch(async () => sleep(100))
  }
  const looking = go()
  return {
    most: () => state.most,
    async stop() {
      state.stopped = true
      await looking
    },
  }
}
