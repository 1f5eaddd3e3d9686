/**
 * What somebody may try with a sign-in by an upstream: each is refused, nobody is signed in or linked, and nothing of it is an error of ours.
 * @needs latchkey-upstreams
 */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { stopClock } from '../../support/clocks.ts'
import { startLyingProvider, type Lie } from '../../support/lying-provider.ts'
import { isThere } from '../../support/left-out.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, answerOf, authorizationUrl, BOB, SEED } from '../../support/sign-in.ts'
import { allow } from '../../support/upstreams.ts'
import { until } from '../../support/until.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'

const SECRET = 'what the upstreams gave us'
const [one, two] = [await startLyingProvider('us', SECRET), await startLyingProvider('us', SECRET)]
const PROVIDERS = { one, two }
const registered = { client_id: 'us', client_secret: SECRET, sign_up: true }
const upstreams = [
  {
    ...registered,
    id: 'one',
    issuer: one.issuer,
    name: 'One',
    domains: ['corp.example', 'race.example'],
    trust_email: true,
  },
  {
    ...registered,
    id: 'two',
    issuer: two.issuer,
    name: 'Two',
    domains: ['other.example', 'race.example'],
    trust_email: true,
  },
]
const server = await startServer(
  { UNSAFE_OUTBOUND_ORIGINS: `${one.issuer},${two.issuer}` },
  { seed: { ...SEED, upstreams } },
)
const beside = await startServer(
  {
    SECRET_KEY: server.settings['SECRET_KEY'],
    OIDC_ISSUER: server.url,
    UNSAFE_OUTBOUND_ORIGINS: `${one.issuer},${two.issuer}`,
  },
  { database: server.database },
)
const besideUrl = `http://127.0.0.1:${String(beside.settings['PORT'])}`
const { users, sessions } = server.server.oauth
let people = 0

interface Left {
  agent: UserAgent
  state: string
  nonce: string
}

async function leave(id: string, agent = createUserAgent(server.url), page?: Page): Promise<Left> {
  const at = page ?? (await agent.get(authorizationUrl(server)))
  const left = await agent.submit(at, 'upstreams', { upstream: id })
  const asked = new URL(left.headers.get('location')!).searchParams
  return { agent, state: asked.get('state')!, nonce: asked.get('nonce')! }
}

const callback = (id: string, state: string, more: Record<string, string> = {}, at = server.url): string =>
  `${at}/upstream/${id}/callback?${new URLSearchParams({ code: 'c', state, ...more }).toString()}`
const isEnded = ({ status, body }: Page): boolean => status === 400 && body.includes('This sign-in has ended')
const errorOn = ({ body }: Page): string | undefined =>
  /id="upstreams-error"[^>]*>(.*?)<\/p>/.exec(body)?.[1]?.replaceAll(/<\/?bdi>/g, '')
const count = async (table: string): Promise<number> =>
  Number((await server.database.query(`select count(*)::int as n from ${table}`))[0]!['n'])
const isSignedIn = async (agent: UserAgent): Promise<boolean> =>
  new URL((await agent.get(`${server.url}/account`)).url).pathname === '/account'

/** Somebody who has come by an upstream, and who they are here. */
async function comeBy(
  id: keyof typeof PROVIDERS,
  sub: string,
  lie: Lie = {},
): Promise<{ page: Page; agent: UserAgent }> {
  const { agent, state, nonce } = await leave(id)
  PROVIDERS[id].tell(sub, nonce, lie)
  return { agent, page: await agent.get(callback(id, state)) }
}

const verified = (email: string) => ({ userinfo: { email, email_verified: true } })

