// Apps under test: a few guarded routes in front of a real issuer, closed again when the test is over.
import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { onTestFinished } from 'vitest'
import requireScope from '../../../plugins/require-scope/index.ts'
import type { RequireScopeOptions } from '../../../plugins/require-scope/index.ts'
import { createTestIssuer } from '../../../plugins/require-scope/testing.ts'
import type { TestIssuer, TestIssuerOptions, TokenOptions } from '../../../plugins/require-scope/testing.ts'

export async function startIssuer(options?: TestIssuerOptions): Promise<TestIssuer> {
  const issuer = await createTestIssuer(options)
  onTestFinished(() => issuer.close())
  return issuer
}

export async function startApp(
  options: RequireScopeOptions,
  routes: (app: FastifyInstance) => unknown = addBooks,
  serverOptions: FastifyServerOptions = {},
): Promise<FastifyInstance> {
  const app = Fastify(serverOptions)
  onTestFinished(() => app.close())
  await app.register(requireScope, options)
  await routes(app)
  return app
}

export function addBooks(app: FastifyInstance): void {
  app.get('/books', { config: { scope: 'read_books' } }, async ({ token }) => ({ subject: token.subject }))
  app.get('/any', { onRequest: app.requireScope() }, async () => ({ fine: true }))
}

export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** The parameters of a challenge by name. */
export function challenge(header: unknown): Record<string, string> {
  if (typeof header !== 'string' || !header.startsWith('Bearer '))
    throw new Error(`no Bearer challenge: ${String(header)}`)
  const pairs = header.slice(7).matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)
  return Object.fromEntries([...pairs].map(([, name, value]) => [name, value]))
}

export interface Clock {
  now: () => number
  advance: (seconds: number) => void
}

/** A clock that stands still until it is moved. */
export function fakeClock(start = Date.now()): Clock {
  let time = start
  return {
    now: () => time,
    advance: (seconds) => {
      time += seconds * 1000
    },
  }
}

export interface Answer {
  status: number
  /** Seconds, 0 when the answer does not say. */
  retryAfter: number
  body: string
}

/** What the route for any good token answers to this one. */
export async function ask(app: FastifyInstance, token: string): Promise<Answer> {
  const { statusCode, headers, body } = await app.inject({ url: '/any', headers: bearer(token) })
  return { status: statusCode, retryAfter: Number(headers['retry-after'] ?? 0), body }
}

/** Options of a token issued by a clock of the test, good for days. */
export function issuedBy(clock: Clock, options: TokenOptions = {}): TokenOptions {
  const iat = Math.floor(clock.now() / 1000)
  return { ...options, claims: { iat, exp: iat + 300_000, ...options.claims } }
}

/** The same under a key id that nobody has. */
export function madeUp(clock: Clock): TokenOptions {
  return issuedBy(clock, { header: { kid: randomUUID() } })
}
