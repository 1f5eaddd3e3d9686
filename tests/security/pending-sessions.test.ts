/** A sign-in that lacks a factor opens nothing but the step that asks for it, whoever asks and wherever. */
import { decodeJwt } from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { ALICE, answerOf, authorizationUrl, BOB, exchange, goThrough, SEED, WEB } from '../support/sign-in.ts'
import { addSecondFactor, CAREFUL, PIN } from '../support/second-factor.ts'
import { startServer } from '../support/server.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { routesOf } from '../support/routes.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { rowsWith } from '../support/left-out.ts'

const CARL = { username: 'carl', password: 'the password of a careful one', roles: [CAREFUL, 'admin'] }
const VAULT = { ...WEB, client_id: 'vault', client_name: 'Vault' }
const seed = { ...SEED, users: [...SEED.users, CARL], clients: [...SEED.clients, VAULT] }
const server = await startServer({}, { seed, extend: addSecondFactor })
const { oauth } = server.server
const PENDING = 'latchkey-pending'
const SESSION = 'latchkey-session'

async function giveFirst(agent: UserAgent, page: Page, { username, password } = CARL): Promise<Page> {
  return agent.submit(page, 'login', { username, password })
}

/** A browser whose user has given the password alone. */
async function pending(user = CARL, url = `${server.url}/sign-in?return_to=/account`): Promise<UserAgent> {
  const agent = createUserAgent(server.url)
  const page = await giveFirst(agent, await agent.get(url), user)
  expect([page.status, findForm(page, 'pin') !== undefined]).toEqual([200, true])
  return agent
}

/** A browser whose user has asked for the deletion of their account, and comes back. */
async function leaving(): Promise<UserAgent> {
  const user = { username: `leaving-${Math.random()}`, password: 'the password of a leaving one', roles: ['admin'] }
  const { id } = await oauth.users.create(user)
  await kernelOf(server.server).accountDeletions.request(id, 86_400)
  const agent = createUserAgent(server.url)
  const page = await giveFirst(agent, await agent.get(`${server.url}/account`), user)
  expect(findForm(page, 'keep-account')).toBeDefined()
  return agent
} // prettier-ignore

const silently = async (agent: UserAgent, more = {}) =>
  answerOf(await agent.get(authorizationUrl(server, { prompt: 'none', ...more })))
const sessions = async (): Promise<unknown> => server.database.query('select sid, amr, acr from sessions')

