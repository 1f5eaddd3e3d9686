/** docs/admin-api.md, as it stands there: somebody is registered and disabled by programs, and a plugin adds an operation. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { callerAs, callerWith, PROGRAMS, startApi } from '../support/admin-api.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { isWhole } from '../support/left-out.ts'
import { startServer } from '../support/server.ts'
import { basic } from '../support/requests.ts'
import { authorize, SEED, type Tokens } from '../support/sign-in.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

test('the programs of the page do what it says', async () => {
  const page = await openPage('admin-api.md')
  const [setting, register, first, app, web, error, plugin] = [
    page.next('ini'),
    page.next('sh'),
    page.next('sh'),
    page.next('js'),
    page.next('sh'),
    page.next('json'),
    page.next('js'),
  ]
  page.end()

  const PLUGINS = join(await temporaryDirectory(), 'badges.js')
  await writeFile(PLUGINS, plugin)
  const [name = '', value = ''] = setting.trim().split('=')
  const seed = { ...SEED, clients: [...SEED.clients, ...PROGRAMS] }
  const server = await startServer({ PLUGINS, [name]: value }, { seed })
  const desk = await sitDown(server.settings)
  const inPlace = { 'https://login.example.com': server.url }
  const { stdout } = await desk.sh(`${register}\n${substitute(first, inPlace)}`)
  expect(JSON.parse(stdout)).toMatchObject({ username: 'zoe', roles: ['staff'], disabled: false })

  const registered = JSON.parse(await readFile(join(desk.directory, 'onboarding.json'), 'utf8')) as {
    client_secret: string
  }
  const modules = join(desk.directory, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(join(checkout, 'node_modules/openid-client'), join(modules, 'openid-client'))
  await writeFile(join(desk.directory, 'app.mjs'), app)
  const CLIENT_SECRET = registered.client_secret
  const env = { ISSUER: server.url, CLIENT_ID: 'onboarding', CLIENT_SECRET, PATH: process.env['PATH'] }
  const ran = await promisify(execFile)(process.execPath, ['app.mjs'], { cwd: desk.directory, env })
  expect(ran.stdout).toBe('zoe true\n')

  const { client_secret: secret } = JSON.parse((await desk.sh(`${web}\ncat console.json`)).stdout) as {
    client_secret: string
  }
  const { users } = server.server.oauth
  await users.update('alice', { roles: ['admin'] })
  const asked = {
    client_id: 'console',
    redirect_uri: 'https://console.example.com/callback',
    scope: 'openid latchkey:users:write',
    resource: `${server.url}/admin/api/v1`,
  }
  const code = (await authorize(server, asked)).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: asked.redirect_uri }
  const got = (await (await server.post('/token', form, basic('console', secret))).json()) as Tokens
  expect((await callerWith(server, got.access_token)('GET', '/users')).status).toBe(200)
  const own = await server.post('/token', { grant_type: 'client_credentials' }, basic('console', secret))
  expect(((await own.json()) as { error: string }).error).toBe('unauthorized_client')

  const call = await callerAs(server, 'people')
  const again = await call('POST', '/users', { username: 'zoe' })
  expect([again.status, again.body]).toEqual([409, JSON.parse(error)])
  const zoe = (await users.find('zoe'))!
  expect(await call('POST', `/users/${zoe.id}/badges`, { badge: 'first-day' })).toMatchObject({ status: 201 })
  expect((await call('GET', `/users/${zoe.id}/badges`)).body).toEqual({ badges: ['first-day'] })
  expect((await call('POST', `/users/${zoe.id}/badges`, { bad: 'first-day' })).status).toBe(400)
})

test.runIf(isWhole)('the page names every operation', async () => {
  const text = await readFile(join(checkout, 'docs/admin-api.md'), 'utf8')
  const server = await startApi({ OIDC_SHARED_SIGNALS: 'on' })
  const description = (await (await server.get('/admin/api/v1/openapi.json')).json()) as {
    paths: Record<string, Record<string, { security: { oauth: [string] }[] }>>
  }
  const rows = [...text.matchAll(/^\| (`\/.*?)\s*\| ([A-Z, ]+?)\s*\|$/gm)].flatMap(([, paths, methods]) =>
    [...paths!.matchAll(/`([^`]+)`/g)].map(([, path]) => `${path} ${methods}`),
  )
  const order = ['get', 'post', 'patch', 'delete']
  const served = Object.entries(description.paths).map(([path, methods]) => {
    const names = Object.keys(methods).toSorted((a, b) => order.indexOf(a) - order.indexOf(b))
    return `${path} ${names.join(', ').toUpperCase()}`
  })
  expect(rows.toSorted()).toEqual(served.toSorted())
})
