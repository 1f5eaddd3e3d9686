/**
 * Signing in by a code that comes by mail: from an app and back to it, once, in the browser that asked, for who has the address then and now.
 * @needs latchkey-mail-code
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import {
  askForCode,
  CODE_SUBJECT,
  digitsIn,
  enterCode,
  expectCodePage,
  MAIL_CODE,
  nextCode,
  otherThan,
  problemOn,
} from '../../support/mail-code.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { isThere, rowsWith } from '../../support/left-out.ts'
import { startBeside, startServer } from '../../support/server.ts'
import { answerOf, authorizationUrl, exchange, goThrough, SEED } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../support/user-agent.ts'

const server = await startServer({ ...MAIL_CODE, TRUSTED_PROXIES: '127.0.0.1' }, { seed: SEED })
const { oauth } = server.server
const { users } = oauth
const mailbox = openMailbox(server)
const PASSWORD = 'a password that nobody types'
let count = 0

interface Somebody {
  readonly id: string
  readonly username: string
  readonly email: string
}

/** A person with a verified address of their own. */
async function register(more: object = {}): Promise<Somebody> {
  const username = `person-${++count}`
  const email = `${username}@example.com`
  const { id } = await users.create({ username, email, email_verified: true, password: PASSWORD, ...more })
  return { id, username, email }
}

let networks = 0
/** A browser in a network of its own. */
const newAgent = (): UserAgent =>
  createUserAgent(server.url, { 'x-forwarded-for': `203.0.113.${++networks}` })

/** The page that takes the code, in a browser of its own, and what was mailed. */
async function begin(email: string, agent: UserAgent = newAgent(), parameters = {}) {
  const page = await askForCode(agent, await agent.get(authorizationUrl(server, parameters)), email)
  expectCodePage(page)
  return { agent, page, code: await nextCode(mailbox, email) }
}

async function isIn({ agent, next }: { agent: UserAgent; next: Page }, id: string): Promise<void> {
  const answer = answerOf(await goThrough(agent, next))
  const { id_token: token } = (await (await exchange(server, answer.get('code')!)).json()) as { id_token: string }
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as object
  expect(claims).toMatchObject({ sub: id, amr: ['otp'], acr: '1' })
} // prettier-ignore

/** What the log says of them, once for each time. */
async function events(type: string, user: string): Promise<readonly object[]> {
  const { events: found } = await oauth.audit.list({ type, user })
  return found.flatMap(({ details, count: times }) => Array.from({ length: times }, () => details))
}

test('who comes from an app goes back to it, by an address that is typed in any case', async () => {
  const { id, email, username } = await register()
  const agent = newAgent()
  const asked = await askForCode(agent, await agent.get(authorizationUrl(server)), ` ${email.toUpperCase()} `)
  expectCodePage(asked)
  const mail = await mailbox.next(email)
  expect(mail.subject).toBe(CODE_SUBJECT)
  for (const text of [
    'continue to web',
    `Account: ${username}`,
    'from the address 203.0.113.',
    'If this was not you',
  ])
    expect(mail.text).toContain(text)
  expect(mail.html).toContain(digitsIn(mail))
  const wrong = await enterCode(agent, asked, otherThan(digitsIn(mail)))
  expectCodePage(wrong, 403)
  expect(problemOn(wrong)).toContain('not right')
  const code = digitsIn(mail)
  await isIn({ agent, next: await enterCode(agent, wrong, `${code.slice(0, 3)} ${code.slice(3)}`) }, id)
})

test('without scripts, a user name leads to the page that asks for the address', async () => {
  const { id, email } = await register()
  const agent = newAgent()
  const page = await askForCode(agent, await agent.get(authorizationUrl(server)), 'no address')
  expect(findForm(page, 'mail-code-address')?.fields['email']).toBe('')
  const none = await agent.submit(page, 'mail-code-address', { email: 'no address' })
  expect([none.status, problemOn(none)]).toEqual([400, 'This must be an email address, such as alice@example.com.'])
  const asked = await agent.submit(none, 'mail-code-address', { email })
  await isIn({ agent, next: await enterCode(agent, asked, await nextCode(mailbox, email)) }, id)
}) // prettier-ignore

