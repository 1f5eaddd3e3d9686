/**
 * Of whom a factor is asked: of who has set one up, of roles, of an app's people, of a request; and what stands open before it is given.
 * @needs latchkey-second-factor
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { asksForFactor, codeOf, recoveryCodesOn, secretOn, setUpFactor } from '../../support/authenticator.ts'
import { isThere } from '../../support/left-out.ts'
import { basic } from '../../support/requests.ts'
import { routesOf } from '../../support/routes.ts'
import { startBeside, startServer, type TestServer } from '../../support/server.ts'
import {
  ALICE,
  answerOf,
  authorizationUrl,
  BOB,
  goThrough,
  REDIRECT_URI,
  SEED,
  WEB,
} from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'
import { age, signedIn } from '../account/owner.ts'

const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
const VAULT = { ...WEB, client_id: 'vault', minimum_acr_value: '2' }
const FRAMED = { ...WEB, client_id: 'framed', frontchannel_logout_uri: 'https://app.example/out' }
const seed = { ...SEED, users: [ALICE, BOB, ROOT], clients: [WEB, VAULT, FRAMED] }
const server = await startServer({ OIDC_SECOND_FACTOR_ROLES: 'admin,accountant' }, { seed })
const { oauth } = server.server

beforeEach(async () => {
  for (const { username } of [ALICE, BOB, ROOT])
    await oauth.users.resetFactors((await oauth.users.find(username))!.id)
})

type Person = Pick<typeof ALICE, 'username' | 'password'>

async function withPassword(
  agent: UserAgent,
  { username, password }: Person,
  url = `${server.url}/account`,
): Promise<Page> {
  return agent.submit(await agent.get(url), 'login', { username, password })
}

/** Sets one up on the way; what comes behind it. */
async function setUpOnTheWay(agent: UserAgent, page: Page): Promise<Page> {
  const codes = await agent.submit(page, 'totp', { code: codeOf(secretOn(page)) })
  expect(recoveryCodesOn(codes)).toHaveLength(10)
  return agent.submit(codes, 'recovery-codes-saved')
}

const silently = async (agent: UserAgent, more: Record<string, string> = {}): Promise<string | null> =>
  answerOf(await agent.get(authorizationUrl(server, { prompt: 'none', ...more }))).get('error')

async function claimsOf(page: Page, client = 'web') {
  const code = answerOf(page).get('code')!
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
  const response = await server.post('/token', form, basic(client, WEB.client_secret))
  return decodeJwt(((await response.json()) as { id_token: string }).id_token)
}