describe('whose account it is', () => {
  test('of two subs of one upstream that come with one address at once, by several browsers and at two processes, one is linked, and comes in alone', async () => {
    for (let round = 0; round < 6; round++) {
      const email = `at-once-${round}@race.example`
      const { id } = await users.create({ username: `at-once-${round}`, email, email_verified: true })
      const all = await Promise.all(
        ['x', 'x', 'y', 'y'].map(async (name) => ({ sub: `${name}-${round}`, left: await leave('one') })),
      )
      const codeOf = (at: number): string => `at-once-${round}-${at}`
      for (const [at, { sub, left }] of all.entries()) one.tell(sub, left.nonce, verified(email), codeOf(at))
      await Promise.all(
        all.map(async ({ left }, at) =>
          left.agent.get(callback('one', left.state, { code: codeOf(at) }, at % 2 === 0 ? server.url : besideUrl)),
        ),
      )
      const rows = await server.database.query(`select value->>'subject' as sub from user_records where user_id = $1`, [id])
      expect(rows).toHaveLength(1)
      for (const { sub, left } of all) expect(sub === rows[0]!['sub'] || !(await isSignedIn(left.agent))).toBe(true)
    }
  })

  test('who was unlinked does not come back by their address: somebody else may have that, too', async () => {
    const email = 'unlinked@corp.example'
    const { id } = await users.create({ username: 'unlinked', password: ALICE.password, email, email_verified: true })
    const first = await comeBy('one', 'taken-over', verified(email))
    expect(await isSignedIn(first.agent)).toBe(true)
    const { linkedSignIns } = server.server
    const [link] = await linkedSignIns.list(id)
    expect(await linkedSignIns.unlink(id, link!.id)).toBe(true)
    const { agent } = await comeBy('one', 'taken-over', verified(email))
    expect([await isSignedIn(agent), await linkedSignIns.list(id)]).toEqual([false, []])
  })

  test('a verified address that the upstream does not speak for links nobody, and takes nobody’s', async () => {
    const alice = (await users.find(ALICE.username))!.id
    for (const id of ['one', 'two'] as const) {
      const { page, agent } = await comeBy(id, `sub-${++people}`, verified(ALICE.email))
      // Without mails, it is what somebody says, at an account of their own.
      const isAsked = isThere('latchkey-mail')
      expect([page.body.includes('Check your email'), await isSignedIn(agent)]).toEqual([isAsked, !isAsked])
    }
    expect(await users.waysIn(alice)).toEqual(['password'])
  })

  test('an address that it has not verified links nobody, whatever it says beside', async () => {
    const user = await users.create({ username: 'vera', email: 'vera@corp.example', email_verified: true })
    const wrong = [undefined, false, 'no', 0, null, 'false', {}, []]
    for (const email_verified of wrong) {
      const { page } = await comeBy('one', `sub-${++people}`, { userinfo: { email: user.claims['email'], email_verified } })
      // An address for which an upstream is believed is not asked.
      expect([email_verified, errorOn(page)]).toEqual([email_verified, undefined])
      expect((await users.search('vera@corp.example')).found).toHaveLength(1)
    }
    expect(await users.waysIn(user.id)).toEqual([])
  })

  test('an account whose address nobody verified here is not linked either', async () => {
    const user = await users.create({ username: 'ulla', email: 'ulla@corp.example' })
    const { page } = await comeBy('one', `sub-${++people}`, verified('ulla@corp.example'))
    expect(errorOn(page)).toContain('There is an account here already')
    expect(await users.waysIn(user.id)).toEqual([])
  })

  test('the same address at two upstreams: who comes by the one that is not believed gets neither the address nor the account', async () => {
    const first = await comeBy('one', 'first', verified('both@corp.example'))
    answerOf(await allow(first.agent, first.page))
    const second = await comeBy('two', 'second', verified('BOTH@corp.example'))
    answerOf(await allow(second.agent, second.page))
    const [found, ...others] = (await users.search('both@corp.example')).found
    expect(others).toEqual([])
    expect(await server.database.query(`select 1 from user_records where user_id = '${found!.id}'`)).toHaveLength(1)
  })

  test('who says an address for which another upstream speaks does not keep it from whose it is', async () => {
    for (const email_verified of [true, false]) {
      const email = `chief-${email_verified}@corp.example`
      const squatter = await comeBy('two', `sub-${++people}`, { userinfo: { email, email_verified } })
      answerOf(await allow(squatter.agent, squatter.page))
      expect((await users.search(email)).found).toEqual([])
      const chief = await comeBy('one', `sub-${++people}`, verified(email))
      answerOf(await allow(chief.agent, chief.page))
      expect((await users.findByEmail(email))?.claims['email_verified']).toBe(true)
    }
  })

  test('of two who come with one new address at the same moment nobody gets an error, and one account is made', async () => {
    const before = await count('users')
    const begun = await Promise.all((['one', 'two'] as const).map(async (id) => ({ id, ...(await leave(id)) })))
    for (const { id, nonce } of begun) PROVIDERS[id].tell(`racer at ${id}`, nonce, verified('ann@race.example'))
    const pages = await Promise.all(begun.map(async ({ id, agent, state }) => agent.get(callback(id, state))))
    expect(pages.map(({ status }) => status)).toEqual([200, 200])
    expect(await count('users')).toBe(before + 1)
  })

  test('an address is one person’s however its letters are composed', async () => {
    const user = await users.create({ username: 'uenal', email: 'ünal@corp.example'.normalize('NFC'), email_verified: true })
    const { page } = await comeBy('one', `sub-${++people}`, verified('Ünal@corp.example'.normalize('NFD')))
    expect([page.status, errorOn(page)]).toEqual([200, undefined])
    expect(await users.waysIn(user.id)).toEqual(['upstream-link'])
  })

  test('the same subject of another upstream is another person', async () => {
    const before = await count('users')
    for (const id of ['one', 'two'] as const) {
      const { page, agent } = await comeBy(id, 'the same subject')
      answerOf(await allow(agent, page))
    }
    expect(await count('users')).toBe(before + 2)
  })

  test('a name that is taken, or looks like an address of others, is not given', async () => {
    for (const name of [ALICE.username, ALICE.username.toUpperCase(), ALICE.email, 'root@corp.example', '', ' ', '\u0000', 'x'.repeat(300)]) {
      const { page, agent } = await comeBy('two', `sub-${++people}`, { claims: { preferred_username: name } })
      answerOf(await allow(agent, page))
    }
    expect((await users.find(ALICE.username))!.claims['email']).toBe(ALICE.email)
    expect([await users.find(ALICE.email), await users.find('root@corp.example')]).toEqual([null, null])
  })

  test('a name with what nobody sees, which looks like another’s, is not given', async () => {
    const name = `${ALICE.username}\u200b`
    const { page, agent } = await comeBy('two', `sub-${++people}`, { claims: { preferred_username: name } })
    answerOf(await allow(agent, page))
    expect(await users.find(name)).toBeNull()
  })

  test('what it says of roles, a password and ids is not heard', async () => {
    const said = { roles: ['admin'], password: 'a password', id: 'one', username: 'alice', updated_at: 1, preferred_username: 'walter' }
    const { page, agent } = await comeBy('two', `sub-${++people}`, { claims: said, userinfo: said })
    answerOf(await allow(agent, page))
    const walter = (await users.find('walter'))!
    expect([walter.roles, walter.claims, await users.canSignInByPassword('walter')]).toEqual([[], {}, false])
  })

  test('what nobody could type into their profile here is not kept of what it says, nor that a number is verified', async () => {
    const said = {
      name: 'Wilma', phone_number: '+1 555 0100', phone_number_verified: true, website: 'javascript:alert(1)',
      picture: 'data:text/html,<script>alert(1)</script>', profile: ' javascript:x', birthdate: '1990-02-31', locale: '../../x',
      zoneinfo: 'Mars/Olympus', nickname: ' ', preferred_username: 'wilma',
    }
    const { page, agent } = await comeBy('two', `sub-${++people}`, { claims: said, userinfo: said })
    answerOf(await allow(agent, page))
    expect((await users.find('wilma'))!.claims).toEqual({ name: 'Wilma', phone_number: '+1 555 0100' })
    // Nor what would look like something else where apps show it.
    const hiding = { given_name: 'a\nb', family_name: 'a\u202Eb', website: 'https://a.example/\u202Eb', profile: 'https://good.example@evil.example/' }
    const third = await comeBy('two', `sub-${++people}`, { claims: { ...hiding, name: 'می\u200Cخواهم', preferred_username: 'wren' } })
    answerOf(await allow(third.agent, third.page))
    expect((await users.find('wren'))!.claims).toEqual({ name: 'می\u200Cخواهم' })
    // Nor a number that could not be one, whatever it is said to be.
    const other = { phone_number: 'tel', phone_number_verified: 'true', preferred_username: 'wolf' }
    const second = await comeBy('two', `sub-${++people}`, { claims: other })
    answerOf(await allow(second.agent, second.page))
    expect((await users.find('wolf'))!.claims).toEqual({})
  })

  test('what is too much to be kept together is kept without what is longest', async () => {
    const long = (letter: string): string => letter.repeat(1900)
    const links = { picture: `https://w.example/${long('p')}`, website: `https://w.example/${long('w')}`, profile: `https://w.example/${long('h')}` }
    const address = { formatted: long('f'), street_address: long('s') }
    const { page, agent } = await comeBy('two', `sub-${++people}`, { claims: { name: 'Walt', ...links, address, preferred_username: 'walt' } })
    answerOf(await allow(agent, page))
    expect((await users.find('walt'))!.claims).toEqual({ name: 'Walt', ...links })
  })

  test('what could be typed there is kept as if it had been', async () => {
    const said = {
      website: 'https://wanda.example/', picture: 'https://wanda.example/me.png', profile: 'http://wanda.example',
      birthdate: '0000-02-29', zoneinfo: 'Europe/Berlin', gender: 'female', address: { locality: 'Springfield' },
    }
    const typed = { ...said, name: ' Wanda ', locale: 'de_AT', preferred_username: 'wanda' }
    const { page, agent } = await comeBy('two', `sub-${++people}`, { claims: typed })
    answerOf(await allow(agent, page))
    expect((await users.find('wanda'))!.claims).toEqual({ ...said, name: 'Wanda', locale: 'de-AT' })
  })
}) // prettier-ignore

