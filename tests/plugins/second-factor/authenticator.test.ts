/**
 * The codes of an authenticator app: set up on the account, asked for at sign-in, each good once.
 * @needs latchkey-second-factor
 */
import { decodeJwt } from 'jose'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { asksForFactor, codeOf, recoveryCodesOn, secretOn, setUpFactor } from '../../support/authenticator.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, exchange, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { until } from '../../support/until.ts'
import { age, eventsOf, signedIn } from '../account/owner.ts'

const server = await startServer({}, { seed: SEED })
const { oauth } = server.server
const alice = (await oauth.users.find(ALICE.username))!.id

beforeEach(async () => {
  await oauth.users.resetFactors(alice)
  await server.database.query('delete from throttles')
})
afterEach(() => {
  vi.useRealTimers()
})

/** The password is given; what is asked next. */
async function withPassword(agent: UserAgent, path = '/account'): Promise<Page> {
  const { username, password } = ALICE
  return agent.submit(await agent.get(`${server.url}${path}`), 'login', { username, password })
}

function turn(minutes: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000 })
}

describe('set up on the account', () => {
  test('it shows a secret as text and as a picture of ours, and then ten recovery codes, once', async () => {
    const agent = await signedIn(server)
    const security = await agent.get(`${server.url}/account/security`)
    expect(security.body).toContain('id="add-totp"')
    expect(security.body).toContain('Set up an authenticator app, so that a stolen password is not enough.')
    const page = await agent.get(`${server.url}/account/security/authenticator`)
    expect(page.body).toMatch(/<svg class="qr" role="img" aria-label="[^"]+" viewBox="0 0 (\d+) \1"/)
    expect(page.body).not.toMatch(/<(?:style|script(?! src))|style=/)
    const again = await agent.get(page.url)
    expect(secretOn(again)).toBe(secretOn(page))
    expect(secretOn(page)).toMatch(/^[A-Z2-7]{32}$/)
    const shown = await agent.submit(page, 'totp', { code: codeOf(secretOn(page)) })
    expect(recoveryCodesOn(shown)).toHaveLength(10)
    expect(new Set(recoveryCodesOn(shown)).size).toBe(10)
    expect(recoveryCodesOn(await agent.get(shown.url))).toEqual([])
    const after = await agent.get(`${server.url}/account/security`)
    expect(after.body).toContain('<strong>10</strong> left')
    expect(after.body).toContain('There is nothing to do.')
    const [added] = await eventsOf(server, 'user.factor_added')
    const [made] = await eventsOf(server, 'user.recovery_codes_made')
    expect([added?.details, made?.details]).toEqual([{ factor: 'authenticator' }, { count: 10 }])
  })

  test('it needs the right code, and says so in its form', async () => {
    const agent = await signedIn(server)
    const page = await agent.get(`${server.url}/account/security/authenticator`)
    for (const code of [
      '',
      '12345',
      '1234567',
      'abcdef',
      '12345é',
      codeOf(secretOn(page), 3),
      codeOf('JBSWY3DPEHPK3PXP'),
    ]) {
      const refused = await agent.submit(page, 'totp', { code })
      expect([code, refused.status, refused.body.includes('id="factor-error"')]).toEqual([code, 403, true])
      expect(secretOn(refused)).toBe(secretOn(page))
    }
    expect(await oauth.users.hasFactors(alice)).toBe(false)
  })

  test('it asks those again who have signed in a while ago, before the secret is shown', async () => {
    const agent = await signedIn(server)
    await age(server, 601)
    const page = await agent.get(`${server.url}/account/security/authenticator`)
    expect(findForm(page, 'login')).toBeDefined()
    const shown = await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
    expect(secretOn(shown)).toMatch(/^[A-Z2-7]+$/)
  })

  test('a session of before it asks for it, and this one does not', async () => {
    const [agent, elsewhere] = [await signedIn(server), await signedIn(server)]
    await setUpFactor(agent, server.url)
    expect(asksForFactor(await agent.get(`${server.url}/account`))).toBe(false)
    expect(asksForFactor(await elsewhere.get(`${server.url}/account`))).toBe(true)
  })

  test('the secret is neither in the database nor in the log', async () => {
    const agent = await signedIn(server)
    const { secret, codes } = await setUpFactor(agent, server.url)
    const page = await (await signedInAgain(secret)).get(`${server.url}/account/security/recovery-codes`)
    expect(page.status).toBe(200)
    const rows = JSON.stringify([
      await server.database.query('select * from user_records'),
      await server.database.query('select * from artifacts'),
    ])
    for (const one of [secret, ...codes])
      for (const text of [rows, server.output()]) expect(text).not.toContain(one)
  })

  test('removed and set up anew it has another secret, in the same session too', async () => {
    const agent = await signedIn(server)
    const { secret } = await setUpFactor(agent, server.url)
    const removed = await agent.submit(await agent.get(`${server.url}/account/security`), 'remove-totp')
    expect(removed.body).toContain('You are not asked for its codes any more.')
    expect(secretOn(await agent.get(`${server.url}/account/security/authenticator`))).not.toBe(secret)
    expect(asksForFactor(await withPassword(createUserAgent(server.url)))).toBe(false)
    const [event] = await eventsOf(server, 'user.factor_removed')
    expect(event).toMatchObject({ user: alice, details: { factor: 'authenticator' } })
  })
})

