/** Races, batches and the janitor on a database whose tokens lie on three others, by postgres_fdw. */
import { createDatabase } from '../support/database.ts'
import { testRaces } from '../support/distributed-part.ts'

await testRaces(await createDatabase({ distributed: true }))
