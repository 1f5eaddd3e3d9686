/**
 * Signing in by somebody else's page, as people write it who know nothing of this checkout: a plugin for a code host that speaks no OpenID
 * Connect, packed, installed and compiled. What others may try with its callback signs nobody in.
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { spawnBeside } from '../support/beside.ts'
import { noBrowser } from '../support/browser.ts'
import { startCodeHost } from '../support/code-host.ts'
import { compile, installStranger, pack } from '../support/packages.ts'
import { newPerson } from '../support/people.ts'
import { spawnServer } from '../support/process.ts'
import { ALICE, answerOf, authorizationUrl, exchange, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const SECRET = 'what the code host gave us'
const host = await startCodeHost({ ada: 1, ben: 2, mallory: 3, alice: 4, cleo: 5 }, SECRET)
const folder = await installStranger('code-host', 'latchkey', await pack('latchkey'), ['@types/node'])
const compiling = compile(folder)
compiling.catch(() => {})
const settings = {
  PLUGINS: join(folder, 'code-host.ts'),
  UNSAFE_OUTBOUND_ORIGINS: host.origin,
  CODE_HOST: host.origin,
  CODE_HOST_CLIENT: 'us',
  CODE_HOST_SECRET: SECRET,
}
const one = await spawnServer(settings, { seed: SEED })
const two = await spawnBeside(one.settings, one.database)
const there = `http://127.0.0.1:${two.settings['PORT']}`
const { query } = one.database

/** From the sign-in page to the host's, and its answer as an address of ours that nobody has opened yet. */
async function answerFor(login: string, agent: UserAgent, page?: Page): Promise<string> {
  const left = await agent.submit(page ?? (await agent.get(authorizationUrl(one))), 'code-host')
  const to = left.headers.get('location')
  if (left.status !== 303 || to === null) throw new Error(`it leads nowhere: ${left.status} ${left.body}`)
  return host.agree(to, login)
}
const errorOn = ({ body }: Page): string | undefined => /id="code-host-error"[^>]*>([^<]*)</.exec(body)?.[1]
const isRefused = ({ status, body }: Page): boolean =>
  status === 400 && body.includes('no sign-in of this browser')
const isSignedIn = async (agent: UserAgent): Promise<boolean> =>
  new URL((await agent.get(`${one.url}/account`)).url).pathname === '/account'
const allow = async (agent: UserAgent, page: Page): Promise<URLSearchParams> =>
  answerOf(await agent.submit(page, 'consent', { decision: 'allow' }))
const count = async (table: string): Promise<number> =>
  Number((await query(`select count(*)::int as n from ${table}`))[0]!['n'])

test('the stranger compiles against the package', async () => {
  await compiling
})

test('who is new gets an account and the app its answer; the next time it is the same one', async () => {
  const agent = createUserAgent(one.url)
  const answer = await allow(agent, await agent.get(await answerFor('ada', agent)))
  expect((await exchange(one, answer.get('code')!)).status).toBe(200)
  const users = await count('users')
  const later = createUserAgent(one.url)
  const page = await later.get(await answerFor('ada', later, await later.get(`${one.url}/account/profile`)))
  expect([new URL(page.url).pathname, page.body]).toEqual(['/account/profile', expect.stringContaining('<bdi>ada</bdi>')])
  expect(await count('users')).toBe(users)
}) // prettier-ignore

test('who does not agree, has the name of somebody, or is gone there comes back to the sign-in page, and may go on in another way', async () => {
  const agent = createUserAgent(one.url)
  const denied = await agent.get(await answerFor('', agent))
  expect([denied.status, errorOn(denied)]).toEqual([200, 'You did not sign in there.'])
  const taken = await agent.get(await answerFor('alice', agent, denied))
  expect(errorOn(taken)).toBe('Somebody here has that name already. Sign in another way.')
  const nobody = await agent.get(await answerFor('nobody', agent, taken))
  expect([errorOn(nobody), await isSignedIn(agent)]).toEqual(['The code host does not answer at this moment.', false])
  expect(answerOf(await goThrough(agent, nobody)).has('code')).toBe(true)
}) // prettier-ignore

test('whoever is asked once more who they are comes back as nobody else', async () => {
  const agent = createUserAgent(one.url)
  await agent.get(await answerFor('ben', agent, await agent.get(`${one.url}/account`)))
  const again = await agent.get(authorizationUrl(one, { prompt: 'login' }))
  const page = await agent.get(await answerFor('ada', agent, again))
  expect(errorOn(page)).toBe('You signed in there as somebody else.')
  expect((await agent.get(`${one.url}/account`)).body).toContain('<bdi>ben</bdi>')
  await allow(agent, await agent.get(await answerFor('ben', agent, page)))
  const alice = createUserAgent(one.url)
  await goThrough(alice, await alice.get(`${one.url}/account`))
  expect(findForm(await alice.get(authorizationUrl(one, { prompt: 'login' })), 'code-host')).toBeUndefined()
})

