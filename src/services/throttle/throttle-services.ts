/** What keeps count of failures, put together: the throttles by their kinds, whom they tell, and what the log says of it. */
import type { FastifyBaseLogger } from 'fastify'
import type { DoorRegistry } from '../../doors/registry.ts'
import type { Database } from '../../store/database.ts'
import { createTellReached, type TellReachedOptions } from './reached-limits.ts'
import { createThrottles, type Throttles } from './throttle.ts'
import { createThrottledLines, type ThrottledLines } from './throttled-lines.ts'

export interface ThrottleServices {
  /** A kind that is asked for at the start has one owner. */
  readonly throttle: Throttles['throttle']
  /** What the log says of requests that are throttled. */
  readonly throttledLines: ThrottledLines
}

/** @internal */
export interface ThrottleServicesOptions extends TellReachedOptions {
  database: Database
  doors: DoorRegistry
  log: FastifyBaseLogger
}

/** @internal */
export function createThrottleServices(
  options: ThrottleServicesOptions,
): ThrottleServices & Pick<Throttles, 'start' | 'stop'> {
  const { database, box, doors, log } = options
  const throttles = createThrottles({ database, box, log, tell: createTellReached(options) })
  return {
    throttle(kind, limits) {
      doors.own('throttle kind', kind)
      return throttles.throttle(kind, limits)
    },
    throttledLines: createThrottledLines(log),
    start: throttles.start,
    stop: throttles.stop,
  }
}
