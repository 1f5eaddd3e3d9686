/** What an account spends once, and has so many of at most, while two processes are asked for it at the same moment. */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { withClient } from '../../src/store/connections.ts'
import { codeOf, secretOn, setUpFactor } from '../support/authenticator.ts'
import { spawnBeside } from '../support/beside.ts'
import { makePasskey } from '../support/soft-authenticator.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../support/user-agent.ts'
import { signedIn } from '../plugins/account/owner.ts'
import { addPasskey, optionsIn, startAtLocalhost } from '../plugins/passkeys/passkeys.ts'
import { isThere, rowsWith } from '../support/left-out.ts'

const TRIES = 50
/** Each try comes from an address of its own, so that none waits for another. */
const server = await startAtLocalhost({ OIDC_SIGN_UP: 'on', TRUSTED_PROXIES: '127.0.0.1' })
const beside = await spawnBeside(server.settings, server.database)
const { users, passwordLinks, passwordResets, invitations, emailLinks, signUps } = kernelOf(server.server)
const { oauth, passkeys } = server.server
const password = 'a password by the link'
let count = 0

async function somebody(
  more: object = { email_verified: true },
): Promise<{ id: string; username: string; email: string; password: string }> {
  const username = `racer-${++count}`
  const known = { username, email: `${username}@example.com`, password: 'the former password' }
  const { id } = await users.create({ ...known, ...more })
  return { id, ...known }
}

/** Sends the form of the page as each of `all` says, to one process and the other in turn; what was answered. */
async function race(
  agent: UserAgent,
  page: Page,
  id: string,
  all: readonly Record<string, string>[],
): Promise<Response[]> {
  const { action, fields } = findForm(page, id)!
  const { pathname, search } = new URL(action)
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  return Promise.all(
    all.map(async (own, at) =>
      (at % 2 === 0 ? server : beside).post(
        pathname + search,
        { ...fields, ...own },
        { cookie, origin: server.url, accept: 'text/html', 'x-forwarded-for': `192.0.2.${at}` },
      ),
    ),
  )
}

const statusesOf = (answers: readonly Response[]): Record<number, number> =>
  Object.fromEntries(
    [...Map.groupBy(answers, ({ status }) => status)].map(([status, { length }]) => [status, length]),
  )

type Race = [
  what: string,
  form: string,
  fields: Record<string, string>,
  changed: string[],
  make: () => Promise<string>,
]

describe(`of ${TRIES} who use it at once`, () => {
  const all = (fields: Record<string, string>) => Array.from({ length: TRIES }, () => fields)

  test.each<Race>([
    ['a link that was handed over', 'set-password', { password }, ['user.password_changed'], async () => (await passwordLinks.make((await somebody()).id)).address],
    ...rowsWith<Race[]>('latchkey-forgot-password', [['a link for a forgotten password', 'reset-password', { password }, ['user.password_changed'], async () => `${server.url}/reset-password?token=${await passwordResets.make((await somebody()).id, '')}`]]),
    ...rowsWith<Race[]>('latchkey-invitation', [['an invitation', 'accept-invitation', { password }, ['user.changed', 'user.password_changed'], async () => `${server.url}/invitation?token=${(await invitations.invite((await somebody({})).id))!.token}`]]),
    ['a link that confirms an address', 'confirm', {}, ['user.changed'], async () => `${server.url}/confirm-email?token=${await emailLinks.make((await somebody()).id, `racer-${count}@new.example`)}`],
  ])('one has %s', async (_what, form, fields, changed, make) => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(await make())
    const { id } = (await users.find(`racer-${count}`))!
    const answers = await race(agent, page, form, all(fields))
    // All in one browser: each is told that it is done, and one has done it.
    expect(statusesOf(answers)).toEqual({ 303: TRIES })
    const changes = await server.database.query<{ type: string }>(
      `select type from audit_events where user_id = $1 and type = any('{user.changed,user.password_changed}') order by type`,
      [id],
    )
    expect(changes.map(({ type }) => type)).toEqual(changed)
  }) // prettier-ignore

  test.runIf(isThere('latchkey-sign-up'))('one makes the account of a sign-up', async () => {
    const wanted = { username: `racer-${++count}`, email: `racer-${count}@example.com` }
    const asked = { ...(await signUps.judge(wanted, password)), browser: '', back: '' }
    const agent = createUserAgent(server.url)
    const page = await agent.get(`${server.url}/sign-up/confirm?token=${await signUps.make(asked)}`)
    const answers = await race(agent, page, 'confirm', all({ password }))
    // Who did not make it is told that it is there.
    for (const { status } of answers) expect([200, 303, 410]).toContain(status)
    const { events } = await oauth.audit.list({ type: 'user.registered' })
    const { id } = (await users.findByEmail(wanted.email))!
    expect(events.filter(({ user }) => user === id)).toHaveLength(1)
  })

  test.runIf(isThere('latchkey-second-factor'))(
    'one signs in by a recovery code, and one by a code of the app',
    async () => {
      const known = await somebody()
      const factor = await setUpFactor(await signedIn(server, known), server.url)
      for (const [path, code] of [
        ['/another-way', factor.codes[0]!],
        ['', codeOf(factor.secret, 1)],
      ] as const) {
        await oauth.sessions.endAll(known.id)
        const agent = createUserAgent(server.url)
        let page = await agent.submit(await agent.get(`${server.url}/account`), 'login', known)
        const [, href = ''] = /id="another-way" href="([^"]+)"/.exec(page.body)!
        if (path !== '') page = await agent.get(new URL(href.replaceAll('&amp;', '&'), server.url))
        await race(agent, page, 'second-factor', all({ code }))
        const sessions = await oauth.sessions.list(known.id)
        expect([path, sessions.filter(({ amr }) => amr.includes('otp')).length]).toEqual([path, 1])
      }
    },
  )
})

