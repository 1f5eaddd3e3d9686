/**
 * A PostgreSQL as operators have it: the system's own programs, with passwords, on a port. Its tools (pg_dump, psql) fit
 * it, which those of a distribution need not do with the embedded one. Where there is none, tests that need one are
 * skipped (`noPostgres`), and the run says so.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { atEndOfFile, temporaryDirectory } from './cleanup.ts'
import { freePort } from './settings.ts'
import { until } from './until.ts'

const DEBIAN = '/usr/lib/postgresql'
const bin = await findBin()

if (bin === undefined) {
  const how = `install one (apt-get install postgresql), or name its programs' folder by POSTGRES_BIN`
  process.stderr.write(
    `\n!!! SKIPPED: no PostgreSQL in ${DEBIAN}, so no backup is made or restored: ${how}.\n\n`,
  )
}

/** For `describe.skipIf`. */
export const noPostgres = bin === undefined

export interface SystemPostgres {
  /** Connection string of its superuser. */
  url: string
  port: number
  /** For commands: its own tools come first. */
  PATH: string
}

/** Starts one until the end of the file. */
export async function startSystemPostgres(): Promise<SystemPostgres> {
  const directory = await temporaryDirectory()
  const identity = process.getuid?.() === 0 ? { uid: unprivileged('-u'), gid: unprivileged('-g') } : {}
  if (identity.uid !== undefined) await chown(directory, identity.uid, identity.gid)
  const password = randomBytes(16).toString('hex')
  const passwordFile = join(directory, 'password')
  await writeFile(passwordFile, password, { mode: 0o644 })
  const data = join(directory, 'data')
  const options = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--no-sync']
  execFileSync(join(bin!, 'initdb'), ['-D', data, ...options], { ...identity, stdio: 'pipe', cwd: directory })

  const port = await freePort()
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off']
  const child = spawn(
    join(bin!, 'postgres'),
    ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    { ...identity, stdio: 'ignore', cwd: directory },
  )
  const exit = once(child, 'exit')
  atEndOfFile(async () => {
    child.kill('SIGINT')
    await exit
  })
  const url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
  await until(async () => connect(url))
  return { url, port, PATH: `${bin}:${process.env['PATH']}` }
}

/** Throws while it does not answer. */
async function connect(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.end()
}

async function findBin(): Promise<string | undefined> {
  const named = process.env['POSTGRES_BIN']
  const versions = (await readdir(DEBIAN).catch(() => [])).toSorted((a, b) => Number(b) - Number(a))
  return [
    ...(named === undefined ? [] : [named]),
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
  ].find((folder) =>
    ['initdb', 'postgres', 'pg_dump', 'psql'].every(
      (program) => spawnSync(join(folder, program), ['--version']).status === 0,
    ),
  )
}

/** PostgreSQL refuses to run as root. */
function unprivileged(flag: '-u' | '-g'): number {
  const { status, stdout } = spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' })
  return status === 0 ? Number(stdout) : 65_534
}
