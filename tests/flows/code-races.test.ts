/** One code, many who present it, at two processes: one of them gets tokens, and what a second use shows ends those. */
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { ALIVE, type Answer, codesOf, DEAD, exchangeAs, lifeOf } from '../support/code-flow.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { spawnServer } from '../support/process.ts'
import { toClient } from '../support/service.ts'
import { createPkce, SEED, WEB } from '../support/sign-in.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const seed = { ...SEED, clients: [WEB, opaque] }
const one = await spawnServer({}, { seed })
const two = await spawnBeside(one.settings, one.database)
const web = toClient(WEB)
const { verifier: code_verifier, challenge: code_challenge } = createPkce()
const getCode = codesOf(one, { code_challenge, code_challenge_method: 'S256' })

/** By status and error, how many. */
function count(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, error = 'tokens' } of answers)
    counts[`${status} ${error}`] = (counts[`${status} ${error}`] ?? 0) + 1
  return counts
}

test.each([WEB, opaque])(
  'fifty exchanges of one code at once by $client_id: one gets tokens, and they are dead when all have been answered',
  async ({ client_id }) => {
    const client = toClient({ ...WEB, client_id })
    const code = await getCode({ client_id })
    const exchanges = Array.from({ length: 50 }, async (_, index) =>
      exchangeAs(index % 2 === 0 ? one : two, client, code, { code_verifier }),
    )
    const answers = await Promise.all(exchanges)
    expect(count(answers)).toEqual({ '200 tokens': 1, '400 invalid_grant': 49 })
    const { tokens } = answers.find(({ status }) => status === 200)!
    expect(await lifeOf(one, client, tokens)).toEqual(DEAD)
    expect(await lifeOf(two, client, tokens)).toEqual(DEAD)
  },
)

test('two at once, many times: never two successes, and never a success that outlives the other', async () => {
  for (let round = 0; round < 20; round++) {
    const code = await getCode()
    const answers = await Promise.all(
      [one, two].map(async (server) => exchangeAs(server, web, code, { code_verifier })),
    )
    expect(count(answers)).toEqual({ '200 tokens': 1, '400 invalid_grant': 1 })
    const { tokens } = answers.find(({ status }) => status === 200)!
    expect(await lifeOf(two, web, tokens)).toEqual(DEAD)
  }
})

test('a code used again, at the other process: its tokens end, those of other codes do not', async () => {
  const code = await getCode()
  const [{ tokens }, other] = [
    await exchangeAs(one, web, code, { code_verifier }),
    await exchangeAs(one, web, await getCode(), { code_verifier }),
  ]
  expect(await exchangeAs(two, web, code, { code_verifier })).toMatchObject({ error: 'invalid_grant' })
  expect(await lifeOf(one, web, tokens)).toEqual(DEAD)
  expect(await lifeOf(two, web, other.tokens)).toEqual(ALIVE)
})

test('wrong and right attempts at once: the wrong ones neither burn the code nor end what the right one got', async () => {
  const code = await getCode()
  const wrong = Array.from({ length: 20 }, async (_, index) =>
    exchangeAs(index % 2 === 0 ? one : two, web, code, { code_verifier: createPkce().verifier }),
  )
  const right = exchangeAs(two, web, code, { code_verifier })
  expect(count(await Promise.all(wrong))).toEqual({ '400 invalid_grant': 20 })
  const { tokens } = await right
  expect(await lifeOf(one, web, tokens)).toEqual(ALIVE)
})

test.each([WEB, opaque])(
  'a database connection that is cut before the exchange by $client_id is stored: 503, and the code is still good',
  async ({ client_id }) => {
    const client = toClient({ ...WEB, client_id })
    const database = await createDatabase()
    const proxy = await startDatabaseProxy(database.url)
    const server = await spawnServer({ DATABASE_URL: proxy.url }, { seed, database })
    const getCode = codesOf(server, { client_id })
    for (const text of ['authorization-code-find', 'authorization-code-exchange']) {
      const code = await getCode()
      proxy.cutAt(text, 'before')
      expect(await exchangeAs(server, client, code)).toMatchObject({ status: 503 })
      const { tokens } = await exchangeAs(server, client, code)
      expect(await lifeOf(server, client, tokens)).toEqual(ALIVE)
    }
  },
)

test('a connection cut after the exchange was stored: 503, and what was stored is for who asks again, once', async () => {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  const server = await spawnServer({ DATABASE_URL: proxy.url }, { seed, database })
  const code = await codesOf(server)()
  proxy.cutAt('authorization-code-exchange', 'after')
  expect(await exchangeAs(server, web, code)).toMatchObject({ status: 503 })
  const authorizations = 'select client_id, revoked_at is not null as revoked from authorizations'
  expect(await database.query(authorizations)).toEqual([{ client_id: 'web', revoked: false }])
  // Nobody was told: whoever asks again is no second. Who asks for a third time is.
  expect(await exchangeAs(server, web, code)).toMatchObject({ status: 200 })
  expect(await database.query(authorizations)).toEqual([{ client_id: 'web', revoked: false }])
  expect(await exchangeAs(server, web, code)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await database.query(authorizations)).toEqual([{ client_id: 'web', revoked: true }])
})