async function signedInAgain(secret: string): Promise<UserAgent> {
  const agent = createUserAgent(server.url)
  await agent.submit(await withPassword(agent), 'second-factor', { code: codeOf(secret) })
  return agent
}

/** By a keyboard whose zero is this code point, in two groups. */
const atKeyboard = (zero: number) => (code: string) =>
  code.replaceAll(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit))).replace(/.{3}/, '$& ')

describe('at sign-in', () => {
  test('digits of any script are the code, and what is none is a wrong one', async () => {
    const [japanese, arabic] = [atKeyboard(0xff10), atKeyboard(0x0660)]
    const owner = await signedIn(server)
    const form = await owner.get(`${server.url}/account/security/authenticator`)
    const secret = secretOn(form)
    const guessed = async (): Promise<number> =>
      (await eventsOf(server, 'user.factor_failed')).reduce((sum, { count }) => sum + count, 0)
    const before = await guessed()
    const shown = await owner.submit(form, 'totp', { code: japanese(codeOf(secret)) })
    expect(recoveryCodesOn(shown)).toHaveLength(10)
    turn(1)
    const agent = createUserAgent(server.url)
    const page = await withPassword(agent)
    for (const code of ['12345é', '１２３４５六', '🦊🦊🦊']) {
      const refused = await agent.submit(page, 'second-factor', { code })
      expect([code, refused.status, refused.body.includes('id="factor-error"')]).toEqual([code, 403, true])
    }
    const after = await agent.submit(page, 'second-factor', { code: arabic(codeOf(secret)) })
    expect(after.body).toContain('signed-in-as')
    // Each was a guess.
    await until(async () => expect(await guessed()).toBe(before + 3))
  })

  test('a code is asked for after the password, and told in the ID token', async () => {
    const { secret } = await setUpFactor(await signedIn(server), server.url)
    const agent = createUserAgent(server.url)
    const { username, password } = ALICE
    const login = await agent.get(authorizationUrl(server))
    const factor = await agent.submit(login, 'login', { username, password })
    expect(factor.body).toMatch(/<input id="code" name="code"[^>]*autocomplete="one-time-code"/)
    for (const id of ['verify', 'another-way']) expect(factor.body.split(`id="${id}"`)).toHaveLength(2)
    const after = await agent.submit(factor, 'second-factor', { code: codeOf(secret) })
    const answer = answerOf(await goThrough(agent, after))
    const { id_token } = (await (await exchange(server, answer.get('code')!)).json()) as { id_token: string }
    expect(decodeJwt(id_token)).toMatchObject({ acr: '2', amr: ['pwd', 'otp', 'mfa'] })
  })

  test('a code is good once, whichever browser it comes from; one that was missed is not good later', async () => {
    const { secret } = await setUpFactor(await signedIn(server), server.url)
    const code = codeOf(secret)
    const given = async (one: string): Promise<Page> => {
      const agent = createUserAgent(server.url)
      return agent.submit(await withPassword(agent), 'second-factor', { code: one })
    }
    expect((await given(code)).body).toContain('signed-in-as')
    for (const replayed of [code, codeOf(secret, -1)]) {
      const refused = await given(replayed)
      expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('id="factor-error"')])
    }
    expect((await given(codeOf(secret, 1))).body).toContain('signed-in-as')
  }) // prettier-ignore

  test.each([
    [-2, 403],
    [-1, 200],
    [0, 200],
    [1, 200],
    [2, 403],
  ])('of a phone whose clock is %i steps away: %i', async (steps, status) => {
    const { secret } = await setUpFactor(await signedIn(server), server.url)
    // The code that set it up is older then than any that is taken.
    turn(0.9)
    const agent = createUserAgent(server.url)
    const page = await agent.submit(await withPassword(agent), 'second-factor', {
      code: codeOf(secret, steps),
    })
    expect(page.status).toBe(status)
  })

  test('a clock of ours that went back an hour keeps nobody out, and takes no code twice', async () => {
    const { secret } = await setUpFactor(await signedIn(server), server.url)
    const late = codeOf(secret)
    const given = async (code: string): Promise<number> => {
      const agent = createUserAgent(server.url)
      return (await agent.submit(await withPassword(agent), 'second-factor', { code })).status
    }
    expect(await given(late)).toBe(200)
    turn(-60)
    const early = codeOf(secret)
    expect([await given(early), await given(early)]).toEqual([200, 403])
    vi.useRealTimers()
    // Once the poll of changes, which is an hour old now, has come round.
    await expect.poll(async () => given(late)).toBe(403)
  })

  test('spaces in a code, as apps show them, are nothing', async () => {
    const { secret } = await setUpFactor(await signedIn(server), server.url)
    const agent = createUserAgent(server.url)
    const code = codeOf(secret).replace(/^.{3}/, ' $& ')
    expect((await agent.submit(await withPassword(agent), 'second-factor', { code })).status).toBe(200)
  })

  test('who has guessed too often keeps the form, and is told how long; a right code waits too', async () => {
    const { secret } = await setUpFactor(await signedIn(server), server.url)
    const agent = createUserAgent(server.url)
    let page = await withPassword(agent)
    let tries = 0
    while (page.status !== 429 && tries++ < 60)
      page = await agent.submit(page, 'second-factor', { code: '000000' })
    expect(tries).toBeGreaterThanOrEqual(10)
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(page.body).toMatch(
      /There were too many tries\.\s+Please wait <strong role="timer" id="factor-wait">\d+</,
    )
    const waiting = await agent.submit(page, 'second-factor', { code: codeOf(secret) })
    expect([waiting.status, asksForFactor(waiting)]).toEqual([429, true])
  })

  /** Somebody of their own, who has set it up: what is told of them is of one test. */
  async function somebodyWithFactor(username: string) {
    const login = { username, password: ALICE.password }
    const { id } = await oauth.users.create(login)
    const owner = await signedIn(server, login)
    const { secret } = await setUpFactor(owner, server.url)
    const of = async (type: string) => (await eventsOf(server, type)).filter(({ user }) => user === id)
    const begin = async (agent: UserAgent): Promise<Page> =>
      agent.submit(await agent.get(`${server.url}/account`), 'login', login)
    return { id, owner, secret, begin, told: async () => of('user.factor_failed'), of }
  }

  test('a wrong code is told to its owner and to administrators, and so is that guessing was refused', async () => {
    const { owner, begin, told, of } = await somebodyWithFactor('guessed')
    const agent = createUserAgent(server.url)
    let page = await begin(agent)
    page = await agent.submit(page, 'second-factor', { code: '000000' })
    expect(page.status).toBe(403)
    await expect.poll(told).toMatchObject([{ details: { factor: 'authenticator' } }])
    while (page.status !== 429) page = await agent.submit(page, 'second-factor', { code: '000000' })
    await expect
      .poll(async () => (await of('limit.reached')).map(({ details }) => details).toReversed())
      .toEqual(['account', 'everywhere'].map((limit) => ({ kind: 'factor', limit })))
    const { body } = await owner.get(`${server.url}/account/activity`)
    expect(body).toContain('A sign-in passed its first step, and a wrong code was tried as the second one')
    expect(body).toContain('Too many wrong codes were tried: whoever tries them is refused for a while')
    expect(body).toContain(
      'Too many wrong codes were tried: for a while, only browsers that you have used before may try',
    )
    expect(body).not.toContain('passwords were tried')
  })

  test('a form that comes twice at once leads on, and no wrong code is told', async () => {
    const { secret, begin, told } = await somebodyWithFactor('doubly')
    const agent = createUserAgent(server.url)
    const page = await begin(agent)
    const code = codeOf(secret)
    const both = [agent, agent.clone()].map(async (one) => one.submit(page, 'second-factor', { code }))
    const shown = await Promise.all(both)
    expect(shown.map((one) => [one.status, asksForFactor(one)])).toEqual([
      [200, false],
      [200, false],
    ])
    // What is observed comes in the order in which it was.
    const last = createUserAgent(server.url)
    await last.submit(await begin(last), 'second-factor', { code: '000000' })
    await expect.poll(told).toMatchObject([{ count: 1 }])
  })

  test('a wrong code is told also where the sign-in is ended beside it', async () => {
    const { begin, told } = await somebodyWithFactor('left')
    const agent = createUserAgent(server.url)
    const page = await begin(agent)
    const holder = new Client({ connectionString: server.database.url })
    await holder.connect()
    await holder.query('begin; lock table throttles in share row exclusive mode')
    const guess = agent.clone().submit(page, 'second-factor', { code: '000000' })
    await until(async () =>
      expect(
        await server.database.query(`select pid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`),
      ).not.toEqual([]),
    )
    await agent.clone().get(`${server.url}/end-session`)
    await holder.end()
    expect(asksForFactor(await guess)).toBe(false)
    await expect.poll(told).toHaveLength(1)
  })

  test('a form without its token is not taken for one that came before, when the factor goes meanwhile', async () => {
    const agent = await signedIn(server)
    const lacking = await signedIn(server)
    await setUpFactor(agent, server.url)
    const security = await agent.get(`${server.url}/account/security`)
    const stray = lacking.post(
      `${server.url}/account/apps/revoke`,
      { client_id: 'anything' },
      { origin: server.url },
    )
    const removed = await agent.submit(security, 'remove-totp')
    expect(removed.status).toBe(200)
    expect((await stray).status).toBe(403)
    expect((await lacking.get(`${server.url}/account/apps`)).status).toBe(200)
  })

  test('two processes together let nobody guess more, and take one code once', async () => {
    const { secret } = await setUpFactor(await signedIn(server), server.url)
    const { PORT: _port, ...settings } = server.settings
    const second = await startServer(settings, { database: server.database })
    // What another process has learnt of her half a second ago at the latest.
    await expect.poll(async () => second.server.oauth.users.hasFactors(alice)).toBe(true)
    const code = codeOf(secret)
    const both = await Promise.all(
      [server, second].map(async ({ url }) => {
        const agent = createUserAgent(url)
        const { username, password } = ALICE
        const factor = await agent.submit(await agent.get(`${url}/account`), 'login', { username, password })
        return { agent, factor }
      }),
    )
    const answers = await Promise.all(both.map(async ({ agent, factor }) => agent.submit(factor, 'second-factor', { code })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 403]))
    const open = both[answers.findIndex(({ status }) => status === 403)]!
    const guesses = await Promise.all(
      Array.from({ length: 80 }, async () => (await open.agent.clone().submit(open.factor, 'second-factor', { code: '111111' })).status),
    )
    const wrong = guesses.filter((status) => status === 403).length
    expect(wrong).toBeLessThanOrEqual(60)
    expect(guesses).toContain(429)
    await second.close()
  }) // prettier-ignore
})
