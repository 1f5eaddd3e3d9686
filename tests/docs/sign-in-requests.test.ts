/** docs/sign-in-requests.md, as it stands there: single claims, what an app registers for all its requests, and where its sign-in begins. */
import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { bearer } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, exchange, SEED, type Tokens, WEB } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

const page = await openPage('sign-in-requests.md')
const [app, userinfo, idToken] = [page.next('js'), page.next('json'), page.next('json')]
const [defaults, entrance, begun] = [page.next('sh'), page.next('sh'), page.next('http')]
const server = await startServer({}, { seed: SEED })

test('the page has no other pieces', () => page.end())

test('people read the claims that are asked for, and the app gets these at their places', async () => {
  const desk = await sitDown(server.settings)
  const modules = join(desk.directory, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(join(checkout, 'node_modules/openid-client'), join(modules, 'openid-client'))
  await writeFile(join(desk.directory, 'app.mjs'), app)
  const env = { ISSUER: server.url, CLIENT_SECRET: WEB.client_secret, PATH: process.env['PATH'] }
  const { stdout } = await promisify(execFile)(process.execPath, ['app.mjs'], { cwd: desk.directory, env })

  const agent = createUserAgent(server.url)
  const login = await agent.get(stdout.trim())
  expect(login.headers.get('content-language')).toBe('es')
  expect(findForm(login, 'login')!.fields['username']).toBe('alice')
  const consent = await agent.submit(login, 'login', { password: ALICE.password })
  expect(findForm(consent, 'consent')).toBeDefined()
  expect(consent.body.match(/<li><strong>/g)?.length).toBeGreaterThanOrEqual(4)
  const allowed = await agent.submit(consent, 'consent', { decision: 'allow' })
  const tokens = (await (await exchange(server, answerOf(allowed).get('code')!)).json()) as Tokens
  const told = await server.get('/userinfo', bearer(tokens.access_token))
  const { sub, ...claims } = (await told.json()) as Record<string, unknown>
  expect(claims).toEqual(JSON.parse(userinfo))
  const said = decodeJwt(tokens.id_token)
  expect(said).toMatchObject({ ...(JSON.parse(idToken) as object), sub, auth_time: expect.any(Number) })
  for (const name of ['family_name', 'email', 'phone_number']) expect(said).not.toHaveProperty(name)

  const silent = new URL(stdout.trim())
  silent.searchParams.set('prompt', 'none')
  expect(answerOf(await agent.get(silent.href)).get('code')).toEqual(expect.any(String))
  const beyond = { scope: 'openid', claims: JSON.stringify({ id_token: { acr: { essential: true, value: 'gold' } } }) }
  const unmet = answerOf(await agent.get(authorizationUrl(server, beyond)))
  expect(unmet.get('error')).toBe('unmet_authentication_requirements')
}) // prettier-ignore

test('what an app registers counts for each request, and pages lead to where its sign-in begins', async () => {
  const desk = await sitDown(server.settings)
  await desk.sh(defaults)
  await desk.sh(entrance)
  expect(await server.server.oauth.clients.find('web')).toMatchObject({
    default_max_age: 3600,
    default_acr_values: ['1'],
    minimum_acr_value: '1',
    initiate_login_uri: 'https://app.example/login',
  })
  const agent = createUserAgent(server.url)
  const { username, password } = ALICE
  await agent.submit(await agent.get(`${server.url}/account`), 'login', { username, password })
  const ours = { [encodeURIComponent('https://login.example.com')]: encodeURIComponent(server.url) }
  const [, path] = /^GET (\S+) HTTP/.exec(substitute(begun, ours))!
  const link = `href="https://app.example${path}"`
  await expect.poll(async () => (await agent.get(`${server.url}/account/apps`)).body).toContain(link)
}) // prettier-ignore
