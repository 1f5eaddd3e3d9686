// Owns which processor core a process runs on, and the life of every process that the benchmark starts.

import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, setPriority } from 'node:os'
import { childrenOf } from './cpu.ts'

export const serverCore = 0
export const otherCore = 1
/** All of them, as `taskset` lists them. */
export const everyCore = `0-${availableParallelism() - 1}`

/** One, or several as `taskset` lists them. */
export type Cores = number | string

/** Whether processes can be held on a core: two cores and a working `taskset`. */
export const canPin =
  availableParallelism() > 1 && spawnSync('taskset', ['-c', String(otherCore), 'true']).status === 0

const running = new Set<ChildProcess>()

export interface Launch {
  cores: Cores
  args: string[]
  env?: Record<string, string>
  cwd?: string
  stdio?: StdioOptions
}

/** Starts this very Node on its cores. `taskset` becomes the program it runs, so the pid is the server's own. */
export function launchNode(launch: Launch): ChildProcess {
  const command = [process.execPath, ...launch.args]
  const [file = '', ...args] = canPin ? ['taskset', '-c', String(launch.cores), ...command] : command
  const child = spawn(file, args, {
    cwd: launch.cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...launch.env },
    stdio: launch.stdio ?? ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Moves a process that somebody else started, and its children, to other cores; false if that is not allowed. */
export function pinFamily(pid: number, cores: Cores): boolean {
  if (!canPin) return false
  return [pid, ...childrenOf(pid)].every(
    (member) => spawnSync('taskset', ['-a', '-c', '-p', String(cores), String(member)]).status === 0,
  )
}

/** Lets others on its core go first, before a process and all that it starts. */
export function giveWay(pid: number): void {
  for (const member of [pid, ...childrenOf(pid)]) setPriority(member, 10)
}

/** A server that is not being measured is stopped, so that its timers and polls are in nobody's window. */
export function pause(pids: readonly number[]): void {
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
}

export function resume(pids: readonly number[]): void {
  for (const pid of pids) process.kill(pid, 'SIGCONT')
}

export async function endAll(): Promise<void> {
  await Promise.all([...running].map((child) => end(child)))
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  if (child.pid !== undefined) resume([child.pid, ...childrenOf(child.pid)])
  child.kill('SIGTERM')
  const deadline = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exited
  clearTimeout(deadline)
}