test('it is good once, in one browser and one interaction, and not when it is no six digits', async () => {
  const { email } = await register()
  const { agent, page, code } = await begin(email)
  const thief = await begin(email)
  expectCodePage(await enterCode(thief.agent, thief.page, code), 403)
  const opened = await newAgent().get(page.url)
  expect(findForm(opened, 'enter-code')).toBeUndefined()
  for (const typed of ['', '12345', '1234567', 'abcdef', '12345x']) {
    const refused = await enterCode(agent, page, typed)
    expect([refused.status, problemOn(refused)]).toEqual([400, 'The code has six digits.'])
  }
  const later = agent.clone()
  await enterCode(agent, page, code)
  await server.database.query(
    `update artifacts set value = jsonb_set(value, '{spent,at}', to_jsonb((value->'spent'->>'at')::bigint - 10001)) where kind = 'mail-code' and value ? 'spent'`,
  )
  // What was noted of it is that somebody has signed in.
  const spent = await enterCode(later, page, code)
  expect([findForm(spent, 'login') !== undefined, later.cookies.has('latchkey-session')]).toEqual([
    true,
    false,
  ])
})

/** No time passes in the server until the test ends: what comes twice comes soon, however slow the machine is. */
function atOneMoment(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  onTestFinished(() => void vi.useRealTimers())
}

type Parameters = Record<string, string>
test.each<[Parameters]>([
  [{}],
  [{ prompt: 'login consent' }],
  ...rowsWith<[Parameters][]>('latchkey-second-factor', [[{ acr_values: '2' }]]),
])(
  'of a double click with %j, each answer leads on, with one session; also when it comes a little later',
  async (parameters) => {
    const { email, id } = await register()
    const { agent, page, code } = await begin(email, newAgent(), parameters)
    atOneMoment()
    const agents = Array.from({ length: 5 }, () => agent.clone())
    const later = agents.pop()!
    const answers = await Promise.all(agents.map(async (one) => enterCode(one, page, code)))
    answers.push(await enterCode(later, page, code))
    const next = 'acr_values' in parameters ? 'totp' : 'consent'
    for (const answer of answers) expect(answer.body).toContain(`id="${next}"`)
    expect(await oauth.sessions.list(id)).toHaveLength(1)
    // Not with another code, nor in another browser.
    for (const guesser of Array.from({ length: 6 }, () => agent.clone())) {
      expect((await enterCode(guesser, page, otherThan(code))).body).toContain('id="login"')
      expect(guesser.cookies.has('latchkey-session')).toBe(false)
    }
    // Who has guessed so often is not led on by the right one.
    expect((await enterCode(agent.clone(), page, code)).body).toContain('id="login"')
    const other = newAgent()
    await enterCode(other, page, code)
    expect(other.cookies.has('latchkey-session')).toBe(false)
  },
)

test.each(['login', 'select_account'])(
  'of a double click by who is there already, with prompt %s, each answer leads on, with one session',
  async (prompt) => {
    const [one, other] = [await register(), await register()]
    const agent = newAgent()
    await goThrough(agent, await agent.get(authorizationUrl(server)), {
      username: one.username,
      password: PASSWORD,
    })
    const whose = prompt === 'login' ? one : other
    const once = await agent.get(authorizationUrl(server, { prompt: `${prompt} consent` }))
    const page =
      prompt === 'login'
        ? await agent.submit(once, 'mail-code-form')
        : await askForCode(agent, once, whose.email)
    const code = await nextCode(mailbox, whose.email)
    atOneMoment()
    const agents = Array.from({ length: 4 }, () => agent.clone())
    const later = agents.pop()!
    const answers = await Promise.all(agents.map(async (each) => enterCode(each, page, code)))
    answers.push(await enterCode(later, page, code))
    for (const answer of answers) expect(answer.body).toContain('id="consent"')
    for (const answer of answers) expect(answer.body).toContain(whose.username)
    expect(await oauth.sessions.list(whose.id)).toHaveLength(1)
    expect(await oauth.sessions.list(one.id)).toHaveLength(whose === one ? 1 : 0)
  },
)

