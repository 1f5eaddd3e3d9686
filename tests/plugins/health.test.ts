/** `/healthz` and `/readyz`, as a supervisor and a load balancer see them. */
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'

test('a server that can serve is up and ready, and says so without being cached', async () => {
  const server = await startServer()
  for (const [path, body] of Object.entries({
    '/healthz': { status: 'ok' },
    '/readyz': { status: 'ready' },
  })) {
    const response = await server.get(path)
    expect([response.status, await response.json()]).toEqual([200, body])
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect((await server.request(path, { method: 'HEAD' })).status).toBe(200)
    const refused = await server.post(path)
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

test('without its database it is up and not ready; what needs none still answers', async () => {
  const database = await createDatabase()
  const server = await startServer({}, { database })
  await database.drop()
  await expect.poll(async () => (await server.get('/readyz')).status).toBe(503)
  const response = await server.get('/readyz')
  expect(response.headers.get('retry-after')).toBe('2')
  expect(await response.json()).toEqual({ status: 'not ready', problems: ['database'] })
  for (const path of ['/healthz', '/jwks', '/.well-known/openid-configuration'])
    expect((await server.get(path)).status).toBe(200)
  await server.close()
})

test('both follow the path of the issuer', async () => {
  const server = await startServer()
  const port = String(server.settings['PORT'])
  await server.close()
  const below = await startServer({ PORT: port, OIDC_ISSUER: `http://127.0.0.1:${port}/auth` })
  for (const path of ['/healthz', '/readyz']) expect((await below.get(path)).status).toBe(200)
})
