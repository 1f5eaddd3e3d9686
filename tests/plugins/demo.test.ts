/** The demo's sample web app, which has an address that the README names, and cannot always be there. */
import { expect, test } from 'vitest'
import { registerSample } from '../../src/services/demo-content.ts'
import { startServer } from '../support/server.ts'

test('who builds a server in code may be without the demo, and has a database with nothing of it', async () => {
  const { server, get } = await startServer({}, { seed: 'demo', build: { demo: false } })
  const { clients, users, resources } = server.oauth
  expect([await clients.list(), await users.list(), await resources.listScopes()]).toEqual([[], [], []])
  expect((await get('/books')).status).toBe(404)
})

test('a sample that had to move is registered where it is; its own address stays, and comes first', async () => {
  const { server } = await startServer({}, { seed: 'demo' })
  const { clients } = server.oauth
  const sample = async (): Promise<unknown> => {
    const found = await clients.find('sample-web')
    return [found?.client_uri, found?.redirect_uris, found?.post_logout_redirect_uris]
  }
  const home = 'http://localhost:3001'
  const own = [`${home}/`, [`${home}/callback`], [`${home}/`]]
  // No file was named, and the audit log does not speak of one.
  const { events } = await server.oauth.audit.list({ type: 'client.registered' })
  expect(events.map(({ actor }) => actor)).toEqual([
    { kind: 'seed', id: 'demo' },
    { kind: 'seed', id: 'demo' },
  ])
  await registerSample(server.oauth.clients, home)
  expect(await sample()).toEqual(own)
  for (let port = 3003; port < 3020; port += 2)
    await registerSample(server.oauth.clients, `http://localhost:${port}`)
  const newest = [3019, 3017, 3015, 3013].map((port) => `http://localhost:${port}/`)
  expect(await sample()).toEqual([newest[0], own[1], [`${home}/`, ...newest]])
  await registerSample(server.oauth.clients, home)
  expect(await sample()).toEqual([`${home}/`, own[1], [`${home}/`, ...newest]])
})