describe('with the password alone', () => {
  test.each<[string, string, () => Promise<UserAgent>]>([
    ['a factor is asked for', 'pin', async () => pending()],
    ...rowsWith<[string, string, () => Promise<UserAgent>][]>('latchkey-own-data', [
      ['they asked for their deletion', 'keep-account', async () => leaving()],
    ]),
  ])(
    'no page and no endpoint knows the person: every route there is, where %s',
    async (_why, step, begin) => {
      const agent = await begin()
      const stranger = createUserAgent(server.url)
      stranger.cookies.set('latchkey-browser', agent.cookies.get('latchkey-browser')!)
      const urls = routesOf(server.server)
        .filter(({ methods, url }) => methods.includes('GET') && !/[*]|end-session|interaction/.test(url))
        .map(({ url }) => `${server.url}${url.replaceAll(/:\w+/g, 'x')}`)
      expect(urls.length).toBeGreaterThan(60)
      const told = async (agent: UserAgent, url: string) => {
        const { status, url: at, body } = await agent.get(url)
        // Sign-in goes on where it was for who has begun it, and with nothing else.
        const asked = [step, 'login'].filter((id) => body.includes(`<form id="${id}"`))
        return { url, status, at: at.split('?')[0], asked, named: body.includes('signed-in-as') }
      }
      for (const url of urls) {
        const expected = await told(stranger, url)
        const asked = expected.asked.map(() => step)
        expect(await told(agent, url)).toEqual({ ...expected, asked, named: false })
      }
    },
  )

  test('no session is stored, and the browser has the cookie of none', async () => {
    const before = await sessions()
    const agent = await pending()
    expect(agent.cookies.has(SESSION)).toBe(false)
    expect(await sessions()).toEqual(before)
    const planted = createUserAgent(server.url)
    planted.cookies.set(SESSION, agent.cookies.get(PENDING)!)
    expect((await silently(planted)).get('error')).toBe('login_required')
  })

  test('an app that asks without a page is told that nobody is there', async () => {
    expect((await silently(await pending())).get('error')).toBe('login_required')
  })

  test('no step after it comes first: its form leads back to the factor', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server, { prompt: 'consent' }))
    const factor = await giveFirst(agent, login)
    const { action, fields } = findForm(factor, 'pin')!
    const skipped = await agent.post(action.replace('/second-factor', '/consent'), {
      ...fields,
      decision: 'allow',
    })
    expect(findForm(skipped, 'pin')).toBeDefined()
    expect(await server.database.query('select * from consents')).toEqual([])
  })

  test('its value is neither in the database nor in the log', async () => {
    const agent = await pending()
    const rows = JSON.stringify(await server.database.query('select * from pending_sessions'))
    expect(rows).not.toContain(agent.cookies.get(PENDING))
    expect(server.output()).not.toContain(agent.cookies.get(PENDING))
  })

  test('the account shows that a sign-in was pending, and can end it', async () => {
    const waiting = await pending()
    const agent = await pending()
    await agent.submit(await agent.get(`${server.url}/account`), 'pin', { pin: PIN })
    const page = await agent.get(`${server.url}/account/sessions`)
    expect(page.body).toContain('Not signed in yet')
    const { id } = (await oauth.users.find(CARL.username))!
    for (const { sid, pending: waits } of await oauth.sessions.list(id))
      if (waits) await oauth.sessions.endOne(id, sid)
    const late = await waiting.get(`${server.url}/account`)
    expect(findForm(late, 'login')).toBeDefined()
  })
})

