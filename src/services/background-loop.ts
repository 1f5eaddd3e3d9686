/** Work that is done again and again behind the requests, never two at once, and that keeps no process from ending. */

export interface BackgroundLoop {
  /** The first time comes after one delay. */
  start(): void
  /** Waits for what is under way. */
  stop(): Promise<void>
}

/** `work` reports its own failures, it never rejects. `delay`: milliseconds from the end of one to the next. */
export function createBackgroundLoop(work: () => Promise<void>, delay: () => number): BackgroundLoop {
  let timer: NodeJS.Timeout | undefined
  let underWay = Promise.resolve()
  let stopped = false

  function schedule(): void {
    timer = setTimeout(() => {
      underWay = work().then(() => {
        if (!stopped) schedule()
      })
    }, delay()).unref()
  }

  return {
    start: schedule,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await underWay
    },
  }
}
