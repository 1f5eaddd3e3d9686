/**
 * Token exchange at two processes of one database, by `oauth4webapi`: what one ends is ended at the other, and nothing slips through between.
 * @needs latchkey-token-exchange
 */
import { decodeJwt } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import { expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import {
  ACCESS_TOKEN,
  BACK,
  credentials,
  DESK,
  exchange,
  EXCHANGE_SEED,
  GRANT,
  SHELF,
} from '../support/exchange.ts'
import { spawnServer } from '../support/process.ts'
import type { Requests } from '../support/requests.ts'
import { getTokens, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts' // prettier-ignore

const settings = { OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false }
const one = await spawnServer(settings, { seed: EXCHANGE_SEED })
const two = await spawnBeside(one.settings, one.database)

async function isActive(server: Requests, token: unknown): Promise<unknown> {
  const response = await server.post('/introspect', { token: String(token) }, credentials(DESK))
  return ((await response.json()) as { active: boolean }).active
}

test('oauth4webapi reads the answer', async () => {
  const insecure = { [oauth4webapi.allowInsecureRequests]: true }
  const issuer = new URL(one.url)
  const as = await oauth4webapi.processDiscoveryResponse(issuer, await oauth4webapi.discoveryRequest(issuer, insecure))
  expect(as.grant_types_supported).toContain(GRANT)
  const client = { client_id: DESK.client_id }
  const { access_token: subject_token } = await getTokens(one, { scope: 'openid read_books' })
  const sent = { subject_token, subject_token_type: ACCESS_TOKEN, audience: SHELF }
  const auth = oauth4webapi.ClientSecretBasic(DESK.client_secret)
  const response = await oauth4webapi.genericTokenEndpointRequest(as, client, auth, GRANT, sent, insecure)
  const got = await oauth4webapi.processGenericTokenEndpointResponse(as, client, response)
  expect(got).toMatchObject({ issued_token_type: ACCESS_TOKEN, scope: 'read_shelf' })
  expect(decodeJwt(got.access_token)).toMatchObject({ aud: SHELF, act: { sub: 'desk' } })
}) // prettier-ignore

test('a token that is given back at one while both exchange it leaves nothing alive at either', async () => {
  const had = await getTokens(one, { scope: 'openid read_books' }, createUserAgent(one.url))
  const exchanges = Array.from({ length: 12 }, async (_, at) => exchange(at % 2 === 0 ? one : two, DESK, had.access_token))
  const [answers] = await Promise.all([Promise.all(exchanges), two.post('/revoke', { token: had.refresh_token }, credentials(WEB))])
  const got = answers.filter(({ status }) => status === 200).map(({ access_token }) => access_token)
  const lives = async () => Promise.all([one, two].flatMap((server) => got.map(async (token) => isActive(server, token))))
  await expect.poll(lives).toEqual([one, two].flatMap(() => got.map(() => false)))
  for (const server of [one, two])
    expect(await exchange(server, DESK, had.access_token)).toMatchObject({ status: 400, error: 'invalid_request' })
}) // prettier-ignore

test('a rule that one process takes away allows nothing at the other within two seconds', async () => {
  const had = await getTokens(one, { scope: 'openid read_books' }, createUserAgent(one.url))
  const first = await exchange(one, DESK, had.access_token)
  expect(await exchange(two, BACK, String(first['access_token']))).toMatchObject({ status: 200 })
  await one.database.query(`update clients set metadata = metadata - 'token_exchange', revision = gen_random_uuid() where client_id = 'back'`)
  await one.database.query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'client', 'back')`)
  await expect.poll(async () => (await exchange(two, BACK, String(first['access_token']))).status).toBe(400)
}) // prettier-ignore
