// Owns the words between bench/main.ts and the load generator (bench/load.ts): what to send, what came back.

/** What a good response carries: a token response, or an introspection response that says active. */
export type Expectation = 'access_token' | 'active'

/** Requests to keep at hand under a name; each body becomes one complete HTTP request, built once. */
export interface Prepare {
  type: 'prepare'
  name: string
  port: number
  path: string
  bodies: string[]
  expectation: Expectation
}

/** One window of load with the requests of that name, round and round. */
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
export interface Measured {
  type: 'measured'
  elapsed: number
  requests: number
  errors: number
  firstError: string | undefined
  serverCpu: number
  postgresCpu: number | undefined
  loadCpu: number
  /** CPU that processes outside the benchmark used on the two cores together. */
  strangersCpu: number | undefined
  serverMemory: number
}