describe('who must show one and has none', () => {
  test('a role sets it up on the way, is shown the codes, and comes to the page that was asked for', async () => {
    const agent = createUserAgent(server.url)
    const page = await withPassword(agent, ROOT, `${server.url}/admin/users`)
    expect(page.body).toContain('Set up a second factor')
    for (const path of ['/account', '/admin', '/account/security'])
      expect(secretOn(await agent.get(server.url + path))).toMatch(/^[A-Z2-7]+$/)
    const refused = await agent.submit(page, 'totp', { code: '000000' })
    expect([refused.status, secretOn(refused), refused.body.includes('id="factor-error"')]).toEqual([403, secretOn(page), true])
    const arrived = await setUpOnTheWay(agent, refused)
    expect([new URL(arrived.url).pathname, arrived.body.includes('signed-in-as')]).toEqual(['/admin/users', true])
    const next = createUserAgent(server.url)
    expect(asksForFactor(await withPassword(next, ROOT))).toBe(true)
  }) // prettier-ignore

  test.each([
    ['an app asks for it', () => authorizationUrl(server, { acr_values: '2' })],
    ['their role does', () => `${server.url}/account`],
  ])('in a browser that was left open, after signing in once more, where %s', async (_what, url) => {
    const agent = await signedIn(server)
    const { id } = (await oauth.users.find(ALICE.username))!
    await oauth.users.update(ALICE.username, { roles: ['accountant'] })
    onTestFinished(async () => void (await oauth.users.update(ALICE.username, { roles: [] })))
    const offered = await agent.get(url())
    await age(server, 601)
    // The form of before sets nothing up either.
    for (const page of [await agent.submit(offered, 'totp', { code: codeOf(secretOn(offered)) }), await agent.get(url())]) {
      expect(findForm(page, 'totp')).toBeUndefined()
      expect(findForm(page, 'login')!.fields['username']).toBe(ALICE.username)
    }
    expect(await oauth.users.hasFactors(id)).toBe(false)
    await age(server, 601)
    const asked = await agent.get(url())
    await setUpOnTheWay(agent, await agent.submit(asked, 'login', { password: ALICE.password }))
    expect(await oauth.users.hasFactors(id)).toBe(true)
  }) // prettier-ignore

  test('nobody sets one up for a wish beside which another one is met, and who has one shows it', async () => {
    const wishes = authorizationUrl(server, { acr_values: '2 1' })
    const told = async (agent: UserAgent, page: Page) => (await claimsOf(await goThrough(agent, page)))['acr']
    const [none, user] = ['has-none', 'has-one'].map((username) => ({ username, password: 'a long password of theirs' }))
    for (const one of [none!, user!]) await oauth.users.create(one)
    const without = createUserAgent(server.url)
    expect(await told(without, await withPassword(without, none!, wishes))).toBe('1')
    const voluntary = { claims: JSON.stringify({ id_token: { acr: { values: ['2', '1'] } } }) }
    expect(await told(without, await without.get(authorizationUrl(server, voluntary)))).toBe('1')

    const agent = createUserAgent(server.url)
    await setUpOnTheWay(agent, await withPassword(agent, user!, authorizationUrl(server, { acr_values: '2' })))
    expect(asksForFactor(await withPassword(createUserAgent(server.url), user!, wishes))).toBe(true)
  }) // prettier-ignore

  test.each([
    ['needs none', BOB, []],
    ['sets up their own', ALICE, ['accountant']],
  ])('the codes are shown to nobody else who signs in at the same address, who %s', async (_what, next, roles) => {
    await oauth.users.update(next.username, { roles })
    onTestFinished(async () => void (await oauth.users.update(next.username, { roles: [] })))
    const agent = createUserAgent(server.url)
    const page = await withPassword(agent, ROOT, authorizationUrl(server))
    const shown = await agent.submit(page, 'totp', { code: codeOf(secretOn(page)) })
    const codes = recoveryCodesOn(shown)
    expect(codes).toHaveLength(10)
    await agent.submit(await agent.get(`${server.url}/end-session`), 'end-session')
    const other = await withPassword(agent, next, shown.url)
    expect(other.status).toBe(200)
    for (const code of codes) expect(other.body).not.toContain(code)
    if (roles.length === 0) return
    const own = await agent.submit(other, 'totp', { code: codeOf(secretOn(other)) })
    expect(recoveryCodesOn(own)).toHaveLength(10)
    expect(recoveryCodesOn(own)).not.toEqual(codes)
    const done = await agent.submit(own, 'recovery-codes-saved')
    expect(recoveryCodesOn(done)).toEqual([])
  }) // prettier-ignore

  test('who has not finished with it keeps nobody from it who signs in at the same address', async () => {
    await oauth.users.update(ALICE.username, { roles: ['accountant'] })
    onTestFinished(async () => void (await oauth.users.update(ALICE.username, { roles: [] })))
    const agent = createUserAgent(server.url)
    const page = await withPassword(agent, ROOT, authorizationUrl(server))
    const secret = secretOn(page)
    await agent.get(`${server.url}/end-session`)
    const other = await withPassword(agent, ALICE, page.url)
    expect([other.status, secretOn(other) === secret]).toEqual([200, false])
    expect(
      recoveryCodesOn(await agent.submit(other, 'totp', { code: codeOf(secretOn(other)) })),
    ).toHaveLength(10)
  })

  test('the codes are shown by another process, too, which has not heard of the factor yet', async () => {
    const beside = await startBeside(server)
    const there = `http://127.0.0.1:${beside.settings.PORT}`
    const { id } = (await oauth.users.find(ROOT.username))!
    const agent = createUserAgent(server.url)
    const page = await withPassword(agent, ROOT)
    expect(await beside.server.oauth.users.hasFactors(id)).toBe(false)
    // It leads on, and nobody follows here.
    const sender = createUserAgent(there, { origin: new URL(server.url).origin })
    const reader = createUserAgent(there)
    const keep = (from: UserAgent, to: UserAgent) =>
      from.cookies.forEach((value, name) => to.cookies.set(name, value))
    keep(agent, sender)
    const { action, fields } = findForm(page, 'totp')!
    const { headers } = await sender.post(action, { ...fields, code: codeOf(secretOn(page)) })
    keep(sender, reader)
    const { pathname, search } = new URL(headers.get('location')!, server.url)
    expect(recoveryCodesOn(await reader.get(there + pathname + search))).toHaveLength(10)
  })

  test.each([false, true])(
    'the codes of a factor that was reset meanwhile are shown no more, set up anew elsewhere: %s',
    async (anew) => {
      const agent = createUserAgent(server.url)
      const page = await withPassword(agent, ROOT)
      const shown = await agent.submit(page, 'totp', { code: codeOf(secretOn(page)) })
      const codes = recoveryCodesOn(shown)
      expect(codes).toHaveLength(10)
      await oauth.users.resetFactors((await oauth.users.find(ROOT.username))!.id)
      const other = createUserAgent(server.url)
      if (anew) await setUpOnTheWay(other, await withPassword(other, ROOT))
      // They have shown it: what they asked for is open to them.
      const arrived = await agent.get(shown.url)
      expect([recoveryCodesOn(arrived), new URL(arrived.url).pathname]).toEqual([[], '/account'])
      for (const code of codes) expect(arrived.body).not.toContain(code)
    },
  )

  test('by a form that is sent twice, as by a double click, once', async () => {
    const agent = createUserAgent(server.url)
    const page = await withPassword(agent, ROOT)
    const code = codeOf(secretOn(page))
    const other = agent.clone()
    const both = await Promise.all([agent, other].map(async (one) => one.submit(page, 'totp', { code })))
    expect(both.map((one) => recoveryCodesOn(one).length)).toContain(10)
    expect(both.map(({ status }) => status)).toEqual([200, 200])
  })

  test('by a form that is sent again while the first one is taken, at any moment of that', async () => {
    for (let gap = 0; gap < 12; gap++) {
      await oauth.users.resetFactors((await oauth.users.find(ROOT.username))!.id)
      const agent = createUserAgent(server.url)
      const page = await withPassword(agent, ROOT)
      const code = codeOf(secretOn(page))
      const other = agent.clone()
      const first = agent.submit(page, 'totp', { code })
      await sleep(gap)
      const second = other.submit(page, 'totp', { code })
      expect([gap, (await first).status, (await second).status]).toEqual([gap, 200, 200])
    }
  })

  test('a role that is given later asks for it at the next page', async () => {
    const agent = await signedIn(server, BOB)
    await oauth.users.update(BOB.username, { roles: ['accountant'] })
    expect((await agent.get(`${server.url}/account`)).body).toContain('Set up a second factor')
    await oauth.users.update(BOB.username, { roles: [] })
    expect((await agent.get(`${server.url}/account`)).body).toContain('signed-in-as')
  })

  test('a role that comes later changes nothing about how they sign out: they are asked, and the apps are told', async () => {
    const agent = createUserAgent(server.url)
    const arrived = await goThrough(agent, await agent.get(authorizationUrl(server, { client_id: 'framed' })), BOB)
    const { sid } = await claimsOf(arrived, 'framed')
    const isOpen = async () => oauth.sessions.isOpen(String(sid))
    await oauth.users.update(BOB.username, { roles: ['accountant'] })
    onTestFinished(async () => void (await oauth.users.update(BOB.username, { roles: [] })))
    const asked = await agent.get(`${server.url}/end-session`)
    expect(asked.body).toContain('id="sign-out"')
    expect(await isOpen()).toBe(true)
    const done = await agent.submit(asked, 'end-session')
    expect(done.body).toContain('id="signed-out"')
    expect(await isOpen()).toBe(false)
    expect(done.body.includes(`<iframe src="${FRAMED.frontchannel_logout_uri}`)).toBe(isThere('latchkey-frontchannel-logout'))
  }) // prettier-ignore

  test('who comes with a token that says nothing is let leave by themselves, whatever they lack by now', async () => {
    const agent = await signedIn(server, BOB)
    await oauth.users.update(BOB.username, { roles: ['accountant'] })
    onTestFinished(async () => void (await oauth.users.update(BOB.username, { roles: [] })))
    const page = await agent.get(`${server.url}/end-session?id_token_hint=x`)
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('can sign out yourself')])
    expect((await agent.submit(page, 'sign-out-form')).body).toContain('id="signed-out"')
    expect((await agent.get(`${server.url}/end-session?id_token_hint=x`)).body).not.toContain('sign-out-form')
  })

  test.each([
    ['an app is registered with it', { client_id: 'vault' }],
    ['a request wishes for it', { acr_values: '2' }],
    [
      'a request demands it',
      { claims: JSON.stringify({ id_token: { acr: { essential: true, values: ['2'] } } }) },
    ],
  ])('where %s', async (_what, asked) => {
    const agent = createUserAgent(server.url)
    const page = await withPassword(agent, ALICE, authorizationUrl(server, asked))
    const arrived = await goThrough(agent, await setUpOnTheWay(agent, page))
    const { client_id = 'web' } = asked as { client_id?: string }
    expect(await claimsOf(arrived, client_id)).toMatchObject({ acr: '2', amr: ['pwd', 'otp', 'mfa'] })
  })

  test('nobody else is asked for anything', async () => {
    const agent = await signedIn(server)
    expect((await agent.get(`${server.url}/account`)).body).toContain('signed-in-as')
    const page = await goThrough(agent, await agent.get(authorizationUrl(server)))
    expect(await claimsOf(page)).toMatchObject({ acr: '1', amr: ['pwd'] })
  })
})