describe('the callback', () => {
  test('of one upstream does not take the answer to a request to another (mix-up)', async () => {
    const { agent, state, nonce } = await leave('one')
    two.tell('mixed', nonce)
    const asked = two.asked()
    expect(isEnded(await agent.get(callback('two', state)))).toBe(true)
    expect(two.asked()).toBe(asked)
    // It is not used up by that.
    one.tell('honest', nonce)
    answerOf(await allow(agent, await agent.get(callback('one', state, { iss: one.issuer }))))
  })

  test('does not show a code of one provider to another one that has its id by now', async () => {
    const { agent, state, nonce } = await leave('one')
    two.tell('rebound', nonce)
    const asked = two.asked()
    const { upstreams: registry } = kernelOf(server.server)
    await registry.save({ id: 'one', issuer: two.issuer })
    const page = await agent.get(callback('one', state))
    await registry.save({ id: 'one', issuer: one.issuer })
    expect([isEnded(page), two.asked()]).toEqual([true, asked])
  })

  test('refuses an answer that names another issuer (RFC 9207), before the code is sent anywhere', async () => {
    const { agent, state, nonce } = await leave('one')
    one.tell('mixed', nonce)
    const asked = one.asked()
    const page = await agent.get(callback('one', state, { iss: two.issuer }))
    expect([errorOn(page), one.asked(), await isSignedIn(agent)]).toEqual([
      expect.stringContaining('We could not read the answer of One'),
      asked,
      false,
    ])
  })

  test('refuses the answer to another browser (login CSRF), and leaves it to that one', async () => {
    const { agent, state, nonce } = await leave('one')
    one.tell('attacker', nonce)
    const victim = createUserAgent(server.url)
    await victim.get(authorizationUrl(server))
    expect([isEnded(await victim.get(callback('one', state))), await isSignedIn(victim)]).toEqual([true, false])
    expect(isEnded(await createUserAgent(server.url).get(callback('one', state)))).toBe(true)
    answerOf(await allow(agent, await agent.get(callback('one', state))))
  })

  test('takes an answer once', async () => {
    const { agent, state, nonce } = await leave('one')
    one.tell('once', nonce)
    const thief = agent.clone()
    answerOf(await allow(agent, await agent.get(callback('one', state))))
    const asked = one.asked()
    for (const again of [agent, thief]) expect(isEnded(await again.get(callback('one', state)))).toBe(true)
    expect(one.asked()).toBe(asked)
  })

  test('takes it once of many at the same moment, over two processes', async () => {
    const { agent, state, nonce } = await leave('one')
    one.tell('raced', nonce)
    const [asked, before] = [one.asked(), await count('sessions')]
    const others = [server, beside, server, beside, server, beside].map(({ url }) => {
      const copy = createUserAgent(url)
      for (const [name, value] of agent.cookies) copy.cookies.set(name, value)
      return [copy, url] as const
    })
    const pages = await Promise.all(
      others.map(async ([copy, url]) => copy.get(callback('one', state, {}, url))),
    )
    expect(pages.filter(isEnded)).toHaveLength(5)
    expect([one.asked() - asked, (await count('sessions')) - before]).toEqual([1, 1])
  })

  test('two browsers of one new person at the same moment are one account', async () => {
    const both = [await leave('one'), await leave('one')]
    const before = await count('users')
    for (const [at, { nonce }] of both.entries()) one.tell('a subject that is new', nonce, {}, `code ${at}`)
    const pages = await Promise.all(
      both.map(async ({ agent, state }, at) => agent.get(callback('one', state, { code: `code ${at}` }))),
    )
    expect(pages.map(({ status }) => status)).toEqual([200, 200])
    expect(await count('users')).toBe(before + 1)
  })

  test('takes none that is older than ten minutes', async () => {
    const { agent, state, nonce } = await leave('one')
    one.tell('late', nonce)
    const [{ left } = {}] = await server.database.query(
      `select max(extract(epoch from expires_at - now()))::int as left from artifacts where kind = 'upstream-flow'`,
    )
    expect(left).toBeLessThanOrEqual(600)
    await server.database.query(`update artifacts set expires_at = now() where kind = 'upstream-flow'`)
    expect(isEnded(await agent.get(callback('one', state)))).toBe(true)
  })

  test('that says it cannot be asked to let somebody choose leads there once more, to sign in anew, and then no more', async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(authorizationUrl(server, { prompt: 'select_account', max_age: '60' }))
    const { state } = await leave('one', agent, page)
    const refusal = { code: '', error: 'invalid_request' }
    const again = await agent.get(callback('one', state, refusal))
    const asked = new URL(again.headers.get('location')!)
    expect([again.status, asked.origin, asked.searchParams.get('prompt'), asked.searchParams.get('max_age')]).toEqual([303, one.issuer, 'login', '60'])
    expect(isEnded(await agent.get(callback('one', state, refusal)))).toBe(true)
    const next = asked.searchParams.get('state')!
    expect(next).not.toBe(state)
    // Only its own browser is led there, and what it answers then is an answer.
    expect(isEnded(await createUserAgent(server.url).get(callback('one', next, refusal)))).toBe(true)
    expect(errorOn(await agent.get(callback('one', next, refusal)))).toContain('We could not read the answer of One')
    const plain = await leave('one')
    expect(errorOn(await plain.agent.get(callback('one', plain.state, refusal)))).toContain('We could not read the answer of One')
  })

  test('whose interaction has ended says so', async () => {
    const agent = createUserAgent(server.url)
    const login = await agent.get(authorizationUrl(server))
    const { state, nonce } = await leave('one', agent, login)
    one.tell('late', nonce)
    const consent = await agent.submit(login, 'login', { username: ALICE.username, password: ALICE.password })
    answerOf(await allow(agent, consent))
    const before = (await sessions.list((await users.find(ALICE.username))!.id)).length
    const page = await agent.get(callback('one', state))
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('This step is done')])
    expect(await sessions.list((await users.find(ALICE.username))!.id)).toHaveLength(before)
  })

  test.each([
    '', '?', '?state', '?state=', '?code=c', '?state=x&state=y', '?state=%00', '?state=%ff', '?error=access_denied',
    `?state=${'a'.repeat(43)}`, `?state=${'a'.repeat(5000)}`, `?code=${'a'.repeat(7000)}`, '?state[]=a', '?state=a&code[$ne]=1',
    '?__proto__=1', '?constructor=x&state=constructor', "?state=';drop table users--", '?iss=javascript:alert(1)',
  ])('answers %s with a page, and no error of ours', async (query) => {
    for (const id of ['one', 'none', '%00', '..%2f..', '__proto__', 'x'.repeat(300)]) {
      const { status } = await createUserAgent(server.url).get(`${server.url}/upstream/${id}/callback${query}`)
      expect([id, query, [400, 404, 414].includes(status) || status]).toEqual([id, query, true])
    }
  })

  test.each([
    { error: 'server_error' }, { error: 'x'.repeat(3000) }, { error: '<script>', error_description: '<script>' },
    { error: 'access_denied', error_uri: 'javascript:alert(1)' }, { code: '' }, { response: 'a.b.c' }, { id_token: 'a.b.c' },
    { iss: '' }, { iss: one.issuer, error: 'login_required' },
  ])('answers %j to a request that is under way with the sign-in page', async (answer) => {
    const { agent, state, nonce } = await leave('one')
    one.tell('x', `not ${nonce}`)
    const page = await agent.get(callback('one', state, answer))
    expect([page.status, errorOn(page) !== undefined, page.body.includes('<script>')]).toEqual([200, true, false])
    expect(await isSignedIn(agent)).toBe(false)
  })
}) // prettier-ignore

