/** The demo: where there is none, and its sample web app, which has an address that the README names, and cannot always be there. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startSampleApp } from '../../src/serving/sample-app.ts'
import { welcome } from '../../src/serving/welcome.ts'
import { registerSample, SAMPLE_CREDENTIALS_FILE } from '../../src/services/demo-content.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { rowsWith } from '../support/left-out.ts'
import { startServer } from '../support/server.ts'
import type { Settings } from '../support/settings.ts'

test('who builds a server in code may be without the demo, and has a database with nothing of it', async () => {
  const { server, get } = await startServer({}, { seed: 'demo', build: { demo: false } })
  const { clients, users, resources } = server.oauth
  expect([await clients.list(), await users.list(), await resources.listScopes()]).toEqual([[], [], []])
  expect((await get('/books')).status).toBe(404)
})

const PROFILES: [string, Settings][] = [
  ['fapi-2.0', {}],
  ...rowsWith<[string, Settings][]>(['latchkey-ciba', 'latchkey-fapi-ciba', 'latchkey-mutual-tls'], [
    ['fapi-ciba', { OIDC_CIBA: true, CLIENT_CERTIFICATE_HEADER: 'Client-Cert', CLIENT_CERTIFICATE_AUTHORITIES: 'proxy', TRUSTED_PROXIES: '127.0.0.1' }],
  ]),
] // prettier-ignore

test.each(PROFILES)(
  'under %s, which leaves no app a secret, a start is without the demo, and shows none of it',
  async (OIDC_PROFILE, settings) => {
    const DATA_DIR = await temporaryDirectory()
    // Of an earlier start, without the profile.
    await writeFile(join(DATA_DIR, SAMPLE_CREDENTIALS_FILE), 'sample-web:secret')
    const { server, get, url } = await startServer({ ...settings, OIDC_PROFILE, DATA_DIR }, { seed: 'demo' })
    expect(await server.oauth.clients.list()).toEqual([])
    expect((await get('/books')).status).toBe(404)
    const sample = await startSampleApp(server, Number(new URL(url).port))
    await sample?.stop()
    expect(sample).toBeUndefined()
    const told = await welcome(server, { sample: undefined, taken: undefined })
    expect(told).toContain(
      `Demo         none: its apps have secrets, which OIDC_PROFILE leaves to nobody: ${OIDC_PROFILE}\n`,
    )
    expect(told).not.toMatch(/demo-service|curl/)
  },
)

test('a start that leaves out what guards the demo shows none of it', async () => {
  const { server } = await startServer({ WITHOUT: 'latchkey-resource-server' }, { seed: 'demo' })
  const told = await welcome(server, { sample: undefined, taken: undefined })
  expect(told).toContain('Demo         none, since WITHOUT leaves out what it needs\n')
  expect(told).not.toMatch(/demo-service|curl/)
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
