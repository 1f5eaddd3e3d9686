/** Behind PgBouncer in transaction mode: from the first migration on, by three processes on three connections. */
import { describe, expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { keeps, noPgbouncer, SERVER_CONNECTIONS, startPgbouncer } from '../support/pgbouncer.ts'
import { runCommandHere } from '../support/command-here.ts'
import { spawnServer } from '../support/process.ts'
import { setStage } from '../support/stage.ts'

/** Without a schema. */
async function createEmptyDatabase(): Promise<TestDatabase> {
  const database = await createDatabase()
  await database.query('drop schema public cascade')
  await database.query('create schema public')
  return database
}

describe.skipIf(noPgbouncer)('behind PgBouncer', () => {
  test.each([
    ...(keeps ? [{ prepared: true, what: 'which keeps prepared statements' }] : []),
    { prepared: false, what: 'without prepared statements' },
  ])('$what: all works, in all processes', async ({ prepared }) => {
    const database = await createEmptyDatabase()
    const url = await startPgbouncer(database.url, { prepared })
    const settings = { DATABASE_PREPARE: prepared, OIDC_JANITOR_INTERVAL: 1 }
    // More than there are connections, at once and on nothing: one runs the migrations, and who waits takes none of them.
    await Promise.all(Array.from({ length: 3 * SERVER_CONNECTIONS }, async () => migrate(url)))

    const { servers, desk, books, close } = await setStage(url, {
      database,
      settings: { ...settings, SECRET_KEY: 'k'.repeat(40) },
    })
    // Rows that the janitor is to find.
    await database.query(
      `insert into revoked_tokens (jti, expires_at) select 'old ' || n, now() - interval '2 days' from generate_series(1, 10) n`,
    )
    await books.load.more(150)
    const [used] = await database.query(
      `select count(*)::int as connections from pg_stat_activity
       where datname = current_database() and application_name = 'latchkey'`,
    )
    expect(used!['connections']).toBeLessThanOrEqual(SERVER_CONNECTIONS)
    await books.load.stop()
    await books.assertKept()
    await expect
      .poll(async () => database.query(`select from revoked_tokens where jti like 'old %'`))
      .toEqual([])

    const { status, stdout } = await runCommandHere(['doctor'], desk.settings)
    expect(stdout).toMatch(/^ok +database: PostgreSQL \d+ answers/m)
    expect(stdout.match(/^fail.*$/gm) ?? []).toEqual([])
    expect(status).toBe(0)
    for (const { output } of [...servers, desk])
      expect(output().match(/^.*PostgreSQL refused: .*$/gm)).toBeNull()
    await close()
  })

  test('which loses prepared statements: the start and doctor say what to do', async () => {
    const database = await createDatabase()
    const settings = { DATABASE_URL: await startPgbouncer(database.url, { prepared: false }) }
    const says = /pooler .* loses prepared statements: set DATABASE_PREPARE=false/
    await expect(spawnServer(settings, { database })).rejects.toThrow(says)
    const { status, stdout } = await runCommandHere(['doctor'], settings)
    expect([status, stdout]).toEqual([1, expect.stringMatching(says)])
  })
})
