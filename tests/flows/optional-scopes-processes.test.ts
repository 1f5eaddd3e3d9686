/** Optional scopes over two processes of one database, and where the client changes while its page is open. */
import { beforeEach, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { requestsTo, type Requests } from '../support/requests.ts'
import { freePort } from '../support/settings.ts'
import {
  answerOf,
  authorizationUrl,
  exchange,
  goThrough,
  refresh,
  SEED,
  WEB,
  type Tokens,
} from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const OPTIONAL = ['email', 'phone']
const server = await startServer(
  {},
  { seed: { ...SEED, clients: [{ ...WEB, optional_scopes: OPTIONAL.join(' ') }] } },
)
const PORT = await freePort()
await startServer({ ...server.settings, PORT }, { database: server.database })
type Place = Requests & { url: string }
const here: Place = server
const there: Place = { ...requestsTo(`http://127.0.0.1:${PORT}`), url: `http://127.0.0.1:${PORT}` }
const { clients } = server.server.oauth
const { consents } = kernelOf(server.server)
const { id } = (await server.server.oauth.users.find('alice'))!

/** Who is signed in, at both: the browser knows of one server. */
let browser: UserAgent
const scope = 'openid email phone'

beforeEach(async () => {
  await consents.withdraw(id, 'web')
  browser = createUserAgent(server.url)
  await goThrough(browser, await browser.get(`${server.url}/sign-in`))
})

function at(place: Place): UserAgent {
  const agent = createUserAgent(place.url)
  for (const [name, value] of browser.cookies) agent.cookies.set(name, value)
  return agent
}

async function open(place: Place, parameters: Record<string, string> = {}): Promise<Page> {
  const page = await at(place).get(authorizationUrl(place, { scope, ...parameters }))
  if (findForm(page, 'consent') === undefined) throw new Error(`no consent page: ${page.status} ${page.body}`)
  return page
}

/** Allows what the page has boxes for, but for `without`. */
async function allow(place: Place, page: Page, without: readonly string[] = []): Promise<Page> {
  const off = Object.fromEntries(without.map((one) => [`scope:${one}`, '']))
  return at(place).submit(page, 'consent', { decision: 'allow', ...off })
}

async function tokensOf(place: Place, page: Page): Promise<Tokens> {
  return (await (await exchange(place, answerOf(page).get('code') ?? '')).json()) as Tokens
}

async function silently(place: Place): Promise<string> {
  const page = await at(place).get(authorizationUrl(place, { scope, prompt: 'none' }))
  return answerOf(page).get('error') ?? (await tokensOf(place, page)).scope
}

/** Once both processes have heard of it. */
async function change(optional: readonly string[] | null): Promise<void> {
  await clients.update('web', { optional_scopes: optional })
  const asked = { scope: `${scope} profile`, prompt: 'consent' }
  const boxes = async () => (await open(there, asked)).body.match(/type="checkbox"/g) ?? []
  await expect.poll(async () => (await boxes()).length).toBe(optional?.length ?? 0)
}

test('what is left out at one is not granted by the other, nor asked for; tokens of before go on', async () => {
  const before = await tokensOf(here, await allow(here, await open(here)))
  expect(before.scope).toBe(scope)
  await allow(here, await open(here, { prompt: 'consent' }), ['email'])
  expect([await silently(there), await silently(here)]).toEqual(['openid phone', 'openid phone'])
  const later = await tokensOf(there, await at(there).get(authorizationUrl(there, { scope })))
  const asked = { scope: 'openid email' }
  const renewed = (await (await refresh(there, later.refresh_token, asked)).json()) as Tokens
  expect(renewed.scope).toBe('openid')
  // As docs/adr/0030 has it: until they are withdrawn.
  const gone = (await (await refresh(there, before.refresh_token)).json()) as Tokens
  expect(gone.scope).toBe(scope)
  expect((await consents.list(id))[0]?.scopes).toContain('email')
  await consents.withdraw(id, 'web')
  expect((await refresh(here, gone.refresh_token)).status).toBe(400)
})

test('two tabs that are answered at two processes at once: each gets what it says, and one of them is remembered', async () => {
  for (let round = 0; round < 4; round++) {
    await consents.withdraw(id, 'web')
    const [one, other] = [await open(here), await open(there)]
    const pages = await Promise.all([allow(here, one, ['email']), allow(there, other, ['phone'])])
    const [left, right] = [await tokensOf(here, pages[0]), await tokensOf(there, pages[1])]
    expect([left.scope, right.scope]).toEqual(['openid phone', 'openid email'])
    const next = [await silently(here), await silently(there)]
    expect(next[1]).toBe(next[0])
    expect(['openid phone', 'openid email']).toContain(next[0])
  }
})

test.each([
  ['is required by now', ['phone'], 'openid email phone profile'],
  ['may be left out by now', ['email', 'phone', 'profile'], 'openid phone profile'],
] as const)('a page whose scope %s is shown once more, and grants nothing', async (_what, now, granted) => {
  const asked = { scope: `${scope} profile` }
  const page = await open(there, asked)
  await change(now)
  const again = await allow(there, page, ['email'])
  expect([again.status, again.headers.get('location')]).toEqual([400, null])
  expect(again.body).toContain('has changed meanwhile')
  expect(again.body.match(/type="checkbox"/g)).toHaveLength(now.length)
  expect(await silently(there)).toBe('consent_required')
  const tokens = await tokensOf(there, await allow(there, again, ['email']))
  expect(tokens.scope.split(' ').toSorted()).toEqual(granted.split(' ').toSorted())
  await change(OPTIONAL)
}) // prettier-ignore
