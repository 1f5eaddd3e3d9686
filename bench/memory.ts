// Owns what a server holds in memory over time: the kernel's word for it, and by its metrics what V8 says.

import { residentMemory } from './cpu.ts'

/** MiB, and for `delay` milliseconds: the event loop's 99th percentile since the sample before. */
export interface MemorySample {
  minute: number
  resident: number
  heap: number
  external: number
  delay: number
}

export interface Watch {
  samples: MemorySample[]
  /** Throws if a sample could not be taken. */
  stop: () => Promise<void>
}

/** A sample at once, and then every so many seconds. */
export function watchMemory(pid: number, metricsPort: number, seconds: number): Watch {
  const samples: MemorySample[] = []
  const began = performance.now()
  const sample = async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    const value = (name: string) => Number(new RegExp(`^${name} (.*)$`, 'm').exec(metrics)?.[1] ?? Number.NaN)
    samples.push({
      minute: (performance.now() - began) / 60_000,
      resident: residentMemory(pid),
      heap: value('nodejs_heap_size_used_bytes') / 2 ** 20,
      external: value('nodejs_external_memory_bytes') / 2 ** 20,
      // It is looked at every 10 ms, which Node counts in.
      delay: value('nodejs_eventloop_lag_p99_seconds') * 1000 - 10,
    })
  }
  let taken = sample()
  const timer = setInterval(() => {
    taken = taken.then(sample)
    // Reported when the watch is over.
    taken.catch(() => undefined)
  }, seconds * 1000)
  return {
    samples,
    stop: async () => {
      clearInterval(timer)
      await taken
      await sample()
    },
  }
}
