/** An app of somebody else's, on a real port, with Latchkey in it as its people would register it. */
import { fastify, type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { PassThrough } from 'node:stream'
import { latchkey, type LatchkeyOptions } from '../../src/index.ts'
import { atEndOfFile } from './cleanup.ts'
import type { TestDatabase } from './database.ts'
import { requestsTo } from './requests.ts'
import type { TestServer } from './server.ts'
import { freePort, prepare, type Settings } from './settings.ts'
import { ALICE } from './sign-in.ts'

export interface ForeignOptions extends LatchkeyOptions {
  settings?: Settings
  database?: TestDatabase
  /** Options of their Fastify, beside a log at `trace`. */
  app?: FastifyServerOptions
  /** What they register before Latchkey, and after it. */
  before?: (app: FastifyInstance) => unknown
  after?: (app: FastifyInstance) => unknown
}

/** An app that logs to memory, and closes at the end of the file. */
export function createForeignApp(options: FastifyServerOptions = {}): {
  app: FastifyInstance
  output: () => string
} {
  const lines: string[] = []
  const stream = new PassThrough({ encoding: 'utf8' }).on('data', (line: string) => lines.push(line))
  // However slow the machine is, no start takes too long.
  const app = fastify({ logger: { level: 'trace', stream }, pluginTimeout: 0, ...options })
  atEndOfFile(async () => app.close())
  return { app, output: () => lines.join('') }
}

/** An app that listens, at `prefix` an issuer with the user alice and the scope `read_books`. */
export async function startForeignApp(given: ForeignOptions = {}): Promise<TestServer> {
  const { settings: own = {}, database: shared, app: appOptions, before, after, ...options } = given
  const { app, output } = createForeignApp(appOptions)
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}${options.prefix ?? ''}`
  const wanted = { PORT: port, OIDC_ISSUER: issuer, ...own }
  const { settings, database } = await prepare(wanted, shared === undefined ? {} : { database: shared })
  await before?.(app)
  await app.register(latchkey, { settings, ...options })
  await after?.(app)
  await app.listen({ host: '127.0.0.1', port })
  await populate(app)
  const url = String(settings.OIDC_ISSUER)
  const close = async (): Promise<void> => app.close()
  return { url, server: app, database, settings, output, close, ...requestsTo(url) }
}

/** What its people would do by code. */
export async function populate({ oauth }: Pick<FastifyInstance, 'oauth'>): Promise<void> {
  await oauth.resources.saveScope({ name: 'read_books', description: 'Read your books' })
  await oauth.users.create(ALICE)
}
