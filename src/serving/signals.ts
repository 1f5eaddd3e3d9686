/** SIGTERM and SIGINT: the first asks a process to stop in order, a later one ends it at once. */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Milliseconds within which a signal is the same one: npm hands Ctrl-C on to who has had it from the terminal. */
const ECHO = 1000

/** Milliseconds that requests may take to finish once no more are taken. */
const PATIENCE = 25_000

/** Milliseconds that a process of ours has beyond its own, before whoever waits for it ends it. */
export const MORE = 1000

/** Milliseconds after which a process that was asked to stop ends, with status 1 if need be; `delay` is SHUTDOWN_DELAY. */
export function stopsWithin(delay: number): number {
  return 2 * delay * 1000 + PATIENCE
}

interface Listener {
  readonly stop: (signal: NodeJS.Signals) => unknown
  readonly force: () => void
  asked?: number
}

/** Who listens, the last alone: between one and the next a signal is never left to the system, which would end the process with its own status. */
const listeners: Listener[] = []

function hear(signal: NodeJS.Signals): void {
  const listener = listeners.at(-1)!
  if (listener.asked === undefined) {
    listener.asked = performance.now()
    void listener.stop(signal)
  } else if (performance.now() - listener.asked > ECHO) listener.force()
}

/** `stop` runs once; `force` when somebody asks again. Who listened before does so again after what comes back was called. */
export function onStopSignal(stop: Listener['stop'], force: Listener['force']): () => void {
  const listener: Listener = { stop, force }
  if (listeners.length === 0) for (const signal of SIGNALS) process.on(signal, hear)
  listeners.push(listener)
  return () => {
    const at = listeners.indexOf(listener)
    if (at !== -1) listeners.splice(at, 1)
    if (listeners.length === 0) for (const signal of SIGNALS) process.off(signal, hear)
  }
}
