/** docs/dpop.md, as it stands there: the service, the commands, the request by hand, and the API. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createDpopKey, prove } from '../support/dpop.ts'
import { startApi } from '../support/foreign-api.ts'
import { installByPage } from '../support/packages.ts'
import { sendRaw } from '../support/raw-http.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { openPage, sitDown, substitute } from './page.ts'

const CLIENT_SECRET = '7d9a4e0c1b2f48c6a5e3'
const seed = {
  resources: [{ resource: 'https://books.example', scopes: ['list_books'] }],
  clients: [{ client_id: 'reports', client_secret: CLIENT_SECRET, scope: ['list_books'] }],
}
const INSTALL = `npm pack --workspace @latchkey/require-scope --pack-destination /path/to/books
cd /path/to/books && npm init --yes && npm pkg set type=module && npm install fastify openid-client ./latchkey-require-scope-*.tgz
`

test('the service gets a bound token and uses it at the API, and both may insist', async () => {
  const page = await openPage('dpop.md')
  const [service, request, answer] = [page.next('js'), page.next('http'), page.next('json')]
  const [commands, nonces, api] = [page.next('sh'), page.next('ini'), page.next('js')]
  page.end()

  const settings = Object.fromEntries([nonces.trim().split('=') as [string, string]])
  const server = await startServer(settings, { seed })
  const [folder, port] = [await installByPage(INSTALL, '/path/to/books'), String(await freePort())]
  const program = substitute(api, {
    'https://login.example.com': server.url,
    'http://localhost:8080': `http://127.0.0.1:${port}`,
    'port: 8080': `port: ${port}`,
  })
  await writeFile(join(folder, 'books.js'), program)
  await writeFile(join(folder, 'reports.mjs'), service)
  await startApi(folder, 'books.js', {})
  const env = { ISSUER: server.url, CLIENT_SECRET, API: `http://127.0.0.1:${port}/books` }
  const run = async (): Promise<unknown> => {
    const options = { cwd: folder, env: { ...env, PATH: process.env['PATH'] } }
    return JSON.parse((await promisify(execFile)(process.execPath, ['reports.mjs'], options)).stdout)
  }
  expect(await run()).toEqual({ reader: 'reports', books: ['The Trial'] })

  const key = await createDpopKey()
  const send = async (withProof: boolean, nonce?: string) => {
    const [, proof] = /^DPoP: (\S+)$/m.exec(request)!
    const made = await prove(key, { method: 'POST', url: `${server.url}/token`, nonce })
    const text = withProof ? substitute(request, { [proof!]: made }) : request.replace(/^DPoP: .*\n/m, '')
    const [head, body] = text.trim().split('\n\n') as [string, string]
    const lines = [...head.split('\n'), `Host: ${new URL(server.url).host}`, `Content-Length: ${body.length}`]
    return sendRaw(server.url, `${lines.join('\r\n')}\r\n\r\n${body}`)
  }
  expect(await send(false)).toMatchObject({ status: 200 })
  const told = await send(true)
  expect([told.status, told.body]).toEqual([400, expect.stringContaining('use_dpop_nonce')])
  const { status, body } = await send(true, told.headers['dpop-nonce'])
  expect(status).toBe(200)
  const [given, shown] = [body, answer].map((text) => JSON.parse(text) as Record<string, unknown>)
  expect({ ...given, access_token: '' }).toEqual({ ...shown, access_token: '' })

  await (await sitDown(server.settings)).sh(commands)
  await expect.poll(async () => (await send(false)).body).toContain('invalid_dpop_proof')
  expect(await run()).toEqual({ reader: 'reports', books: ['The Trial'] })
  expect(await server.server.oauth.resources.findResource('https://books.example')).toMatchObject({
    dpop_bound_access_tokens: true,
  })
})
