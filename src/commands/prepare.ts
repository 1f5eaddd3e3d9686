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
import { onStopSignal, stopsWithin } from './signals.ts'

/** A failure was told by the process that prepares. What it had stored when it was stopped stays, and the next start goes on from there. */
export type Preparation = 'done' | 'failed' | 'stopped'

/** Has it done where migrations are missing; what else has changed since is left to the start itself. Who is asked to stop hands that on. */
export async function prepareApart(
  { DATABASE_URL, DATABASE_SCHEMA: schema }: Config,
  postgres: EmbeddedPostgres | undefined,
  port: number,
): Promise<Preparation> {
  const url = postgres?.url ?? DATABASE_URL
  if ((await missingMigrations({ url, schema })).length === 0) return 'done'
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, 'prepare'], {
    env: { ...process.env, PORT: String(port) },
    stdio: 'inherit',
  })
  let stopping = false
  const listenNoMore = onStopSignal(
    (signal) => {
      stopping = true
      child.kill(signal)
    },
    () => {
      child.kill('SIGKILL')
      process.exit(1)
    },
  )
  const [status] = (await once(child, 'exit')) as [number | null]
  listenNoMore()
  // Before it listens itself, a signal ends it.
  if (stopping && status === null) return 'stopped'
  if (status !== 0) return 'failed'
  return stopping ? 'stopped' : 'done'
}

/** Does it here. Throws what keeps a server from starting. */
export async function prepare(settings: SettingValues): Promise<void> {
  const { buildServer } = await import('../server.ts')
  const server = await buildServer(settings, { strays: false, logStream: stdoutLog() })
  let stopping = false
  onStopSignal(
    (signal) => {
      stopping = true
      server.log.info({ signal }, 'stopping')
      setTimeout(() => process.exit(1), stopsWithin(0)).unref()
      kernelOf(server).seeder.stop()
    },
    () => process.exit(1),
  )
  try {
    await server.ready()
  } catch (error) {
    if (!stopping) throw error
  } finally {
    await server.close()
  }
}
