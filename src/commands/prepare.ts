/**
 * What a start does once for a database (migrations, SEED_FILE, the demo) is done by a process of its own, which ends with
 * it: MikroORM does that work, and the server would hold the room it takes for as long as it runs (docs/adr/0026).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Config, SettingValues } from '../config.ts'
import type { EmbeddedPostgres } from '../services/database/embedded-postgres.ts'
import { stdoutLog } from '../services/log-destination.ts'
import { missingMigrations } from '../store/migrate.ts'

/**
 * Has it done where migrations are missing; what else has changed since is left to the start itself. False where it
 * failed: that process has said why.
 */
export async function prepareApart(
  { DATABASE_URL, DATABASE_SCHEMA: schema }: Config,
  postgres: EmbeddedPostgres | undefined,
  port: number,
): Promise<boolean> {
  const url = postgres?.url ?? DATABASE_URL
  if ((await missingMigrations({ url, schema })).length === 0) return true
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1]!, 'prepare'], {
    env: { ...process.env, PORT: String(port) },
    stdio: 'inherit',
  })
  const [status] = (await once(child, 'exit')) as [number | null]
  return status === 0
}

/** Does it here. Throws what keeps a server from starting. */
export async function prepare(settings: SettingValues): Promise<void> {
  const { buildServer } = await import('../server.ts')
  const server = await buildServer(settings, { strays: false, logStream: stdoutLog() })
  try {
    await server.ready()
  } finally {
    await server.close()
  }
}
