/**
 * Recovery codes, browsers that are remembered, and what ends both; who takes a factor away from whom.
 * @needs latchkey-second-factor
 */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  asksForFactor,
  codeOf,
  recoveryCodesOn,
  setUpFactor,
  type SetUp,
} from '../../support/authenticator.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createBrowserMarks } from '../../../src/services/users/browser-marks.ts'
import { runCommandHere as run } from '../../support/command-here.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { eventsOf, signedIn } from '../account/owner.ts'

const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
const server = await startServer({}, { seed: { ...SEED, users: [ALICE, BOB, ROOT] } })
const { oauth } = server.server
const { accountDeletions, passwordLinks, box } = kernelOf(server.server)
const alice = (await oauth.users.find(ALICE.username))!.id
let owner: UserAgent
let factor: SetUp

beforeEach(async () => {
  await oauth.users.resetFactors(alice)
  await server.database.query('delete from throttles')
  owner = await signedIn(server)
  factor = await setUpFactor(owner, server.url)
})

async function withPassword(agent: UserAgent, { username, password } = ALICE): Promise<Page> {
  return agent.submit(await agent.get(`${server.url}/account`), 'login', { username, password })
}

async function byLink(): Promise<void> {
  const { address } = await passwordLinks.make(alice)
  await passwordLinks.setPassword(new URL(address).searchParams.get('token')!, ALICE.password)
}

const isIn = (page: Page): boolean => page.body.includes('signed-in-as')

/** In a browser of its own. */
async function recover(code: string): Promise<Page> {
  const agent = createUserAgent(server.url)
  const page = await withPassword(agent)
  const [, href] = /id="another-way" href="([^"]+)"/.exec(page.body)!
  const other = await agent.get(new URL(href!.replaceAll('&amp;', '&'), server.url).href)
  expect(other.body).toContain('One of your recovery codes')
  return agent.submit(other, 'second-factor', { code })
}

describe('a recovery code', () => {
  test('signs in once, however it is typed, and is counted', async () => {
    const [code, other] = factor.codes
    const wide = other!.replaceAll(/[^-]/g, (one) => String.fromCodePoint(one.codePointAt(0)! + 0xfee0))
    expect(isIn(await recover(wide))).toBe(true)
    expect(isIn(await recover(` ${code!.toUpperCase().replace('-', ' ')}`))).toBe(true)
    const again = await recover(code!)
    expect([again.status, again.body.includes('id="factor-error"')]).toEqual([403, true])
    expect(again.body).toContain('One of your recovery codes')
    expect((await owner.get(`${server.url}/account/security`)).body).toContain('<strong>8</strong> left')
    const [used] = await eventsOf(server, 'user.recovery_code_used')
    expect(used).toMatchObject({ user: alice, details: { left: 8 } })
  })

  test('is taken once of many at once, and each of several others is', async () => {
    const [one, ...others] = factor.codes
    const same = await Promise.all(Array.from({ length: 4 }, async () => recover(one!)))
    expect(same.filter(isIn)).toHaveLength(1)
    const each = await Promise.all(others.slice(0, 3).map(recover))
    expect(each.map(isIn)).toEqual([true, true, true])
    expect((await owner.get(`${server.url}/account/security`)).body).toContain('<strong>6</strong> left')
  })

  test.each(['', '00000-00000', 'x'.repeat(200), '🦊🦊🦊🦊🦊-🦊🦊🦊🦊🦊'])('%j is none', async (code) => {
    expect((await recover(code)).status).toBe(403)
  })

  test('few that are left are told of; new ones take the place of all', async () => {
    for (const code of factor.codes.slice(0, 7)) expect(isIn(await recover(code))).toBe(true)
    const security = await owner.get(`${server.url}/account/security`)
    expect(security.body).toContain('you have few left')
    const asked = await owner.get(`${server.url}/account/security/recovery-codes`)
    const made = recoveryCodesOn(await owner.submit(asked, 'make-recovery-codes'))
    expect(made).toHaveLength(10)
    expect((await recover(factor.codes[9]!)).status).toBe(403)
    expect(isIn(await recover(made[0]!))).toBe(true)
  })
})

