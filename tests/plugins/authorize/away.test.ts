/** While the database is away: an app that asked for no page hears of it, and whoever else asks sees a page. */
import { expect, test } from 'vitest'
import { createDatabase } from '../../support/database.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { isThere } from '../../support/left-out.ts'
import { basic } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { answerOf, authorizationUrl, goThrough, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'

const database = await createDatabase()
const proxy = await startDatabaseProxy(database.url)
const server = await startServer({ DATABASE_URL: proxy.url }, { seed: SEED, database })

test.runIf(isThere('latchkey-par'))('a pushed request while the database is away is answered by a page, unless the address itself has redirect_uri and prompt=none', async () => {
  const agent = createUserAgent(server.url)
  const { client_id, client_secret, redirect_uri } = WEB
  const form = { response_type: 'code', redirect_uri, scope: 'openid', prompt: 'none', state: 'mine' }
  const pushed = await server.post('/par', form, basic(client_id, client_secret))
  expect(pushed.status).toBe(201)
  const { request_uri } = (await pushed.json()) as { request_uri: string }
  const browse = async (more: Record<string, string> = {}) =>
    agent.get(`${server.url}/authorize?${new URLSearchParams({ client_id, request_uri, ...more }).toString()}`)
  await proxy.cut()
  const shown = await browse()
  expect([shown.status, shown.headers.get('location')]).toEqual([503, null])
  const { redirect_uri: _, ...more } = form
  expect((await browse(more)).status).toBe(503)
  expect(Object.fromEntries(answerOf(await browse(form)))).toMatchObject({ error: 'temporarily_unavailable', state: 'mine' })
  await proxy.restore()
}) // prettier-ignore

test('prompt=none is answered at the app, by temporarily_unavailable (RFC 6749 §4.1.2.1)', async () => {
  const agent = createUserAgent(server.url)
  const page = await goThrough(agent, await agent.get(authorizationUrl(server, {})))
  expect(answerOf(page).has('code')).toBe(true)
  await proxy.cut()
  const silent = await agent.get(authorizationUrl(server, { prompt: 'none', state: 'mine' }))
  expect(Object.fromEntries(answerOf(silent))).toEqual({
    error: 'temporarily_unavailable',
    error_description: 'the database does not answer; try again',
    state: 'mine',
    iss: server.url,
  })
  expect(server.output()).toContain('"request failed"')

  const shown = await agent.get(authorizationUrl(server, {}))
  expect([shown.status, shown.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)])
  const elsewhere = { prompt: 'none', redirect_uri: 'https://other.example/' }
  const unknown = await agent.get(authorizationUrl(server, elsewhere))
  expect([unknown.status, unknown.headers.get('location')]).toEqual([400, null])

  await proxy.restore()
  const back = await agent.get(authorizationUrl(server, { prompt: 'none' }))
  expect(answerOf(back).has('code')).toBe(true)
})
