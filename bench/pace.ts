// Owns when the next request is sent. Closed: a connection sends as soon as it has its answer. Open: at random instants,
// so many a second on average, whether the server keeps up or not; each request's time counts from its instant.

/** Hands `send` its turn, with the instant from which the request's time counts. */
type Send = (since: number) => void

export interface Pace {
  /** Called by a connection that is free. */
  wait: (send: Send) => void
  /**
   * A stretch of load; resolves when it is over and, of an open one, all its requests are answered. With how many it was behind by more
   * than `PATIENCE`, and are not sent any more.
   */
  run: (seconds: number) => Promise<number>
}

/** Milliseconds. */
const PATIENCE = 8000

export function closedPace(): Pace {
  return {
    wait: (send) => send(performance.now()),
    run: (seconds) => new Promise((resolve) => setTimeout(() => resolve(0), seconds * 1000)),
  }
}

/** `rate`: requests a second, as independent people send them (a Poisson process). */
export function openPace(rate: number, connections: number): Pace {
  const free: Send[] = []
  const due: number[] = []
  const gap = () => (-Math.log(1 - Math.random()) * 1000) / rate

  const serve = () => {
    // Who has been free the longest, so that all connections are used, and all processes behind them.
    while (due.length > 0 && free.length > 0) free.shift()!(due.shift()!)
  }
  const isIdle = () => due.length === 0 && free.length === connections

  return {
    wait: (send) => {
      free.push(send)
      serve()
    },
    run: async (seconds) => {
      const { promise, resolve } = Promise.withResolvers<number>()
      const end = performance.now() + seconds * 1000
      let next = performance.now() + gap()
      // Every millisecond: what falls due in between waits for that, which its time includes.
      const timer = setInterval(() => {
        const now = performance.now()
        for (; next <= Math.min(now, end); next += gap()) due.push(next)
        serve()
        if (now >= end && isIdle()) resolve(0)
        else if (now >= end + PATIENCE) resolve(due.splice(0).length)
      }, 1)
      return promise.finally(() => clearInterval(timer))
    },
  }
}
