/**
 * Starts a postmaster under a shell that outlives us: the shell starts PostgreSQL again when it dies, at the same
 * place; it waits for the last hold to go, shuts PostgreSQL down and removes the socket directory. Both are in a session
 * of their own, so Ctrl-C on our terminal does not reach them.
 */
import { spawn } from 'node:child_process'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { closeSync, constants, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environment, identity, run } from './account.ts'
import type { Binaries } from './binaries.ts'
import { type Hold, holdWith, pipePath, servingPath } from './hold.ts'
import { logPath } from './log.ts'
import { type Place, canReach } from './place.ts'

/** sun_path has 108 bytes on Linux and 104 on macOS, the last one is NUL. */
const socketPathLimit = process.platform === 'linux' ? 107 : 103
const socketName = '.s.PGSQL.5432'

/**
 * $1 log, $2 socket directory, then the command. Signals are PostgreSQL's to handle; SIGINT is its fast
 * shutdown, asked for again and again because a postmaster that has only just begun is still deaf to it.
 * A start after a crash may fail for as long as its old processes live, or the disk is full: so the pauses grow.
 */
const script = `
log=$1 directory=$2; shift 2
trap '' HUP INT QUIT TERM
umask 077
exec 3<&0 </dev/null
until_ended_or_left() {
  signal=$1 job=$2
  { read -r _ <&3; rm -f "$directory/serving"; while kill "-$signal" "$job"; do sleep 1; done; } &
  leash=$!
  wait "$job"
  kill -KILL "$leash"
  wait "$leash"
}
pause=1
while :; do
  [ "$(wc -c <"$log" || echo 0)" -lt 1048576 ] || : >"$log"
  began=$(date +%s)
  "$@" >>"$log" 2>&1 3<&- &
  until_ended_or_left INT "$!"
  [ -e "$directory/serving" ] || break
  [ "$(($(date +%s) - began))" -lt 60 ] || pause=1
  sleep "$pause" 3<&- &
  until_ended_or_left KILL "$!"
  [ -e "$directory/serving" ] || break
  pause=$((pause < 16 ? pause * 2 : 16))
done
exec 3<&-
rm -rf "$directory"
`

export interface Supervisor {
  socketDir: string
  hold: Hold
  /** It came up: from now on it is started again when it dies. */
  keepServing(): Promise<void>
  /** PostgreSQL has ended, or never came up. */
  ended(): boolean
}

/**
 * Starts a postmaster and returns at once; whether it came up, postmaster.pid says.
 * @throws Error when there is no directory for the socket
 */
export async function launch(
  place: Place,
  { postgres }: Binaries,
  settings: Record<string, string>,
): Promise<Supervisor> {
  const socketDir = await makeSocketDir(place)
  const pipe = pipePath(socketDir)
  const { status, output } = await run(place.account, 'mkfifo', ['-m', '600', pipe])
  if (status !== 0) throw new Error(`The embedded PostgreSQL needs a named pipe: ${output}`)
  const command = [postgres, '-D', place.cluster, '-k', socketDir, ...configure(settings)]
  const writeEnd = openSync(pipe, constants.O_RDWR)
  const readEnd = openSync(pipe, constants.O_RDONLY)
  const shell = spawn('/bin/sh', ['-c', script, 'sh', logPath(place.cluster), socketDir, ...command], {
    ...identity(place.account),
    cwd: '/',
    env: environment,
    detached: true,
    stdio: [readEnd, 'ignore', 'ignore'],
  })
  closeSync(readEnd)
  let ended = false
  const end = () => void (ended = true)
  shell.once('exit', end).once('error', end).unref()
  return {
    socketDir,
    hold: holdWith(writeEnd, socketDir),
    // Not through a link: the directory belongs to the account, and we may be root.
    keepServing: async () => writeFile(servingPath(socketDir), String(shell.pid), { flag: 'wx' }),
    ended: () => ended,
  }
}

/**
 * The log keeps what concerns the server as a whole: errors of statements are ours to report, and would quote
 * values.
 */
function configure(settings: Record<string, string>): string[] {
  const all = {
    listen_addresses: '',
    port: '5432',
    unix_socket_permissions: '0700',
    max_connections: '100',
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    log_min_messages: 'log',
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    ...settings,
  }
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function makeSocketDir({ account }: Place): Promise<string> {
  for (const parent of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    const longest = Buffer.byteLength(join(parent, 'latchkey-XXXXXX', socketName))
    if (longest > socketPathLimit || !(await canReach(account, parent))) continue
    try {
      const directory = await mkdtemp(join(parent, 'latchkey-'))
      if (account.uid === undefined || account.gid === undefined) return directory
      await chown(directory, account.uid, account.gid).catch(async (error: unknown) => {
        await rm(directory, { recursive: true, force: true })
        throw error
      })
      return directory
    } catch {
      continue
    }
  }
  throw new Error(
    `The embedded PostgreSQL needs a directory for its socket, whose path may have ${socketPathLimit} bytes, ` +
      `and finds none in ${tmpdir()} or /tmp: set TMPDIR.`,
  )
}
