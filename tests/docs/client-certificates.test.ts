/** docs/client-certificates.md, as it stands there: the certificates, nginx, the settings, the command, and the app. */
import { execFile } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { decodeJwt } from 'jose'
import { Agent, fetch as fetchBy } from 'undici'
import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { atEndOfFile } from '../support/cleanup.ts'
import { createCertificate } from '../support/deployed.ts'
import { nginx, startNginx } from '../support/nginx.ts'
import { startApi } from '../support/foreign-api.ts'
import { installByPage } from '../support/packages.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { openPage, sitDown, substitute } from './page.ts'

const run = promisify(execFile)
const INSTALL = `npm pack --workspace @latchkey/require-scope --pack-destination /path/to/reports
cd /path/to/reports && npm init --yes && npm pkg set type=module && npm install fastify openid-client undici ./latchkey-require-scope-*.tgz
`

test.skipIf(nginx.absent)('an app proves who it is by its certificate, behind nginx', async () => {
  const page = await openPage('client-certificates.md')
  const [settings, site, elsewhere] = [page.next('ini'), page.next('nginx'), page.next('nginx')]
  const ownTls = page.next('ini')
  const [certificates, create, app] = [page.next('sh'), page.next('sh'), page.next('js')]
  const [bind, api] = [page.next('sh'), page.next('js')]
  page.end()

  const folder = await installByPage(INSTALL, '/path/to/reports')
  await writeFile(join(folder, 'reports.mjs'), app)
  await run('sh', ['-euc', certificates], { cwd: folder })
  const ours = Object.fromEntries(
    ownTls
      .trim()
      .split('\n')
      .map((line) => line.split('=')),
  )
  expect(parseConfig(ours)).toMatchObject({
    ...ours,
    MTLS_PORT: Number(ours['MTLS_PORT']),
    HOST: '127.0.0.1',
  })

  const [port, other] = [await freePort(), await freePort()]
  const said = substitute(settings, {
    '/etc/latchkey/clients-ca.pem': join(folder, 'clients-ca.pem'),
    'https://mtls.example.com': `https://localhost:${port}`,
  })
  const lines = said.trim().split('\n')
  const server = await startServer(
    Object.fromEntries(lines.map((line) => line.split('=') as [string, string])),
    {
      seed: { resources: [{ resource: 'https://books.example', scopes: ['list_books'] }] },
    },
  )
  const desk = await sitDown(server.settings)
  await desk.sh(create)

  const { certificate, key } = await createCertificate()
  const local = substitute(site, {
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    'mtls.example.com;': 'localhost;',
    '/etc/letsencrypt/live/mtls.example.com/fullchain.pem': certificate,
    '/etc/letsencrypt/live/mtls.example.com/privkey.pem': key,
    '127.0.0.1:3001': `127.0.0.1:${server.settings.PORT}`,
  })
  const plain = local
    .replace(`listen 127.0.0.1:${port}`, `listen 127.0.0.1:${other}`)
    .replace(/proxy_set_header Client-Cert .*/, elsewhere)
  await startNginx(`${local}${plain}`, port)

  // As MTLS_PORT speaks it: of TLS 1.2 what RFC 9325 §4.2 recommends, and no more (FAPI 2.0 §5.2.2).
  const spoken = async (suite: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const tls = { port, ca, ciphers: suite, maxVersion: 'TLSv1.2', servername: 'localhost' } as const
      const socket = connectTls(tls, () => {
        resolve(socket.getCipher().name)
        socket.destroy()
      })
      socket.once('error', reject)
    })
  const ca = await readFile(certificate)
  expect(await spoken('ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256')).toContain(
    'AES128-GCM-SHA256',
  )
  for (const suite of ['ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA256', 'AES128-GCM-SHA256'])
    await expect(spoken(suite)).rejects.toMatchObject({ code: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE' })

  const env = { ISSUER: server.url, NODE_EXTRA_CA_CERTS: certificate, PATH: process.env['PATH'] }
  const runApp = async () => run(process.execPath, ['reports.mjs'], { cwd: folder, env })
  expect((await runApp()).stdout).toBe('list_books\n')

  const forged = encodeURIComponent(await readFile(join(folder, 'reports.pem'), 'utf8'))
  for (const at of [port, other]) {
    const response = await fetch(`https://localhost:${at}/token`, {
      method: 'POST',
      headers: { 'client-cert': forged },
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'reports' }),
    })
    expect(response.status).toBe(401)
  }

  await desk.sh(bind)
  const pem = async (file: string): Promise<string> => readFile(join(folder, file), 'utf8')
  const connect = {
    key: await pem('reports.key'),
    cert: await pem('reports.pem'),
    ca,
  }
  const dispatcher = new Agent({ connect })
  atEndOfFile(async () => dispatcher.close())
  const getToken = async (): Promise<string> => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'reports' })
    const response = await fetchBy(`https://localhost:${port}/token`, { method: 'POST', body, dispatcher })
    return ((await response.json()) as { access_token: string }).access_token
  }
  await expect.poll(async () => decodeJwt(await getToken())['cnf']).toBeDefined()
  const token = await getToken()
  const apiPort = String(await freePort())
  await writeFile(
    join(folder, 'books.js'),
    substitute(api, { 'https://login.example.com': server.url, 'port: 8080': `port: ${apiPort}` }),
  )
  await startApi(folder, 'books.js', {})
  const read = async (shown: object) => {
    const headers = { authorization: `Bearer ${token}`, ...shown }
    const response = await fetch(`http://127.0.0.1:${apiPort}/books`, { headers })
    return response.status
  }
  expect([await read({ 'client-cert': forged }), await read({})]).toEqual([200, 401])

  await copyFile(key, join(folder, 'reports.key'))
  await copyFile(certificate, join(folder, 'reports.pem'))
  await expect(runApp()).rejects.toMatchObject({ stderr: expect.stringContaining('status: 401') as string })
})
