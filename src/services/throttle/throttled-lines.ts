/** What the log says of requests that are throttled: the first of them one by one, then how many more there were. */
import type { FastifyBaseLogger } from 'fastify'

export interface ThrottledLines {
  /** `write` logs one; it is called for the first ones alone. */
  note(write: () => void): void
  /** Says how many there were, if any are unsaid. */
  end(): void
}

/** Milliseconds, and lines in them. */
const WINDOW = 10_000
const LINES = 10

export function createThrottledLines(log: FastifyBaseLogger): ThrottledLines {
  let throttled = 0
  let timer: NodeJS.Timeout | undefined

  function end(): void {
    clearTimeout(timer)
    timer = undefined
    if (throttled > LINES)
      log.info({ throttled, unsaid: throttled - LINES }, 'more requests were throttled than have a line')
    throttled = 0
  }

  return {
    note(write) {
      timer ??= setTimeout(end, WINDOW).unref()
      if (++throttled <= LINES) write()
    },
    end,
  }
}
