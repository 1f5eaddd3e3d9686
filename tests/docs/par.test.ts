/** docs/par.md, as it stands there: the app, the request by hand, what its browser brings, and the commands. */
import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import { answerOf, authorizationUrl, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

const CLIENT_SECRET = '7d9a4e0c1b2f48c6a5e3'
const seed = { ...SEED, clients: [{ ...WEB, client_secret: CLIENT_SECRET }] }

test('the app pushes, its user brings the reference, and everybody may have to', async () => {
  const page = await openPage('par.md')
  const [app, push, answer, come] = [page.next('js'), page.next('http'), page.next('json'), page.next('http')]
  const [commands, setting] = [page.next('sh'), page.next('ini')]
  page.end()

  const server = await startServer({}, { seed })
  const desk = await sitDown(server.settings)
  const modules = join(desk.directory, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(join(checkout, 'node_modules/openid-client'), join(modules, 'openid-client'))
  await writeFile(join(desk.directory, 'app.mjs'), app)
  const env = { ISSUER: server.url, CLIENT_SECRET, PATH: process.env['PATH'] }
  const { stdout } = await promisify(execFile)(process.execPath, ['app.mjs'], { cwd: desk.directory, env })
  const agent = createUserAgent(server.url)
  const through = await goThrough(agent, await agent.get(stdout.trim()))
  expect([...answerOf(through).keys()]).toContain('code')

  const [head = '', body = ''] = push.trimEnd().split('\n\n')
  const [first = '', ...lines] = head.split('\n')
  const [method = '', path = ''] = first.split(' ')
  const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]))
  const pushed = await server.request(path, { method, headers, body })
  expect(pushed.status).toBe(201)
  const told = (await pushed.json()) as { request_uri: string }
  const documented = JSON.parse(answer) as { request_uri: string; expires_in: number }
  expect(told).toEqual({ ...documented, request_uri: expect.stringMatching(/^urn:/) as string })
  const reference = encodeURIComponent(documented.request_uri)
  const brought = substitute(come, { [reference]: encodeURIComponent(told.request_uri) })
  const shown = await agent.get(server.url + brought.split(' ')[1]!)
  expect(answerOf(shown).get('state')).toBe('5ca75bd30')

  await desk.sh(commands)
  expect(await server.server.oauth.clients.find('web')).toHaveProperty('require_pushed_authorization_requests', true)
  const all = await startServer(Object.fromEntries([setting.trim().split('=') as [string, string]]), { seed })
  const refused = await all.get(authorizationUrl(all))
  expect(refused.headers.get('location')).toContain('error=invalid_request')
}) // prettier-ignore
