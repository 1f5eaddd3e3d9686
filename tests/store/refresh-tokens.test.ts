/** What a refresh costs: one row is written where it stands, and no index. */
import { expect, test } from 'vitest'
import { statements } from '../../src/store/refresh-tokens.ts'
import { statement } from '../../src/store/statement.ts'
import { createDatabaseForRows, DAY, deadFamily, fillFamilies, openAs } from '../support/expired-rows.ts'

/** By the connection that asks, since it told the last time. */
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
  const most = { rows: 0, inPlace: 0 }
  for (const { id } of families) {
    for (const [before, after] of [
      ['token', 'second'],
      ['second', 'third'],
    ]) {
      const [found] = await database.transaction(async (query) => {
        expect(await query(statements.rotate, [id, before, after, 'sealed', 60])).toHaveLength(1)
        return query(written)
      })
      most.rows = Math.max(most.rows, found!.rows)
      most.inPlace = Math.max(most.inPlace, found!.inPlace)
    }
  }
  expect(most.rows).toBeGreaterThan(20)
  // A page that is full is made room on unless somebody may still read what was there: now and then PostgreSQL itself.
  expect(most.inPlace / most.rows).toBeGreaterThan(0.9)
  const { length } = await rows.query('select from refresh_tokens')
  expect(length).toBe(100)
})