describe('a browser that is remembered', () => {
  /** Somebody who has given a code there, and signed out since. */
  async function remembered(steps = 0): Promise<UserAgent> {
    const agent = createUserAgent(server.url)
    const page = await withPassword(agent)
    await agent.submit(page, 'second-factor', { code: codeOf(factor.secret, steps), remember: 'yes' })
    agent.cookies.delete('latchkey-session')
    return agent
  }

  test('asks for the password alone; another one does not', async () => {
    const agent = await remembered()
    const page = await withPassword(agent)
    expect([isIn(page), new URL(page.url).pathname]).toEqual([true, '/account'])
    expect(asksForFactor(await withPassword(createUserAgent(server.url)))).toBe(true)
    const [session] = await oauth.sessions.list(alice)
    expect(session!.amr).toEqual(['pwd', 'rba', 'mfa'])
  })

  test('its cookie opens nothing by itself, is for nobody else, and cannot be made up', async () => {
    const agent = await remembered()
    const cookie = agent.cookies.get('latchkey-remembered')!
    const thief = createUserAgent(server.url)
    thief.cookies.set('latchkey-remembered', cookie)
    expect(findForm(await thief.get(`${server.url}/account`), 'login')).toBeDefined()
    const bobs = await signedIn(server, BOB)
    await setUpFactor(bobs, server.url)
    expect(asksForFactor(await withPassword(thief, BOB as typeof ALICE))).toBe(true)
    const forger = createUserAgent(server.url)
    for (const forged of [
      cookie.replace(/^.{5}/, 'AAAAA'),
      cookie.replace(/\.\d{13}\./, `.${Date.now()}.`),
      'x',
      '',
    ])
      forger.cookies.set('latchkey-remembered', forged)
    expect(asksForFactor(await withPassword(forger))).toBe(true)
    await oauth.users.resetFactors((await oauth.users.find(BOB.username))!.id)
  })

  test('is kept for each of several who share it', async () => {
    const agent = await remembered()
    const bobs = await setUpFactor(await signedIn(server, BOB), server.url)
    const page = await withPassword(agent, BOB as typeof ALICE)
    await agent.submit(page, 'second-factor', { code: codeOf(bobs.secret), remember: 'yes' })
    for (const user of [ALICE, BOB]) {
      agent.cookies.delete('latchkey-session')
      expect(isIn(await withPassword(agent, user as typeof ALICE))).toBe(true)
    }
    await oauth.users.resetFactors((await oauth.users.find(BOB.username))!.id)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['a new password', async () => oauth.users.setPassword(ALICE.username, ALICE.password)],
    ['a password by a link from a mail', async () => byLink()],
    ['signing out everywhere', async () => oauth.sessions.endAll(alice)],
    ['signing out everywhere else', async () => oauth.sessions.endAll(alice, { except: (await oauth.sessions.list(alice))[0]!.sid })],
    ['an administrator who ends a session', async () => oauth.sessions.endOne(alice, (await oauth.sessions.list(alice))[0]!.sid)],
    ['disabling, also where that is taken back', async () => {
      await oauth.users.disable(ALICE.username)
      await oauth.users.enable(ALICE.username)
    }],
    ['an account that was to be deleted, and is kept', async () => {
      await accountDeletions.request(alice, 3600)
      await accountDeletions.cancel(alice)
    }],
    ['a factor that was taken away, where another one comes', async () => {
      await oauth.users.resetFactors(alice)
      await setUpFactor(await signedIn(server), server.url)
    }],
    ['a factor that its owner removed, where another one comes', async () => {
      await owner.submit(await owner.get(`${server.url}/account/security`), 'remove-totp')
      await setUpFactor(owner, server.url)
    }],
  ])('is forgotten by %s', async (_what, end) => {
    const agent = await remembered()
    await end()
    expect(asksForFactor(await withPassword(agent))).toBe(true)
  }) // prettier-ignore

  test.each<[string, () => Promise<unknown>]>([
    ['new recovery codes', async () => owner.submit(await owner.get(`${server.url}/account/security/recovery-codes`), 'make-recovery-codes')],
    ['a recovery code that is used elsewhere', async () => recover(factor.codes[0]!)],
    ['another address', async () => oauth.users.update(ALICE.username, { email: 'alice@new.example' })],
  ])('is not forgotten by %s', async (_what, happens) => {
    const agent = await remembered()
    await happens()
    expect(asksForFactor(await withPassword(agent))).toBe(false)
  }) // prettier-ignore

  test('is forgotten after thirty days', async () => {
    const [row] = await server.database.query(
      `select created_at from user_records where kind = 'authenticator'`,
    )
    const setUpAt = (row!['created_at'] as Date).getTime()
    const marked = async (days: number): Promise<Page> => {
      const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - days * 86_400_000)
      const cookie = createBrowserMarks('remembered browser', box).add(undefined, `${alice}\0${setUpAt}`)
      clock.mockRestore()
      const agent = createUserAgent(server.url)
      agent.cookies.set('latchkey-remembered', cookie)
      return withPassword(agent)
    }
    await server.database.query('update users set strangers_before = null')
    expect([asksForFactor(await marked(29.9)), asksForFactor(await marked(30.1))]).toEqual([false, true])
  })

  test('by another issuer is not remembered here, though its users have the same names', async () => {
    const other = await startServer({}, { seed: { ...SEED, users: [ALICE] } })
    const owners = await signedIn(other)
    const theirs = await setUpFactor(owners, other.url)
    const agent = createUserAgent(other.url)
    const page = await agent.submit(await agent.get(`${other.url}/account`), 'login', {
      username: ALICE.username,
      password: ALICE.password,
    })
    await agent.submit(page, 'second-factor', { code: codeOf(theirs.secret), remember: 'yes' })
    const here = createUserAgent(server.url)
    here.cookies.set('latchkey-remembered', agent.cookies.get('latchkey-remembered')!)
    expect(asksForFactor(await withPassword(here))).toBe(true)
  })

  test('is not asked for by who says nothing', async () => {
    const agent = createUserAgent(server.url)
    await agent.submit(await withPassword(agent), 'second-factor', { code: codeOf(factor.secret) })
    expect(agent.cookies.has('latchkey-remembered')).toBe(false)
  })
})