test('a step-up of who is signed in asks for the factor alone, and raises the session', async () => {
  const agent = await signedIn(server)
  const { secret } = await setUpFactor(agent, server.url)
  const other = createUserAgent(server.url)
  const factor = await withPassword(other, ALICE, authorizationUrl(server))
  await goThrough(other, await other.submit(factor, 'second-factor', { code: codeOf(secret) }))
  expect(await silently(other, { acr_values: '2' })).toBeNull()
  const fresh = await other.get(authorizationUrl(server, { acr_values: '2', max_age: '0' }))
  const { username, password } = ALICE
  const again = await other.submit(fresh, 'login', { username, password })
  expect(asksForFactor(again)).toBe(true)
})

describe('with the password alone', () => {
  /** Whose factor is asked for. */
  async function pending(path = '/account'): Promise<UserAgent> {
    await setUpFactor(await signedIn(server), server.url)
    const agent = createUserAgent(server.url)
    expect(asksForFactor(await withPassword(agent, ALICE, server.url + path))).toBe(true)
    return agent
  }

  test('no page and no endpoint gives more than to a stranger, but the next step: every route there is', async () => {
    const agent = await pending()
    const stranger = createUserAgent(server.url)
    stranger.cookies.set('latchkey-browser', agent.cookies.get('latchkey-browser')!)
    const headersOf = ({ cookies }: UserAgent) => ({
      accept: 'text/html', origin: server.url, cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
    }) // prettier-ignore
    const routes = routesOf(server.server).filter(({ url }) => !/[*]|end-session|interaction/.test(url))
    let compared = 0
    for (const { url, methods } of routes)
      for (const method of methods.filter((one) => one === 'GET' || one === 'POST')) {
        const path = url.replaceAll(/:\w+/g, 'x')
        const told = async (who: UserAgent) => {
          const response = await server.request(path, { method, headers: headersOf(who) })
          const body = await response.text()
          const asked = /<form id="(?:login|second-factor)"/.test(body)
          // The next step says whose factor it asks for, and nothing else does.
          const rest = asked ? body.replace(/<strong id="signing-in-as">.*?<\/strong>/, '') : body
          return [
            method,
            path,
            response.status,
            response.headers.get('location'),
            asked,
            /signed-in-as|alice/.test(rest),
          ]
        }
        expect(await told(agent)).toEqual(await told(stranger))
        compared++
      }
    expect(compared).toBeGreaterThan(100)
  })

  test('an app that asks without a page is told that nobody is there, whatever it asks for', async () => {
    const agent = await pending()
    for (const more of [{}, { acr_values: '1' }, { acr_values: '2' }, { client_id: 'vault' }])
      expect(await silently(agent, more)).toBe('login_required')
  })

  test('its cookie is none of a session, and the account shows that a sign-in was pending', async () => {
    const agent = await pending()
    expect(agent.cookies.has('latchkey-session')).toBe(false)
    const { id } = (await oauth.users.find(ALICE.username))!
    expect((await oauth.sessions.list(id)).some(({ pending: waits }) => waits)).toBe(true)
  })
})

