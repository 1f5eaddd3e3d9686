/**
 * Guessing one account from many addresses: a limit of them all, which whoever comes from a browser that the account has
 * signed in with before does not meet. What such a browser shows is worth nothing for others, and ends.
 */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { spawnBeside } from '../support/beside.ts'
import { startServer } from '../support/server.ts'
import { ALICE, authorizationUrl, BOB, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'

const server = await startServer({ TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
const { oauth } = server.server
const { box, knownBrowsers, passwordLinks } = kernelOf(server.server)
const KNOWN = 'latchkey-known'
/** In an hour. */
const MOST = 100

let addresses = 0
const elsewhere = (): Record<string, string> => ({
  'x-forwarded-for': `203.0.${++addresses >> 8}.${addresses & 255}`,
})

/** A browser at an address of its own, with no more than these marks. */
function browserWith(marks?: string): UserAgent {
  const agent = createUserAgent(server.url, elsewhere())
  if (marks !== undefined) agent.cookies.set(KNOWN, marks)
  return agent
}

async function signIn(agent: UserAgent, username: string, password: string): Promise<Page> {
  return agent.submit(await agent.get(`${server.url}/sign-in?max_age=0`), 'login', { username, password })
}

let people = 0
/** A user of their own, and the marks of the browser in which they have signed in. */
async function createKnown(
  agent = browserWith(),
): Promise<{ username: string; password: string; marks: string }> {
  const owner = { username: `person-${++people}`, password: 'a password of their own' }
  await oauth.users.create(owner)
  expect((await signIn(agent, owner.username, owner.password)).status).toBe(200)
  return { ...owner, marks: agent.cookies.get(KNOWN)! }
}

/** Failures from everywhere, as many as are answered or `most`. */
async function exhaust(username: string, most = 2 * MOST): Promise<number> {
  for (let failures = 0; failures < most; failures++) {
    try {
      const attempt = await oauth.throttle('user').attempt(username, elsewhere()['x-forwarded-for']!)
      await attempt.failed()
    } catch (error) {
      if ((error as { status?: number }).status !== 429) throw error
      return failures
    }
  }
  return most
}

const statusOf = async (agent: UserAgent, username: string, password: string): Promise<number> =>
  signIn(agent, username, password).then(({ status }) => status)

describe('guesses at one account, each from an address of its own', () => {
  /** The first refusal, and how many guesses were answered before it: most of them not slowed down by hashing. */
  async function guess(username: string): Promise<{ guesses: number; page: Page }> {
    for (let guesses = await exhaust(username, MOST / 2); guesses < 2 * MOST; guesses++) {
      const page = await signIn(browserWith(), username, 'wrong')
      if (page.status === 429) return { guesses, page }
      expect(page.status).toBe(403)
      expect([...page.headers.getSetCookie()].join()).not.toContain(KNOWN)
    }
    throw new Error('two hundred guesses were answered')
  }

  test('are a few, whether there is such an account or not, and then the right one is refused too', async () => {
    const [known, unknown] = [await guess('alice'), await guess('alicf')]
    for (const { guesses, page } of [known, unknown]) {
      expect(guesses).toBeGreaterThanOrEqual(10)
      expect(guesses).toBeLessThanOrEqual(MOST)
      expect(page.headers.get('retry-after')).toMatch(/^[1-9]\d{0,2}$/)
    }
    // One more may come back meanwhile.
    expect(Math.abs(unknown.guesses - known.guesses)).toBeLessThanOrEqual(1)
    const neutral = ({ body }: Page): string =>
      body.replaceAll(/alic[ef]|(?:value|action|href)="[^"]{43,}"|<code>[^<]*<\/code>|\d+/g, '')
    expect(neutral(unknown.page)).toBe(neutral(known.page))
    expect(await statusOf(browserWith(), ALICE.username, ALICE.password)).toBe(429)
    expect(await statusOf(browserWith(), BOB.username, BOB.password)).toBe(200)
  })

  test('leave no more than a hundred in any hour, by both of its names', async () => {
    const username = 'whoever'
    const atOnce = await exhaust(username)
    const [row] = await server.database.query<{ step: number }>(
      `select extract(epoch from max(free_at) - now())::float8 as step from throttles`,
    )
    // Of the seconds after which one more may come, a few are over.
    const recovery = Math.ceil(row!.step / 10) * 10
    expect(2 * (atOnce + Math.floor(3600 / recovery))).toBeLessThanOrEqual(MOST)
  })

  test('count in every process', async () => {
    const two = await spawnBeside(server.settings, server.database)
    const { username, password, marks } = await createKnown()
    await exhaust(username)
    const at = async (agent: UserAgent): Promise<number> => {
      const form = await agent.get(`${server.url}/sign-in`)
      const { action, fields } = findForm(form, 'login')!
      const there = action.replace(server.url, `http://127.0.0.1:${two.settings.PORT}`)
      return agent.post(there, { ...fields, username, password }).then(({ status }) => status)
    }
    await expect.poll(async () => at(browserWith())).toBe(429)
    expect(await at(browserWith(marks))).toBeLessThan(400)
  })
})

describe('a browser that the account has signed in with before', () => {
  test('lets its owner in at the limit, by every way, wherever it is', async () => {
    const agent = browserWith()
    const { username, password } = await createKnown(agent)
    await exhaust(username)
    const moved = browserWith(agent.cookies.get(KNOWN))
    expect(await statusOf(moved, username, 'wrong')).toBe(403)
    expect(await statusOf(moved, username, password)).toBe(200)
    // Whichever of their names they type; and strangers have as many guesses by the other one, and no more.
    const email = `${username}@example.com`
    await oauth.users.update(username, { email, email_verified: true })
    await exhaust(email)
    expect(await statusOf(moved, email, password)).toBe(200)
    expect(await statusOf(browserWith(), email, password)).toBe(429)
    const login = await moved.get(authorizationUrl(server, { prompt: 'login' }))
    expect((await moved.submit(login, 'login', { username, password })).body).toContain('id="consent"')
    const account = await moved.get(`${server.url}/account/password`)
    const changed = { current_password: password, new_password: 'another password of theirs' }
    expect((await moved.submit(account, 'change-password', changed)).url).toContain('saved=yes')
    expect(await statusOf(browserWith(), username, changed.new_password)).toBe(429)
  })

  test('keeps its owner out for none of what others at the same address do', async () => {
    const { username, password, marks } = await createKnown()
    const agent = browserWith(marks)
    const stranger = createUserAgent(server.url, {
      'x-forwarded-for': `203.0.${addresses >> 8}.${addresses & 255}`,
    })
    while ((await statusOf(stranger, username, 'wrong')) !== 429);
    expect(await statusOf(agent, username, password)).toBe(200)
  })

  test('helps nobody at another account, and no other browser', async () => {
    const [{ username, password }, other] = [await createKnown(), await createKnown()]
    await exhaust(username)
    const forged = other.marks.replace(/\d{13}/, String(Date.now()))
    for (const marks of [
      undefined,
      other.marks,
      forged,
      `${other.marks}~${forged}`,
      '~'.repeat(3000),
      'x',
      `${'x'.repeat(22)}.${Date.now()}.x.${'x'.repeat(43)}`,
    ])
      expect([marks, await statusOf(browserWith(marks), username, password)]).toEqual([marks, 429])
  })

  test('that was copied has a few guesses, wherever they are made, and its owner has others', async () => {
    const { username, password, marks } = await createKnown()
    const agent = browserWith(marks)
    expect(await statusOf(agent, username, password)).toBe(200)
    expect(agent.cookies.get(KNOWN)).not.toBe(marks)
    await exhaust(username)
    let guesses = 0
    while ((await statusOf(browserWith(marks), username, 'wrong')) === 403) guesses++
    expect(guesses).toBeGreaterThanOrEqual(10)
    expect(guesses).toBeLessThanOrEqual(40)
    expect(await statusOf(browserWith(marks), username, password)).toBe(429)
    expect(await statusOf(agent, username, password)).toBe(200)
  })

  test('keeps marks of a few accounts: which ones, is not to be read', async () => {
    const agent = browserWith()
    const owners = []
    for (let count = 0; count < 7; count++) owners.push(await createKnown(agent))
    const marks = agent.cookies.get(KNOWN)!
    expect(marks.split('~')).toHaveLength(5)
    expect(marks.length).toBeLessThan(600)
    for (const { username } of owners) {
      const { id } = (await oauth.users.find(username))!
      for (const text of [username, id, Buffer.from(username).toString('base64url').slice(0, 10)])
        expect(marks).not.toContain(text)
    }
    const known = await Promise.all(owners.map(async ({ username }) => knownBrowsers.find(marks, username)))
    expect(known.map((mark) => mark !== null)).toEqual([false, false, true, true, true, true, true])
  })
})

describe('what a browser is known by ends', () => {
  const isKnown = async ({ username }: { username: string }, marks: string | undefined): Promise<boolean> =>
    (await knownBrowsers.find(marks, username)) !== null

  test.each([
    ['a new password', async (name: string) => oauth.users.setPassword(name, 'a new password of theirs')],
    ['disabling, for good', async (name: string) => oauth.users.disable(name).then(async () => oauth.users.enable(name))],
    ['the end of all sessions', async (name: string) => oauth.sessions.endAll((await oauth.users.find(name))!.id)],
    ['the end of one session from elsewhere', async (name: string) => {
      const { id } = (await oauth.users.find(name))!
      await oauth.sessions.endOne(id, (await oauth.sessions.list(id))[0]!.sid)
    }],
    ['a link for a password', async (name: string) => {
      const { address } = await passwordLinks.make((await oauth.users.find(name))!.id)
      await passwordLinks.setPassword(new URL(address).searchParams.get('token')!, 'a new password of theirs')
    }],
  ])('with %s', async (_what, end) => {
    const owner = await createKnown()
    expect(await isKnown(owner, owner.marks)).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 2))
    await end(owner.username)
    expect(await isKnown(owner, owner.marks)).toBe(false)
  })

  test('but not that of the browser in which its owner signs all others out', async () => {
    const [agent, other] = [browserWith(), browserWith()]
    const owner = await createKnown(agent)
    expect(await statusOf(other, owner.username, owner.password)).toBe(200)
    const page = await agent.get(`${server.url}/account/sessions`)
    await agent.submit(page, 'end-others')
    expect(await isKnown(owner, agent.cookies.get(KNOWN))).toBe(true)
    expect(await isKnown(owner, other.cookies.get(KNOWN))).toBe(false)
    expect(await isKnown(owner, owner.marks)).toBe(false)
  })

  test('nor with a sign-out; and after half a year it is over', async () => {
    const agent = browserWith()
    const owner = await createKnown(agent)
    const page = await agent.get(`${server.url}/end-session`)
    const [, csrf_token = ''] = /name="csrf_token" value="([^"]+)"/.exec(page.body)!
    expect((await agent.post(`${server.url}/end-session`, { csrf_token })).body).toContain('id="signed-out"')
    const marks = agent.cookies.get(KNOWN)
    expect([marks, await isKnown(owner, marks)]).toEqual([owner.marks, true])
    const [nonce = '', madeAt = ''] = owner.marks.split('.')
    const old = `${nonce}.${Number(madeAt) - 181 * 86_400_000}`
    const signature = box.hash(`known browser\0${old}\0${owner.username}`)
    expect(await isKnown(owner, `${old}.${signature}`)).toBe(false)
  })

  test('its cookie is for the server alone, and lasts no longer', async () => {
    const agent = browserWith()
    const page = await agent.get(`${server.url}/sign-in`)
    const { action, fields } = findForm(page, 'login')!
    const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
    const { username, password } = BOB
    const headers = { cookie, origin: server.url, ...elsewhere() }
    const answer = await fetch(action, {
      method: 'POST',
      body: new URLSearchParams({ ...fields, username, password }),
      headers,
      redirect: 'manual',
    })
    await answer.body?.cancel()
    const line = answer.headers.getSetCookie().find((one) => one.startsWith(KNOWN))
    expect(line).toMatch(new RegExp(`^${KNOWN}=[\\w.-]+; Max-Age=15552000; Path=/; HttpOnly; SameSite=Lax$`))
  })
}) // prettier-ignore
