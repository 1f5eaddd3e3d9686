/** A server inside the test's own process: quick, open to inspection, on a real port. */
import type { FastifyInstance } from 'fastify'
import { PassThrough } from 'node:stream'
import { type BuildOptions, buildServer } from '../../src/server.ts'
import { atEndOfFile } from './cleanup.ts'
import type { TestDatabase } from './database.ts'
import { type Requests, requestsTo } from './requests.ts'
import { type ServerOptions, type Settings, prepare, withFreePort } from './settings.ts'

export interface TestServer extends Requests {
  /** The issuer, without a slash at the end. */
  url: string
  server: FastifyInstance
  database: TestDatabase
  settings: Settings
  /** All log lines so far; the level is `trace` unless set. */
  output(): string
  /** Closes the server and drops the database that was made for it; the end of the file does it too. */
  close(): Promise<void>
}

export interface TestServerOptions extends ServerOptions {
  /** Registers what a test adds, before the server listens. */
  extend?: (server: FastifyInstance) => unknown
  /** For `buildServer`. */
  build?: BuildOptions
}

/** Builds a server and makes it listen. */
export async function startServer(
  given: Settings = {},
  options: TestServerOptions = {},
): Promise<TestServer> {
  return withFreePort(given, () => start(given, options), isAddressInUse)
}

/** A second server of the same issuer, on the same database. Its requests go to its own port, though `url` is the issuer of both. */
export async function startBeside(first: TestServer, given: Settings = {}): Promise<TestServer> {
  const { PORT: _port, ...shared } = first.settings
  const second = await startServer({ ...shared, ...given }, { database: first.database })
  const issuer = new URL(first.url)
  issuer.port = String(second.settings.PORT)
  return { ...second, ...requestsTo(issuer.href.replace(/\/$/, '')) }
}

async function start(given: Settings, options: TestServerOptions): Promise<TestServer> {
  const { settings, database, ownsDatabase, url } = await prepare(given, options)
  const lines: string[] = []
  const logStream = new PassThrough({ encoding: 'utf8' }).on('data', (line: string) => lines.push(line))
  const server = await buildServer(settings, { logStream, ...options.build })
  const close = atEndOfFile(async () => {
    await server.close()
    if (ownsDatabase) await database.drop()
  })
  try {
    await options.extend?.(server)
    await server.listen({ host: String(settings.HOST), port: Number(settings.PORT) })
  } catch (error) {
    await close()
    throw error
  }
  return { url, server, database, settings, output: () => lines.join(''), close, ...requestsTo(url) }
}

function isAddressInUse(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
}