describe('the second factor', () => {
  test('opens the account, under a new cookie, and says so in the ID token', async () => {
    const agent = createUserAgent(server.url)
    const factor = await giveFirst(agent, await agent.get(authorizationUrl(server)))
    const before = agent.cookies.get(PENDING)
    const wrong = await agent.submit(factor, 'pin', { pin: 'x' })
    expect([wrong.status, agent.cookies.get(PENDING)]).toEqual([403, before])
    const answer = answerOf(await goThrough(agent, await agent.submit(wrong, 'pin', { pin: PIN })))
    expect([agent.cookies.has(PENDING), agent.cookies.get(SESSION)]).not.toContain(before)
    const { id_token } = (await (await exchange(server, answer.get('code')!)).json()) as { id_token: string }
    expect(decodeJwt(id_token)).toMatchObject({ acr: '2', amr: ['pwd', 'otp', 'mfa'] })
    expect((await agent.get(`${server.url}/admin`)).body).toContain('signed-in-as')
    const thief = createUserAgent(server.url)
    thief.cookies.set(PENDING, before!)
    expect(findForm(await thief.get(`${server.url}/account`), 'login')).toBeDefined()
  })

  test('is asked for at /sign-in as at /authorize, and leads back to the page that asked', async () => {
    const agent = await pending()
    const page = await agent.submit(await agent.get(`${server.url}/account/profile`), 'pin', { pin: PIN })
    expect([new URL(page.url).pathname, page.status]).toEqual(['/account/profile', 200])
  })

  // Also where the clock was ahead: that says nothing of how long ago it was.
  test.each(['-601 seconds', '1 day'])(
    'is asked for again by a fresh sign-in of the administration, at %s',
    async (from) => {
      const agent = await pending()
      await agent.submit(await agent.get(`${server.url}/admin`), 'pin', { pin: PIN })
      await server.database.query(
        `update sessions set authenticated_at = authenticated_at + interval '${from}'`,
      )
      const { id } = (await oauth.users.find(BOB.username))!
      const user = await agent.get(`${server.url}/admin/user?id=${id}`)
      const again = await agent.submit(user, 'disable')
      const factor = await giveFirst(agent, again)
      expect(findForm(factor, 'pin')).toBeDefined()
      // What was signed in well enough goes on beside it.
      expect((await agent.get(`${server.url}/account`)).body).toContain('signed-in-as')
      const back = await agent.submit(factor, 'pin', { pin: PIN })
      expect(back.body).toContain('not done yet')
      expect((await agent.submit(back, 'disable')).body).toContain('disabled')
      await oauth.users.enable(BOB.username)
    },
  )

  test.each([{ prompt: 'login' }, { prompt: 'select_account' }, { max_age: '0' }])(
    'is enough, once, where somebody who is signed in has to sign in again: %o',
    async (asked) => {
      const agent = await pending()
      await agent.submit(await agent.get(`${server.url}/account`), 'pin', { pin: PIN })
      const open = await sessions()
      const factor = await giveFirst(agent, await agent.get(authorizationUrl(server, asked)))
      const after = await agent.submit(factor, 'pin', { pin: PIN })
      expect(findForm(after, 'login')).toBeUndefined()
      expect(answerOf(await goThrough(agent, after)).has('code')).toBe(true)
      expect(await sessions()).toHaveLength((open as unknown[]).length)
      // The next one asks again.
      expect(findForm(await agent.get(authorizationUrl(server, asked)), 'login')).toBeDefined()
    },
  )

  test('a client that demands it gets it of somebody whom nobody else asks, and the session rises', async () => {
    const agent = createUserAgent(server.url)
    await goThrough(agent, await agent.get(authorizationUrl(server)))
    const low = agent.cookies.get(SESSION)
    expect((await silently(agent)).has('code')).toBe(true)
    expect((await silently(agent, { client_id: 'vault' })).get('error')).toBe('login_required')
    const factor = await agent.get(authorizationUrl(server, { client_id: 'vault' }))
    expect(findForm(factor, 'pin')).toBeDefined()
    const answer = answerOf(await goThrough(agent, await agent.submit(factor, 'pin', { pin: PIN })))
    expect(answer.has('code')).toBe(true)
    expect(agent.cookies.get(SESSION)).not.toBe(low)
    expect((await silently(agent, { acr_values: '2' })).has('code')).toBe(true)
    const former = createUserAgent(server.url)
    former.cookies.set(SESSION, low!)
    expect((await silently(former)).get('error')).toBe('login_required')
  })

  test('who began for an app that demands it, and gave it up, is signed in where nobody demands it', async () => {
    const agent = await pending(
      ALICE as never,
      authorizationUrl(server, { client_id: 'vault', prompt: 'login' }),
    )
    expect((await silently(agent)).get('error')).toBe('login_required')
    expect((await agent.get(`${server.url}/account`)).body).toContain('signed-in-as')
  })

  test('an essential acr that no step reaches is an error for the app', async () => {
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ['9'] } } })
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server, { claims }))
    const answer = answerOf(await giveFirst(agent, login, ALICE as never))
    expect(answer.get('error')).toBe('unmet_authentication_requirements')
  })

  test('a role that comes later stands before what was open', async () => {
    const agent = createUserAgent(server.url)
    await giveFirst(agent, await agent.get(`${server.url}/sign-in`), BOB as never)
    expect((await agent.get(`${server.url}/account`)).body).toContain('signed-in-as')
    await oauth.users.update(BOB.username, { roles: [CAREFUL] })
    expect((await silently(agent)).get('error')).toBe('login_required')
    const factor = await agent.get(`${server.url}/account`)
    const page = await agent.submit(factor, 'pin', { pin: PIN })
    expect(page.body).toContain('signed-in-as')
    await oauth.users.update(BOB.username, { roles: [] })
  })
})

