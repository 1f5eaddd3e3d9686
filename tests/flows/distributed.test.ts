/**
 * The tokens of a server on three PostgreSQL servers of their own, by postgres_fdw: all grants at work at two processes while one of
 * them breaks. Nothing that was acknowledged is lost, nothing that was spent comes back, no answer is a 5xx but 503, and all heals.
 */
import { expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { execute } from '../support/connection.ts'
import { distributeOver } from '../support/distributed.ts'
import { createOwnPostgres, type OwnPostgres } from '../support/own-postgres.ts'
import { statusOf } from '../support/service.ts'
import { setStage, type Stage } from '../support/stage.ts'

async function ownPostgres(): Promise<OwnPostgres> {
  const postgres = await createOwnPostgres(await temporaryDirectory())
  await postgres.start()
  return postgres
}

async function untilReady({ servers }: Stage): Promise<void> {
  for (const server of servers) await expect.poll(async () => statusOf(server.get('/readyz'))).toBe(200)
}

const told = ({ books: { answers } }: Stage, answer: RegExp): number =>
  [...answers].reduce((sum, [one, times]) => sum + (answer.test(one) ? times : 0), 0)

test('shards and the server before them end, in order and as by a crash, and are started again', async () => {
  const [before, ...shards] = await Promise.all([ownPostgres(), ownPostgres(), ownPostgres()])
  /** While what one shard holds is refused. */
  async function untilOthersGoOn(): Promise<void> {
    const served = told(stage, /^refresh 200$/)
    await expect.poll(() => told(stage, /^refresh 200$/)).toBeGreaterThan(served + 5)
  }
  await migrate(before.url)
  await distributeOver(
    before.url,
    shards.map(({ url }) => url),
  )
  const stage = await setStage(before.url)
  await stage.books.load.more(20)
  for (const [which, signal] of [
    [shards[0], 'SIGQUIT'],
    [shards[1], 'SIGINT'],
    [before, 'SIGQUIT'],
    [shards[1], 'SIGQUIT'],
  ] as const) {
    const refused = told(stage, / 503$/)
    await which.stop(signal)
    await expect.poll(() => told(stage, / 503$/)).toBeGreaterThan(refused)
    if (which !== before) await untilOthersGoOn()
    await which.start()
    await untilReady(stage)
    await stage.books.load.more(20)
  }
  const held = await Promise.all(
    shards.map(
      async ({ url }) =>
        (await execute<{ n: number }>(url, 'select count(*)::int as n from authorizations'))[0]!.n,
    ),
  )
  expect(Math.min(...held)).toBeGreaterThan(0)
  await stage.books.load.stop()
  await stage.books.assertKept()
  await stage.close()
})