describe('left out', () => {
  test('its elements, pages and metadata are gone, and all else works', async () => {
    const less = await startServer({ WITHOUT: 'latchkey-second-factor' }, { seed })
    const agent = await signedIn(less, ROOT)
    const security = await agent.get(`${less.url}/account/security`)
    expect(security.status).toBe(200)
    expect(security.body).not.toContain('add-totp')
    for (const path of ['/account/security/authenticator', '/account/security/recovery-codes'])
      expect((await agent.get(less.url + path)).status).toBe(404)
    const metadata = (await (await less.get('/.well-known/openid-configuration')).json()) as Record<string, unknown>
    expect(metadata['acr_values_supported']).toEqual(['1'])
    expect((await agent.get(`${less.url}/admin`)).body).toContain('signed-in-as')
    // A wish is no demand (OpenID Connect Core §3.1.2.1).
    const page = await goThrough(agent, await agent.get(authorizationUrl(less, { acr_values: '2' })))
    expect(answerOf(page).has('code')).toBe(true)
  }) // prettier-ignore

  test('the account, it is asked for all the same, and set up on the way', async () => {
    const less: TestServer = await startServer({ WITHOUT: 'latchkey-account' }, { seed })
    const agent = createUserAgent(less.url)
    const { username, password } = ALICE
    const login = await agent.get(authorizationUrl(less, { acr_values: '2' }))
    const page = await agent.submit(login, 'login', { username, password })
    const arrived = await goThrough(agent, await setUpOnTheWay(agent, page))
    expect(findForm(arrived, 'totp')).toBeUndefined()
    expect(answerOf(arrived).has('code')).toBe(true)
  })
})

