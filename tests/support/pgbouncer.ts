/**
 * PgBouncer in transaction mode in front of the tests' PostgreSQL, with the configuration that `deploy/pgbouncer.ini` gives
 * operators. Where there is none, what needs it is skipped, and the run says so.
 */
import { spawnSync } from 'node:child_process'
import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chooseAccount, identity } from '../../src/services/database/embedded-postgres/account.ts'
import { temporaryDirectory } from './cleanup.ts'
import { deployed } from './deployed.ts'
import { PATH, runProxy } from './proxy.ts'
import { freePort } from './settings.ts'

const PGBOUNCER = process.env['PGBOUNCER'] ?? 'pgbouncer'
/** Of PostgreSQL, for all: so few that each connection of ours gets now this one and now that. */
export const SERVER_CONNECTIONS = 3

const { status, stdout } = spawnSync(PGBOUNCER, ['--version'], { env: { PATH }, encoding: 'utf8' })
const version = /PgBouncer (\d+)\.(\d+)/.exec(stdout ?? '')
const [major, minor] = [Number(version?.[1]), Number(version?.[2])]

/** For `describe.skipIf`. */
export const noPgbouncer = status !== 0
/** From 1.21 on it keeps prepared statements where it is told to. */
export const keeps = !noPgbouncer && (major > 1 || minor >= 21)

if (noPgbouncer)
  process.stderr.write(
    `\n!!! SKIPPED: no ${PGBOUNCER}, so nothing is tested behind it: install it (apt-get install pgbouncer), or name it by PGBOUNCER.\n\n`,
  )
else if (!keeps)
  process.stderr.write(
    `\n!!! SKIPPED: PgBouncer ${major}.${minor} cannot keep prepared statements, 1.21 can: tested is DATABASE_PREPARE=false.\n\n`,
  )

/** Until the end of the file; returns the connection string of the same database through it. */
export async function startPgbouncer(upstream: string, { prepared }: { prepared: boolean }): Promise<string> {
  const { pathname, searchParams, hostname, port: upstreamPort } = new URL(upstream)
  const [name, host] = [pathname.slice(1), searchParams.get('host') ?? hostname]
  const port = await freePort()
  const line = 'max_prepared_statements = 200'
  const configuration = await deployed('pgbouncer.ini', [
    [
      'latchkey = host=127.0.0.1 port=5432',
      `${name} = host=${host} port=${upstreamPort || 5432} user=postgres`,
    ],
    ['listen_port = 6432', `listen_port = ${port}\nunix_socket_dir =`],
    ['auth_type = scram-sha-256', 'auth_type = any'],
    ['auth_file = /etc/pgbouncer/userlist.txt', ''],
    ['default_pool_size = 20', `default_pool_size = ${SERVER_CONNECTIONS}`],
    [line, prepared ? line : keeps ? 'max_prepared_statements = 0' : ''],
  ])
  const directory = await temporaryDirectory()
  const file = join(directory, 'pgbouncer.ini')
  await writeFile(file, configuration)
  // It refuses to run as root, as PostgreSQL does.
  const account = await chooseAccount()
  if (account.uid !== undefined) await chown(directory, account.uid, account.gid!)
  await runProxy(PGBOUNCER, [file], port, directory, identity(account))
  return `postgresql://postgres@127.0.0.1:${port}/${name}`
}
