/**
 * docs/connect-an-app.md, as it stands there: each app is registered and runs as a process of its own, and somebody signs in to it and
 * out, with a browser without eyes; the app that lives in a browser, in Chromium.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'
import { complaintsOf, newBrowserContext, noBrowser } from '../support/browser.ts'
import { atEndOfFile, temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { ALICE, getTokens, SEED } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { checkout, openPage, sitDown, substitute } from './page.ts'

interface Part {
  commands: string
  code: string
}

const page = await openPage('connect-an-app.md')
const settings = page.next('ini')
const part = (): Part => ({ commands: page.next('sh'), code: page.next('js') })
const [express, authJs] = [part(), part()]
const next = {
  commands: page.next('sh'),
  auth: page.next('ts'),
  route: page.next('ts'),
  page: page.next('tsx'),
}
const [fastify, passport, inBrowser, service, api] = [part(), part(), part(), part(), part()]
page.end()

const server = await startServer({}, { seed: SEED })
const desk = await sitDown(server.settings)
/** An npm that has brought everything before: it is there, and the versions are those of our lockfile. */
await writeFile(
  join(desk.directory, '.bin/npm'),
  `#!/bin/sh
set -eu
[ "$1" = install ] && shift
for name; do [ -d ${checkout}/node_modules/$name ] || { echo "$name is not there" >&2; exit 1; }; done
ln -s ${checkout}/node_modules .
`,
  { mode: 0o755 },
)

/** Addresses as they are in this run. */
const here = (text: string, origin: string, issuer = server.url): string =>
  text.replaceAll('http://localhost:4000', origin).replaceAll('http://localhost:3000', issuer)

/** Does what the commands of a part do, in a folder of its own for the app. */
async function register({ commands }: Part, origin: string, issuer?: string): Promise<string> {
  const folder = await temporaryDirectory()
  await desk.sh(here(commands, origin, issuer).replaceAll(/\.\.\/\w+/g, folder))
  return folder
}

/** Starts a program of a folder under its `.env`; what it says comes with how it ends. */
function run(folder: string) {
  const said: string[] = []
  const { PATH } = process.env
  const child = spawn(process.execPath, ['--env-file=.env', 'app.mjs'], { cwd: folder, env: { PATH } })
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => said.push(text))
  const closed = once(child, 'close').then(() => said.join(''))
  atEndOfFile(async () => {
    child.kill('SIGKILL')
    await closed
  })
  return { closed, output: () => said.join('') }
}

/** An app of the page, when it listens on a port of its own. */
async function start(
  one: Part,
  port: string,
  issuer?: string,
): Promise<{ origin: string; output: () => string }> {
  const origin = `http://localhost:${await freePort()}`
  const folder = await register(one, origin, issuer)
  await writeFile(join(folder, 'app.mjs'), substitute(one.code, { [port]: new URL(origin).port }))
  const { closed, output } = run(folder)
  const ended = closed.then((said) => `it has ended: ${said}`)
  const state = await Promise.race([ended, until(async () => void (await fetch(origin)))])
  if (state !== undefined) throw new Error(state)
  return { origin, output }
}

/** Somebody whose browser goes to and fro between the app and the server. */
function newPerson() {
  const agents = new Map<string, UserAgent>()
  const at = (url: string): UserAgent => {
    const { origin } = new URL(url)
    const agent = agents.get(origin) ?? createUserAgent(origin)
    agents.set(origin, agent)
    return agent
  }
  const arrive = async (one: Page): Promise<Page> => {
    const location = one.headers.get('location')
    return location === null ? one : open(new URL(location, one.url).href)
  }
  const open = async (url: string): Promise<Page> => arrive(await at(url).get(url))
  const submit = async (one: Page, id: string, fields: Record<string, string>): Promise<Page> =>
    arrive(await at(one.url).submit(one, id, fields))
  /** The only button of a page of Auth.js. */
  const press = async (one: Page): Promise<Page> => {
    const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(one.body) ?? []
    const [, csrfToken = ''] = / name="csrfToken" value="([^"]*)"/.exec(one.body) ?? []
    return arrive(await at(one.url).post(new URL(action, one.url).href, { csrfToken }))
  }
  const post = async (url: string, fields: Record<string, string>): Promise<Page> =>
    arrive(await at(url).post(url, fields))
  return { open, submit, press, post }
}

test.each([
  ['express-openid-connect', express],
  ['Auth.js', authJs],
  ['Fastify and openid-client', fastify],
  ['Passport', passport],
])('%s: somebody signs in, is known, and signs out there and at the server', async (name, one) => {
  const { origin, output } = await start(one, '4000')
  const { open, submit, press } = newPerson()
  const { username, password } = ALICE
  // Auth.js has a page before each way.
  const go = async (path: string): Promise<Page> => {
    const at = await open(origin + path)
    return name === 'Auth.js' ? press(at) : at
  }
  let asked = await submit(await go('/me'), 'login', { username, password })
  let home = { status: 200, url: `${origin}/` }
  // Auth.js tells of it on a page of its own, and in its log.
  if (name !== 'Auth.js') {
    home = await submit(asked, 'consent', { decision: 'deny' })
    asked = await go('/me')
  }
  expect(home).toMatchObject({ status: 200, url: `${origin}/` })
  const known = await submit(asked, 'consent', { decision: 'allow' })
  expect(known.url).toBe(`${origin}/me`)
  expect(JSON.parse(known.body)).toMatchObject({ name: ALICE.name, email: ALICE.email })
  expect((await go('/logout')).url).toBe(`${origin}/`)
  expect(findForm(await go('/me'), 'login')).toBeDefined()
  expect(output()).toBe('')
})

