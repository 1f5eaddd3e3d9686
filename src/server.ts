/** `buildServer`: the registration list, in reading order. It never listens. */
import { fastify, type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import admin from '../plugins/admin/index.ts'
import authorize from '../plugins/authorize/index.ts'
import code from '../plugins/authorize/code.ts'
import responseModes from '../plugins/authorize/response-modes.ts'
import browser from '../plugins/browser.ts'
import clientAuthentication from '../plugins/client-authentication.ts'
import { refuseConnection } from '../plugins/connection-errors.ts'
import consent from '../plugins/consent.ts'
import demo from '../plugins/demo.ts'
import discovery from '../plugins/discovery.ts'
import drain from '../plugins/drain.ts'
import endSession from '../plugins/end-session.ts'
import { sendError } from '../plugins/errors.ts'
import health from '../plugins/health.ts'
import home from '../plugins/home.ts'
import interaction from '../plugins/interaction/index.ts'
import introspection from '../plugins/introspection.ts'
import jwks from '../plugins/jwks.ts'
import login from '../plugins/login.ts'
import metrics from '../plugins/metrics/index.ts'
import notFound from '../plugins/not-found.ts'
import oauth from '../plugins/oauth.ts'
import pages from '../plugins/pages/index.ts'
import openid from '../plugins/openid.ts'
import resourceServer from '../plugins/resource-server.ts'
import revocation from '../plugins/revocation.ts'
import authorizationCode from '../plugins/token/grants/authorization-code.ts'
import clientCredentials from '../plugins/token/grants/client-credentials.ts'
import refreshToken from '../plugins/token/grants/refresh-token.ts'
import signIn from '../plugins/sign-in.ts'
import signingAlgorithms from '../plugins/signing-algorithms.ts'
import setup from '../plugins/setup.ts'
import subjectTypes from '../plugins/subject-types.ts'
import token from '../plugins/token/index.ts'
import userinfo from '../plugins/userinfo.ts'
import { ConfigError, parseConfig, type SettingValues } from './config.ts'
import { OAuthError } from './protocol/errors.ts'
import { isRepeated } from './protocol/headers.ts'
import type { EmbeddedPostgres } from './services/embedded-postgres.ts'
import { openOwnDatabase, type OwnDatabase } from './services/own-database.ts'
import { offerOwnPackage } from './services/own-package.ts'
import { loggingOptions, logResponses } from './services/log.ts'
import { applySeedFile } from './services/seed.ts'

export interface BuildOptions {
  /** Whether this is a start of the server, which applies SEED_FILE or the demo; commands do neither. Default true. */
  start?: boolean
  /** Names of plugins of ours to leave out, such as `latchkey-introspection`; the metadata shrinks with them. */
  without?: readonly string[]
  /** The embedded PostgreSQL, where it is starting already. */
  postgres?: Promise<EmbeddedPostgres> | undefined
  /** Where log lines go; stdout by default. */
  logStream?: NodeJS.WritableStream
}

/** Ours, by the names under which they may be left out. Those that follow the issuer's path say so. */
const PLUGINS = [
  drain,
  clientAuthentication,
  subjectTypes,
  signingAlgorithms,
  pages,
  browser,
  interaction,
  login,
  signIn,
  consent,
  authorize,
  code,
  responseModes,
  token,
  authorizationCode,
  refreshToken,
  clientCredentials,
  openid,
  userinfo,
  endSession,
  admin,
  home,
  setup,
  introspection,
  revocation,
  jwks,
  discovery,
  health,
  resourceServer,
]
/** Their addresses follow from the issuer by themselves. */
const AT_THE_ROOT = new Set<unknown>([discovery, health])
const MAX_HEADERS = 100

/**
 * Builds a server from settings by their names (`src/config.ts`); the environment is not read here. Creates or
 * migrates the database. Throws `ConfigError` for a setting that cannot be used.
 */
export async function buildServer(
  settings: SettingValues = {},
  options: BuildOptions = {},
): Promise<FastifyInstance> {
  const { postgres, logStream } = options
  const own = await openOwnDatabase(parseConfig(settings), postgres)
  const { config } = own
  const server: FastifyInstance = fastify({
    ...loggingOptions(config.LOG_LEVEL, logStream),
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
    routerOptions: { maxParamLength: 512 },
    exposeHeadRoutes: true,
    allowErrorHandlerOverride: false,
  })
  closeIdleConnections(server)
  server.addHook('onClose', async () => own.close())
  server.setErrorHandler(sendError)
  server.addHook('onRequest', async ({ raw }) => {
    if (raw.rawHeaders.length > 2 * MAX_HEADERS)
      throw new OAuthError('invalid_request', 'there are too many headers', { status: 431 })
    if (isRepeated(raw.rawHeaders, 'host'))
      throw new OAuthError('invalid_request', 'the Host header is repeated')
  })
  logResponses(server)
  try {
    await registerPlugins(server, own, options)
  } catch (error) {
    // Else the open database would keep the process from ending.
    await server.close()
    throw error
  }
  return server
}

/** The list itself: ours, then the operator's, then what a start applies. */
async function registerPlugins(
  server: FastifyInstance,
  { config, database }: OwnDatabase,
  { start = true, without = [] }: BuildOptions,
): Promise<void> {
  await server.register(notFound)
  await server.register(metrics, { config })
  await server.register(oauth, { config, database, janitor: start })
  const unknown = without.find((name) => !PLUGINS.some((plugin) => pluginName(plugin) === name))
  if (unknown !== undefined) throw new ConfigError(`There is no plugin ${unknown} to leave out.`)
  for (const plugin of PLUGINS) {
    if (without.includes(pluginName(plugin))) continue
    await server.register(plugin, AT_THE_ROOT.has(plugin) ? {} : { prefix: config.basePath })
  }
  for (const specifier of config.PLUGINS) {
    const plugin = await importPlugin(specifier)
    // Within a scope of its own, so that the prefix also holds for a plugin that breaks out of encapsulation.
    const mount: FastifyPluginAsync = async (scope) => {
      await scope.register(plugin)
    }
    await server.register(mount, { prefix: config.basePath })
  }
  const guards = !without.includes(pluginName(resourceServer))
  if (start && guards && config.SEED_FILE === undefined && !config.production)
    await server.register(demo, { prefix: config.basePath })
  if (start && config.SEED_FILE !== undefined) {
    const { SEED_FILE } = config
    server.addHook('onReady', async () => {
      const { clients, resources, users } = server.oauth
      await applySeedFile(SEED_FILE, { clients, resources, users, log: server.log })
    })
  }
}

/** A connection whose last request ends while the server closes would else be waited for until it times out. */
function closeIdleConnections(server: FastifyInstance): void {
  let timer: NodeJS.Timeout | undefined
  server.addHook('preClose', async () => {
    timer = setInterval(() => server.server.closeIdleConnections(), 50)
  })
  server.addHook('onClose', async () => clearInterval(timer))
}

function pluginName(plugin: object): string {
  const meta = (plugin as Record<symbol, { name?: string } | undefined>)[Symbol.for('plugin-meta')]
  return meta?.name ?? ''
}

/** A module of the PLUGINS setting: a path from the working directory, or a package installed there. */
async function importPlugin(specifier: string): Promise<FastifyPluginAsync> {
  offerOwnPackage()
  const isPath = /^[./]/.test(specifier) || existsSync(resolve(specifier))
  try {
    const here = pathToFileURL(resolve('package.json'))
    const url = isPath
      ? pathToFileURL(resolve(specifier))
      : pathToFileURL(createRequire(here).resolve(specifier))
    const { default: plugin } = (await import(url.href)) as { default?: unknown }
    if (typeof plugin === 'function') return plugin as FastifyPluginAsync
  } catch (cause) {
    throw new ConfigError(
      `PLUGINS: ${specifier} cannot be loaded (${(cause as Error).message.split('\n')[0]}).`,
      { cause },
    )
  }
  throw new ConfigError(`PLUGINS: ${specifier} has no default export that is a Fastify plugin.`)
}
