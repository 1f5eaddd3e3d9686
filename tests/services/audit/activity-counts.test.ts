/** How often what happened: nothing is counted twice, and nothing left out, whatever becomes of a connection. */
import { afterAll, expect, test, vi } from 'vitest'
import { createActivityCounts } from '../../../src/services/audit/activity-counts.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { createDatabase } from '../../support/database.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'

const rows = await createDatabase()
const proxy = await startDatabaseProxy(rows.url)
const database = await openDatabase({ url: proxy.url })
const counts = createActivityCounts(database)
afterAll(async () => database.close())

/** As the one who asks sees that the connection is gone. */
const AWAY = /terminated|ECONNREFUSED|ECONNRESET/

const stored = async () => {
  const all = await rows.query<{ hour: Date; type: string; count: string }>(
    'select * from activity order by hour, type',
  )
  return all.map(({ hour, type, count }) => [hour.getUTCHours(), type, Number(count)])
}

test.each(['before', 'after'] as const)('a try that is cut off %s it is stored counts once', async (when) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2030, 0, 1, when === 'before' ? 1 : 2, 59) })
  const hour = new Date().getUTCHours()
  for (let n = 0; n < 3; n++) counts.add('user.signed_in')
  await counts.store()
  counts.add('user.signed_in')
  counts.add('token.issued')
  proxy.cutAt('activity', when)
  await expect(counts.store()).rejects.toThrow(AWAY)
  counts.add('token.issued')
  await counts.store()
  await counts.store()
  const ofHour = (await stored()).filter(([at]) => at === hour)
  expect(ofHour).toEqual([[hour, 'token.issued', 2], [hour, 'user.signed_in', 4]]) // prettier-ignore
})

test('what could not be stored in its hour is stored for it in a later one', async () => {
  await rows.query('delete from activity')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2030, 0, 1, 3, 59) })
  counts.add('user.signed_in')
  await proxy.cut()
  await expect(counts.store()).rejects.toThrow(AWAY)
  vi.setSystemTime(Date.UTC(2030, 0, 1, 5, 1))
  counts.add('user.signed_in')
  await expect(counts.store()).rejects.toThrow(AWAY)
  await proxy.restore()
  await counts.store()
  expect(await stored()).toEqual([[3, 'user.signed_in', 1], [5, 'user.signed_in', 1]]) // prettier-ignore
})

test('a type that PostgreSQL never takes keeps no other from being counted, in its hour and later', async () => {
  await rows.query('delete from activity')
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2030, 0, 1, 6, 59) })
  for (const type of ['user.signed_in', 'voucher.\0', undefined as unknown as string, 'token.issued'])
    counts.add(type)
  await counts.store()
  vi.setSystemTime(Date.UTC(2030, 0, 1, 7, 1))
  counts.add('user.signed_in')
  await counts.store()
  expect(await stored()).toEqual([[6, 'token.issued', 1], [6, 'user.signed_in', 1], [7, 'user.signed_in', 1]]) // prettier-ignore
})
