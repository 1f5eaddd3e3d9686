// Owns what a contestant is: a server process on its core, and the requests that are measured against it. Also
// the ways common to all of them to start one, mint tokens from it and catch one that is right by accident.

import type { ChildProcess } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose'
import { launchNode, serverCore } from './pinning.ts'
import type { Expectation, Order, Request } from './load-protocol.ts'

/** What is compared: each has a table, with a heading in `report.ts`. */
export type Endpoint =
  | 'client_credentials'
  | 'authorization_code'
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
}

export interface Server {
  child: ChildProcess
  pid: number
  port: number
}

export interface Contestant extends Server {
  rows: Row[]
}

/** What a contestant is given to enter the comparison with. */
export interface Ground {
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

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

export interface ServerOptions {
  args: string[]
  port: number
  env: Record<string, string>
  /** A path that answers 200 once the server is ready. */
  readyPath: string
}

/** Starts a server on the core under test and waits until it is ready. */
export async function startServer({ args, port, env, readyPath }: ServerOptions): Promise<Server> {
  const child = launchNode({ core: serverCore, args, env: { PORT: String(port), ...env } })
  let output = ''
  const keep = (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000))
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.once('exit', (code, signal) => {
    if (code !== 0) console.error(`${args.join(' ')} ended with ${code ?? signal}:\n${output}`)
  })

  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(100)) {
    if (child.exitCode !== null || child.pid === undefined) break
    if (await answers(`http://127.0.0.1:${port}${readyPath}`)) return { child, pid: child.pid, port }
  }
  throw new Error(`${args.join(' ')} did not become ready:\n${output}`)
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}

export function form(parameters: Record<string, string>): string {
  return new URLSearchParams(parameters).toString()
}

export async function post(port: number, path: string, body: string) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const signal = AbortSignal.timeout(10_000)
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body, signal })
  const text = await response.text()
  return { status: response.status, answer: JSON.parse(text) as Record<string, unknown> }
}

/** Like `post`, for what must succeed. */
export async function postWell(port: number, path: string, body: string): Promise<Record<string, unknown>> {
  const { status, answer } = await post(port, path, body)
  if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(answer)}`)
  return answer
}

/** Makes that many different texts, 32 at a time. */
export async function makeMany(count: number, make: () => Promise<string>): Promise<string[]> {
  const made: string[] = []
  let begun = 0
  const worker = async () => {
    while (begun < count) {
      begun++
      made.push(await make())
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, 32) }, worker))
  if (new Set(made).size < count) throw new Error('the same code or token came twice')
  return made
}

/** Gets that many different access tokens. */
export async function mint(port: number, path: string, body: string, count: number): Promise<string[]> {
  return makeMany(count, async () => String((await postWell(port, path, body))['access_token']))
}

/** The token is an RFC 9068 JWT for our scopes, signed with a key of the published set. */
export async function assertJwt(port: number, jwksPath: string, token: string): Promise<void> {
  const payload = await verify(port, jwksPath, token, { typ: 'at+jwt', algorithms: ['ES256'] })
  if (payload['scope'] !== scope) throw new Error(`the token carries the scope ${String(payload['scope'])}`)
}

/** Verifies with a key of the published set. */
export async function verify(
  port: number,
  jwksPath: string,
  token: string,
  options: { typ?: string; algorithms: string[] },
): Promise<JWTPayload> {
  const response = await fetch(`http://127.0.0.1:${port}${jwksPath}`)
  const keys = createLocalJWKSet((await response.json()) as JSONWebKeySet)
  return (await jwtVerify(token, keys, options)).payload
}

/** Introspection says no to a token that was never issued. */
export async function assertRefusesStranger(port: number, path: string, body: string): Promise<void> {
  const { answer } = await post(port, path, body)
  if (answer['active'] !== false) throw new Error(`${path} believes a forged token`)
}

/** A request with a wrong secret is refused. */
export async function assertChecksSecret(port: number, path: string, body: string): Promise<void> {
  const { status } = await post(port, path, body)
  if (status !== 401) throw new Error(`${path} answered ${status} to a wrong client secret`)
}