describe('the pages on the way', () => {
  /** Who left them, as the audit log was told. */
  const left: object[] = []
  oauth.audit.on('user.sign_in_abandoned', ({ user, client, details }) =>
    left.push({ user, client, details }),
  )
  const toVault = authorizationUrl(server, { client_id: 'vault' })
  const toFactor = async (agent: UserAgent): Promise<Page> => {
    await setUpFactor(await signedIn(server), server.url)
    return withPassword(agent, ALICE, toVault)
  }
  const toSetup = async (agent: UserAgent): Promise<Page> => withPassword(agent, ALICE, toVault)

  describe.each<[string, string, (agent: UserAgent) => Promise<Page>]>([
    ['that asks for a code', 'second-factor', toFactor],
    ['that sets it up', 'totp', toSetup],
  ])('the one %s', (_which, form, open) => {
    test('names who signs in and the app, and leads back to that', async () => {
      const agent = createUserAgent(server.url)
      const page = await open(agent)
      expect(page.body).toMatch(/id="signing-in-as"[^>]*>(<bdi>)?alice</)
      expect(page.body).toMatch(/<bdi>vault<\/bdi>/)
      left.length = 0
      const back = await agent.submit(page, 'leave')
      expect(answerOf(back).get('error')).toBe('access_denied')
      const { id } = (await oauth.users.find(ALICE.username))!
      await expect.poll(() => left).toEqual([{ user: id, client: 'vault', details: {} }])
      // It is answered once.
      expect((await agent.submit(page, 'leave')).url).not.toContain('error=')
      expect(await silently(agent)).toBe('login_required')
    })

    test('who is somebody else signs in as that, and nothing is left of the first', async () => {
      const agent = createUserAgent(server.url)
      const page = await open(agent)
      const beside = agent.clone()
      const anew = await agent.submit(page, 'switch-account')
      expect(findForm(anew, 'login')).toBeDefined()
      expect(anew.body).not.toContain('signing-in-as')
      // In another tab, by the first address, and by a form that was open there.
      for (const one of [agent, beside]) {
        expect(findForm(await one.get(page.url), 'login')).toBeDefined()
        const late = await one.submit(page, form, { code: '123456' })
        expect([late.status, one.cookies.has('latchkey-session')]).toEqual([403, false])
      }
      // By a second click: nobody is there any more, and it is led to where somebody signs in, as the first was; not for another site.
      const again = await agent.submit(page, 'switch-account')
      expect([again.status, findForm(again, 'login') !== undefined]).toEqual([200, true])
      expect(agent.cookies.has('latchkey-session')).toBe(false)
      const { action, fields } = findForm(page, 'switch-account')!
      expect((await agent.post(action, fields, { origin: 'https://elsewhere.example' })).status).toBe(403)
      const asBob = await withPassword(agent, BOB, anew.url)
      expect(asBob.body).toMatch(/id="signing-in-as"[^>]*>(<bdi>)?bob</)
    })

    test('a form of it without its token does nothing', async () => {
      const agent = createUserAgent(server.url)
      const page = await open(agent)
      for (const way of ['switch-account', 'leave'])
        expect((await agent.submit(page, way, { csrf_token: 'made up' })).status).toBe(403)
      expect(findForm(await agent.get(page.url), form)).toBeDefined()
    })
  })

  test('no app waits behind a page of ours', async () => {
    const page = await withPassword(createUserAgent(server.url), ROOT)
    expect([findForm(page, 'leave'), findForm(page, 'switch-account') !== undefined]).toEqual([
      undefined,
      true,
    ])
    const { action, fields } = findForm(page, 'switch-account')!
    expect(new URL(action, server.url).pathname).toMatch(/factor-setup\.not-you$/)
    expect(Object.keys(fields)).toEqual(['csrf_token'])
  })
})
