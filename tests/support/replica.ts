/** A primary and a streaming replica of it, which logs every statement that it gets; what reaches it may be cut or led elsewhere. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryDirectory } from './cleanup.ts'
import { execute } from './connection.ts'
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.ts'
import { createOwnPostgres, type OwnPostgres } from './own-postgres.ts'
import { until } from './until.ts'

export interface Replicated {
  primary: OwnPostgres
  standby: OwnPostgres
  /** In front of the replica. */
  proxy: DatabaseProxy
  /** The replica has all that the primary has. */
  caughtUp(): Promise<void>
  /** It goes on receiving, and shows nothing of it. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** What it was asked by us so far: names of prepared statements, or the text of others. */
  asked(): Promise<string[]>
}

const LOGGED = { logging_collector: 'on', log_directory: 'log', log_statement: 'all', log_line_prefix: '%a ' }

/** Its statements may be cancelled as soon as they are in the way. */
const READING = {
  ...LOGGED,
  max_standby_streaming_delay: '0',
  default_transaction_isolation: 'read committed',
}

export async function startReplicated(): Promise<Replicated> {
  const primary = await createOwnPostgres(await temporaryDirectory(), { begins: 'anew' })
  const standby = await createOwnPostgres(await temporaryDirectory(), { begins: 'nothing' })
  await primary.copyTo(standby)
  await standby.sh('touch "$1/standby.signal"', standby.cluster)
  await primary.start({ fsync: 'off' })
  await standby.start({
    ...READING,
    fsync: 'off',
    primary_conninfo: `host=${primary.socketDir} user=postgres application_name=standby`,
  })
  const proxy = await startDatabaseProxy(standby.url)

  async function asked(): Promise<string[]> {
    const directory = join(standby.cluster, 'log')
    const names = await readdir(directory)
    const texts = await Promise.all(names.map(async (name) => readFile(join(directory, name), 'utf8')))
    const lines = texts.join('').matchAll(/^latchkey LOG: {2}(?:execute ([^:]+)|statement): (.*)$/gm)
    return [...lines].map(([, name = '<unnamed>', text = '']) => (name === '<unnamed>' ? text : name))
  }

  return {
    primary,
    standby,
    proxy,
    asked,
    async caughtUp() {
      const [row] = await execute<{ at: string }>(
        primary.url,
        'select pg_current_wal_insert_lsn()::text as at',
      )
      await until(async () => {
        const [has] = await execute<{ has: boolean }>(
          standby.url,
          `select pg_last_wal_replay_lsn() >= '${row!.at}' as has`,
        )
        if (!has!.has) throw new Error('the replica is behind')
      })
    },
    pause: async () => void (await execute(standby.url, 'select pg_wal_replay_pause()')),
    resume: async () => void (await execute(standby.url, 'select pg_wal_replay_resume()')),
  }
}
