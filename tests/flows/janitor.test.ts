/** What people and clients hold, before and after the janitor has been: it changes nothing for anybody. */
import { expect, test } from 'vitest'
import { ALIVE, codesOf, DEAD, exchangeAs, lifeOf, refreshAs } from '../support/code-flow.ts'
import { getToken } from '../support/clients.ts'
import { janitorOf, openAs } from '../support/expired-rows.ts'
import { startServer } from '../support/server.ts'
import { isActive, revoke, toClient } from '../support/service.ts'
import { answerOf, authorizationUrl, goThrough, SEED, type Tokens, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const server = await startServer(
  { OIDC_JANITOR_INTERVAL: 0, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  { seed: { ...SEED, clients: [WEB, opaque] } },
)
const { query } = server.database
const janitor = janitorOf(await openAs(server.database))
const getCode = codesOf(server)
const clients = [toClient(WEB), toClient(opaque)]

/** Every Authorization is looked at, whatever it was kept for. */
async function clean(): Promise<Readonly<Record<string, number>>> {
  await query(`update authorizations set kept_until = now() - interval '1 second'`)
  return janitor.round()
}

/** Codes and refresh tokens are as old as if this time had passed; access tokens are not. */
async function pass(days: number): Promise<void> {
  const ago = `- make_interval(days => ${days})`
  await query(`update authorization_codes set expires_at = expires_at ${ago}`)
  await query(`update refresh_tokens set expires_at = expires_at ${ago}, created_at = created_at ${ago}`)
}

async function counts(): Promise<Record<string, unknown>> {
  const [row] = await query(
    `select (select count(*)::int from authorizations) as authorizations,
       (select count(*)::int from authorization_codes) as codes,
       (select count(*)::int from refresh_tokens) as refresh, (select count(*)::int from access_tokens) as access`,
  )
  return row!
}

test.each(clients)('$clientId: tokens verify and refresh after rounds, for weeks', async (client) => {
  let { tokens } = await exchangeAs(server, client, await getCode({ client_id: client.clientId }))
  for (let weeks = 0; weeks < 3; weeks++) {
    await clean()
    expect(await lifeOf(server, client, tokens)).toEqual(ALIVE)
    // lifeOf has refreshed: within the interval, the same token gives the same successor.
    tokens = (await refreshAs(server, client, tokens.refresh_token)).tokens
    await pass(7)
  }
})

test('a code that is presented again weeks later ends its Authorization', async () => {
  const [client] = clients
  const code = await getCode()
  const { tokens } = await exchangeAs(server, client!, code)
  await pass(20)
  await clean()
  expect(await exchangeAs(server, client!, code)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect(await lifeOf(server, client!, tokens)).toEqual(DEAD)
})

test('a refresh token that is used again when it has expired itself ends its Authorization', async () => {
  const [client] = clients
  const first = (await exchangeAs(server, client!, await getCode())).tokens
  await pass(20)
  const second = (await refreshAs(server, client!, first.refresh_token)).tokens
  const third = (await refreshAs(server, client!, second.refresh_token)).tokens
  await pass(20)
  await clean()
  expect(await refreshAs(server, client!, first.refresh_token)).toMatchObject({ error: 'invalid_grant' })
  expect(await lifeOf(server, client!, third)).toEqual(DEAD)
})

test('what was revoked stays so: a signed token, an opaque one, and a whole Authorization', async () => {
  for (const client of clients) {
    const { access_token: token } = await getToken(server, client)
    await revoke(server, client, token)
    const { tokens } = await exchangeAs(server, client, await getCode({ client_id: client.clientId }))
    await revoke(server, client, tokens.refresh_token)
    await clean()
    expect(await isActive(server, client, token)).toBe(false)
    expect(await lifeOf(server, client, tokens)).toEqual(DEAD)
  }
})

test('when its last token and its session have ended long ago, all of an Authorization is gone, and what it gave is refused', async () => {
  const [client] = clients
  const code = await getCode()
  const { tokens } = await exchangeAs(server, client!, code)
  await getCode()
  await pass(32)
  await query(`update authorizations set created_at = created_at - interval '32 days'`)
  await query(`update access_tokens set expires_at = expires_at - interval '32 days'`)
  await query(`update sessions set expires_at = expires_at - interval '32 days'`)
  await clean()
  expect(await counts()).toEqual({ authorizations: 0, codes: 0, refresh: 0, access: 0 })
  expect(await lifeOf(server, client!, tokens)).toEqual(DEAD)
  expect(await exchangeAs(server, client!, code)).toMatchObject({ status: 400, error: 'invalid_grant' })
  expect((await revoke(server, client!, tokens.refresh_token)).status).toBe(200)
})

test('an idle browser signs in again, and what it had before ends with the sign-out, as without a janitor', async () => {
  const [client] = clients
  const agent = createUserAgent(server.url)
  const signIn = async (): Promise<Tokens> => {
    const page = await agent.get(authorizationUrl(server, {}))
    const code = answerOf(await goThrough(agent, page)).get('code')
    return (await exchangeAs(server, client!, code!)).tokens
  }
  const before = await signIn()
  await query(`update sessions set expires_at = now() - interval '1 day'`)
  await clean()
  const after = await signIn()
  const sids = 'select distinct authentication->>$1 as sid from authorizations where revoked_at is null'
  expect(await query(sids, ['sid'])).toHaveLength(1)
  await agent.get(`${server.url}/end-session?id_token_hint=${after.id_token}`)
  for (const tokens of [before, after]) expect(await lifeOf(server, client!, tokens)).toEqual(DEAD)
})
