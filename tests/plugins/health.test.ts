/** `/healthz` and `/readyz`, as a supervisor and a load balancer see them. */
import { expect, test, vi } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { createDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'

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

test('whoever asks often takes no connections from others', async () => {
  const server = await startServer()
  const { database } = kernelOf(server.server)
  const ping = vi.spyOn(database, 'ping')
  const answers = await Promise.all(Array.from({ length: 50 }, async () => server.get('/readyz')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(ping.mock.calls.length).toBeLessThan(50)
  ping.mockRestore()
})

test('with an issuer that has a path both answer at the root too: whoever probes need not know it', async () => {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const server = await startServer({ PORT: port, OIDC_ISSUER: `${origin}/auth` })
  for (const path of ['/healthz', '/readyz']) {
    expect((await server.get(path)).status).toBe(200)
    expect((await server.get(origin + path)).status).toBe(200)
  }
})
