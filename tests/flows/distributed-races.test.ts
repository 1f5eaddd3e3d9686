/** Two processes on a database whose tokens lie in three others: races, batches and the janitor, as on one server. */
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { engineOf } from '../../src/store/distribution/engine.ts'
import { statements } from '../../src/store/refresh-tokens.ts'
import { statement } from '../../src/store/statement.ts'
import { spawnBeside } from '../support/beside.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf, refreshAs } from '../support/code-flow.ts'
import { createDatabase } from '../support/database.ts'
import { janitorOf } from '../support/expired-rows.ts'
import { spawnServer } from '../support/process.ts'
import { toClient } from '../support/service.ts'
import { SEED, WEB } from '../support/sign-in.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const database = await createDatabase({ distributed: true })
const one = await spawnServer(
  { OIDC_JANITOR_INTERVAL: 0 },
  { database, seed: { ...SEED, clients: [WEB, opaque] } },
)
const two = await spawnBeside(one.settings, one.database)
const getCode = codesOf(one)
const store = await openDatabase({ url: database.url, engine: await engineOf({ url: database.url }) })
atEndOfFile(async () => store.close())

test.each([WEB, opaque])(
  'fifty exchanges of one code by $client_id at two processes: one success',
  async (client) => {
    for (let round = 0; round < 3; round++) {
      const code = await getCode({ client_id: client.client_id })
      const answers = await Promise.all(
        Array.from({ length: 50 }, async (_, at) =>
          exchangeAs(at % 2 === 0 ? one : two, toClient(client), code),
        ),
      )
      const good = answers.filter(({ status }) => status === 200)
      expect([good.length, answers.filter(({ error }) => error === 'invalid_grant').length]).toEqual([1, 49])
      // A second use ends what the first one gave.
      expect(await lifeOf(two, toClient(client), good[0]!.tokens)).toEqual(DEAD)
    }
  },
)

test.each([WEB, opaque])(
  'tokens of $client_id are good at both processes, also after twenty refreshes at once',
  async (client) => {
    const { tokens } = await exchangeAs(one, toClient(client), await getCode({ client_id: client.client_id }))
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, at) =>
        refreshAs(at % 2 === 0 ? one : two, toClient(client), tokens.refresh_token),
      ),
    )
    const successors = new Set(
      answers.map(({ status, tokens: { refresh_token: token } }) => `${status} ${token}`),
    )
    expect(successors.size).toBe(1)
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
  const [left] = await database.query(
    `select count(*)::int as revoked, (select count(*)::int from refresh_tokens left join authorizations on id = authorization_id
      where id is null) as orphans from authorizations where revoked_at < now() - interval '30 days'`,
  )
  expect(left).toEqual({ revoked: 0, orphans: 0 })
  const lives = await Promise.all(held.map(async (tokens) => lifeOf(two, toClient(opaque), tokens)))
  expect(lives.filter(({ refresh }) => refresh === 200)).toHaveLength(6)
})
