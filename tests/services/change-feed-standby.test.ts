/** A commit that waits for a synchronous standby is seen by nobody, for as long as the standby is away; then by everybody. */
import { expect, test } from 'vitest'
import { createChangeFeed } from '../../src/services/change-feed.ts'
import { recordChange, statements } from '../../src/store/changes.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { execute } from '../support/connection.ts'
import { recordingLog } from '../support/log.ts'
import { createGround } from '../support/stalls.ts'
import { until } from '../support/until.ts'

/** Milliseconds that pass between two polls: more than a feed looks back. */
const LONG = 60_000

test('what waited for a standby longer than a feed looks back arrives, once', async () => {
  const { postgres } = await createGround()
  // From its start on: told later, it says of no commit whether it has heard of it.
  await execute(postgres.url, `alter system set synchronous_standby_names = 'nobody'`)
  await postgres.stop('SIGINT')
  await postgres.start()
  const database = await openDatabase({ url: postgres.url })
  atEndOfFile(() => database.close())
  let polls = 0
  // By its clock, the time goes on in leaps.
  const hasty: Database = {
    ...database,
    async query(statement, parameters) {
      const rows = await database.query(statement, parameters)
      if ((statement as object) !== statements.since) return rows
      polls++
      return rows.map((row) => ({ ...row, now: new Date((row as unknown as { now: Date }).now.getTime() + LONG) }))
    },
  } // prettier-ignore
  const keys: string[] = []
  const feed = createChangeFeed(hasty, recordingLog().log)
  feed.on('signing_key', ({ key }) => void keys.push(key))
  await feed.start()
  atEndOfFile(() => feed.stop())

  const recorded = recordChange(database.query, 'signing_key', 'revoked').catch(() => {})
  await until(async () => {
    const waiting = await execute(
      postgres.url,
      `select 1 from pg_stat_activity where wait_event = 'SyncRep' and usename = current_user`,
    )
    expect(waiting).toHaveLength(1)
  })
  const before = polls
  await expect.poll(() => polls).toBeGreaterThan(before + 2)
  expect(keys).toEqual([])

  await execute(postgres.url, 'alter system reset synchronous_standby_names')
  await execute(postgres.url, 'select pg_reload_conf()')
  await recorded
  await expect.poll(() => keys).toEqual(['revoked'])
  const after = polls
  await expect.poll(() => polls).toBeGreaterThan(after + 3)
  expect(keys).toEqual(['revoked'])
})
