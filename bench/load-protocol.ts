// Owns the words between bench/main.ts and the load generator (bench/load.ts): what to send, what came back.

/** A form that is posted, or a GET with an access token in its header, or without one. */
export type Request = { body: string } | { bearer: string } | 'get'

/**
 * How requests are taken. `repeated`: round and round, a window goes on where the last one ended. `once`: each a
 * single time; a window ends early when none is left. `chained`: each is the first of a row of requests, and the
 * next carries the refresh token of the last answer; a window goes on with the tokens of the last one.
 */
export type Order = 'repeated' | 'once' | 'chained'

/** What an answer with status 200 must be to count as right. */
export interface Expectation {
  /** Members that must be texts of 20 characters or more. */
  tokens?: string[]
  /** Members that must be lists with something in them. */
  lists?: string[]
  /** Members that must be exactly this. */
  values?: Record<string, unknown>
}

/** Requests to keep at hand under a name, in the place of those that it had. */
export interface Prepare {
  type: 'prepare'
  name: string
  port: number
  path: string
  requests: Request[]
  order: Order
  expectation: Expectation
}

/** One window of load with the requests of that name. */
export interface Run {
  type: 'run'
  name: string
  connections: number
  warmUp: number
  seconds: number
  serverPid: number
  /** Absent when PostgreSQL runs where its processes cannot be seen. */
  postmasterPid: number | undefined
  /** The server's core and the one that this process shares with PostgreSQL; absent when they are not pinned. */
  cores: readonly [number, number] | undefined
}

export interface Prepared {
  type: 'prepared'
}

/** CPU figures in microseconds over the window. */
export interface Usage {
  elapsed: number
  serverCpu: number
  postgresCpu: number | undefined
  loadCpu: number
  /** CPU that processes outside the benchmark used on the two cores together. */
  strangersCpu: number | undefined
}

export interface Measured extends Usage {
  type: 'measured'
  requests: number
  errors: number
  firstError: string | undefined
  /** Milliseconds that half of the requests took at most, and that 99 of 100 did. */
  p50: number
  p99: number
  serverMemory: number
}
