/** `buildServer`: Latchkey as a server of its own, on an app that is made for it. It never listens. */
import { fastify, type FastifyInstance } from 'fastify'
import { refuseConnection } from './http/connection-errors.ts'
import { sendError } from './http/errors.ts'
import houseRules from './http/house-rules.ts'
import metrics from '../plugins/metrics/index.ts'
import notFound from '../plugins/not-found.ts'
import overload from './http/overload.ts'
import { parseConfig, type SettingValues } from './config.ts'
import { install } from './latchkey.ts'
import type { EmbeddedPostgres } from './services/database/embedded-postgres.ts'
import { writeWarning } from './services/warning-line.ts'
import { loggingOptions, logResponses, type LogStream } from './services/log.ts'
import { openOwnDatabase, type OwnDatabase } from './services/database/own-database.ts'

export interface BuildOptions {
  /** Whether this is a start of the server, which applies SEED_FILE or the demo; commands do neither. Default true. */
  start?: boolean
  /** Whether a development start without SEED_FILE registers the demo, also in a database of yours. Default true. */
  demo?: boolean
  /** Names of plugins of ours to leave out, such as `latchkey-introspection`; the metadata shrinks with them. */
  without?: readonly string[]
  /** Whether the log of a start tells of names that are no settings; that of one that fails always does. Default true. */
  strays?: boolean
  /** The embedded PostgreSQL, where it is starting already. */
  postgres?: Promise<EmbeddedPostgres> | undefined
  /** Where log lines go; stdout by default. */
  logStream?: LogStream
}

/**
 * Builds a server from settings by their names (`src/settings/`); the environment is not read here. Creates or
 * migrates the database. Throws `ConfigError` for a setting that cannot be used; the log warns of a name that is none.
 */
export async function buildServer(
  settings: SettingValues = {},
  options: BuildOptions = {},
): Promise<FastifyInstance> {
  const { postgres, logStream } = options
  const given = parseConfig(settings)
  const own = await openOwnDatabase(given, {
    postgres,
    warn: (about, text) => writeWarning(given.LOG_LEVEL, logStream ?? process.stdout, about, text),
  })
  const { config } = own
  const server: FastifyInstance = fastify({
    ...loggingOptions(config.LOG_LEVEL, logStream),
    // Migrations, keys and SEED_FILE take the time they take; plugins of others have a limit in `plugin-limit.ts`.
    pluginTimeout: 0,
    // A client that sends slowly, or never ends, is cut off: Node's own limits are minutes.
    requestTimeout: 30_000,
    http: {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 72_000,
      connectionsCheckingInterval: 1000,
    },
    clientErrorHandler: refuseConnection,
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply),
    forceCloseConnections: 'idle',
    // A request that still arrives, on a connection that is open, is answered as any other.
    return503OnClosing: false,
    // Only for `request.ip`: what a proxy says of the host or the scheme is read nowhere.
    trustProxy: config.TRUSTED_PROXIES.length > 0 ? [...config.TRUSTED_PROXIES] : false,
    // With a slash at its end, an address is the same.
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: true },
    exposeHeadRoutes: true,
    allowErrorHandlerOverride: false,
  })
  closeIdleConnections(server)
  server.addHook('onClose', async () => own.close())
  server.setErrorHandler(sendError)
  logResponses(server)
  try {
    await furnish(server, own, settings, options)
  } catch (error) {
    // Else the open database would keep the process from ending.
    await server.close()
    throw error
  }
  return server
}

/** What a host of its own has at its root, then what any app may have. */
async function furnish(
  server: FastifyInstance,
  own: OwnDatabase,
  settings: SettingValues,
  { start = true, demo = true, without = [], strays = true }: BuildOptions,
): Promise<void> {
  const { config } = own
  await server.register(houseRules)
  await server.register(overload, { config })
  await server.register(notFound)
  await server.register(metrics, { config })
  await install(server, own, {
    standalone: true,
    settings,
    strays,
    without,
    janitor: start,
    seeds: start,
    demonstrates: start && demo && config.SEED_FILE === undefined && !config.production,
  })
}

/** A connection whose last request ends while the server closes would else be waited for until it times out. */
function closeIdleConnections(server: FastifyInstance): void {
  let timer: NodeJS.Timeout | undefined
  server.addHook('preClose', async () => {
    timer = setInterval(() => server.server.closeIdleConnections(), 50)
  })
  server.addHook('onClose', async () => clearInterval(timer))
}
