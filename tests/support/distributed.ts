/**
 * Databases that are distributed over others (docs/distribute.md). With TEST_DISTRIBUTED=fdw every database of a run is, over three of
 * the same PostgreSQL; `npm run test:distributed` runs so.
 */
import pg from 'pg'
import { distribute } from '../../src/store/distribution/foreign.ts'

export const DISTRIBUTED = process.env['TEST_DISTRIBUTED'] === 'fdw'

/** With TEST_DISTRIBUTED=citus all lie on three servers of Citus that the run starts, of the build whose programs CITUS_BIN names. */
export const ON_CITUS = process.env['TEST_DISTRIBUTED'] === 'citus'

/** Over the databases of `urls`. */
export async function distributeOver(url: string, urls: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await distribute(
      client,
      urls.map((one, at) => ({ number: at + 1, url: one })),
    )
  } finally {
    await client.end()
  }
}