test.each(['from an app', 'as who is there already'])('once they have signed out, the same form signs nobody in again: %s', async (comes) => {
  const { email, id } = await register()
  const { agent, page, code } = await begin(email)
  let [form, digits] = [page, code]
  if (comes !== 'from an app') {
    await isIn({ agent, next: await enterCode(agent, page, code) }, id)
    form = await agent.submit(await agent.get(authorizationUrl(server, { prompt: 'login consent' })), 'mail-code-form')
    digits = await nextCode(mailbox, email)
  }
  const before = agent.clone()
  expect((await enterCode(agent, form, digits)).body).toContain('id="consent"')
  await agent.submit(await agent.get(`${server.url}/end-session`), 'end-session')
  expect(await oauth.sessions.list(id)).toEqual([])
  for (const typed of [digits, `${digits.slice(0, 3)} ${digits.slice(3)}`])
    for (const again of [agent.clone(), before.clone()]) {
      const answer = await enterCode(again, form, typed)
      expect([findForm(answer, 'login') !== undefined, answer.body.includes('id="consent"')]).toEqual([true, false])
    }
  expect(await oauth.sessions.list(id)).toEqual([])
}) // prettier-ignore

test('five are tried of it, however many come at once; then the right one is refused too', async () => {
  const { email, id } = await register()
  const { agent, page, code } = await begin(email)
  const guesses = Array.from({ length: 12 }, async () => enterCode(agent.clone(), page, otherThan(code)))
  const said = (await Promise.all(guesses)).map(problemOn)
  expect(said.filter((text) => text.includes('not right'))).toHaveLength(5)
  expectCodePage(await enterCode(agent, page, code), 403)
  await until(async () => expect(await events('user.sign_in_failed', id)).toHaveLength(5))
})

test('so many are tried of one that has just signed somebody in, too: then the right one leads nowhere', async () => {
  const { email } = await register()
  const { agent, page, code } = await begin(email)
  const before = agent.clone()
  await enterCode(agent, page, code)
  await Promise.all(Array.from({ length: 12 }, async () => enterCode(before.clone(), page, otherThan(code))))
  expect((await enterCode(before, page, code)).body).toContain('id="login"')
  expect(before.cookies.has('latchkey-session')).toBe(false)
})

test('who has signed in with a browser before is mailed a code there, however many others have asked for', async () => {
  const { id, email } = await register()
  const { agent, page, code } = await begin(email)
  await isIn({ agent, next: await enterCode(agent, page, code) }, id)
  let refused: Page | undefined
  for (let time = 0; refused === undefined && time < 25; time++) {
    const stranger = newAgent()
    const answer = await askForCode(stranger, await stranger.get(authorizationUrl(server)), email)
    if (answer.status === 429) refused = answer
  }
  expect(problemOn(refused!)).not.toBe('')
  await until(async () => expect((await mailbox.all(email)).filter(({ subject }) => subject === CODE_SUBJECT).length).toBeGreaterThan(15))
  const known = (await mailbox.all(email)).length
  expectCodePage(await askForCode(agent, await agent.get(authorizationUrl(server, { prompt: 'select_account' })), email))
  await until(async () => expect(await mailbox.all(email)).toHaveLength(known + 1))
}) // prettier-ignore