describe('who has lost it', () => {
  test('is helped by an administrator, by a button that asks for a fresh sign-in', async () => {
    const root = await signedIn(server, ROOT)
    const page = await root.get(`${server.url}/admin/user?id=${alice}`)
    await server.database.query(`update sessions set authenticated_at = authenticated_at - interval '601 seconds'`)
    const { username, password } = ROOT
    const back = await root.submit(await root.submit(page, 'reset-factors'), 'login', { username, password })
    expect(await oauth.users.hasFactors(alice)).toBe(true)
    const done = await root.submit(back, 'reset-factors')
    expect(done.body).toContain('Their second factor is taken away')
    expect(findForm(done, 'reset-factors')).toBeUndefined()
    expect(isIn(await withPassword(createUserAgent(server.url)))).toBe(true)
    const events = await eventsOf(server, 'user.factor_removed')
    expect(events.slice(0, 2).map(({ details, actor }) => [details, actor.kind])).toEqual(
      expect.arrayContaining([[{ factor: 'authenticator' }, 'user'], [{ factor: 'recovery-codes' }, 'user']]),
    )
  }) // prettier-ignore

  test('by the command line, without a server', async () => {
    const told = await run(['user', 'reset-factors', ALICE.username, '--json'], server.settings)
    expect(JSON.parse(told.stdout)).toEqual({ username: ALICE.username, reset: true })
    const again = await run(['user', 'reset-factors', ALICE.username, '--json'], server.settings)
    expect(JSON.parse(again.stdout)).toEqual({ username: ALICE.username, reset: false })
    expect((await run(['user', 'reset-factors', 'nobody'], server.settings)).status).not.toBe(0)
    await expect.poll(async () => oauth.users.hasFactors(alice)).toBe(false)
  })

  test('what an export says of it is that it is there', async () => {
    const exported = JSON.stringify(await oauth.users.export(alice))
    expect(exported).toMatch(/"authenticator":\[\{"created_at":"[^"]+"\}\]/)
    expect(exported).toContain('"left":10')
    expect(exported).not.toContain(factor.secret)
  })
})
