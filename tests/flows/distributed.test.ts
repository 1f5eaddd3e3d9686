/**
 * The tokens of a server on three PostgreSQL servers of their own, by postgres_fdw: all grants at work at two processes while one of
 * them breaks. Nothing that was acknowledged is lost, nothing that was spent comes back, no answer is a 5xx but 503, and all heals.
 */
import { expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { execute } from '../support/connection.ts'
import { distributeOver } from '../support/distributed.ts'
import { breakInTurn } from '../support/distributed-part.ts'
import { createOwnPostgres, type OwnPostgres } from '../support/own-postgres.ts'
import { setStage } from '../support/stage.ts'

async function ownPostgres(): Promise<OwnPostgres> {
  const postgres = await createOwnPostgres(await temporaryDirectory())
  await postgres.start()
  return postgres
}

test('shards and the server before them end, in order and as by a crash, and are started again', async () => {
  const [before, ...shards] = await Promise.all([ownPostgres(), ownPostgres(), ownPostgres()])
  await migrate(before.url)
  await distributeOver(
    before.url,
    shards.map(({ url }) => url),
  )
  const stage = await setStage(before.url)
  await breakInTurn(stage, before, [
    [shards[0], 'SIGQUIT'],
    [shards[1], 'SIGINT'],
    [before, 'SIGQUIT'],
    [shards[1], 'SIGQUIT'],
    [shards[0], 'SIGINT'],
  ])
  const held = await Promise.all(
    shards.map(
      async ({ url }) =>
        (await execute<{ n: number }>(url, 'select count(*)::int as n from authorizations'))[0]!.n,
    ),
  )
  expect(Math.min(...held)).toBeGreaterThan(0)
  await stage.close()
})
