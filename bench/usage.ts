// Owns what a window cost: every process's CPU time, read at the two instants between which requests are counted.

import { busyOf, cpuOf, cpuOfCluster } from './cpu.ts'
import type { Run, Usage } from './load-protocol.ts'

export interface Sample {
  at: number
  server: number
  postgres: number | undefined
  load: number
  cores: number | undefined
}

/** Called in the load generator: it is the process whose own time is the load's. */
export function sample({ serverPid, postmasterPid, cores }: Run): Sample {
  return {
    at: performance.now() * 1000,
    server: cpuOf(serverPid),
    postgres: postmasterPid === undefined ? undefined : cpuOfCluster(postmasterPid),
    load: cpuOf(process.pid),
    cores: cores?.reduce((sum, core) => sum + busyOf(core), 0),
  }
}

export function usedBetween(before: Sample, after: Sample): Usage {
  const between = (what: 'at' | 'server' | 'load') => after[what] - before[what]
  const difference = (what: 'postgres' | 'cores') =>
    after[what] === undefined || before[what] === undefined ? undefined : after[what] - before[what]
  const [elapsed, serverCpu, loadCpu] = [between('at'), between('server'), between('load')]
  const [postgresCpu, busy] = [difference('postgres'), difference('cores')]
  const ours = serverCpu + loadCpu + (postgresCpu ?? 0)
  const strangersCpu = busy === undefined ? undefined : Math.max(0, busy - ours)
  return { elapsed, serverCpu, loadCpu, postgresCpu, strangersCpu }
}
