/** Caches that nobody has confirmed for a minute decide nothing any more. The clock is turned on, not waited for. */
import { afterEach, expect, test, vi } from 'vitest'
import { createClient, requestToken } from '../support/clients.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { passTime } from '../support/clocks.ts'
import { createDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { GUARDED, GUARDED_SCOPE, getAccessToken, statusOf, statusOfRoute } from '../support/service.ts'

afterEach(() => void vi.useRealTimers())

test('client_credentials goes on from the caches for a minute, then says 503 until the database answers', async () => {
  const database = await createDatabase()
  const proxy = await startDatabaseProxy(database.url)
  const server = await startServer({ PLUGINS: GUARDED, DATABASE_URL: proxy.url }, { database })
  const client = await createClient(server, { scope: GUARDED_SCOPE })
  const token = await getAccessToken(server, client)
  await proxy.cut()
  await expect.poll(() => server.output()).toContain('the database does not answer')

  passTime(30_000)
  expect(await statusOf(requestToken(server, client))).toBe(200)
  expect(await statusOfRoute(server, token)).toBe(200)

  passTime(31_000)
  const refused = await requestToken(server, client)
  expect(refused.status).toBe(503)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })
  expect(await statusOfRoute(server, token)).toBe(503)
  expect(await statusOf(server.get('/jwks'))).toBe(200)

  await proxy.restore()
  await expect.poll(() => statusOf(requestToken(server, client))).toBe(200)
  expect(await statusOfRoute(server, token)).toBe(200)
})

test('a process that stood still for longer polls first, and answers the first request', async () => {
  const server = await startServer({ PLUGINS: GUARDED })
  const client = await createClient(server, { scope: GUARDED_SCOPE })
  const token = await getAccessToken(server, client)
  passTime(61_000)
  expect(await statusOf(requestToken(server, client))).toBe(200)
  passTime(61_000)
  expect(await statusOf(server.get(`/authorize?client_id=${client.clientId}&response_type=code`))).toBe(400)
  passTime(61_000)
  expect(await statusOfRoute(server, token)).toBe(200)
})