describe('an ID token that', () => {
  test.each<[string, Lie]>([
    ['another key has signed', { signedBy: 'another key' }],
    ['the client’s secret has signed', { signedBy: 'the secret' }],
    ['nobody has signed', { signedBy: 'nobody' }],
    ['is for another client', { claims: { aud: 'others' } }],
    [
      'is for others beside us, and was not given to us',
      { claims: { aud: ['us', 'others'], azp: 'others' } },
    ],
    ['answers another request', { claims: { nonce: 'another' } }],
    ['answers no request', { claims: { nonce: undefined } }],
    ['is of another issuer', { claims: { iss: two.issuer } }],
    ['has expired', { claims: { exp: 1000 } }],
    ['names nobody', { claims: { sub: undefined } }],
    ['has a subject of a thousand characters', { claims: { sub: 's'.repeat(1000) } }],
    ['has a NUL in its subject', { claims: { sub: 'nobody\u0000' }, userinfo: { sub: 'nobody\u0000' } }],
    [
      'has half a character in its subject',
      { claims: { sub: 'nobody\ud800' }, userinfo: { sub: 'nobody\ud800' } },
    ],
    ['comes with what is known of somebody else', { userinfo: { sub: 'somebody else' } }],
  ])('%s signs nobody in', async (_what, lie) => {
    const before = await Promise.all([count('users'), count('sessions'), count('user_records')])
    const { page, agent } = await comeBy('one', `sub-${++people}`, lie)
    expect([page.status, errorOn(page), await isSignedIn(agent)]).toEqual([
      200,
      expect.stringContaining('We could not read the answer of One'),
      false,
    ])
    expect(await Promise.all([count('users'), count('sessions'), count('user_records')])).toEqual(before)
  })

  test('is older than the sign-in that a client asks for, or than what asked once more, proves nothing', async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(authorizationUrl(server, { max_age: '600' }))
    const { state, nonce } = await leave('one', agent, page)
    one.tell('stale', nonce, { claims: { auth_time: Math.floor(Date.now() / 1000) - 700 } })
    const back = await agent.get(callback('one', state))
    expect(errorOn(back)).toContain('did not ask you again')
    const fresh = await leave('one', agent, back)
    one.tell('stale', fresh.nonce, { claims: { auth_time: Math.floor(Date.now() / 1000) - 300 } })
    const consent = await agent.get(callback('one', fresh.state))
    answerOf(await allow(agent, consent))
    const again = await leave('one', agent, await agent.get(authorizationUrl(server, { prompt: 'login' })))
    one.tell('stale', again.nonce, { claims: { auth_time: Math.floor(Date.now() / 1000) - 300 } })
    expect(errorOn(await agent.get(callback('one', again.state)))).toContain('did not ask you again')
  })
})

