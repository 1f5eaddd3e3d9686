/** How PostgreSQL means to run a statement of the store, whatever the values. */
import { Client } from 'pg'
import { tableOf, type Statement } from '../../src/store/statement.ts'
import { atEndOfFile } from './cleanup.ts'
import type { TestDatabase } from './database.ts'

export interface Plan {
  'Node Type': string
  'Relation Name'?: string
  Operation?: string
  Output?: string[]
  'Index Name'?: string
  'Index Cond'?: string
  'Recheck Cond'?: string
  Filter?: string
  Plans?: Plan[]
}

export interface Planner {
  client: Client
  planOf(statement: Statement<unknown>): Promise<Plan>
}

/** With these settings of its connection, such as `enable_seqscan = off`. */
export async function openPlanner({ url }: TestDatabase, settings: readonly string[] = []): Promise<Planner> {
  const client = new Client({ connectionString: url })
  await client.connect()
  atEndOfFile(async () => client.end())
  for (const setting of ['plan_cache_mode = force_generic_plan', ...settings])
    await client.query(`set ${setting}`)
  const table = tableOf()

  return {
    client,
    async planOf({ name, build }) {
      const text = build(table)
      const parameters = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
      await client.query('deallocate all')
      await client.query(`prepare "${name}" as ${text}`)
      const values =
        parameters === 0 ? '' : `(${Array.from({ length: parameters }, () => 'null').join(', ')})`
      const { rows } = await client.query(`explain (verbose, format json) execute "${name}"${values}`)
      return (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan
    },
  }
}

export function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