test('Next.js: the same settings of Auth.js, for a client that is registered for its addresses', async () => {
  const lines = (code: string, from: string, to: string): string =>
    code.slice(code.indexOf(from), code.indexOf(to))
  for (const [from, to] of [
    ['providers: [', '  callbacks: {'],
    ['    // The ID token', '    redirect({'],
  ] as const)
    expect(next.auth).toContain(lines(authJs.code, from, to))
  const commands = next.commands.replace(/^npm install next-auth@.*\n/m, '')
  const folder = await register({ commands, code: '' }, 'http://localhost:4000')
  const env = parseEnv(await readFile(join(folder, '.env'), 'utf8'))
  expect(Object.keys(env)).toEqual(['AUTH_SECRET', ...Object.keys(parseEnv(settings))])
  expect(env).toMatchObject({
    OIDC_REDIRECT_URI: 'http://localhost:4000/api/auth/callback/latchkey',
    AUTH_SECRET: expect.stringMatching(/^[\da-f]{64}$/) as string,
  })
  expect(next.route).toContain('handlers')
  expect(next.page).toContain("signIn('latchkey')")
})

test('Next.js: whoever denies is led to the page with the button, and not to one of Auth.js', async () => {
  const [pages = ''] = /^ {2}pages: .*$/m.exec(next.auth) ?? []
  const code = substitute(authJs.code, { '  trustHost: true,': `  trustHost: true,\n${pages}` })
  const { origin } = await start({ ...authJs, code }, '4000')
  const { open, submit, post } = newPerson()
  const { csrfToken } = JSON.parse((await open(`${origin}/auth/csrf`)).body) as { csrfToken: string }
  const { username, password } = ALICE
  const asked = await submit(await post(`${origin}/auth/signin/latchkey`, { csrfToken }), 'login', {
    username,
    password,
  })
  const home = await submit(asked, 'consent', { decision: 'deny' })
  expect(home).toMatchObject({ status: 200, url: `${origin}/?error=OAuthCallbackError` })
})

test.skipIf(noBrowser)('oidc-client-ts: a page goes on after a denial, signs in, and out', async () => {
  const app = createServer((request, response) => {
    const isModule = request.url === '/app.js'
    response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html')
    response.end(
      isModule
        ? module
        : '<link rel="icon" href="data:,"><body><script type="module" src="/app.js"></script>',
    )
  }).listen(0, 'localhost')
  atEndOfFile(async () => {
    app.closeAllConnections()
    app.close()
  })
  await once(app, 'listening')
  const origin = `http://localhost:${(app.address() as AddressInfo).port}`
  const folder = await register(inBrowser, origin)
  await writeFile(join(folder, 'app.mjs'), here(inBrowser.code, origin))
  const bundle = await rolldown({ input: join(folder, 'app.mjs'), cwd: folder, logLevel: 'silent' })
  const module = (await bundle.generate({ format: 'esm' })).output[0].code
  await bundle.close()
  const tab = await (await newBrowserContext()).newPage()
  const said = complaintsOf(tab)
  await tab.goto(origin)
  await tab.click('text=Sign in with Latchkey')
  await tab.fill('#username', ALICE.username)
  await tab.fill('#password', ALICE.password)
  await tab.click('#sign-in')
  await tab.click('#deny')
  await tab.waitForURL(`${origin}/`)
  await tab.click('text=Sign in with Latchkey')
  await tab.click('#allow')
  await tab.click(`text=Sign out ${ALICE.name}`)
  await tab.click('text=Sign in with Latchkey')
  await tab.waitForSelector('form#login')
  expect(said).toEqual([])
})

test('openid-client gets a token for a service, and jose lets it in: only it, and only with the scope', async () => {
  const { origin } = await start(api, '8080')
  const folder = await register(service, '')
  await writeFile(join(folder, 'app.mjs'), substitute(service.code, { 'http://localhost:8080': origin }))
  expect(await run(folder).closed).toMatch(/^200 \{"reader":"[\w-]+","books":\["The Trial"\]\}\n$/)

  const ask = async (token?: string, at = origin): Promise<unknown> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const { status, headers: answered } = await fetch(`${at}/books`, { headers })
    return [status, answered.get('www-authenticate')]
  }
  expect(await ask()).toEqual([401, 'Bearer'])
  expect(await ask('no.such.token')).toEqual([401, 'Bearer error="invalid_token"'])
  const { id_token, access_token } = await getTokens(server)
  expect(await ask(id_token)).toEqual([401, 'Bearer error="invalid_token"'])
  expect(await ask(access_token)).toEqual([403, 'Bearer error="insufficient_scope", scope="read_books"'])
  const alone = await start(api, '8080', `http://localhost:${await freePort()}`)
  expect(await ask(access_token, alone.origin)).toEqual([500, null])
})