test('who was to sign in anew, and was nobody here before, is not taken for who signed in there long ago', async () => {
  const agent = createUserAgent(server.url)
  const page = await agent.get(authorizationUrl(server, { prompt: 'login' }))
  const { state, nonce } = await leave('one', agent, page)
  one.tell('left-open', nonce, { claims: { auth_time: Math.floor(Date.now() / 1000) - 86_400 } })
  expect(errorOn(await agent.get(callback('one', state)))).toContain('did not ask you again')
  expect(await isSignedIn(agent)).toBe(false)
})

test('an upstream whose token endpoint fails is told apart from one that lies, and nothing of its answer is logged', async () => {
  const { page } = await comeBy('one', `sub-${++people}`, { status: 503 })
  expect(errorOn(page)).toContain('One does not answer at this moment')
  expect(server.output()).toContain('a sign-in by an upstream failed')
  expect(server.output()).not.toContain(SECRET)
})

describe('a link', () => {
  const signIn = async (user: Pick<typeof BOB, 'username' | 'password'>): Promise<UserAgent> => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(`${server.url}/account`)
    await agent.submit(page, 'login', { username: user.username, password: user.password })
    return agent
  }
  const begin = async (agent: UserAgent): Promise<Left> => {
    const page = await agent.get(`${server.url}/account/linked-sign-ins`)
    const left = await agent.submit(page, 'link', { upstream: 'one' })
    const asked = new URL(left.headers.get('location')!).searchParams
    return { agent, state: asked.get('state')!, nonce: asked.get('nonce')! }
  }

  test('that somebody else began is not made in a browser that is led there (link CSRF)', async () => {
    const attacker = await begin(await signIn(ALICE))
    one.tell('the attacker there', attacker.nonce)
    const victim = await signIn(BOB)
    expect(isEnded(await victim.get(callback('one', attacker.state)))).toBe(true)
    for (const { username } of [ALICE, BOB])
      expect(await users.waysIn((await users.find(username))!.id)).toEqual(['password'])
  })

  test('is of who began it, and not of who has signed in since in the same browser', async () => {
    const agent = await signIn(BOB)
    const { state, nonce } = await begin(agent)
    one.tell('bob there', nonce)
    await agent.submit(await agent.get(`${server.url}/end-session`), 'sign-out-page').catch(() => undefined)
    agent.cookies.delete('latchkey-session')
    const page = await agent.get(`${server.url}/account`)
    await agent.submit(page, 'login', { username: ALICE.username, password: ALICE.password })
    expect(isEnded(await agent.get(callback('one', state)))).toBe(true)
    expect(await users.waysIn((await users.find(ALICE.username))!.id)).toEqual(['password'])
  })

  test('cannot take what is linked with another account', async () => {
    const owner = await comeBy('one', 'owned')
    answerOf(await allow(owner.agent, owner.page))
    const bob = await begin(await signIn(BOB))
    one.tell('owned', bob.nonce)
    const page = await bob.agent.get(callback('one', bob.state))
    expect([page.status, page.body]).toEqual([
      200,
      expect.stringContaining('linked with another account here already'),
    ])
    expect(await users.waysIn((await users.find(BOB.username))!.id)).toEqual(['password'])
  })

  describe('with somebody who has the address of one who is linked at the same upstream', () => {
    const TAKEN = 'There is an account here already with your name or address of One'
    const address = verified('dora@race.example')
    const DORA = { username: 'dora', password: BOB.password }
    const linkedSignIns = `${server.url}/account/linked-sign-ins`
    const linksOf = async (username: string): Promise<number> => {
      const { id } = (await users.find(username))!
      return count(`user_records where user_id = '${id}' and kind = 'upstream-link'`)
    }

    test('is not made by itself, whether people may sign up or not, and nobody is made', async () => {
      await users.create({ ...DORA, email: 'dora@race.example', email_verified: true })
      // A link at another upstream says nothing of whose the address is at this one.
      for (const id of ['two', 'one'] as const) {
        const { agent, page } = await comeBy(id, 'dora', address)
        answerOf(await allow(agent, page))
      }
      const before = await count('users')
      const { upstreams: registry } = kernelOf(server.server)
      for (const sign_up of [false, null, true]) {
        await registry.save({ id: 'one', sign_up })
        const { agent, page } = await comeBy('one', 'a new colleague', address)
        expect([errorOn(page), await isSignedIn(agent)]).toEqual([expect.stringContaining(TAKEN), false])
      }
      expect([await linksOf('dora'), await count('users')]).toEqual([2, before])
      const again = await comeBy('one', 'dora', address)
      answerOf(await allow(again.agent, again.page))
    })

    test('is not made where its user is to show once more that it is them', async () => {
      const { agent, page } = await comeBy('one', 'dora', address)
      answerOf(await allow(agent, page))
      const asked = await agent.get(authorizationUrl(server, { prompt: 'login' }))
      const { state, nonce } = await leave('one', agent, asked)
      one.tell('a new colleague', nonce, address)
      const back = await agent.get(callback('one', state))
      expect(errorOn(back)).toContain('you signed in as somebody else than here')
      expect(await linksOf('dora')).toBe(2)
    })

    test('is made by its user, and by itself once no other one is left', async () => {
      const agent = await signIn(DORA)
      const { state, nonce } = await begin(agent)
      one.tell('dora, registered anew', nonce, address)
      expect((await agent.get(callback('one', state))).body).toContain('It is linked')
      const anew = await comeBy('one', 'dora, registered anew', address)
      answerOf(await allow(anew.agent, anew.page))
      expect(errorOn((await comeBy('one', 'a new colleague', address)).page)).toContain(TAKEN)
      for (let left = await linksOf('dora'); left > 0; left--)
        await agent.submit(await agent.get(linkedSignIns), 'unlink-0')
      const last = await comeBy('one', 'dora, once more', address)
      answerOf(await allow(last.agent, last.page))
      expect(await linksOf('dora')).toBe(1)
    })

    test('that was unlinked is made by its user alone, and then signs in as before', async () => {
      const former = await comeBy('one', 'dora, registered anew', address)
      expect(errorOn(former.page)).toContain(TAKEN)
      const agent = await signIn(DORA)
      for (let round = 0; round < 2; round++) {
        const { state, nonce } = await begin(agent)
        one.tell('dora, registered anew', nonce, address)
        expect((await agent.get(callback('one', state))).body).toContain('It is linked')
        const again = await comeBy('one', 'dora, registered anew', address)
        answerOf(await allow(again.agent, again.page))
        await agent.submit(await agent.get(linkedSignIns), 'unlink-1')
        expect(await linksOf('dora')).toBe(1)
      }
      expect(errorOn((await comeBy('one', 'dora, registered anew', address)).page)).toContain(TAKEN)
    })
  })
})

