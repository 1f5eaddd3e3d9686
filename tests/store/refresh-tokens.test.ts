/** What a refresh costs: one row is written where it stands, and no index. */
import { expect, test } from 'vitest'
import { statements } from '../../src/store/refresh-tokens.ts'
import { statement } from '../../src/store/statement.ts'
import { createDatabaseForRows, DAY, deadFamily, fillFamilies, openAs } from '../support/expired-rows.ts'

/** By this transaction. */
const written = statement<{ rows: number; inPlace: number }>(
  'written',
  () => `select n_tup_upd::int as "rows", n_tup_hot_upd::int as "inPlace"
    from pg_stat_xact_user_tables where relname = 'refresh_tokens'`,
)

test('a refresh writes one row, on its own page, and its indexes stay as they are', async () => {
  const rows = await createDatabaseForRows()
  const database = await openAs(rows)
  const families = Array.from({ length: 100 }, () => ({ ...deadFamily(), refresh: DAY, until: DAY }))
  await fillFamilies(rows, families)
  // As many as pages have room for, whether or not PostgreSQL makes more: not while anybody on it may still read what was.
  const some = families.filter((_, n) => n % 5 === 0)
  const [found] = await database.transaction(async (query) => {
    for (const { id } of some)
      expect(await query(statements.rotate, [id, 'token', 'second', 'sealed', 60])).toHaveLength(1)
    return query(written)
  })
  expect(found).toEqual({ rows: some.length, inPlace: some.length })
  const { length } = await rows.query('select from refresh_tokens')
  expect(length).toBe(100)
})
