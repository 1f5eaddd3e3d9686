/** MikroORM's options with its migrator, shared by `migrate.ts` and the `mikro-orm` command line. */
import { Migrator } from '@mikro-orm/migrations'
import type { Options } from '@mikro-orm/postgresql'
import { migrations } from '../migrations/all.ts'
import type { Place } from './connections.ts'
import { ormOptions } from './orm.ts'

/** For the database at `place` (or at this URL), with two connections; a statement may take its time. */
export function migratorOptions(place: Place | string): Options {
  return {
    ...ormOptions(place, 2, 0),
    extensions: [Migrator],
    migrations: { migrationsList: migrations, snapshot: false, allOrNothing: true, tableName: 'migrations' },
  }
}
