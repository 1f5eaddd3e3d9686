/** While the database is away: an app that asked for no page hears of it, and whoever else asks sees a page. */
import { expect, test } from 'vitest'
import { createDatabase } from '../../support/database.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { startServer } from '../../support/server.ts'
import { answerOf, authorizationUrl, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent } from '../../support/user-agent.ts'

const database = await createDatabase()
const proxy = await startDatabaseProxy(database.url)
const server = await startServer({ DATABASE_URL: proxy.url }, { seed: SEED, database })

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
