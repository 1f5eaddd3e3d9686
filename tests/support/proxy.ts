/** A proxy in front of the server, for a test file: a program of its own. What it is told is for the files that know it. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { atEndOfFile } from './cleanup.ts'
import { until } from './until.ts'

export interface Proxy {
  name: string
  /** For `describe.skipIf`. */
  absent: boolean
  /** Runs it with TLS on `port` of localhost, until the end of the file; returns what reads its log. */
  start(port: number, plainPort: number, servers: readonly [number, number]): Promise<() => string>
}

export const PATH = `${process.env['PATH']}:/usr/sbin:/usr/local/sbin`

/** Whether it, and openssl, do not run here, which the run of the tests then says; `version` makes it tell that. */
export function isAbsent(command: string, version: string, how: string): boolean {
  const programs = [[command, version] as const, ['openssl', 'version'] as const]
  const absent = programs.some(
    ([program, argument]) => spawnSync(program, [argument], { env: { PATH } }).status !== 0,
  )
  if (absent)
    process.stderr.write(
      `\n!!! SKIPPED: no ${command} or no openssl, so nothing is tested behind it: ${how}.\n\n`,
    )
  return absent
}

/** Until the end of the file; comes back when it listens at `port`, with what reads its stderr. */
export async function runProxy(
  command: string,
  args: readonly string[],
  port: number,
  home: string,
  identity: { uid?: number; gid?: number } = {},
): Promise<() => string> {
  const child = spawn(command, args, {
    ...identity,
    env: { PATH, HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const lines: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(text))
  const exit = once(child, 'exit')
  atEndOfFile(async () => {
    child.kill('SIGTERM')
    await exit
  })
  const knock = async (): Promise<void> => {
    if (child.exitCode !== null) throw new Error(`${command} ended: ${lines.join('')}`)
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.destroy()
  }
  await until(knock)
  return () => lines.join('')
}
