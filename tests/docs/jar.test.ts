/** docs/jar.md, as it stands there: the app's key, what it signs, and that everybody may have to. */
import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { decodeJwt, exportJWK } from 'jose'
import { expect, test } from 'vitest'
import { createAssertionKey } from '../support/client-assertions.ts'
import { startServer } from '../support/server.ts'
import { answerOf, authorizationUrl, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

test('the app registers its key, signs what it asks, and nothing unsigned is taken', async () => {
  const page = await openPage('jar.md')
  const [register, app, object, encryption, setting] = [page.next('sh'), page.next('js'), page.next('json'), page.next('ini'), page.next('ini')]
  page.end()

  const server = await startServer({}, { seed: SEED })
  const { jwk, privateKey } = await createAssertionKey('2026')
  const desk = await sitDown(server.settings)
  await desk.sh(substitute(register, { PUBLIC_X: jwk.x!, PUBLIC_Y: jwk.y! }))
  const agent = createUserAgent(server.url)
  const unsigned = await agent.get(authorizationUrl(server))
  expect(answerOf(unsigned).get('error')).toBe('invalid_request')

  const modules = join(desk.directory, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(join(checkout, 'node_modules/openid-client'), join(modules, 'openid-client'))
  await writeFile(join(desk.directory, 'app.mjs'), app)
  const KEY = JSON.stringify(await exportJWK(privateKey))
  const env = { ISSUER: server.url, CLIENT_SECRET: WEB.client_secret, KEY, PATH: process.env['PATH'] }
  const { stdout } = await promisify(execFile)(process.execPath, ['app.mjs'], { cwd: desk.directory, env })
  const url = new URL(stdout.trim())
  const claims = decodeJwt(url.searchParams.get('request')!)
  expect(Object.keys(claims)).toEqual(expect.arrayContaining(Object.keys(JSON.parse(object) as object)))
  expect([...answerOf(await goThrough(agent, await agent.get(url))).keys()]).toContain('code')

  const settings = [encryption, setting].map((one) => one.trim().split('=') as [string, string])
  const all = await startServer(Object.fromEntries(settings), { seed: SEED })
  const refused = await all.get(authorizationUrl(all))
  expect(refused.headers.get('location')).toContain('error=invalid_request')
  expect(await (await all.get('/jwks')).text()).toContain('"use":"enc"')
}) // prettier-ignore
