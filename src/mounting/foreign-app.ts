/** What an app must be that Latchkey is registered in, and what in it would quietly break a promise of ours. */
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { ConfigError, type Config } from '../config.ts'
import { assertShape, BOOLEAN, FUNCTION, maybe, OBJECT, type Shape, TEXTS } from '../doors/shapes.ts'
import { isObject } from '../protocol/json.ts'
import type { LatchkeyOptions, OrmLike } from './latchkey-options.ts'
import { risksAnywhereOf } from '../words/risks.ts'

const hasMethod = (value: unknown, name: string): boolean =>
  isObject(value) && typeof value[name] === 'function'

const OPTIONS: Shape<LatchkeyOptions> = {
  settings: maybe(OBJECT),
  prefix: maybe({ is: (prefix) => typeof prefix === 'string', words: 'a text' }),
  orm: maybe({
    is: (orm) => isObject(orm) && hasMethod(orm['em'], 'getConnection'),
    words: 'a MikroORM instance',
  }),
  pool: maybe({ is: (pool) => hasMethod(pool, 'connect'), words: 'a pool of the package pg' }),
  pages: maybe(BOOLEAN),
  without: maybe(TEXTS),
  plugins: maybe({
    is: (plugins) => Array.isArray(plugins) && plugins.every((one) => FUNCTION.is(one)),
    words: 'a list of plugins, which are functions',
  }),
  migrate: maybe(BOOLEAN),
  janitor: maybe(BOOLEAN),
}

/** Throws `ConfigError`, for who registers us in plain JavaScript. */
export function assertOptions(options: unknown): void {
  assertShape('registration of latchkey', OPTIONS, options)
}

/** Throws `ConfigError` where we would be at another address than the issuer's, or in another's place. */
export function assertRoom(
  app: FastifyInstance,
  { issuer, basePath, OIDC_ISSUER }: Config,
  prefix?: string,
): void {
  if (app.prefix !== '')
    throw new ConfigError(
      `Latchkey is registered below ${app.prefix}, where not all of its addresses lie: register it at the root, with prefix: '${app.prefix}${prefix ?? ''}'.`,
    )
  if (prefix !== undefined && prefix !== basePath && OIDC_ISSUER === undefined)
    throw new ConfigError(
      `OIDC_ISSUER is not set, and with the prefix ${prefix} it must end in that path: OIDC_ISSUER=${issuer}${prefix}.`,
    )
  if (prefix !== undefined && prefix !== basePath)
    throw new ConfigError(
      `The prefix ${prefix} must be the path of OIDC_ISSUER, which is ${basePath || 'none'} in ${issuer}.`,
    )
  // Further out there may be another issuer of ours, which has its own.
  if (app.hasRequestDecorator('actor') && !app.hasDecorator('oauth'))
    throw new ConfigError(
      "The app's requests are decorated with actor already, which is Latchkey's name for whose request it is: call yours something else.",
    )
  const taken = ['oauth', 'requireScope'].find((name) => Object.hasOwn(app, name))
  if (taken !== undefined)
    throw new ConfigError(
      `The app is decorated with ${taken} already: register this issuer in a scope of its own, as in app.register(async (scope) => scope.register(latchkey, options)).`,
    )
}

/** The connections that are the app's, or none. */
export async function poolOf({ orm, pool }: LatchkeyOptions): Promise<pg.Pool | undefined> {
  if (orm === undefined) return pool as pg.Pool | undefined
  if (pool !== undefined) throw new ConfigError('Of orm and pool, only one can be used.')
  const connection = orm.em.getConnection() as ReturnType<OrmLike['em']['getConnection']> & {
    getNativeClient?: () => Promise<pg.Pool>
  }
  const native = await connection.getNativeClient?.()
  if (typeof native?.connect !== 'function')
    throw new ConfigError('The orm must be a MikroORM 7 on @mikro-orm/postgresql; or give its pool.')
  return native
}

/** One line in the log for each. */
export function warnOfRisks(
  app: FastifyInstance,
  config: Config,
  pool: pg.Pool | undefined,
  without: readonly string[] | undefined,
): void {
  const { log } = app
  const { trustProxy } = optionsOf(app) ?? {}
  if (typeof trustProxy === 'number')
    log.warn(
      'latchkey: trustProxy is a number, by which Fastify believes no proxy, so all who come by one are throttled together; name your proxies instead',
    )
  if (trustProxy === true)
    log.warn(
      'latchkey: trustProxy is true, so anybody chooses the address they are throttled by; name your proxies instead',
    )
  if (config.TRUSTED_PROXIES.length > 0)
    log.warn("latchkey: TRUSTED_PROXIES is not used here; the app's trustProxy decides")
  for (const risk of risksAnywhereOf(config, without)) log.warn(`latchkey: ${risk}`)
  if (pool !== undefined && !pool.options.connectionTimeoutMillis)
    log.warn(
      'latchkey: the pool has no connectionTimeoutMillis, so requests wait for ever while the database is away',
    )
}

/** Fastify shows some of its options as `initialConfig`; `trustProxy` is not among them. */
function optionsOf(app: FastifyInstance): { trustProxy?: unknown } | undefined {
  for (let at: object | null = app; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const symbol = Object.getOwnPropertySymbols(at).find(
      ({ description }) => description === 'fastify.options',
    )
    if (symbol !== undefined) return (at as Record<symbol, { trustProxy?: unknown }>)[symbol]
  }
  return undefined
}