describe('its callback', () => {
  test('signs nobody in by an answer that somebody else’s browser began (login CSRF), and leaves it to that one', async () => {
    const attacker = createUserAgent(one.url)
    const address = await answerFor('mallory', attacker)
    const victim = createUserAgent(one.url)
    await victim.get(authorizationUrl(one))
    const [given, sessions] = [host.given(), await count('sessions')]
    for (const browser of [victim, createUserAgent(one.url)]) {
      expect(isRefused(await browser.get(address))).toBe(true)
      expect(await isSignedIn(browser)).toBe(false)
    }
    // Nor one who is signed in.
    const alice = createUserAgent(one.url)
    await goThrough(alice, await alice.get(`${one.url}/account`))
    expect(isRefused(await alice.get(address))).toBe(true)
    expect((await alice.get(`${one.url}/account`)).body).toContain('<bdi>alice</bdi>')
    expect([host.given(), await count('sessions')]).toEqual([given, sessions + 1])
    await allow(attacker, await attacker.get(address))
  })

  test('takes an answer once, of many at the same moment and over two processes', async () => {
    const agent = createUserAgent(one.url)
    const address = await answerFor('cleo', agent)
    const [given, sessions] = [host.given(), await count('sessions')]
    const pages = await Promise.all(
      [one.url, there, one.url, there].map(async (place) => {
        const copy = createUserAgent(place)
        for (const [name, value] of agent.cookies) copy.cookies.set(name, value)
        return copy.get(address.replace(one.url, place))
      }),
    )
    expect(pages.filter(isRefused)).toHaveLength(3)
    expect([host.given() - given, (await count('sessions')) - sessions]).toEqual([1, 1])
    expect(isRefused(await agent.get(address))).toBe(true)
  })

  test('of a sign-in that has ended meanwhile says so, and asks the host nothing', async () => {
    const agent = createUserAgent(one.url)
    const login = await agent.get(authorizationUrl(one))
    const address = await answerFor('mallory', agent, login)
    await goThrough(agent, login)
    const [given, sessions] = [host.given(), await count('sessions')]
    const page = await agent.get(address)
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('This step is done')])
    expect([host.given(), await count('sessions')]).toEqual([given, sessions])
    expect((await agent.get(`${one.url}/account`)).body).toContain('<bdi>alice</bdi>')
  })

  test('of one whose step somebody has taken in another way leads on, and signs in nobody else', async () => {
    const agent = createUserAgent(one.url)
    const login = await agent.get(authorizationUrl(one, { prompt: 'consent' }))
    const address = await answerFor('mallory', agent, login)
    const { username, password } = ALICE
    await agent.submit(login, 'login', { username, password })
    const page = await agent.get(address)
    expect(findForm(page, 'consent')).toBeDefined()
    expect((await agent.get(`${one.url}/account`)).body).toContain('<bdi>alice</bdi>')
  })

  test.each(['', '?', '?state=x', '?code=x', `?state=${'a'.repeat(43)}&code=x`, '?state=%00', '?error=access_denied'])(
    'answers %j with a page',
    async (asked) => {
      const { status } = await createUserAgent(one.url).get(`${one.url}/code-host/callback${asked}`)
      expect(status).toBe(400)
    },
  )
}) // prettier-ignore

test('nothing of it stands in a row or the log: neither codes nor tokens nor states', async () => {
  const agent = createUserAgent(one.url)
  const address = new URL(await answerFor('ada', agent))
  const rows = JSON.stringify(await query('select * from artifacts'))
  expect(rows).not.toContain(address.searchParams.get('state'))
  await agent.get(address)
  for (const output of [one.output(), two.output()])
    for (const name of ['code', 'state']) expect(output).not.toContain(address.searchParams.get(name))
  expect(one.output()).not.toContain(SECRET)
})

test.skipIf(noBrowser).each([true, false])(
  'in Chromium it leads there and back, also after Back; scripts: %s',
  async (javaScriptEnabled) => {
    const person = await newPerson({ javaScriptEnabled })
    const { page, said } = person
    await page.goto(`${one.url}/account/profile`)
    await page.click('#by-code-host')
    await page.waitForURL((at) => at.origin === host.origin)
    await page.goBack()
    await page.click('#by-code-host')
    await page.click('button[value=ben]')
    await page.waitForURL(`${one.url}/account/profile`)
    expect(await page.textContent('#signed-in-as')).toBe('ben')
    expect(said).toEqual([])
  },
)
