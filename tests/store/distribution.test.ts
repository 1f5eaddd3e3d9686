/**
 * Whether a database that shards by the Authorization's id runs each statement on one shard: what it reads, changes and
 * inserts of the tables that carry the id is named by that one id, $1. The plan says it, and not the text.
 */
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ASKED_BY } from '../../src/store/distribution/everywhere.ts'
import type { Statement } from '../../src/store/statement.ts'
import { createDatabase } from '../support/database.ts'
import { nodesOf, openPlanner, type Plan } from '../support/plans.ts'

const STORE = resolve(import.meta.dirname, '../../src/store')
/** By their key. */
const DISTRIBUTED = new Map([
  ['authorizations', 'id'],
  ['authorization_codes', 'authorization_id'],
  ['refresh_tokens', 'authorization_id'],
  ['access_tokens', 'authorization_id'],
])
const database = await createDatabase()
// Without rows, every plan would be a sequential one.
const { client, planOf } = await openPlanner(database, ['enable_seqscan = off'])

async function exported(): Promise<Statement<unknown>[]> {
  const files = (await readdir(STORE)).filter((file) => file.endsWith('.ts'))
  const modules = await Promise.all(
    files.map(async (file) => import(join(STORE, file)) as Promise<{ statements?: object }>),
  )
  return modules.flatMap(({ statements = {} }) => Object.values(statements) as Statement<unknown>[])
}

async function positionOf(relation: string, column: string): Promise<number> {
  const { rows } = await client.query<{ position: number }>(
    `select ordinal_position as position from information_schema.columns where table_name = $1 and column_name = $2`,
    [relation, column],
  )
  return rows[0]!.position - 1
}

/** What a plan gives out in this place, seen through the names that a subquery gives. */
function outputAt(plan: Plan | undefined, position: number): string | undefined {
  const output = plan?.Output?.[position]
  return output?.startsWith('"*SELECT*".') ? outputAt(plan?.Plans?.[0], position) : output
}

/** The places of a plan that touch a distributed table without naming the id. */
async function strayIn(plan: Plan): Promise<string[]> {
  const stray: string[] = []
  for (const node of nodesOf(plan)) {
    const { 'Node Type': type, 'Relation Name': relation = '', Operation: operation } = node
    const key = DISTRIBUTED.get(relation)
    if (key === undefined || (type === 'ModifyTable' && operation !== 'Insert')) continue
    const names =
      type === 'ModifyTable'
        ? outputAt(node.Plans?.at(-1), await positionOf(relation, key))
        : `${node['Index Cond'] ?? node['Recheck Cond'] ?? ''} ${node.Filter ?? ''}`
    if (
      type === 'ModifyTable'
        ? !/^\(?\$1\)?$/.test(names ?? '')
        : !new RegExp(`\\b${key} = \\$1\\b`).test(names!)
    )
      stray.push(`${type} ${relation}: ${names}`)
  }
  return stray
}

const all = await exported()

test('of those that ask every shard there is none that need not', async () => {
  const asking = []
  for (const one of all) if ((await strayIn(await planOf(one))).length > 0) asking.push(one.name)
  expect(asking.toSorted()).toEqual([...ASKED_BY.keys()].toSorted())
})

test.each(all.filter(({ name }) => !ASKED_BY.has(name)))('$name names one id', async (statement) => {
  expect(await strayIn(await planOf(statement))).toEqual([])
})
