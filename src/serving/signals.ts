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

/** `stop` runs once; `force` when somebody asks again. Nobody listens any more after what comes back was called. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => unknown, force: () => void): () => void {
  let asked: number | undefined
  function listen(signal: NodeJS.Signals): void {
    if (asked !== undefined) {
      if (performance.now() - asked > ECHO) force()
      return
    }
    asked = performance.now()
    void stop(signal)
  }
  for (const signal of SIGNALS) process.on(signal, listen)
  return () => SIGNALS.forEach((signal) => process.off(signal, listen))
}