test('what an upstream refuses itself is no answer that is made up, however many of a network it refuses', async () => {
  await stopClock(async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(authorizationUrl(server))
    for (let tries = 0; tries < 41; tries++) {
      const { state } = await leave('one', agent, page)
      const query = new URLSearchParams({ state, error: 'unauthorized_client' }).toString()
      const told = await agent.get(`${server.url}/upstream/one/callback?${query}`)
      expect([told.status, errorOn(told)]).toEqual([
        200,
        expect.stringContaining('We could not read the answer'),
      ])
    }
  })
})

// Last: from here on, this network waits.
test('of answers that are made up, an upstream is asked about so many of one network, and then about none', async () => {
  // One comes back every few seconds.
  const comeAgain = await stopClock(async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(authorizationUrl(server))
    let told: Page | undefined
    for (let tries = 0; tries < 41 && told?.status !== 429; tries++) {
      const { state, nonce } = await leave('one', agent, page)
      one.tell('made up', `not ${nonce}`)
      told = await agent.get(callback('one', state))
    }
    const [asked, { state, nonce }] = [one.asked(), await leave('one', agent, page)]
    one.tell('made up', nonce)
    const last = await agent.get(callback('one', state))
    expect([told!.status, last.status, last.headers.has('retry-after'), one.asked()]).toEqual([429, 429, true, asked])
    // One that does not work keeps nobody from another.
    const other = await comeBy('two', 'somebody of another')
    expect([other.page.status, await isSignedIn(other.agent)]).toEqual([200, true])
    return async () => agent.get(callback('one', state))
  })
  // Who has waited comes in by the answer that had to wait.
  await server.database.query('delete from throttles')
  const next = await until(async () => {
    const page = await comeAgain()
    expect(page.status).not.toBe(429)
    return page
  })
  expect(next.body).toContain('id="consent"')
}) // prettier-ignore