describe('it ends', () => {
  const isOver = async (agent: UserAgent): Promise<boolean> =>
    findForm(await agent.get(`${server.url}/account`), 'login') !== undefined

  test('after a quarter of an hour', async () => {
    const agent = await pending()
    const [{ left }] = (await server.database.query(
      'select max(extract(epoch from expires_at - now()))::int as left from pending_sessions',
    )) as [{ left: number }]
    expect(left).toBeGreaterThan(890)
    expect(left).toBeLessThanOrEqual(900)
    await server.database.query(`update pending_sessions set expires_at = now() - interval '1 second'`)
    expect(await isOver(agent)).toBe(true)
  })

  test('by signing out', async () => {
    const agent = await pending()
    const copy = agent.clone()
    await agent.get(`${server.url}/end-session`)
    expect([agent.cookies.has(PENDING), await isOver(copy)]).toEqual([false, true])
  })

  test.each([
    ['another password', async () => oauth.users.setPassword(CARL.username, CARL.password)],
    [
      'disabling',
      async () => oauth.users.disable(CARL.username).then(async () => oauth.users.enable(CARL.username)),
    ],
    [
      'any change of the user',
      async () => oauth.users.update(CARL.username, { nickname: String(Math.random()) }),
    ],
  ])('by %s, also between the factor and its form', async (_what, change) => {
    const agent = await pending()
    const factor = await agent.get(`${server.url}/account`)
    await change()
    expect(await isOver(agent.clone())).toBe(true)
    const late = await agent.submit(factor, 'pin', { pin: PIN })
    expect([findForm(late, 'pin'), agent.cookies.has(SESSION)]).toEqual([undefined, false])
  })

  test('the oldest, where somebody begins an eleventh', async () => {
    const agents: UserAgent[] = []
    for (let n = 0; n < 11; n++) agents.push(await pending())
    expect(await Promise.all(agents.map(isOver))).toEqual([true, ...Array<boolean>(10).fill(false)])
    const { id } = (await oauth.users.find(CARL.username))!
    await oauth.sessions.endAll(id)
    expect(await isOver(agents[10]!)).toBe(true)
  })
})

test('it goes on at another process, and after a restart', async () => {
  const agent = await pending()
  const { PORT: _port, ...settings } = server.settings
  const second = await startServer(settings, { database: server.database, extend: addSecondFactor })
  const headers = {
    cookie: [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    accept: 'text/html',
  }
  const { port } = second.server.server.address() as { port: number }
  const there = await fetch(`http://127.0.0.1:${port}/sign-in?return_to=/account`, { headers })
  expect(await there.text()).toContain('id="pin"')
})

test('a form that is sent twice, as by a double click, leads on twice to one session', async () => {
  const agent = await pending()
  const factor = await agent.get(`${server.url}/account/profile`)
  const [again, stolen] = [agent.clone(), agent.clone()]
  const first = await agent.submit(factor, 'pin', { pin: PIN })
  const second = await again.submit(factor, 'pin', { pin: PIN })
  expect([first, second].map(({ url, status }) => [new URL(url).pathname, status])).toEqual([
    ['/account/profile', 200],
    ['/account/profile', 200],
  ])
  expect(again.cookies.get(SESSION)).toBe(agent.cookies.get(SESSION))
  // Not without what it showed.
  await stolen.submit(factor, 'pin', { pin: 'x' })
  expect(stolen.cookies.has(SESSION)).toBe(false)
})

test('a form that is sent again a minute later leads nobody to the session who has the former cookie alone', async () => {
  const agent = await pending()
  const factor = await agent.get(`${server.url}/account`)
  const former = agent.clone()
  await agent.submit(factor, 'pin', { pin: PIN })
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_001 })
  await former.submit(factor, 'pin', { pin: PIN })
  vi.useRealTimers()
  expect([agent.cookies.has(SESSION), former.cookies.has(SESSION)]).toEqual([true, false])
})

test('of a form that has expired it does not stand on the page that says so', async () => {
  const agent = await pending()
  const factor = await agent.get(`${server.url}/account`)
  const expired = await agent.submit(factor, 'pin', { pin: PIN, csrf_token: 'of before' })
  expect([expired.status, expired.body.includes('This page has expired')]).toEqual([403, true])
  expect(expired.body).not.toContain(`"${PIN}"`)
  expect(findForm(await agent.submit(expired, 'again'), 'pin')).toBeDefined()
})

test('of two right answers at once one is taken', async () => {
  const agent = await pending()
  const factor = await agent.get(`${server.url}/account`)
  const both = [agent, agent.clone()]
  await Promise.all(both.map(async (one) => one.submit(factor, 'pin', { pin: PIN })))
  const cookies = new Set(both.map((one) => one.cookies.get(SESSION)).filter((one) => one !== undefined))
  expect(cookies.size).toBe(1)
})
