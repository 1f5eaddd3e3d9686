// Owns what a window cost: every process's CPU time, read at the two instants between which requests are counted.

import { busyOf, cpuOf, cpuOfCluster } from './cpu.ts'
import type { Run, Usage } from './load-protocol.ts'

export interface Sample {
  at: number
  /** By process. */
  servers: readonly number[]
  postgres: number | undefined
  load: number
  cores: number | undefined
}

/** Called in the load generator: it is the process whose own time is the load's. */
export function sample({ serverPids, postmasterPid, cores }: Run): Sample {
  return {
    at: performance.now() * 1000,
    servers: serverPids.map(cpuOf),
    postgres: postmasterPid === undefined ? undefined : cpuOfCluster(postmasterPid),
    load: cpuOf(process.pid),
    cores: cores?.reduce((sum, core) => sum + busyOf(core), 0),
  }
}

export function usedBetween(before: Sample, after: Sample): Usage {
  const between = (what: 'at' | 'load') => after[what] - before[what]
  const difference = (what: 'postgres' | 'cores') =>
    after[what] === undefined || before[what] === undefined ? undefined : after[what] - before[what]
  const [elapsed, loadCpu] = [between('at'), between('load')]
  const servers = after.servers.map((cpu, index) => cpu - before.servers[index]!)
  const serverCpu = servers.reduce((sum, cpu) => sum + cpu, 0)
  const [postgresCpu, busy] = [difference('postgres'), difference('cores')]
  const ours = serverCpu + loadCpu + (postgresCpu ?? 0)
  const strangersCpu = busy === undefined ? undefined : Math.max(0, busy - ours)
  return { elapsed, serverCpu, firstCpu: servers[0] ?? 0, loadCpu, postgresCpu, strangersCpu }
}
