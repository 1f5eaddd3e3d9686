/**
 * The tokens of a server on three PostgreSQL servers of their own, by postgres_fdw: all grants at work at two processes while one of
 * them breaks. Nothing that was acknowledged is lost, nothing that was spent comes back, no answer is a 5xx but 503, and all heals.
 */
import { expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { BOOKS_SEED } from '../support/books.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { codesOf, exchangeAs, refreshAs } from '../support/code-flow.ts'
import { execute } from '../support/connection.ts'
import { distributeOver } from '../support/distributed.ts'
import { createOwnPostgres, type OwnPostgres } from '../support/own-postgres.ts'
import { statusOf, toClient } from '../support/service.ts'
import { setStage, type Stage } from '../support/stage.ts'

async function ownPostgres(): Promise<OwnPostgres> {
  const postgres = await createOwnPostgres(await temporaryDirectory())
  await postgres.start()
  return postgres
}

async function untilReady({ servers }: Stage): Promise<void> {
  for (const server of servers) await expect.poll(async () => statusOf(server.get('/readyz'))).toBe(200)
}

/** Families are begun and gone on with, while those of the shard that is away are refused: who waits for one of these is not asked. */
async function untilOthersGoOn({ servers: [server] }: Stage): Promise<void> {
  const [web] = BOOKS_SEED.clients
  const client = toClient(web!)
  const getCode = codesOf(server!, { client_id: web!.client_id })
  const goesOn = async (): Promise<boolean> => {
    const code = await getCode().catch(() => undefined)
    if (code === undefined) return false
    const { tokens } = await exchangeAs(server!, client, code)
    return (await refreshAs(server!, client, tokens.refresh_token ?? '')).status === 200
  }
  let times = 0
  await expect.poll(async () => (times += (await goesOn()) ? 1 : 0), { interval: 5 }).toBeGreaterThan(5)
}

const told = ({ books: { answers } }: Stage, answer: RegExp): number =>
  [...answers].reduce((sum, [one, times]) => sum + (answer.test(one) ? times : 0), 0)

test('shards and the server before them end, in order and as by a crash, and are started again', async () => {
  const [before, ...shards] = await Promise.all([ownPostgres(), ownPostgres(), ownPostgres()])
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
    if (which !== before) await untilOthersGoOn(stage)
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