describe('a new password for who knows the present one', () => {
  /**
   * The `count` forms of `work` have proven the present password when they wait for the user's row. They get it with the hash of the
   * password of `twin`.
   */
  async function allAtOnce<T>(
    username: string,
    count: number,
    work: () => Promise<T>,
    twin = username,
  ): Promise<T> {
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return withClient(server.database, async (holder) => {
      await holder.query('begin')
      const hash = 'select password_hash from users where username = $2'
      await holder.query(`update users set password_hash = (${hash}) where username = $1`, [username, twin])
      const done = work()
      await expect.poll(async () => server.database.query(waiting)).toHaveLength(count)
      await holder.query('commit')
      return done
    })
  }

  const changes = async (id: string): Promise<number> =>
    (await oauth.audit.list({ type: 'user.password_changed' })).events.filter(({ user }) => user === id)
      .length

  test('is set once by a form that is sent eight times at once, and each answer leads on', async () => {
    const known = await somebody()
    const agent = await signedIn(server, known)
    const page = await agent.get(`${server.url}/account/password`)
    const fields = { current_password: known.password, new_password: password }
    const all = Array.from({ length: 8 }, () => fields)
    const answers = await allAtOnce(known.username, 8, async () => race(agent, page, 'change-password', all))
    expect(statusesOf(answers)).toEqual({ 303: 8 })
    const given = answers.map((one) => one.headers.getSetCookie().find((text) => text.includes('session=')))
    expect([...new Set(given)]).toEqual([expect.any(String)])
    const [cookie = ''] = given[0]!.split(';')
    for (const { headers } of answers) {
      const { pathname, search } = new URL(headers.get('location')!, server.url)
      expect(pathname + search).toBe('/account/password?saved=yes')
      expect((await beside.get(pathname + search, { cookie })).status).toBe(200)
    }
    expect(await changes(known.id)).toBe(1)
    expect(await users.hasPassword(known.username, password)).toBe(true)
  })

  test('is that of the first form, where another one that is sent at once asks for another', async () => {
    const known = await somebody()
    const agent = await signedIn(server, known)
    const page = await agent.get(`${server.url}/account/password`)
    const wanted = ['the password of one form', 'the password of the other']
    const all = wanted.map((one) => ({ current_password: known.password, new_password: one }))
    const answers = await allAtOnce(known.username, 2, async () => race(agent, page, 'change-password', all))
    expect(statusesOf(answers)).toEqual({ 303: 1, 400: 1 })
    const first = answers.findIndex(({ status }) => status === 303)
    expect(await users.hasPassword(known.username, wanted[first]!)).toBe(true)
    expect(await changes(known.id)).toBe(1)
  })

  test('is not set where the present one is removed at once', async () => {
    const known = await somebody()
    const replace = await users.replacement(known.username)
    await server.database.query('update users set password_hash = null where id = $1', [known.id])
    expect(await replace(password)).toBeNull()
    expect(await users.canSignInByPassword(known.username)).toBe(false)
    expect(await changes(known.id)).toBe(0)
  })

  test('is set where the present one is hashed anew at once', async () => {
    const known = await somebody()
    const agent = await signedIn(server, known)
    const page = await agent.get(`${server.url}/account/password`)
    const fields = { current_password: known.password, new_password: password }
    const { username: twin } = await somebody()
    const send = async () => race(agent, page, 'change-password', [fields])
    const answers = await allAtOnce(known.username, 1, send, twin)
    expect(statusesOf(answers)).toEqual({ 303: 1 })
    expect(await users.hasPassword(known.username, password)).toBe(true)
  })
})

