/**
 * What a start does once for a database (migrations, SEED_FILE, the demo) is done by a process of its own, which ends with
 * it: MikroORM does that work, and the server would hold the room it takes for as long as it runs (docs/adr/0026).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Config, SettingValues } from '../config.ts'
import { kernelOf } from '../http/kernel-of.ts'
import type { EmbeddedPostgres } from '../services/database/embedded-postgres.ts'
import { stdoutLog } from '../services/log-destination.ts'
import { missingMigrations } from '../store/migrate.ts'
import { MORE, onStopSignal, stopsWithin } from './signals.ts'

/** A failure was told by the process that prepares, unless it was killed. What it had stored when it was stopped stays, and the next start goes on from there. */
export type Preparation = 'done' | 'failed' | 'stopped'

/** Has it done where migrations are missing; what else has changed since is left to the start itself. A SIGTERM or SIGINT that comes meanwhile is handed on. */
export async function prepareApart(
  { DATABASE_URL, DATABASE_SCHEMA: schema }: Config,
  postgres: EmbeddedPostgres | undefined,
  port: number,
): Promise<Preparation> {
  const url = postgres?.url ?? DATABASE_URL
  if ((await missingMigrations({ url, schema })).length === 0) return 'done'
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, 'prepare'], {
    env: { ...process.env, PORT: String(port) },
    // By the channel the child learns that this process is gone.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  let stopping = false
  const listenNoMore = onStopSignal(
    (signal) => {
      stopping = true
      child.kill(signal)
      setTimeout(() => child.kill('SIGKILL'), stopsWithin(0) + MORE).unref()
    },
    () => {
      child.kill('SIGKILL')
      process.exit(1)
    },
  )
  const [status, by] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  // The child, before it listens, is ended by the signal. Who stops goes on listening: the same signal may come once more.
  if (stopping && (status === 0 || by === 'SIGTERM' || by === 'SIGINT')) return 'stopped'
  listenNoMore()
  return status === 0 ? 'done' : 'failed'
}

/** Does it here. Throws what keeps a server from starting. */
export async function prepare(settings: SettingValues): Promise<void> {
  const { buildServer } = await import('../server.ts')
  const server = await buildServer(settings, { strays: false, logStream: stdoutLog() })
  let stopping = false
  function stop(about: object): void {
    if (stopping) return
    stopping = true
    server.log.info(about, 'stopping')
    setTimeout(() => process.exit(1), stopsWithin(0)).unref()
    kernelOf(server).seeder.stop()
  }
  onStopSignal(
    (signal) => stop({ signal }),
    () => process.exit(1),
  )
  onceLeftAlone(() => stop({ reason: 'the process that began this has ended' }))
  try {
    await server.ready()
  } catch (error) {
    if (!stopping) throw error
  } finally {
    await server.close()
  }
}

/** When whoever began this is gone, also by a signal that nobody hears. Does not keep this process from ending. */
function onceLeftAlone(tell: () => void): void {
  // Undefined where nobody began it so.
  const { connected } = process as { readonly connected?: boolean }
  if (connected === false) return tell()
  process.once('disconnect', tell)
  process.channel?.unref()
}