test('another code ends the one before, after a pause; the pause is told, and sent twice it is one mail', async () => {
  const { email, id } = await register()
  const { agent, page, code } = await begin(email)
  const soon = await agent.submit(page, 'mail-code-more', { again: 'yes' })
  expectCodePage(soon, 429)
  expect(Number(soon.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(problemOn(soon)).toContain('A mail takes a moment')
  await server.database.query(
    `update artifacts set value = jsonb_set(value, '{sentAt}', to_jsonb((value->>'sentAt')::bigint - 31000)) where kind = 'mail-code'`,
  )
  const [one] = await Promise.all([1, 2, 3].map(async () => agent.submit(page, 'mail-code-more', { again: 'yes' })))
  expectCodePage(one!)
  const next = await nextCode(mailbox, email)
  expect((await mailbox.all(email)).filter(({ subject }) => subject === CODE_SUBJECT)).toHaveLength(2)
  expect(problemOn(await enterCode(agent, page, code))).toContain('not good any more')
  await isIn({ agent, next: await enterCode(agent, one!, next) }, id)
}) // prettier-ignore

test('it is good for ten minutes', async () => {
  const { email } = await register()
  const { agent, page, code } = await begin(email)
  await server.database.query(
    `update artifacts set value = jsonb_set(value, '{sentAt}', to_jsonb((value->>'sentAt')::bigint - 600001)) where kind = 'mail-code'`,
  )
  expect(problemOn(await enterCode(agent, page, code))).toContain('not good any more')
})

test('two tabs of one interaction have one code: the latest address counts', async () => {
  const [one, other] = [await register(), await register()]
  const agent = newAgent()
  const page = await agent.get(authorizationUrl(server))
  const first = await askForCode(agent, page, one.email)
  const codes = [await nextCode(mailbox, one.email)]
  const second = await askForCode(agent, page, other.email)
  codes.push(await nextCode(mailbox, other.email))
  expect(problemOn(await enterCode(agent, first, codes[0]!))).toContain('not good any more')
  expect(problemOn(await enterCode(agent, second, codes[0]!))).toContain('not right')
  await isIn({ agent, next: await enterCode(agent, second, codes[1]!) }, other.id)
})

test('who would rather sign in another way is at the sign-in page again', async () => {
  const { username, email } = await register()
  const { agent, page } = await begin(email)
  const back = await agent.submit(page, 'mail-code-more', { other: 'yes' })
  expect(findForm(back, 'mail-code-form')).toBeDefined()
  const answer = answerOf(await goThrough(agent, back, { username, password: PASSWORD }))
  expect(answer.has('code')).toBe(true)
})

type Change = [what: string, change: (somebody: Somebody) => Promise<unknown>]

test.each<Change>([
  ['disabled', async ({ username }) => users.disable(username)],
  [
    'disabled and enabled again',
    async ({ username }) => {
      await users.disable(username)
      await users.enable(username)
    },
  ],
  ['deleted', async ({ username }) => users.delete(username)],
  ['whose password is new', async ({ username }) => users.setPassword(username, 'quite another password')],
  ['who asked for deletion', async ({ id }) => kernelOf(server.server).accountDeletions.request(id, 14)],
  ['who signed out everywhere', async ({ id }) => oauth.sessions.endAll(id)],
  ['whose address is another', async ({ username }) => users.update(username, { email: `new-${username}@example.com` })],
  ['whose address is not verified any more', async ({ username }) => users.update(username, { email_verified: false })],
  [
    'whose address is somebody else’s by now',
    async ({ username, email }) => {
      await users.update(username, { email: `moved-${username}@example.com` })
      await users.create({ username: `heir of ${username}`, email, email_verified: true })
    },
  ],
])('a code that was mailed to somebody %s is good for nothing', async (_what, change) => {
  const somebody = await register()
  const { agent, page, code } = await begin(somebody.email)
  await change(somebody)
  const refused = await enterCode(agent, page, code)
  expectCodePage(refused, 403)
  expect(problemOn(refused)).toContain('not right')
  expect(agent.cookies.has('latchkey-session')).toBe(false)
}) // prettier-ignore

test.runIf(isThere('latchkey-own-data'))(
  'who is called otherwise meanwhile is who they are, and who waits for deletion may keep their account',
  async () => {
    const { id, username, email } = await register()
    const { agent, page, code } = await begin(email)
    await users.update(username, { username: `renamed-${username}` }, { mayRename: true })
    await isIn({ agent, next: await enterCode(agent, page, code) }, id)
    await kernelOf(server.server).accountDeletions.request(id, 14)
    const other = await begin(email)
    const kept = await enterCode(other.agent, other.page, other.code)
    expect(kept.body).toContain('id="keep-account"')
  },
)

test('nothing is mailed to an address that is nobody’s, not verified, or of a disabled user', async () => {
  const disabled = await register()
  await users.disable(disabled.username)
  const unverified = await register({ email_verified: false })
  for (const email of [disabled.email, unverified.email, 'nobody@example.com']) {
    const agent = newAgent()
    const page = await askForCode(agent, await agent.get(authorizationUrl(server)), email)
    expectCodePage(page)
    expect(problemOn(await enterCode(agent, page, '123456'))).toContain('not right')
    expect(await mailbox.all(email)).toEqual([])
  }
})

test.runIf(isThere('latchkey-account'))(
  'it signs in to our own pages, and shows once more who is there, by the address that is theirs',
  async () => {
    const { id, email } = await register({ password: undefined })
    const agent = newAgent()
    const page = await askForCode(agent, await agent.get(`${server.url}/account/security`), email)
    const security = await enterCode(agent, page, await nextCode(mailbox, email))
    expect(security.url).toBe(`${server.url}/account/security`)
    expect(security.body).toContain(`We mail`.toLowerCase())
    expect(security.body).toContain(email)
    for (const parameters of [{ prompt: 'login' }, { max_age: '0' }]) {
      const once = await agent.get(authorizationUrl(server, parameters))
      // They never had a password.
      expect([findForm(once, 'login'), findForm(once, 'mail-code-form') !== undefined]).toEqual([
        undefined,
        true,
      ])
      const asked = await agent.submit(once, 'mail-code-form')
      expectCodePage(asked)
      await isIn({ agent, next: await enterCode(agent, asked, await nextCode(mailbox, email)) }, id)
    }
  },
)

test('who has no verified address is not offered it once more, and whose address goes meanwhile is asked otherwise', async () => {
  const { username, email } = await register()
  const agent = newAgent()
  await goThrough(agent, await agent.get(authorizationUrl(server)), { username, password: PASSWORD })
  const once = await agent.get(authorizationUrl(server, { prompt: 'login' }))
  await users.update(username, { email_verified: false })
  const back = await agent.submit(once, 'mail-code-form')
  expect([findForm(back, 'mail-code-form'), findForm(back, 'login') !== undefined]).toEqual([undefined, true])
  expect(await mailbox.all(email)).toEqual([])
})

test('who is there by now does not show that it is them by a code that went to somebody else', async () => {
  const [one, other] = [await register(), await register()]
  const parameters = { prompt: 'login' }
  const { agent, page, code } = await begin(other.email, newAgent(), parameters)
  await goThrough(agent, await agent.get(authorizationUrl(server)), { username: one.username, password: PASSWORD })
  const again = await agent.get(page.url)
  expect([findForm(again, 'enter-code'), findForm(again, 'login') !== undefined]).toEqual([undefined, true])
  const form = findForm(again, 'mail-code-form')!
  const sent = await agent.post(form.action, { ...form.fields, code })
  expect(findForm(sent, 'login')).toBeDefined()
  expect(await oauth.sessions.list(other.id)).toEqual([])
  expect(await oauth.sessions.list(one.id)).toHaveLength(1)
}) // prettier-ignore

test('who is to choose an account may do so by an address, though somebody is there', async () => {
  const [one, other] = [await register(), await register()]
  const agent = newAgent()
  await goThrough(agent, await agent.get(authorizationUrl(server)), { username: one.username, password: PASSWORD })
  const chooses = await agent.get(authorizationUrl(server, { prompt: 'select_account' }))
  const asks = await askForCode(agent, chooses, other.username)
  const asked = await agent.submit(asks, 'mail-code-address', { email: other.email })
  expectCodePage(asked)
  await isIn({ agent, next: await enterCode(agent, asked, await nextCode(mailbox, other.email)) }, other.id)
}) // prettier-ignore

test('it counts as a way in, so that the password can go, and not without a verified address', async () => {
  const { id, username } = await register()
  expect(await users.waysIn(id)).toEqual(['password', 'mail-code'])
  await kernelOf(server.server).users.removePassword(id)
  expect(await users.waysIn(id)).toEqual(['mail-code'])
  await users.update(username, { email_verified: false })
  expect(await users.waysIn(id)).toEqual([])
})

test.runIf(isThere('latchkey-account'))(
  'who has no other way in keeps the address; who has one may take it away',
  async () => {
    const { id, email } = await register({ password: undefined })
    const agent = newAgent()
    const asked = await askForCode(agent, await agent.get(`${server.url}/account/email`), email)
    const page = await enterCode(agent, asked, await nextCode(mailbox, email))
    const refused = await agent.submit(page, 'change-email', { email: '' })
    expect(refused.status).toBe(400)
    expect(problemOn(refused)).toBe(
      'Your address is the only way by which you can sign in. Add another one first, and then take it away.',
    )
    expect(await users.waysIn(id)).toEqual(['mail-code'])
    await users.setPassword((await users.get(id)).username, PASSWORD)
    const session = await begin(email)
    await isIn({ agent: session.agent, next: await enterCode(session.agent, session.page, session.code) }, id)
    const own = await session.agent.get(`${server.url}/account/email`)
    expect((await session.agent.submit(own, 'change-email', { email: '' })).url).toContain('saved=yes')
    expect(await users.waysIn(id)).toEqual(['password'])
  },
)

test.runIf(isThere('latchkey-second-factor'))(
  'a second factor is asked for after it, and the session waits until then',
  async () => {
    const { id, email } = await register()
    const { agent, page, code } = await begin(email, newAgent(), { acr_values: '2' })
    const next = await enterCode(agent, page, code)
    expect(next.body).toContain('id="totp"')
    expect(await oauth.sessions.list(id)).toMatchObject([{ pending: true, amr: ['otp'] }])
  },
)

test('guessing is slowed down for one address, as much for one that is nobody’s, and more of it is not looked at', async () => {
  const { email, id } = await register()
  const counts = []
  for (const address of [email, 'nobody-guessed@example.com']) {
    const agent = newAgent()
    let tries = 0
    for (;;) {
      const page = await askForCode(agent, await agent.get(authorizationUrl(server)), address)
      const said = []
      for (let time = 0; time < 5; time++) said.push((await enterCode(agent, page, `00000${time}`)).status)
      tries += said.filter((status) => status === 403).length
      if (said.includes(429)) break
    }
    // One may have come back meanwhile.
    expect(tries).toBeOneOf([20, 21, 22])
    counts.push(tries)
  }
  const reached = async () => events('limit.reached', id)
  await until(async () => expect(await reached()).toContainEqual({ kind: 'mail-code', limit: 'account' }))
  expect(Math.abs(counts[0]! - counts[1]!)).toBeLessThan(2)
})

test('what happened is in the log, and no code is', async () => {
  const { id, email } = await register()
  const { agent, page, code } = await begin(email)
  await enterCode(agent, page, code)
  expect(await events('user.signed_in', id)).toMatchObject([{ amr: ['otp'] }])
  await until(async () => expect(await events('user.sign_in_code_sent', id)).toHaveLength(1))
  const rows = JSON.stringify(await server.database.query('select * from artifacts, outbox'))
  expect(rows + server.output()).not.toContain(code)
})

describe('where it is', () => {
  test('on, mails are needed: the start says so', async () => {
    const production = { ...MAIL_CODE, NODE_ENV: 'production', OIDC_ISSUER: 'https://id.example' }
    await expect(startServer(production, { seed: {} })).rejects.toThrow(
      'OIDC_MAIL_CODE needs mails: set SMTP_URL',
    )
    const without = { ...MAIL_CODE, WITHOUT: 'latchkey-mail,latchkey-notices,latchkey-forgot-password' }
    await expect(startServer(without)).rejects.toThrow('OIDC_MAIL_CODE needs the plugin latchkey-mail')
    await expect(startServer({ OIDC_MAIL_CODE: 'maybe' })).rejects.toThrow(
      'OIDC_MAIL_CODE must be one of off, on',
    )
  })

  test('off, nothing of it is there, and it is no way in: a password comes by the same address', async () => {
    const off = await startBeside(server, { OIDC_MAIL_CODE: 'off' })
    // Mails are read where they are sent.
    await kernelOf(off.server).courier.stop()
    const { id, email } = await register({ password: undefined })
    expect([await users.waysIn(id), await off.server.oauth.users.waysIn(id)]).toEqual([['mail-code'], []])
    const agent = createUserAgent(server.url)
    const page = await agent.get(`${server.url}/sign-in`)
    const { action, fields } = findForm(page, 'mail-code-form')!
    const sent = await off.request(new URL(action).pathname + new URL(action).search, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: server.url,
        cookie: [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      body: new URLSearchParams({ ...fields, username: email }).toString(),
    })
    expect([sent.status, await sent.text()]).toEqual([400, expect.stringContaining('no such way to sign in')])
    expect(await (await off.get('/sign-in')).text()).not.toContain('mail-code')
    if (!isThere('latchkey-forgot-password')) return
    const forgotten = await agent.get(`${server.url}/forgot-password`)
    await agent.submit(forgotten, 'forgot-password', { email })
    expect((await agent.get(linkIn(await mailbox.next(email)))).body).toContain('id="set-password"')
  })

  test('the one way in, its button is the first, and the address is asked for', async () => {
    const alone = await startServer({ ...MAIL_CODE, WITHOUT: 'latchkey-password-sign-in' }, { seed: SEED })
    const agent = createUserAgent(alone.url)
    const page = await agent.get(authorizationUrl(alone, { login_hint: 'alice@example.com' }))
    expect(page.body).toContain('<button class="primary" id="mail-code"')
    expect(page.body).not.toContain('form="login"')
    const address = await agent.submit(page, 'mail-code-form')
    expect(findForm(address, 'mail-code-address')?.fields['email']).toBe('alice@example.com')
    const asked = await agent.submit(address, 'mail-code-address')
    const code = await nextCode(openMailbox(alone), 'alice@example.com')
    expect((await enterCode(agent, asked, code)).body).toContain('id="consent"')
  })
})
