/** PLUGINS: an operator's module, mounted below the issuer's path with `requireScope` ready. */
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { createClient, getToken } from '../../support/clients.ts'
import { runCommand, spawnServer } from '../../support/process.ts'
import { bearer } from '../../support/requests.ts'
import { startServer } from '../../support/server.ts'
import { freePort } from '../../support/settings.ts'
import { toClient } from '../../support/service.ts'

const LIBRARY = resolve(import.meta.dirname, 'library.ts')

test('the standalone server serves the routes of a module, guarded', async () => {
  const registered = { client_id: 'reader', client_secret: 'a-secret-that-was-chosen', scope: 'read_books' }
  const server = await spawnServer({ PLUGINS: LIBRARY }, { seed: { clients: [registered] } })
  const { access_token } = await getToken(server, toClient(registered))
  const response = await server.get('/library', bearer(access_token))
  expect([response.status, await response.json()]).toEqual([
    200,
    { reader: 'reader', scopes: ['read_books'] },
  ])
  expect((await server.get('/library')).status).toBe(401)
  const short = await server.request('/library', { method: 'POST', headers: bearer(access_token) })
  expect(short.status).toBe(403)
  expect(await server.stop()).toBe(0)
})

test('a module lies below the path of the issuer', async () => {
  const port = await freePort()
  const settings = { PORT: port, OIDC_ISSUER: `http://127.0.0.1:${port}/auth`, PLUGINS: LIBRARY }
  const server = await startServer(settings)
  const reader = await createClient(server, { scope: ['read_books'] })
  const { access_token } = await getToken(server, reader)
  expect((await server.get('/library', bearer(access_token))).status).toBe(200)
  expect((await server.get(`http://127.0.0.1:${port}/library`, bearer(access_token))).status).toBe(404)
})

test.each(['./no-such-module.ts', 'no-such-package'])(
  '%s keeps the server from starting',
  async (specifier) => {
    const { settings } = await startServer()
    const { status, stderr } = await runCommand(['serve'], {
      ...settings,
      PLUGINS: specifier,
      PORT: await freePort(),
    })
    expect(status).not.toBe(0)
    expect(stderr).toContain('PLUGINS')
    expect(stderr).toContain(specifier)
  },
)
