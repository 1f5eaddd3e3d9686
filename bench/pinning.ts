// Owns which processor core a process runs on, and the life of every process that the benchmark starts.

import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { childrenOf } from './cpu.ts'

export const serverCore = 0
export const otherCore = 1

/** Whether processes can be held on a core: two cores and a working `taskset`. */
export const canPin =
  availableParallelism() > 1 && spawnSync('taskset', ['-c', String(otherCore), 'true']).status === 0

const running = new Set<ChildProcess>()

export interface Launch {
  core: number
  args: string[]
  env?: Record<string, string>
  cwd?: string
  stdio?: StdioOptions
}

/** Starts this very Node on a core. `taskset` becomes the program it runs, so the pid is the server's own. */
export function launchNode(launch: Launch): ChildProcess {
  const command = [process.execPath, ...launch.args]
  const [file = '', ...args] = canPin ? ['taskset', '-c', String(launch.core), ...command] : command
  const child = spawn(file, args, {
    cwd: launch.cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...launch.env },
    stdio: launch.stdio ?? ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Moves a process that somebody else started, and its children, to a core; false if that is not allowed. */
export function pinFamily(pid: number, core: number): boolean {
  if (!canPin) return false
  return [pid, ...childrenOf(pid)].every(
    (member) => spawnSync('taskset', ['-a', '-c', '-p', String(core), String(member)]).status === 0,
  )
}

/** A server that is not being measured is stopped, so that its timers and polls are in nobody's window. */
export function pause(child: ChildProcess): void {
  child.kill('SIGSTOP')
}

export function resume(child: ChildProcess): void {
  child.kill('SIGCONT')
}

export async function endAll(): Promise<void> {
  await Promise.all([...running].map((child) => end(child)))
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGCONT')
  child.kill('SIGTERM')
  const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exited
  clearTimeout(deadline)
}
