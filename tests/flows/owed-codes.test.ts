/** An exchange whose answer was lost on its way from the database: what it stored is handed out to who asks again. */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { hashOf } from '../../src/protocol/handle.ts'
import { spawnBeside } from '../support/beside.ts'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf } from '../support/code-flow.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { spawnServer } from '../support/process.ts'
import { toClient } from '../support/service.ts'
import { SEED, WEB } from '../support/sign-in.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const database = await createDatabase({ refusing: false })
const proxy = await startDatabaseProxy(database.url)
const one = await spawnServer(
  { DATABASE_URL: proxy.url },
  { seed: { ...SEED, clients: [WEB, opaque] }, database },
)
const two = await spawnBeside(one.settings, database)
const getCode = codesOf(one)
await getCode()
await getCode({ client_id: 'opaque' })

test.each([WEB, opaque])(
  'by $client_id: 503, then the tokens once, and the third use ends them',
  async (registered) => {
    const client = toClient(registered)
    const code = await getCode({ client_id: client.clientId, nonce: 'a nonce' })
    proxy.cutAt('authorization-code-exchange', 'after')
    expect(await exchangeAs(one, client, code)).toMatchObject({ status: 503 })
    expect(await database.query('select from authorization_codes where hash = $1', [hashOf(code)])).toEqual(
      [],
    )
    const { status, tokens } = await exchangeAs(one, client, code)
    expect(status).toBe(200)
    expect(decodeJwt(tokens.id_token)).toMatchObject({ nonce: 'a nonce' })
    expect((await exchangeAs(one, client, code)).error).toBe('invalid_grant')
    expect(await lifeOf(two, client, tokens)).toEqual(DEAD)
  },
)

test('what was handed out so is as good as any', async () => {
  const client = toClient(WEB)
  const code = await getCode()
  proxy.cutAt('authorization-code-exchange', 'after')
  expect(await exchangeAs(one, client, code)).toMatchObject({ status: 503 })
  const { tokens } = await exchangeAs(one, client, code)
  expect(await lifeOf(two, client, tokens)).toEqual(ALIVE)
})

test('who proves less than all that the code is bound to gets nothing, and ends nothing', async () => {
  const client = toClient(WEB)
  const code = await getCode()
  proxy.cutAt('authorization-code-exchange', 'after')
  expect(await exchangeAs(one, client, code)).toMatchObject({ status: 503 })
  const elsewhere = { redirect_uri: 'https://app.example/elsewhere' }
  expect((await exchangeAs(one, client, code, elsewhere)).error).toBe('invalid_grant')
  expect((await exchangeAs(one, toClient(opaque), code)).error).toBe('invalid_grant')
  expect((await exchangeAs(one, client, code)).status).toBe(200)
})

test('what fails while it is handed out leaves it owed, whatever the failure is', async () => {
  const client = toClient(WEB)
  const code = await getCode()
  proxy.cutAt('authorization-code-exchange', 'after')
  expect(await exchangeAs(one, client, code)).toMatchObject({ status: 503 })
  // Of no class that says the database is away.
  await database.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'refused' using errcode = '22000'; end $$`)
  await database.query('create trigger refuse before update on refresh_tokens execute function refuse()')
  try {
    expect(await exchangeAs(one, client, code)).toMatchObject({ status: 500 })
  } finally {
    await database.query('drop trigger refuse on refresh_tokens')
  }
  const { status, tokens } = await exchangeAs(one, client, code)
  expect(status).toBe(200)
  expect(await lifeOf(two, client, tokens)).toEqual(ALIVE)
  expect((await exchangeAs(one, client, code)).error).toBe('invalid_grant')
})

test('another process knows nothing of it: the code is refused, and what nobody has ends', async () => {
  const client = toClient(WEB)
  const code = await getCode()
  proxy.cutAt('authorization-code-exchange', 'after')
  expect(await exchangeAs(one, client, code)).toMatchObject({ status: 503 })
  expect((await exchangeAs(two, client, code)).error).toBe('invalid_grant')
  expect((await exchangeAs(one, client, code)).error).toBe('invalid_grant')
})
