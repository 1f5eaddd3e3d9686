/**
 * Sign-up: from the app and back to it, by a link in a mail, and without telling anybody who has an account.
 * @needs latchkey-sign-up
 */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { answerOf, authorizationUrl, goThrough, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

const server = await startServer({ OIDC_SIGN_UP: 'on' }, { seed: SEED })
const { oauth } = server.server
const mailbox = openMailbox(server)
const PASSWORD = 'a password of their own'
let count = 0

const someone = () => {
  const username = `newcomer-${++count}`
  return { username, email: `${username}@example.com`, password: PASSWORD }
}
const linkOn = ({ body }: Page, id: string): string => {
  const href = new RegExp(`<a id="${id}" href="([^"]+)"`).exec(body)?.[1]
  if (href === undefined) throw new Error(`no a#${id}: ${body}`)
  return new URL(href.replaceAll('&amp;', '&'), server.url).href
}
const fromApp = async (agent: UserAgent): Promise<Page> =>
  agent.get(linkOn(await agent.get(authorizationUrl(server)), 'sign-up'))
const CONFIRM = 'Confirm your email address'

/** The link that the mail brings. */
async function linkFor(agent: UserAgent, who: ReturnType<typeof someone>, page?: Page): Promise<string> {
  const sent = await agent.submit(page ?? (await agent.get(`${server.url}/sign-up`)), 'sign-up', who)
  expect(sent.body).toContain('Check your email')
  return linkIn(await mailbox.next(who.email, CONFIRM))
}

test('who comes from an app goes back to it, signed in, with an address that is confirmed', async () => {
  const who = someone()
  const agent = createUserAgent(server.url)
  const page = await fromApp(agent)
  expect(page.body).toMatch(/<input id="username"[^]*<input id="email"[^]*<input id="password"[^]*id="create-account"/)
  const link = await linkFor(agent, who, page)
  expect(await oauth.users.find(who.username)).toBeNull()
  const confirm = await agent.get(link)
  expect(await oauth.users.find(who.username)).toBeNull()
  expect(confirm.body).not.toContain('type="password"')
  const next = await agent.submit(confirm, 'confirm')
  const answer = answerOf(await goThrough(agent, next))
  expect([answer.get('state'), answer.has('code')]).toEqual(['a state', true])
  const user = await oauth.users.find(who.username)
  expect(user).toMatchObject({ username: who.username, roles: [], claims: { email: who.email, email_verified: true } })
  expect(await oauth.users.hasPassword(who.username, PASSWORD)).toBe(true)
  expect((await agent.get(`${server.url}/account`)).status).toBe(200)
}) // prettier-ignore

test('without an app the same browser is signed in, and another one is not', async () => {
  const [here, there] = [someone(), someone()]
  const agent = createUserAgent(server.url)
  const link = await linkFor(agent, here)
  const done = await agent.submit(await agent.get(link), 'confirm')
  expect(done.body).toContain('you are signed in')
  expect(new URL((await agent.get(`${server.url}/account`)).url).pathname).toBe('/account')
  // The link once more, for who is signed in by it, and for who is not.
  const again = await agent.get(link)
  expect([again.body.includes('you are signed in'), again.body.includes('Sign in</a>')]).toEqual([
    true,
    false,
  ])
  expect((await createUserAgent(server.url).get(link)).body).toContain('Sign in with your password')

  const other = createUserAgent(server.url)
  const elsewhere = await linkFor(createUserAgent(server.url), there)
  const page = await other.get(elsewhere)
  expect(page.body).toContain('choose your password again here')
  for (const password of ['password', 'seven c']) {
    const refused = await other.submit(page, 'confirm', { password })
    expect([refused.status, await oauth.users.find(there.username)]).toEqual([400, null])
  }
  const chosen = 'what the owner of the address chose'
  const made = await other.submit(page, 'confirm', { password: chosen })
  expect(made.body).toContain('Your account is there')
  expect(new URL((await other.get(`${server.url}/account`)).url).pathname).toBe('/sign-in')
  // Whoever asked for it knows nothing that is good.
  expect(await oauth.users.hasPassword(there.username, PASSWORD)).toBe(false)
  expect(await oauth.users.hasPassword(there.username, chosen)).toBe(true)
})

test('a link makes one account, however often it is sent; later it leads to the sign-in page', async () => {
  const who = someone()
  const agent = createUserAgent(server.url)
  const link = await linkFor(agent, who, await fromApp(agent))
  const confirm = await agent.get(link)
  const pages = await Promise.all([1, 2, 3].map(async () => agent.submit(confirm, 'confirm')))
  for (const page of pages) expect(findForm(page, 'consent')).toBeDefined()
  expect(await server.database.query('select from users where username = $1', [who.username])).toHaveLength(1)
  const late = await createUserAgent(server.url).get(link)
  expect([late.status, late.body]).toEqual([200, expect.stringContaining('Your account is there')])
})

test.each(['from an app', 'from an app that they let in', 'without one'])('once they have signed out, the same form signs nobody in again: %s', async (comes) => {
  const isOfApp = comes !== 'without one'
  const who = someone()
  const agent = createUserAgent(server.url)
  const confirm = await agent.get(await linkFor(agent, who, isOfApp ? await fromApp(agent) : undefined))
  const before = agent.clone()
  const pages = await Promise.all([1, 2].map(async () => agent.submit(confirm, 'confirm')))
  for (const page of pages) expect(page.body).toContain(isOfApp ? 'id="consent"' : 'you are signed in')
  if (comes === 'from an app that they let in') await agent.submit(pages[0]!, 'consent', { decision: 'allow' })
  const { id } = (await oauth.users.find(who.username))!
  await agent.submit(await agent.get(`${server.url}/end-session`), 'end-session')
  expect(await oauth.sessions.list(id)).toEqual([])
  for (const again of [agent.clone(), before.clone()]) {
    const answer = await again.submit(confirm, 'confirm')
    expect([answer.body.includes('id="consent"'), answer.body.includes('you are signed in')]).toEqual([false, false])
  }
  expect(await oauth.sessions.list(id)).toEqual([])
}) // prettier-ignore

test('what only looks at a link makes nobody, and signs nobody in', async () => {
  const who = someone()
  const agent = createUserAgent(server.url)
  const link = await linkFor(agent, who)
  for (const [method, headers] of [
    ['HEAD', {}],
    ['GET', { 'sec-purpose': 'prefetch' }],
    ['GET', { 'user-agent': 'a scanner of mails' }],
    ['OPTIONS', { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' }],
  ] as const) {
    const cookies = (await server.request(link, { method, headers })).headers.getSetCookie().join()
    expect([method, cookies.includes('latchkey-session'), await oauth.users.find(who.username)]).toEqual([method, false, null])
  }
  await agent.submit(await agent.get(link), 'confirm')
  expect(await oauth.users.find(who.username)).not.toBeNull()
}) // prettier-ignore

test('known and unknown addresses get the same answer by the same statements; the mail says what the page does not', async () => {
  const asked = async (email: string, username: string) => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(`${server.url}/sign-up`)
    const answer = await agent.submit(page, 'sign-up', { username, email, password: PASSWORD })
    return [answer.status, answer.body, answer.url]
  }
  await oauth.users.create({ username: 'known', email: 'known@example.com', email_verified: true })
  const [known, unknown] = [
    await asked('Known@example.com', 'somebody'),
    await asked('unkno@example.com', 'known'),
  ]
  expect(known).toEqual(unknown)
  const existing = await mailbox.next('Known@example.com', 'You have an account already')
  expect(existing.text).toContain('Account: known')
  expect(linkIn(existing)).toBe(`${server.url}/sign-in`)
  const confirming = await mailbox.next('unkno@example.com')
  expect(confirming.subject).toBe(CONFIRM)
  // What a stranger has written goes to nobody.
  expect(confirming.text + confirming.html).not.toMatch(/\bknown\b/)
  expect(await oauth.users.find('somebody')).toBeNull()
})

test('a user name that somebody has is found out by who has confirmed the address, and loses nothing', async () => {
  const who = { ...someone(), username: 'Alice' }
  const agent = createUserAgent(server.url)
  const confirm = await agent.get(await linkFor(agent, who, await fromApp(agent)))
  expect(confirm.body).toContain('This user name is taken')
  const again = await agent.submit(confirm, 'confirm', { username: 'bob' })
  expect([again.status, again.body]).toEqual([400, expect.stringContaining('This user name is taken')])
  const next = await agent.submit(again, 'confirm', { username: 'alice-the-second' })
  expect(answerOf(await goThrough(agent, next)).has('code')).toBe(true)
  expect(await oauth.users.hasPassword('alice-the-second', PASSWORD)).toBe(true)
})

test('an address that became somebody else’s meanwhile makes no second account', async () => {
  const who = someone()
  const agent = createUserAgent(server.url)
  const confirm = await agent.get(await linkFor(agent, who))
  await oauth.users.create({ username: 'quicker', email: who.email.toUpperCase(), email_verified: true })
  const refused = await agent.submit(confirm, 'confirm')
  expect([refused.status, refused.body]).toEqual([
    410,
    expect.stringContaining('You have an account already'),
  ])
  expect(await oauth.users.find(who.username)).toBeNull()
})

test('two links for one address, used at once, make one account', async () => {
  const email = 'twice@example.com'
  const agents = [createUserAgent(server.url), createUserAgent(server.url)]
  const pages: Page[] = []
  for (const [at, agent] of agents.entries())
    pages.push(await agent.get(await linkFor(agent, { username: `twice-${at}`, email, password: PASSWORD })))
  const ends = await Promise.all(agents.map(async (agent, at) => agent.submit(pages[at]!, 'confirm')))
  expect(ends.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 410])
  expect(await server.database.query(`select from users where username like 'twice-%'`)).toHaveLength(1)
})

describe('what is wrong is said at its field, and nobody is asked anything', () => {
  test.each([
    ['username', { username: ' ' }, 'Choose a user name.'],
    ['username', { username: 'somebody@else.example' }, 'Must not be an address, unless it is your own.'],
    ['username', { username: 'al\u200bice' }, 'Must not hold characters that nobody sees.'],
    ['username', { username: 'alice\u00a0liddell' }, 'Must have ordinary spaces only, one at a time.'],
    ['email', { email: 'no address' }, 'This must be an email address'],
    ['password', { password: 'password' }, 'Must not be one of the most used.'],
    ['password', { password: '' }, 'Choose a password.'],
  ])('%s %j', async (field, wrong, words) => {
    const who = someone()
    const agent = createUserAgent(server.url)
    const page = await agent.submit(await fromApp(agent), 'sign-up', { ...who, ...wrong })
    expect(page.status).toBe(400)
    expect(page.body).toMatch(new RegExp(`<p class="problem" id="${field}-error">${words}`))
    expect(page.body).not.toContain(PASSWORD)
    expect(await mailbox.all(who.email)).toEqual([])
    // With what was typed, and the way back.
    const corrected = await agent.submit(page, 'sign-up', who)
    expect(corrected.body).toContain('Check your email')
  })
})

test('a password is nowhere in the clear, on its way to the mail or after', async () => {
  const who = { ...someone(), password: 'a very secret password indeed' }
  await linkFor(createUserAgent(server.url), who)
  for (const table of ['outbox', 'artifacts', 'audit_events']) {
    const rows = await server.database.query(`select t::text as row from ${table} t`)
    expect(JSON.stringify(rows)).not.toContain(who.password)
  }
  expect(server.output()).not.toContain(who.password)
})

describe('prompt=create', () => {
  const create = (more: Record<string, string> = {}) =>
    authorizationUrl(server, { prompt: 'create', ...more })

  test('opens sign-up, with the address that the app knows, and leads back to the app', async () => {
    const who = someone()
    const agent = createUserAgent(server.url)
    const page = await agent.get(create({ login_hint: who.email }))
    expect(page.body).toContain(`value="${who.email}"`)
    const confirm = await agent.get(await linkFor(agent, who, page))
    const next = await agent.submit(confirm, 'confirm')
    expect(answerOf(await goThrough(agent, next)).has('code')).toBe(true)
  })

  test('who has an account signs in from there', async () => {
    const agent = createUserAgent(server.url)
    const page = await agent.get(create())
    const login = await agent.submit(page, 'has-account')
    expect(findForm(login, 'login')).toBeDefined()
    expect(findForm(await agent.get(login.url), 'sign-up')).toBeUndefined()
    expect(answerOf(await goThrough(agent, login)).has('code')).toBe(true)
  })

  test('asks who is signed in as well, who may make another account', async () => {
    const agent = createUserAgent(server.url)
    await goThrough(agent, await agent.get(authorizationUrl(server)))
    const who = someone()
    const page = await agent.get(create())
    const next = await agent.submit(await agent.get(await linkFor(agent, who, page)), 'confirm')
    expect(answerOf(await goThrough(agent, next)).has('code')).toBe(true)
    expect((await agent.get(`${server.url}/account`)).body).toContain(who.username)
  })

  test('is told by discovery where it is offered, and refused where it is not', async () => {
    const supported = async ({ url }: { url: string }): Promise<unknown> => {
      const response = await fetch(`${url}/.well-known/openid-configuration`)
      return ((await response.json()) as Record<string, unknown>)['prompt_values_supported']
    }
    const off = await startServer({}, { seed: SEED })
    expect(await supported(server)).toEqual(['none', 'login', 'consent', 'select_account', 'create'])
    expect(await supported(off)).toEqual(['none', 'login', 'consent', 'select_account'])
    const answer = answerOf(await createUserAgent(off.url).get(authorizationUrl(off, { prompt: 'create' })))
    expect([answer.get('error'), answer.get('state')]).toEqual(['invalid_request', 'a state'])
    const login = await createUserAgent(off.url).get(authorizationUrl(off))
    expect([findForm(login, 'login') !== undefined, login.body.includes('sign-up')]).toEqual([true, false])
    expect((await off.get('/sign-up')).status).toBe(404)
  })

  test('with none it is no request', async () => {
    const answer = answerOf(await createUserAgent(server.url).get(create({ prompt: 'none create' })))
    expect(answer.get('error')).toBe('invalid_request')
  })
})

describe('who may', () => {
  const DOMAINS = { OIDC_SIGN_UP: 'Example.com, bücher.example' }

  test('only addresses at the domains of the setting, at the form and at the link', async () => {
    const settings = { ...DOMAINS, SECRET_KEY: 'the secret key of a server that starts again' }
    const first = await startServer(settings, { seed: SEED })
    const agent = createUserAgent(first.url)
    const page = await agent.get(`${first.url}/sign-up`)
    expect(page.body).toContain('Addresses at example.com and xn--bcher-kva.example only.')
    const refused = await agent.submit(page, 'sign-up', { ...someone(), email: 'a@sub.example.com' })
    expect([refused.status, refused.body]).toEqual([
      400,
      expect.stringContaining('Accounts here are for addresses at'),
    ])
    const sent = await agent.submit(refused, 'sign-up', { ...someone(), email: 'a@Bücher.example' })
    expect(sent.body).toContain('Check your email')
    const link = linkIn(await openMailbox(first).next('a@Bücher.example'))
    // The list has become shorter since, or there is none any more.
    const narrow = await startServer(
      { ...settings, OIDC_SIGN_UP: 'example.com' },
      { database: first.database },
    )
    const gone = await createUserAgent(narrow.url).get(link.replace(first.url, narrow.url))
    expect([gone.status, gone.body]).toEqual([
      410,
      expect.stringContaining('Accounts here are for addresses at'),
    ])
    const off = await startServer({ ...settings, OIDC_SIGN_UP: 'off' }, { database: first.database })
    expect((await off.get(link.replace(first.url, ''))).status).toBe(404)
    // It comes back.
    const confirm = await agent.get(link)
    expect((await agent.submit(confirm, 'confirm')).body).toContain('you are signed in')
  })

  test.each([
    ['yes', 'OIDC_SIGN_UP must be off, on, or mail domains'],
    ['on, example.com', 'OIDC_SIGN_UP must be off, on, or mail domains'],
    ['example.com, @example.org', 'it has "@example.org"'],
    ['exa mple.com', 'it has "exa mple.com"'],
  ])('OIDC_SIGN_UP=%s ends the start', async (value, words) => {
    await expect(startServer({ OIDC_SIGN_UP: value })).rejects.toThrow(words)
  })

  test('nobody, where no mail can be sent: the start says so', async () => {
    const production = { NODE_ENV: 'production', OIDC_ISSUER: 'https://id.example', OIDC_SIGN_UP: 'on' }
    await expect(startServer(production, { seed: {} })).rejects.toThrow(
      'OIDC_SIGN_UP needs mails: set SMTP_URL',
    )
    const without = { OIDC_SIGN_UP: 'on', WITHOUT: 'latchkey-mail,latchkey-notices,latchkey-forgot-password' }
    await expect(startServer(without)).rejects.toThrow('OIDC_SIGN_UP needs the plugin latchkey-mail')
  })

  test('left out, nothing of it is there', async () => {
    const bare = await startServer({ OIDC_SIGN_UP: 'on', WITHOUT: 'latchkey-sign-up' }, { seed: SEED })
    expect((await bare.get('/sign-up')).status).toBe(404)
    expect((await createUserAgent(bare.url).get(authorizationUrl(bare))).body).not.toContain('sign-up')
  })
})

test('who asks for too many mails waits, with what they typed', async () => {
  const agent = createUserAgent(server.url)
  const email = 'much@example.com'
  let page = await agent.get(`${server.url}/sign-up`)
  for (let asked = 0; asked < 11; asked++) {
    page = await agent.submit(await agent.get(`${server.url}/sign-up`), 'sign-up', {
      username: 'much',
      email,
      password: PASSWORD,
    })
    if (page.status !== 200) break
  }
  expect([page.status, page.body]).toEqual([
    429,
    expect.stringMatching(/There were too many tries[^]*value="much@example.com"/),
  ])
})

test('two processes, one link: one account', async () => {
  const settings = { OIDC_SIGN_UP: 'on', SECRET_KEY: 'the secret key of two processes at once' }
  const one = await startServer(settings, { seed: SEED })
  const agent = createUserAgent(one.url)
  const who = someone()
  await agent.submit(await agent.get(`${one.url}/sign-up`), 'sign-up', who)
  const token = new URL(linkIn(await openMailbox(one).next(who.email))).searchParams.get('token')!
  // Not before: a mail is kept by the process that delivers it.
  const two = await startServer({ ...settings, OIDC_ISSUER: one.url }, { database: one.database })
  const ends = await Promise.allSettled(
    [one, two, one, two].map(async ({ server: app }) => kernelOf(app).signUps.confirm(token, {})),
  )
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await one.database.query('select from users where username = $1', [who.username])).toHaveLength(1)
})
