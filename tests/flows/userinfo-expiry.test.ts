/** An access token of one second at userinfo: good at once, dead a second later, and followed by one that is good. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { codesOf, exchangeAs, refreshAs } from '../support/code-flow.ts'
import { spawnServer } from '../support/process.ts'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { toClient } from '../support/service.ts'
import { ALICE, SEED, WEB } from '../support/sign-in.ts'

const opaque = { ...WEB, client_id: 'opaque', access_token_format: 'opaque' }
const server = await spawnServer({ OIDC_TOKEN_EXPIRE: 1 }, { seed: { ...SEED, clients: [WEB, opaque] } })
const getCode = codesOf(server, { scope: 'openid email' })
// Everybody below is signed in.
await getCode()

const presentations: [string, (token: string) => Promise<Response>][] = [
  ['in the header', async (token) => server.get('/userinfo', bearer(token))],
  ['in the query', async (token) => server.get(`/userinfo/?access_token=${token}`)],
  ['in a form', async (token) => server.post('/userinfo', { access_token: token })],
]

test.concurrent.for(
  ['web', 'opaque'].flatMap((id) => presentations.map(([how, ask]) => [id, how, ask] as const)),
)('the token of the client %s, presented %s', async ([client_id, , userinfo]) => {
  const client = toClient({ ...WEB, client_id })
  let { tokens } = await exchangeAs(server, client, await getCode({ client_id }))
  for (let turn = 0; turn < 2; turn++) {
    expect(tokens.expires_in).toBe(1)
    const good = await userinfo(tokens.access_token)
    expect([good.status, await good.json()]).toMatchObject([200, { email: ALICE.email }])
    await sleep(1_100)
    const dead = await userinfo(tokens.access_token)
    expect(dead.status).toBe(401)
    expect(dead.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/)
    expect(await dead.json()).toMatchObject({ error: 'invalid_token' })
    const refreshed = await refreshAs(server, client, tokens.refresh_token)
    expect(refreshed.status).toBe(200)
    tokens = refreshed.tokens
  }
  expect((await userinfo(tokens.access_token)).status).toBe(200)
})

test('with a lifetime of 0 the token is dead at once, and the refresh token alive', async () => {
  const none = await startServer({ OIDC_TOKEN_EXPIRE: 0 }, { seed: SEED })
  const { tokens } = await exchangeAs(none, toClient(WEB), await codesOf(none)())
  expect(tokens.expires_in).toBe(0)
  expect((await none.get('/userinfo', bearer(tokens.access_token))).status).toBe(401)
  expect((await refreshAs(none, toClient(WEB), tokens.refresh_token)).status).toBe(200)
})
