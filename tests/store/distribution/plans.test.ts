/** On a database that is distributed, what a token needs is asked of one shard: the plan of each statement says so, not its text. */
import { expect, test } from 'vitest'
import { createDatabase } from '../../support/database.ts'
import { nodesOf, openPlanner, type Plan } from '../../support/plans.ts'
import { statements as accessTokens } from '../../../src/store/tokens.ts'
import { statements as authorizations } from '../../../src/store/authorizations.ts'
import { statements as codes } from '../../../src/store/authorization-codes.ts'
import { statements as refreshTokens } from '../../../src/store/refresh-tokens.ts'
import type { Statement } from '../../../src/store/statement.ts'

const { planOf } = await openPlanner(await createDatabase({ distributed: true }))
const HOT: readonly Statement<unknown>[] = [
  codes.find,
  codes.exchange,
  codes.exchangeForOpaque,
  refreshTokens.insert,
  refreshTokens.find,
  refreshTokens.confirm,
  refreshTokens.rotate,
  refreshTokens.rotateForOpaque,
  accessTokens.insertAccessToken,
  accessTokens.accessToken,
  accessTokens.grantedToken,
  accessTokens.revokeAccessToken,
  authorizations.insert,
  authorizations.insertConsented,
  authorizations.find,
  authorizations.findByCode,
  authorizations.revoke,
]

/** The shards that are read for each table, when the statement is run with one value for its id. */
function shardsIn(plan: Plan): Record<string, number> {
  const read: Record<string, Set<string>> = {}
  for (const { 'Node Type': type, 'Relation Name': relation = '' } of nodesOf(plan)) {
    const [, table] = /^(\w+)_shard_\d+$/.exec(relation) ?? []
    if (type === 'Foreign Scan' && table !== undefined) (read[table] ??= new Set()).add(relation)
  }
  return Object.fromEntries(Object.entries(read).map(([table, shards]) => [table, shards.size]))
}

test.each(HOT)('$name asks one shard', async (statement) => {
  for (const shards of Object.values(shardsIn(await planOf(statement)))) expect(shards).toBe(1)
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
