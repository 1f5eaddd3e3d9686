/** What an app must be that Latchkey is registered in, and what in it would quietly break a promise of ours. */
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { ConfigError, type Config } from './config.ts'
import type { LatchkeyOptions, OrmLike } from './latchkey-options.ts'
import { risksAnywhereOf } from './words/risks.ts'

/** Throws `ConfigError` where we would be at another address than the issuer's, or in another's place. */
export function assertRoom(app: FastifyInstance, { issuer, basePath }: Config, prefix?: string): void {
  if (app.prefix !== '')
    throw new ConfigError(
      `Latchkey is registered below ${app.prefix}, where not all of its addresses lie: register it at the root, with prefix: '${app.prefix}${prefix ?? ''}'.`,
    )
  if (prefix !== undefined && prefix !== basePath)
    throw new ConfigError(
      `The prefix ${prefix} must be the path of OIDC_ISSUER, which is ${basePath || 'none'} in ${issuer}.`,
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
  if (optionsOf(app)?.trustProxy === true)
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
