/** Revocation of a refresh token (RFC 7009 §2.1): all that was issued under its Authorization ends with it. */
import { expect, test } from 'vitest'
import { createClient } from '../../support/clients.ts'
import { startServer } from '../../support/server.ts'
import { getTokens, refresh, SEED, WEB } from '../../support/sign-in.ts'
import { basic, bearer } from '../../support/requests.ts'

const server = await startServer({}, { seed: SEED })
const web = basic(WEB.client_id, WEB.client_secret)

test('a refresh token takes its access tokens along', async () => {
  const tokens = await getTokens(server)
  const kept = await getTokens(server)
  const response = await server.post('/revoke', { token: tokens.refresh_token }, web)
  expect([response.status, await response.text()]).toEqual([200, '{}'])
  expect((await refresh(server, tokens.refresh_token)).status).toBe(400)
  expect((await server.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
  expect((await server.get('/userinfo', bearer(kept.access_token))).status).toBe(200)
})

test('one that was replaced still ends the family', async () => {
  const { refresh_token: first } = await getTokens(server)
  const next = (await (await refresh(server, first)).json()) as { refresh_token: string }
  await server.post('/revoke', { token: first, token_type_hint: 'refresh_token' }, web)
  expect((await refresh(server, next.refresh_token)).status).toBe(400)
})

test("another client's is refused and stays good", async () => {
  const other = await createClient(server)
  const { refresh_token: token } = await getTokens(server)
  const response = await server.post('/revoke', { token }, other.basic)
  expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_grant' }])
  expect((await refresh(server, token)).status).toBe(200)
})
