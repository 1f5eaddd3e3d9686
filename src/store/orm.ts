/** MikroORM's options, for whoever administers. Loaded when it is asked for: it is large. */
import { defineConfig, defineEntity, p, type Options } from '@mikro-orm/postgresql'
import type pg from 'pg'
import { entities } from '../entities/all.ts'
import { tell } from '../entities/define.ts'
import { connectionOf } from '../protocol/connection-url.ts'
import { lend, type Place } from './connections.ts'

for (const entity of entities) tell(entity, { defineEntity, p })

/**
 * Options for the database at `place` (or at this URL), with a pool of `poolSize` connections. A statement that takes
 * longer than `queryTimeout` milliseconds fails; 0 lets it run.
 */
export function ormOptions(place: Place | string, poolSize = 10, queryTimeout = 5000): Options {
  const { url, pool, schema } = typeof place === 'string' ? { url: place } : place
  return defineConfig({
    // The driver reads the URL by itself: sockets, ports and TLS as `pg` documents them.
    dbName: url === undefined ? 'its own' : decodeURIComponent(new URL(url).pathname.slice(1)),
    ...(schema === undefined ? {} : { schema }),
    entities,
    discovery: { warnWhenNoEntities: false },
    // Of a pool the name of the database is not known, and one of any other name would be created.
    ensureDatabase: false,
    pool: { min: 0, max: poolSize, idleTimeoutMillis: 30_000 },
    driverOptions: {
      connectionTimeoutMillis: 2000,
      query_timeout: queryTimeout,
      keepAlive: true,
      application_name: 'latchkey',
      ...(url === undefined ? {} : connectionOf(url)),
      ...(pool === undefined
        ? {}
        : { onPoolCreated: (created: pg.Pool) => lend(pool, created, queryTimeout) }),
    },
    forceUtcTimezone: true,
    ignoreUndefinedInQuery: false,
    debug: false,
    logger: () => {},
  })
}
