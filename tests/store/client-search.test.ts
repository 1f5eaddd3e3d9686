/** How many rows a search for clients reads, however many there are. */
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { statements } from '../../src/store/clients.ts'
import { tableOf } from '../../src/store/statement.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createDatabase } from '../support/database.ts'

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

const LIMIT = 51
const database = await createDatabase()
const text = statements.search.build(tableOf())
const client = new Client({ connectionString: database.url })
atEndOfFile(async () => client.end())
await client.connect()
await client.query(`insert into clients (client_id, client_name)
  select 'client-' || n, 'Name ' || md5(n::text) from generate_series(1, 30000) n
  union all select 'x-same-' || n, 'Same' from generate_series(1, 30000) n`)
await client.query('analyze clients')
// The plan that a server's prepared statement ends with, for whatever is searched.
await client.query('set plan_cache_mode = force_generic_plan')
await client.query(`prepare search as ${text}`)

/** Rows of `clients` that were looked at. */
function rowsRead({ Plans = [], ...plan }: Plan): number {
  const own = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)
  return Plans.reduce((sum, one) => sum + rowsRead(one), plan['Relation Name'] === 'clients' ? own : 0)
}

test.each([
  ['client-', '', '', LIMIT],
  ['client-', 'client-2', 'client-2', LIMIT],
  ['NAME ', '', '', LIMIT],
  ['NAME ', 'name 8', 'client-9', LIMIT],
  ['same', 'same', 'x-same-2', LIMIT],
  ['', '', '', LIMIT],
  ['', 'name 8', 'client-9', LIMIT],
  ['client-2999', '', '', 11],
  ['nobody', '', '', 0],
])(
  'a search for %j behind %j reads no more than each of its two ways may find',
  async (begin, at, after, count) => {
    const call = `search ('${begin}', ${LIMIT}, '${at}', '${after}')`
    expect((await client.query(`execute ${call}`)).rowCount).toBe(count)
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (analyze, format json) execute ${call}`,
    )
    expect(rowsRead(rows[0]!['QUERY PLAN'][0]!.Plan)).toBeLessThanOrEqual(2 * LIMIT)
  },
)
