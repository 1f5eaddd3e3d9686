/** After a migration of a distributed database: what it changed, where the rows are too. */
import { placeFunctions } from './citus.ts'
import type { Asking } from './definition.ts'
import { mirror } from './foreign.ts'

/** Of one that is on one server it does nothing. Citus changes its nodes itself: what is called there is as this version has it. */
export async function carryOn(client: Asking, schema?: string): Promise<void> {
  await mirror(client, schema)
  const { rows } = await client.query<{ one: string }>(
    `select oid::regproc::text as "one" from pg_proc where proname = 'latchkey_exchange'`,
  )
  if (rows.length > 0) await placeFunctions(client, schema)
}
