/** Work that is done again and again behind the requests, never two at once, and that keeps no process from ending. */

export interface BackgroundLoop {
  /** The first time comes after one delay. */
  start(): void
  /** Waits for what is under way, or does the next at once. Nothing, of one that does not run. */
  now(): Promise<void>
  /** Waits for what is under way. */
  stop(): Promise<void>
}

/** `work` reports its own failures, it never rejects. `delay`: milliseconds from the end of one to the next. */
export function createBackgroundLoop(work: () => Promise<void>, delay: () => number): BackgroundLoop {
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> | undefined
  let runs = false

  function schedule(): void {
    runs = true
    timer = setTimeout(() => void run(), delay()).unref()
  }

  function run(): Promise<void> {
    clearTimeout(timer)
    return (underWay ??= work().then(() => {
      underWay = undefined
      if (runs) schedule()
    }))
  }

  return {
    start: schedule,
    async now() {
      if (runs) await run()
    },
    async stop() {
      runs = false
      clearTimeout(timer)
      await underWay
    },
  }
}
