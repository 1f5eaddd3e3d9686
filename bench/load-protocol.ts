// Owns the words between bench/main.ts and the load generator (bench/load.ts): what to send, what came back.

/**
 * A sign-in of one app: its request is pushed, the browser of somebody who is signed in brings the reference, and the code is
 * exchanged. Each of the three is a request, and begins with what the one before was answered.
 */
export interface Flow {
  /** The forms that are posted; the last one lacks its code. */
  push: { path: string; body: string }
  authorize: { path: string; clientId: string; cookie: string }
  exchange: { path: string; body: string; dpop: string }
}

/** A form that is posted, with a proof of possession where there is one, or a GET with an access token in its header, or without one. */
export type Request = { body: string; dpop?: string } | { bearer: string } | { flow: Flow } | 'get'

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
  /** Where the connections go, in turn; the first is what the requests name as their host. */
  ports: readonly number[]
  path: string
  requests: Request[]
  order: Order
  expectation: Expectation
  /** Each request on a connection of its own, as from a proxy that keeps none. */
  closing: boolean
}

/** One window of load with the requests of that name. */
export interface Run {
  type: 'run'
  name: string
  connections: number
  warmUp: number
  seconds: number
  /** Requests a second at random instants; absent: each connection sends as soon as it has its answer. */
  rate: number | undefined
  /** The server's processes; a supervisor of others is the first. */
  serverPids: readonly number[]
  /** Absent when PostgreSQL runs where its processes cannot be seen. */
  postmasterPid: number | undefined
  /** Those that the server, this process and PostgreSQL run on; absent when they are not pinned. */
  cores: readonly number[] | undefined
}

export interface Prepared {
  type: 'prepared'
}

/** CPU figures in microseconds over the window. */
export interface Usage {
  elapsed: number
  /** All processes of the server; `firstCpu` is what the first of them took of it. */
  serverCpu: number
  firstCpu: number
  postgresCpu: number | undefined
  loadCpu: number
  /** CPU that processes outside the benchmark used on these cores together. */
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
  /** MiB, of all processes of the server. */
  serverMemory: number
}
