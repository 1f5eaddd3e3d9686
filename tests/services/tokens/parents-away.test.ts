/** What is known of a token while the database cannot say whether what it was granted for still stands. */
import { expect, test } from 'vitest'
import { parentOf } from '../../../src/doors/parents.ts'
import { createClient, introspect } from '../../support/clients.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { createDatabase } from '../../support/database.ts'
import { createFactsGrant, FACTS_GRANT, refreshed } from '../../support/facts-grant.ts'
import { startServer } from '../../support/server.ts'

const grant = createFactsGrant()
const database = await createDatabase({ refusing: false })
const proxy = await startDatabaseProxy(database.url)
const server = await startServer(
  { DATABASE_URL: proxy.url, OIDC_INTROSPECTION_VALIDATE_AUDIENCE_SCOPE: false },
  { database, extend: grant.add },
)
const { oauth } = server.server
const client = await createClient(server, { scope: ['read'], grant_types: [FACTS_GRANT, 'refresh_token'] })

test('it is neither good nor bad, and good again later: 503 where it is asked for, and where it goes on', async () => {
  const source = await grant.get(server, client)
  const found = (await oauth.verify(String(source['access_token'])))!
  // Only its parent is looked for: it has no Authorization itself.
  const child = await grant.get(server, client, { subjectClient: 'another', parent: parentOf(found) })
  const token = String(child['access_token'])
  proxy.cutAt('authorization-find', 'before')
  expect((await server.post('/introspect', { token }, client.basic)).status).toBe(503)
  expect(await introspect(server, client, token)).toMatchObject({ active: true, sub: 'another' })

  const going = await grant.get(server, client, { parent: parentOf(found) })
  proxy.cutAt('authorization-find', 'before')
  expect((await refreshed(server, client, going)).status).toBe(503)
  const next = await refreshed(server, client, going)
  expect(await introspect(server, client, String(next['access_token']))).toMatchObject({ active: true })

  proxy.cutAt('authorization-find', 'before')
  expect((await grant.get(server, client, { parent: parentOf(found) })).status).toBe(503)
  expect((await grant.get(server, client, { parent: parentOf(found) })).status).toBe(200)
})
