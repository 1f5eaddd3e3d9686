/**
 * Each plugin of ours left out, with those that need it: the server starts, what it served is not there, nothing advertises it or leads to
 * it, and people get into apps all the same, unless it is what they get in by.
 */
import { expect, onTestFinished, test } from 'vitest'
import { ownPlugins } from '../../src/plugin-list.ts'
import { createDatabase } from '../support/database.ts'
import { basic } from '../support/requests.ts'
import { routesOf } from '../support/routes.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { answerOf, authorizationUrl, exchange, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../support/user-agent.ts'

const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
const SETTINGS = {
  OIDC_SIGN_UP: 'on',
  OIDC_REGISTRATION: 'open',
  OIDC_CLIENT_METADATA_DOCUMENTS: 'any',
  OIDC_IMPLICIT: true,
  PORT: await freePort(),
  SECRET_KEY: 'k'.repeat(64),
}
const seed = { ...SEED, users: [...SEED.users, ROOT] }
const database = await createDatabase()
const plugins = ownPlugins()

/** With those that need it, and those that need them. */
function withDependents(name: string): Set<string> {
  const left = new Set([name])
  for (let size = 0; size < left.size;) {
    size = left.size
    for (const one of plugins) if (one.dependencies.some((other) => left.has(other))) left.add(one.name)
  }
  return left
}

/** Without one of these nobody gets in. */
const OF_THE_WAY = ['pages', 'browser', 'language', 'interaction', 'login', 'password-sign-in', 'consent', 'response-modes', 'authorize', 'code', 'token', 'client-authentication', 'authorization-code']
  .map((name) => `latchkey-${name}`) // prettier-ignore
const PAGES = ['/', '/sign-in', '/account', '/account/profile', '/account/security', '/account/sessions', '/admin', '/admin/users', '/admin/user?id=ROOT', '/sign-up', '/forgot-password', '/end-session', '/admin/nothing-there', '/authorize'] // prettier-ignore

const start = async (without: ReadonlySet<string>): Promise<TestServer> =>
  startServer(
    {
      ...SETTINGS,
      OIDC_SIGN_UP: without.has('latchkey-mail') ? 'off' : 'on',
      // It refuses to be without: nobody approves by opening a link.
      OIDC_CIBA: !without.has('latchkey-consent'),
    },
    { seed, database, build: { without: [...without] } },
  )

type Metadata = Record<string, unknown>
const metadataOf = async ({ get }: TestServer): Promise<Metadata> => {
  const response = await get('/.well-known/openid-configuration')
  return response.status === 404 ? {} : ((await response.json()) as Metadata)
}
const addressesOf = ({ server }: TestServer): Set<string> =>
  new Set(routesOf(server).flatMap(({ url, methods }) => methods.map((method) => `${method} ${url}`)))

const whole = await start(new Set())
const [ALL, EVERYTHING] = [addressesOf(whole), await metadataOf(whole)]
await whole.close()

/** Addresses that the page leads to, by their paths. */
function linksOn(body: string): string[] {
  return [...body.matchAll(/(?:href|action|src)="(\/[^"?#]*)/g)].map(([, path]) => path!)
}

async function signedIn(server: TestServer): Promise<UserAgent> {
  const agent = createUserAgent(server.url)
  await goThrough(agent, await agent.get(`${server.url}/sign-in`), ROOT)
  return agent
}

test.each(plugins.map(({ name }) => name))('%s', async (name) => {
  const left = withDependents(name)
  const server = await start(left)
  onTestFinished(server.close)
  const there = addressesOf(server)
  const gone = [...ALL].filter((address) => !there.has(address))
  expect([...there].filter((address) => !ALL.has(address))).toEqual([])

  // What it served is not there.
  for (const address of gone) {
    const [method, path] = address.split(' ') as ['GET', string]
    const { statusCode } = await server.server.inject({ method, url: path.replaceAll(/:\w+|\*/g, 'x') })
    expect([address, [404, 405].includes(statusCode)]).toEqual([address, true])
  }

  // What is advertised is served.
  const metadata = await metadataOf(server)
  expect(Object.keys(metadata).filter((member) => !Object.hasOwn(EVERYTHING, member))).toEqual([])
  const advertised = Object.entries(metadata).filter(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' && entry[1].startsWith(`${server.url}/`),
  )
  for (const [member, address] of advertised) {
    const path = address.slice(server.url.length)
    expect([member, there.has(`GET ${path}`) || there.has(`POST ${path}`)]).toEqual([member, true])
  }
  const grants = (EVERYTHING['grant_types_supported'] ?? []) as string[]
  for (const grant_type of grants.filter((one) => one !== 'implicit' && there.has('POST /token'))) {
    const answer = await server.post('/token', { grant_type }, basic(WEB.client_id, WEB.client_secret))
    const { error } = (await answer.json()) as { error: string }
    const isOffered = ((metadata['grant_types_supported'] ?? grants) as string[]).includes(grant_type)
    expect([grant_type, error === 'unsupported_grant_type']).toEqual([
      grant_type,
      !isOffered && !left.has('latchkey-discovery'),
    ])
  }

  // No page leads to it.
  const paths = gone.map(
    (address) =>
      new RegExp(
        `^${address.split(' ')[1]!.replaceAll(/:\w+/g, '[^/]+').replaceAll('.', '\\.').replace('*', '.*')}/?$`,
      ),
  )
  const agent =
    there.has('GET /sign-in') && !left.has('latchkey-login') && !left.has('latchkey-password-sign-in')
      ? await signedIn(server)
      : createUserAgent(server.url)
  const root = (await server.server.oauth.users.find(ROOT.username))!.id
  for (const path of PAGES) {
    const { status, body } = await agent.get(server.url + path.replace('ROOT', root))
    expect([path, status < 500]).toEqual([path, true])
    expect([path, linksOn(body).filter((link) => paths.some((one) => one.test(link)))]).toEqual([path, []])
  }

  // People get into apps.
  const isWay = OF_THE_WAY.some((one) => left.has(one))
  expect(isWay || (await entersApp(server))).toBe(true)
})

async function entersApp(server: TestServer): Promise<boolean> {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { scope: 'read_books', prompt: 'consent' }))
  const code = answerOf(await goThrough(agent, page)).get('code') ?? ''
  return (await exchange(server, code)).status === 200
}
