/** docs/client-authentication.md, as it stands there: the key, the commands, the app, and the request by hand. */
import { execFile } from 'node:child_process'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { importJWK, type JWK } from 'jose'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { askWith, assertionOf, createAssertionKey } from '../support/client-assertions.ts'
import { sendRaw } from '../support/raw-http.ts'
import { startServer } from '../support/server.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

test('an app makes a key, is registered with it, proves itself, and goes on with the next', async () => {
  const page = await openPage('client-authentication.md')
  const [keys, create, update] = [page.next('js'), page.next('sh'), page.next('sh')]
  const [app, request, answer, secret] = [
    page.next('js'),
    page.next('http'),
    page.next('json'),
    page.next('sh'),
  ]
  page.end()

  const server = await startServer({}, { seed: { scopes: [{ name: 'list_books' }] } })
  const folder = await temporaryDirectory()
  await symlink(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'keys.mjs'), keys)
  await writeFile(join(folder, 'reports.mjs'), app)
  const run = async (program: string): Promise<string> => {
    const options = { cwd: folder, env: { ISSUER: server.url, PATH: process.env['PATH'] } }
    return (await promisify(execFile)(process.execPath, [program], options)).stdout
  }
  await run('keys.mjs')
  const desk = await sitDown(server.settings)
  await cp(join(folder, 'jwks.json'), join(desk.directory, 'jwks.json'))
  await desk.sh(create)
  expect(await run('reports.mjs')).toBe('list_books\n')

  const privateJwk = JSON.parse(await readFile(join(folder, 'private.json'), 'utf8')) as JWK
  const next = await createAssertionKey('next')
  const { keys: first } = JSON.parse(await readFile(join(folder, 'jwks.json'), 'utf8')) as { keys: JWK[] }
  await writeFile(join(desk.directory, 'both.json'), JSON.stringify({ keys: [...first, next.jwk] }))
  await desk.sh(update)
  const former = { alg: 'ES256', kid: privateJwk.kid, privateKey: await importJWK(privateJwk, 'ES256') }
  for (const key of [former, next]) {
    const text = substitute(request, { ASSERTION: await assertionOf(key, 'reports', server.url) })
    const [head, body] = text.trim().split('\n\n') as [string, string]
    const lines = [...head.split('\n'), `Host: ${new URL(server.url).host}`, `Content-Length: ${body.length}`]
    const told = await sendRaw(server.url, `${lines.join('\r\n')}\r\n\r\n${body}`)
    expect(told.status).toBe(200)
    const [given, shown] = [told.body, answer].map((json) => JSON.parse(json) as Record<string, unknown>)
    expect({ ...given, access_token: '' }).toEqual({ ...shown, access_token: '' })
  }

  const { stdout } = await desk.sh(secret)
  const made = [...stdout.matchAll(/"client_secret": ?"(lks_[\w-]{86})"/g)].map(([, one]) => one!)
  expect(made).toHaveLength(2)
  for (const one of made) {
    const keyed = { alg: 'HS512', privateKey: Buffer.from(one) }
    const assertion = await assertionOf(keyed, 'letters', server.url)
    expect(await askWith(assertion, server)).toMatchObject({ status: 200 })
  }
})
