// Owns what a contestant is: a server of one process or several, and the requests that are measured against it.

import type { Expectation, Order, Request } from './load-protocol.ts'
import type { Server } from './server-process.ts'

/** What is compared: each has a table, with a heading in `report.ts`. */
export type Endpoint =
  | 'client_credentials'
  | 'client_credentials_with_dpop'
  | 'client_credentials_with_private_key_jwt'
  | 'authorization_code'
  | 'sign_in_with_par_and_dpop'
  | 'refresh_token'
  | 'introspection'
  | 'userinfo'
  | 'discovery'
  | 'jwks'

/** What the access tokens are: like is compared with like where the peer has it. */
export type Format = 'jwt' | 'opaque'

/** What signs the ID tokens: like is compared with like here, too. */
export type Algorithm = 'ES256' | 'RS256'

export interface Row {
  endpoint: Endpoint
  label: string
  format: Format
  /** Absent where no ID token is issued. */
  algorithm?: Algorithm
  /** Whose token is introspected; absent elsewhere. */
  holder?: 'user' | 'client'
  /** Which baseline this row is, if it is one; see `result.ts`. */
  baseline?: 'ceiling' | 'peer'
  path: string
  order: Order
  /**
   * Makes the requests, outside the measurement. `once`: so many, before every window. `chained`: so many, one for
   * each connection, before the first one. `repeated`: as many as the row goes round.
   */
  requests: (count: number) => Promise<Request[]>
  expectation: Expectation
  /** Each request on a connection of its own. */
  closing?: boolean
}

export interface Contestant extends Pick<Server, 'pid' | 'port'> {
  rows: Row[]
  /** Of several processes, a supervisor of others first; absent: the one. */
  pids?: readonly number[]
  /** Where several listen; absent: where the one does. */
  ports?: readonly number[]
  /** How many of its processes serve, each with connections of its own; absent: one. */
  serving?: number
}

export function pidsOf({ pid, pids = [pid] }: Contestant): readonly number[] {
  return pids
}

/** What a contestant is given to enter the comparison with. */
export interface Ground {
  /** Another checkout of Latchkey, to run instead of this one. */
  checkout?: string
  /** Arguments for the server's Node, before its script. */
  nodeArgs: string[]
  createDatabase: (name: string) => Promise<string>
  /** How many tokens the ordinary rows of introspection and userinfo go round. */
  repeatedTokens: number
  /** How many it goes round so that no cache of a server holds them all. */
  freshTokens: number
}

export interface Entry {
  name: string
  enter: (ground: Ground) => Promise<Contestant>
}

/** Of machine clients. */
export const scope = 'read_books write_books list_users'

/** Documents that everybody may read: of the issuer, and its keys. */
export function documentRows(
  common: Pick<Row, 'label' | 'baseline'>,
  issuer: string,
  paths: { discovery: string; jwks: string },
): Row[] {
  const row = (endpoint: 'discovery' | 'jwks', expectation: Expectation): Row => ({
    ...common,
    endpoint,
    format: 'jwt',
    path: paths[endpoint],
    order: 'repeated',
    requests: async () => ['get'],
    expectation,
  })
  return [row('discovery', { values: { issuer }, tokens: ['jwks_uri'] }), row('jwks', { lists: ['keys'] })]
}

export const toBody = (body: string): Request => ({ body })
export const toBearer = (bearer: string): Request => ({ bearer })