describe('of what a person has so many at most', () => {
  test.runIf(isThere('latchkey-passkeys'))('passkeys are twenty', async () => {
    const known = await somebody()
    const agent = await signedIn(server, known)
    for (let one = 0; one < 18; one++) await addPasskey(server, agent)
    const pages = []
    for (let one = 0; one < 10; one++) pages.push(await agent.get(`${server.url}/account/security`))
    const forms = pages.map((page) => ({
      issued: findForm(page, 'add-passkey-form')!.fields['issued']!,
      credential: makePasskey(optionsIn(page, 'add-passkey-form'), { origin: server.url }).credential,
    }))
    const answers = await race(agent, pages[0]!, 'add-passkey-form', forms)
    const told = answers.map(({ headers }) => /passkeys=(\w+)/.exec(headers.get('location')!)![1])
    expect(told.toSorted((one = '', other = '') => one.localeCompare(other))).toEqual([
      'added',
      'added',
      ...Array.from({ length: 8 }, () => 'full'),
    ])
    expect(await passkeys.list(known.id)).toHaveLength(20)
    const after = await agent.get(`${server.url}/account/security?passkeys=full`)
    expect(after.body).toContain('The new passkey is not added.')
  })

  test.runIf(isThere('latchkey-second-factor'))('authenticator apps are one', async () => {
    const known = await somebody()
    const agent = await signedIn(server, known)
    const page = await agent.get(`${server.url}/account/security/authenticator`)
    const code = codeOf(secretOn(page))
    const answers = await race(
      agent,
      page,
      'totp',
      Array.from({ length: 10 }, () => ({ code })),
    )
    // The session goes on under another token, which each of them is given.
    expect(statusesOf(answers)).toEqual({ 303: 10 })
    const given = answers.map((one) => one.headers.getSetCookie().find((text) => text.includes('session=')))
    expect([...new Set(given)]).toEqual([expect.any(String)])
    const { events } = await oauth.audit.list({ type: 'user.factor_added' })
    expect(events.filter(({ user }) => user === known.id)).toHaveLength(1)
  })

  test.runIf(isThere('latchkey-second-factor'))(
    'a form of it that comes twice, the second before the session has the factor that is there already',
    async () => {
      const known = await somebody()
      const agent = await signedIn(server, known)
      const page = await agent.get(`${server.url}/account/security/authenticator`)
      const [hasBegun, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      type Calls = Record<'raise' | 'find', (...given: unknown[]) => unknown>
      const { sessions } = kernelOf(server.server) as unknown as { sessions: Calls }
      const { raise, find } = sessions
      sessions.raise = async (...given) => {
        hasBegun.resolve()
        await mayGoOn.promise
        return raise(...given)
      }
      const form = [{ code: codeOf(secretOn(page)) }]
      const first = race(agent, page, 'totp', form)
      await hasBegun.promise
      let looks = 0
      sessions.find = async (...given) => {
        looks++
        return find(...given)
      }
      const second = race(agent, page, 'totp', form)
      // Its own, and what that may have gone on under.
      await expect.poll(() => looks).toBeGreaterThanOrEqual(2)
      mayGoOn.resolve()
      Object.assign(sessions, { raise, find })
      const answers = [...(await first), ...(await second)]
      expect(statusesOf(answers)).toEqual({ 303: 2 })
      const places = answers.map(({ headers }) => headers.get('location'))
      expect(new Set(places).size).toBe(1)
    },
  )
})
