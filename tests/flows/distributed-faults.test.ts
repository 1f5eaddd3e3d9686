/**
 * Faults between the servers of one database, by postgres_fdw: a commit that one of them never hears of, or whose answer is lost; one that
 * keeps rows of a transaction that was left prepared. What was acknowledged holds, nothing is spent twice, and it is done when it is done again.
 */
import { expect, test } from 'vitest'
import { hashOf } from '../../src/protocol/handle.ts'
import { isUnavailable } from '../../src/store/failures.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf, refreshAs } from '../support/code-flow.ts'
import { execute } from '../support/connection.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { distributeOver } from '../support/distributed.ts'
import { createOwnPostgres } from '../support/own-postgres.ts'
import { startServer } from '../support/server.ts'
import { toClient } from '../support/service.ts'
import { ALICE, SEED, WEB, type Tokens } from '../support/sign-in.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const database = await createDatabase({ distributed: false })
const own = await createOwnPostgres(await temporaryDirectory())
await own.start({ max_prepared_transactions: '5' })
const third = await startDatabaseProxy(own.url)
const [first, second] = [await createEmptyDatabase(), await createEmptyDatabase()]
await distributeOver(database.url, [first.url, second.url, third.url])
const server = await startServer(
  { OIDC_JANITOR_INTERVAL: 0 },
  { database, seed: { ...SEED, clients: [WEB, opaque] } },
)
const getCode = codesOf(server)
/** As the one in front has the third one spend a code. */
const SPENDS = 'DELETE FROM public.authorization_codes'

const countOn = async (table: string, where: string): Promise<number> =>
  (await execute<{ n: number }>(own.url, `select count(*)::int as n from ${table} where ${where}`))[0]!.n

/** A code that lies on the third one, or on another. */
async function codeOn(wanted: 'third' | 'others', clientId: string): Promise<string> {
  for (;;) {
    const code = await getCode({ client_id: clientId })
    const isThird = (await countOn('authorization_codes', `hash = '${hashOf(code)}'`)) === 1
    if (isThird === (wanted === 'third')) return code
  }
}

async function tokensOn(wanted: 'third' | 'others'): Promise<Tokens> {
  return (await exchangeAs(server, toClient(WEB), await codeOn(wanted, 'web'))).tokens
}

test.each([WEB, opaque])(
  'an exchange of $client_id whose commit its server never hears of has not happened, and is done again',
  async (registered) => {
    const client = toClient(registered)
    const code = await codeOn('third', registered.client_id)
    third.cutAt('COMMIT TRANSACTION', 'before', SPENDS)
    expect((await exchangeAs(server, client, code)).status).toBe(503)
    const { status, tokens } = await exchangeAs(server, client, code)
    expect(status).toBe(200)
    expect(await lifeOf(server, client, tokens)).toEqual(ALIVE)
    expect((await exchangeAs(server, client, code)).error).toBe('invalid_grant')
    expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
  },
)

test.each([WEB, opaque])(
  'one of $client_id that was committed there, which nobody in front heard, is handed out once',
  async (registered) => {
    const client = toClient(registered)
    const code = await codeOn('third', registered.client_id)
    third.cutAt('COMMIT TRANSACTION', 'after', SPENDS)
    expect((await exchangeAs(server, client, code)).status).toBe(503)
    expect(await countOn('authorization_codes', `hash = '${hashOf(code)}'`)).toBe(0)
    const { status, tokens } = await exchangeAs(server, client, code)
    expect(status).toBe(200)
    expect(await lifeOf(server, client, tokens)).toEqual(ALIVE)
    expect((await exchangeAs(server, client, code)).error).toBe('invalid_grant')
  },
)

test.each(['before', 'after'] as const)(
  'a refresh that is cut off %s its commit has the same successor when it is sent again',
  async (when) => {
    const client = toClient(WEB)
    const held = await tokensOn('third')
    third.cutAt('COMMIT TRANSACTION', when, 'UPDATE public.refresh_tokens')
    expect((await refreshAs(server, client, held.refresh_token)).status).toBe(503)
    const again = await refreshAs(server, client, held.refresh_token)
    const more = await refreshAs(server, client, held.refresh_token)
    expect([again.status, more.tokens.refresh_token]).toEqual([200, again.tokens.refresh_token])
    expect(await lifeOf(server, client, again.tokens)).toEqual(ALIVE)
  },
)

test.each(['before', 'after'] as const)(
  'an end of all that somebody has, cut off %s the commit of one server, is not acknowledged, and done when it is done again',
  async (when) => {
    const client = toClient(WEB)
    const held = [await tokensOn('third'), await tokensOn('third'), await tokensOn('others')]
    const { users } = server.server.oauth
    third.cutAt('COMMIT TRANSACTION', when, 'UPDATE public.authorizations')
    const refused = await users.disable(ALICE.username).catch((error: unknown) => error)
    expect(isUnavailable(refused)).toBe(true)
    // The one in front has undone its own part: she may sign in, and what was not ended is good.
    for (const tokens of held) {
      const life = await lifeOf(server, client, tokens)
      expect([ALIVE, DEAD]).toContainEqual({ ...life, userinfo: life.refresh === 200 ? 200 : 401 })
    }
    const kept = await tokensOn('others')
    await users.disable(ALICE.username)
    for (const tokens of [...held, kept])
      expect(await lifeOf(server, client, tokens)).toMatchObject({ active: false, refresh: 'invalid_grant' })
    await users.enable(ALICE.username)
    const { tokens } = await exchangeAs(server, client, await codesOf(server)())
    expect(await lifeOf(server, client, tokens)).toEqual(ALIVE)
  },
)

test('rows of a transaction that was left prepared get 503, others go on, and all is good once it is resolved', async () => {
  const client = toClient(WEB)
  const [locked, free] = [await tokensOn('third'), await tokensOn('others')]
  const newest = `authorization_id = (select authorization_id from refresh_tokens order by created_at desc limit 1)`
  await execute(
    own.url,
    `begin; update refresh_tokens set sealed = sealed where ${newest}; prepare transaction 'left'`,
  )
  const [stuck, gone] = await Promise.all([
    refreshAs(server, client, locked.refresh_token),
    refreshAs(server, client, free.refresh_token),
  ])
  expect([stuck.status, gone.status]).toEqual([503, 200])
  await execute(own.url, `rollback prepared 'left'`)
  const refreshed = await refreshAs(server, client, locked.refresh_token)
  expect(refreshed.status).toBe(200)
  expect(await lifeOf(server, client, refreshed.tokens)).toEqual(ALIVE)
})
