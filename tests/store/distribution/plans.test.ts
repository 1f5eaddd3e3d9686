/**
 * On a database that is distributed, what a token needs is asked of one server: the plan of each statement says so, not its text, and so
 * do the connections that running it opens.
 */
import { expect, test } from 'vitest'
import { createDatabase } from '../../support/database.ts'
import { fillForHot, HOT } from '../../support/hot-statements.ts'
import { nodesOf, openPlanner, type Plan } from '../../support/plans.ts'
import { statements as authorizations } from '../../../src/store/authorizations.ts'
import { ASKED_BY } from '../../../src/store/distribution/everywhere.ts'
import { tableOf, type Statement } from '../../../src/store/statement.ts'

const database = await createDatabase({ distributed: true })
const { client, planOf } = await openPlanner(database)
const table = tableOf()

await fillForHot(database)

/** The shards that are read for each table, when the statement is run with one value for its id. */
function shardsIn(plan: Plan): Record<string, number> {
  const read: Record<string, Set<string>> = {}
  for (const { 'Node Type': type, 'Relation Name': relation = '' } of nodesOf(plan)) {
    const [, table] = /^(\w+)_shard_\d+$/.exec(relation) ?? []
    if (type === 'Foreign Scan' && table !== undefined) (read[table] ??= new Set()).add(relation)
  }
  return Object.fromEntries(Object.entries(read).map(([table, shards]) => [table, shards.size]))
}

test.each(HOT)('$0.name asks one shard', async (statement) => {
  for (const shards of Object.values(shardsIn(await planOf(statement)))) expect(shards).toBe(1)
})

/** The servers that are asked when it is run; and how many rows it found or wrote. Nothing of it stays. */
async function runOf(
  statement: Statement<unknown>,
  values: readonly unknown[],
): Promise<{ rows: number; servers: string[] }> {
  await client.query('select postgres_fdw_disconnect_all()')
  await client.query('begin')
  try {
    const { rowCount } = await client.query({ text: statement.build(table), values: [...values] })
    const { rows } = await client.query<{ name: string }>(
      'select server_name as name from postgres_fdw_get_connections()',
    )
    return { rows: rowCount ?? 0, servers: rows.map(({ name }) => name) }
  } finally {
    await client.query('rollback')
  }
}

test.each(HOT)('$0.name talks to one server when it is run', async (statement, values) => {
  const { rows, servers } = await runOf(statement, values)
  // A consent that is not there lets nothing be written.
  const expected = statement === authorizations.insertConsented ? [0, 0] : [1, 1]
  expect([rows, servers.length]).toEqual(expected)
})

test('one that asks every server talks to each', async () => {
  expect(ASKED_BY.get(authorizations.listByUser.name)).toBe('lists')
  const { servers } = await runOf(authorizations.listByUser, ['one', null, 10])
  expect(servers.toSorted()).toEqual([1, 2, 3].map((number) => `latchkey_shard_${number}`))
})

test.each([
  authorizations.listByUser,
  authorizations.listBySession,
  authorizations.listByClient,
  authorizations.listByClients,
])('$name asks for the refresh tokens of what it lists, and for no others', async (statement) => {
  const asked = nodesOf(await planOf(statement))
    .filter(({ 'Relation Name': relation = '' }) => relation.startsWith('refresh_tokens_shard_'))
    .map((node) => (node as { 'Remote SQL'?: string })['Remote SQL'])
  expect(asked).toHaveLength(3)
  for (const text of asked) expect(text).toContain('((authorization_id = ANY ($1::uuid[])))')
})
