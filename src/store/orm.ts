/** MikroORM's options, shared by the server and the `mikro-orm` command line. */
import { Migrator } from '@mikro-orm/migrations'
import { defineConfig, type Options } from '@mikro-orm/postgresql'
import { entities } from '../entities/all.ts'
import { migrations } from '../migrations/all.ts'

/**
 * Options for the database at `url`, with a pool of `poolSize` connections. A statement that takes longer than
 * `queryTimeout` milliseconds fails; 0 lets it run.
 */
export function ormOptions(url: string, poolSize = 10, queryTimeout = 5000): Options {
  return defineConfig({
    // The driver reads the URL by itself: sockets, ports and TLS as `pg` documents them.
    dbName: decodeURIComponent(new URL(url).pathname.slice(1)),
    entities,
    extensions: [Migrator],
    discovery: { warnWhenNoEntities: false },
    pool: { min: 0, max: poolSize, idleTimeoutMillis: 30_000 },
    driverOptions: {
      connectionString: url,
      connectionTimeoutMillis: 2000,
      query_timeout: queryTimeout,
      keepAlive: true,
      application_name: 'latchkey',
    },
    forceUtcTimezone: true,
    ignoreUndefinedInQuery: false,
    migrations: { migrationsList: migrations, snapshot: false, allOrNothing: true, tableName: 'migrations' },
    debug: false,
    logger: () => {},
  })
}
