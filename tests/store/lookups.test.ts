/**
 * What is looked up by its key is found by its key, also when all there was has just died: then the indexes by age are so
 * small that PostgreSQL would choose one of those, and keep the plan while they grow.
 */
import { expect, test } from 'vitest'
import { statements as artifacts } from '../../src/store/artifacts.ts'
import { statements as codes } from '../../src/store/authorization-codes.ts'
import { statements as sessions } from '../../src/store/sessions.ts'
import { statements as tokens } from '../../src/store/tokens.ts'
import { createDatabaseForRows, DEAD, fill, repeat, TABLES } from '../support/expired-rows.ts'
import { nodesOf, openPlanner } from '../support/plans.ts'

const KEYS = new Map([
  ['artifacts', /^artifacts_pkey$/],
  ['authorization_codes', /^authorization_codes_pkey$/],
  ['sessions', /^sessions_(?:pkey|sid_unique)$/],
  ['access_tokens', /^access_tokens_pkey$/],
])
const database = await createDatabaseForRows()
for (const table of TABLES.filter((one) => KEYS.has(one.table))) {
  await fill(database, table, repeat(5000, { ...DEAD, flag: table.table === 'authorization_codes' }))
  await database.query(`vacuum analyze ${table.table}`)
}
const { planOf } = await openPlanner(database)

test.each([
  artifacts.get, artifacts.replace, artifacts.spend, artifacts.delete,
  codes.insert, codes.find, codes.exchange, codes.exchangeForOpaque,
  sessions.find, sessions.isOpen, sessions.renew, sessions.touch, sessions.join,
  tokens.accessToken, tokens.revokeAccessToken,
])('$name', async (statement) => {
  const indexes = nodesOf(await planOf(statement))
    .filter((node) => node['Node Type'].includes('Scan') && KEYS.has(node['Relation Name'] ?? ''))
    .map((node) => [node['Relation Name'], node['Index Name'] ?? node['Node Type']] as const)
  expect(indexes).not.toEqual([])
  for (const [relation, index] of indexes) expect(index).toMatch(KEYS.get(relation!)!)
}) // prettier-ignore
