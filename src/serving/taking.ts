/**
 * A worker that takes connections or leaves them to others, as its supervisor says (`gathering.ts`), and tells how busy it is.
 * Who is refused here is handed to another worker, by Node.
 */
import cluster, { type Worker } from 'node:cluster'
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../http/kernel-of.ts'
import { createGathering } from './gathering.ts'

/** Milliseconds between two looks at how busy it is. */
const INTERVAL = 250
/** So many are a second. */
const LOOKS = 4
/** Of its event loop's time, 0 to 1: with more it has none left, be it by its own work or since others have the machine. */
const SATURATED = 0.98
/** It is told when it has changed by so much, or so many milliseconds have gone. */
const [CHANGE, AT_LEAST] = [0.05, 1000]
/** Refusals in a second: where there are more, connections do not last, and to hand them on costs more than it saves. */
const REFUSALS = 200
/**
 * Milliseconds that one takes, in which the worker sleeps. Node hands a connection on at once, to this worker again while the one who takes
 * them is busy: those of a burst would go round and round.
 */
const REFUSING = 1
/** Milliseconds in which all are taken then. */
const TAKES_ALL = 5000

interface Told {
  /** Whether it takes connections. */
  readonly latchkeyTakes: boolean
}
interface Said {
  readonly latchkeyLoad: number
}

/** For a worker that listens. */
export function takeAsTold(server: FastifyInstance): void {
  const bed = new Int32Array(new SharedArrayBuffer(4))
  let takes = true
  let refusals = { since: 0, count: 0 }
  let takesAllUntil = 0

  function refuses(): boolean {
    const now = performance.now()
    if (takes || server.drain.begun || now < takesAllUntil) return false
    if (now - refusals.since > 1000) refusals = { since: now, count: 0 }
    if (++refusals.count > REFUSALS) {
      takesAllUntil = now + TAKES_ALL
      return false
    }
    Atomics.wait(bed, 0, 0, REFUSING)
    return true
  }

  // Node asks for it with each connection that comes, and hands on what is above it.
  Object.defineProperty(server.server, 'maxConnections', {
    configurable: true,
    get: () => (refuses() ? 0 : undefined),
  })
  process.on('message', ({ latchkeyTakes }: Partial<Told>) => {
    if (latchkeyTakes === undefined) return
    takes = latchkeyTakes
    server.drain.partWithPresent()
  })
  tellLoad(() => (kernelOf(server).load().hashing.waiting > 0 ? 1 : 0))
}

/**
 * The CPU that its event loop's thread used, unless that has no time left or passwords stand in line. Time alone says less: on a machine of few
 * cores a process is late while others run, and more of them would be late, too.
 */
function tellLoad(lineOf: () => number): void {
  const look = () => ({
    loop: performance.eventLoopUtilization(),
    cpu: process.threadCpuUsage(),
    at: performance.now(),
  })
  // The last second: a crowded machine makes a process late now and then, which says nothing of it.
  const looks = [look()]
  let told = { load: -1, at: 0 }
  setInterval(() => {
    const now = look()
    const [before] = looks as [ReturnType<typeof look>]
    looks.push(now)
    if (looks.length > LOOKS) looks.shift()
    const { utilization } = performance.eventLoopUtilization(now.loop, before.loop)
    const spent = now.cpu.user + now.cpu.system - before.cpu.user - before.cpu.system
    const used = utilization > SATURATED ? 1 : spent / 1000 / (now.at - before.at)
    const load = Math.min(1, Math.max(used, lineOf()))
    if (Math.abs(load - told.load) < CHANGE && now.at - told.at < AT_LEAST) return
    told = { load, at: now.at }
    const said: Said = { latchkeyLoad: load }
    process.send?.(said, undefined, undefined, () => {})
  }, INTERVAL).unref()
}

/** For the supervisor: a worker listens on `port`, and not only on another one that it has beside. */
export function onServing(port: number, heard: (worker: Worker) => void): void {
  cluster.on('listening', (worker, address) => {
    if (address.port === port) heard(worker)
  })
}

/** For the supervisor: hears its workers, and tells those for whom it changes. */
export function tellTakers(port: number): void {
  const gathering = createGathering()
  let takers: ReadonlySet<number> = new Set()
  const listening = new Map<number, Worker>()

  /** Who is new, or takes connections now or no more; and those who did alone what others help with now. */
  function tell(): void {
    const now = gathering.takers(performance.now())
    const hasGrown = [...now].some((id) => !takers.has(id))
    for (const [id, worker] of listening) {
      const told: Told = { latchkeyTakes: now.has(id) }
      if (now.has(id) !== takers.has(id) || (hasGrown && now.has(id))) worker.send(told, () => {})
    }
    takers = now
  }

  onServing(port, (worker) => {
    listening.set(worker.id, worker)
    gathering.listens(worker.id, performance.now())
    tell()
    if (!takers.has(worker.id)) worker.send({ latchkeyTakes: false } satisfies Told, () => {})
  })
  cluster.on('exit', (worker) => {
    listening.delete(worker.id)
    gathering.ends(worker.id)
    tell()
  })
  cluster.on('message', (worker, { latchkeyLoad }: Partial<Said>) => {
    if (latchkeyLoad === undefined) return
    gathering.says(worker.id, latchkeyLoad, performance.now())
    tell()
  })
}
