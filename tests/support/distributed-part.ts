/**
 * Two processes on a database whose tokens lie on several servers: races, batches and the janitor, as on one server; and all grants at work
 * while one server after the other breaks. The same on each engine.
 */
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { engineOf } from '../../src/store/distribution/engine.ts'
import { statements } from '../../src/store/refresh-tokens.ts'
import { statement } from '../../src/store/statement.ts'
import { spawnBeside } from './beside.ts'
import { BOOKS_SEED } from './books.ts'
import { atEndOfFile } from './cleanup.ts'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf, refreshAs } from './code-flow.ts'
import type { TestDatabase } from './database.ts'
import { janitorOf } from './expired-rows.ts'
import { spawnServer } from './process.ts'
import { statusOf, toClient } from './service.ts'
import { SEED, WEB } from './sign-in.ts'
import type { Stage } from './stage.ts'

/** Of fifty exchanges of one code, for each kind of client; TEST_ROUNDS asks for more. */
const ROUNDS = Number(process.env['TEST_ROUNDS'] ?? 2)
const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }

/** Tests of two processes on a database that is distributed already. */
export async function testRaces(database: TestDatabase): Promise<void> {
  const one = await spawnServer(
    { OIDC_JANITOR_INTERVAL: 0 },
    { database, seed: { ...SEED, clients: [WEB, opaque] } },
  )
  const two = await spawnBeside(one.settings, one.database)
  const getCode = codesOf(one)
  const engine = await engineOf({ url: database.url })
  const store = await openDatabase({ url: database.url, engine })
  atEndOfFile(async () => store.close())

  test.each([WEB, opaque])(
    'fifty exchanges of one code by $client_id at two processes: one success',
    async (client) => {
      for (let round = 0; round < ROUNDS; round++) {
        const code = await getCode({ client_id: client.client_id })
        const answers = await Promise.all(
          Array.from({ length: 50 }, async (_, at) =>
            exchangeAs(at % 2 === 0 ? one : two, toClient(client), code),
          ),
        )
        const good = answers.filter(({ status }) => status === 200)
        expect([good.length, answers.filter(({ error }) => error === 'invalid_grant').length]).toEqual([
          1, 49,
        ])
        // A second use ends what the first one gave.
        expect(await lifeOf(two, toClient(client), good[0]!.tokens)).toEqual(DEAD)
      }
    },
  )

  test.each([WEB, opaque])(
    'tokens of $client_id are good at both processes, also after twenty refreshes at once',
    async (client) => {
      const { tokens } = await exchangeAs(
        one,
        toClient(client),
        await getCode({ client_id: client.client_id }),
      )
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, at) =>
          refreshAs(at % 2 === 0 ? one : two, toClient(client), tokens.refresh_token),
        ),
      )
      const successors = new Set(
        answers.map(({ status, tokens: { refresh_token: token } }) => `${status} ${token}`),
      )
      expect([...successors]).toEqual([expect.stringMatching(/^200 /)])
      expect(await lifeOf(two, toClient(client), answers[0]!.tokens)).toEqual(ALIVE)
    },
  )

  test('a rotation beside a statement that fails is answered as it was stored', async () => {
    for (let number = 0; number < 8; number++) await exchangeAs(one, toClient(WEB), await getCode())
    const ids = await database.query<{ id: string; hash: string }>(
      `select id, hash from authorizations join refresh_tokens on authorization_id = id
      where revoked_at is null order by authorizations.created_at desc limit 8`,
    )
    const failing = statement('test-failing', () => `select 1 / $1::int`, 'with writers')
    const [rotations, failure] = await Promise.all([
      Promise.all(
        ids.map(async ({ id, hash }) =>
          store.query(
            statements.rotate,
            statements.rotate.values({ id, hash, successor: `next ${hash}`, sealed: 'x', lifetime: 60 }),
          ),
        ),
      ),
      store.query(failing, [0]).catch((error: unknown) => error),
    ])
    expect(failure).toMatchObject({ code: '22012' })
    expect(rotations).toEqual(ids.map(({ hash }) => [{ hash: `next ${hash}` }]))
  })

  test('the janitor finds what is dead on every shard, and leaves what lives', async () => {
    const held = await Promise.all(
      Array.from(
        { length: 12 },
        async () => (await exchangeAs(one, toClient(opaque), await getCode({ client_id: 'opaque' }))).tokens,
      ),
    )
    const janitor = janitorOf(store)
    await database.query(`update authorizations set revoked_at = now() - interval '31 days'
    where id in (select id from authorizations order by created_at desc limit 6)`)
    await database.query(`update authorizations set kept_until = now() - interval '1 second'`)
    await janitor.round()
    const [revoked] = await database.query<{ n: number }>(
      `select count(*)::int as n from authorizations where revoked_at < now() - interval '30 days'`,
    )
    const [orphans] = await database.query<{ n: number }>(
      `select count(*)::int as n from refresh_tokens left join authorizations on id = authorization_id where id is null`,
    )
    expect([revoked, orphans]).toEqual([{ n: 0 }, { n: 0 }])
    const lives = await Promise.all(held.map(async (tokens) => lifeOf(two, toClient(opaque), tokens)))
    expect(lives.filter(({ refresh }) => refresh === 200)).toHaveLength(6)
  })
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

/** What can be stopped and started again. */
export interface Breakable {
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
  start(): Promise<void>
}

/**
 * Stops each with its signal and starts it again, under load; then ends the load and looks at the books. `recover` is what an operator
 * does once it is back.
 */
export async function breakInTurn(
  stage: Stage,
  front: Breakable,
  turns: readonly (readonly [Breakable, 'SIGINT' | 'SIGQUIT'])[],
  recover: () => Promise<void> = async () => {},
): Promise<void> {
  await stage.books.load.more(20)
  for (const [which, signal] of turns) {
    const refused = told(stage, / 503$/)
    await which.stop(signal)
    await expect.poll(() => told(stage, / 503$/)).toBeGreaterThan(refused)
    if (which !== front) await untilOthersGoOn(stage)
    await which.start()
    await untilReady(stage)
    await recover()
    await stage.books.load.more(20)
  }
  await stage.books.load.stop()
  await stage.books.assertKept()
}
