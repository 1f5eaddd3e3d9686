// Owns what a contestant is: a server process on its core, and the requests that are measured against it. Also
// the ways common to all of them to start one, mint tokens from it and catch one that is right by accident.

import type { ChildProcess } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose'
import { launchNode, serverCore } from './pinning.ts'
import type { Expectation } from './load-protocol.ts'

/** The endpoints that are compared; the value is the heading of their table. */
export type Endpoint = 'client_credentials' | 'introspection'

/** What the access tokens are: like is compared with like where the peer has it. */
export type Format = 'jwt' | 'opaque'

export interface Row {
  endpoint: Endpoint
  label: string
  format: Format
  /** Which baseline this row is, if it is one; see `result.ts`. */
  baseline?: 'ceiling' | 'peer'
  path: string
  bodies: string[]
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
  /** How many tokens the ordinary introspection row goes round. */
  repeatedTokens: number
  /** How many it goes round so that no cache of a server holds them all. */
  freshTokens: number
}

export interface Entry {
  name: string
  enter: (ground: Ground) => Promise<Contestant>
}

export const scope = 'read_books write_books list_users'

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

/** Gets that many different access tokens. */
export async function mint(port: number, path: string, body: string, count: number): Promise<string[]> {
  const tokens: string[] = []
  const worker = async () => {
    while (tokens.length < count) {
      const { status, answer } = await post(port, path, body)
      if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(answer)}`)
      tokens.push(String(answer['access_token']))
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, 32) }, worker))
  if (new Set(tokens).size < count) throw new Error(`${path} gave the same token twice`)
  return tokens.slice(0, count)
}

/** The token is an RFC 9068 JWT for our scopes, signed with a key of the published set. */
export async function assertJwt(port: number, jwksPath: string, token: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${jwksPath}`)
  const keys = createLocalJWKSet((await response.json()) as JSONWebKeySet)
  const { payload } = await jwtVerify(token, keys, { typ: 'at+jwt', algorithms: ['ES256'] })
  if (payload['scope'] !== scope) throw new Error(`the token carries the scope ${String(payload['scope'])}`)
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
