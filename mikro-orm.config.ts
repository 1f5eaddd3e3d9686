/** For the `mikro-orm` command line: `npx mikro-orm migration:create --config ./mikro-orm.config.ts`. */
import { migratorOptions } from './src/store/migrator.ts'

const url = process.env['DATABASE_URL']
if (url === undefined) throw new Error('DATABASE_URL must be set for the mikro-orm command line.')

export default {
  ...migratorOptions(url),
  migrations: {
    path: 'src/migrations',
    pathTs: 'src/migrations',
    // Not the lists beside them.
    glob: 'Migration*.ts',
    snapshot: false,
    tableName: 'migrations',
  },
}
