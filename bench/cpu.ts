// Owns the accounting from /proc: CPU time of one process, of a PostgreSQL cluster and of a core,
// and resident memory.

import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

interface Stat {
  name: string
  parent: number
  /** User and system time of all its threads, those that have ended included; in microseconds. */
  own: number
  /** The same of its children that have ended and were waited for. */
  reaped: number
}

/** `/proc/<pid>/stat`, proc_pid_stat(5), or that of a thread, `<pid>/task/<thread>`. The name stands in parentheses and may contain anything. */
export function readStat(pid: number | string): Stat {
  const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const nameEnd = line.lastIndexOf(')')
  const fields = line.slice(nameEnd + 2).split(' ')
  const micros = (index: number) => (Number(fields[index]) * 1_000_000) / ticksPerSecond
  return {
    name: line.slice(line.indexOf('(') + 1, nameEnd),
    parent: Number(fields[1]),
    own: micros(11) + micros(12),
    reaped: micros(13) + micros(14),
  }
}

/** Microseconds of CPU that a process has used so far. */
export function cpuOf(pid: number): number {
  return readStat(pid).own
}

/** What V8's own threads have used of that: those that compile, and collect garbage. */
export function cpuOfWorkers(pid: number): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => readStat(`${pid}/task/${thread}`))
    .reduce((sum, { name, own }) => sum + (name.endsWith('V8Worker') ? own : 0), 0)
}

/**
 * Microseconds of CPU of a postmaster, its living backends and workers, and those that have ended: the
 * difference of two calls is right also when backends come and go in between.
 */
export function cpuOfCluster(postmaster: number): number {
  const { own, reaped } = readStat(postmaster)
  return childrenOf(postmaster).reduce((sum, pid) => sum + (statIfAlive(pid)?.own ?? 0), own + reaped)
}

export function childrenOf(pid: number): number[] {
  const processes = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return processes.filter((candidate) => statIfAlive(candidate)?.parent === pid)
}

function statIfAlive(pid: number): Stat | undefined {
  try {
    return readStat(pid)
  } catch {
    return undefined
  }
}

/** Microseconds that a core has worked so far, for whomever; what the hypervisor took away counts as work. */
export function busyOf(core: number): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(readFileSync('/proc/stat', 'latin1'))?.[1]
  if (line === undefined) throw new Error(`there is no core ${core}`)
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(' ').map(Number)
  return ((user + nice + system + irq + softirq + steal) * 1_000_000) / ticksPerSecond
}

/** Resident memory of a process in MiB. */
export function residentMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024
}
