/**
 * Signing in by a code that comes by mail, in a browser, with scripts and without, whose requests two servers of one database answer in turn; and a mail server
 * that is away meanwhile.
 * @needs latchkey-mail-code latchkey-account
 */
import { describe, expect, test, vi } from 'vitest'
import { startBalancer } from '../support/balancer.ts'
import { noBrowser } from '../support/browser.ts'
import { assertAccessible } from '../support/accessibility.ts'
import { askForCode, CODE_SUBJECT, digitsIn, enterCode, MAIL_CODE, otherThan } from '../support/mail-code.ts'
import { newPerson } from '../support/people.ts'
import { startBeside, startServer } from '../support/server.ts'
import { authorizationUrl, SEED } from '../support/sign-in.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { createUserAgent } from '../support/user-agent.ts'

const smtp = await startSmtpServer()
const balancer = await startBalancer()
const one = await startServer(
  {
    ...MAIL_CODE,
    OIDC_ISSUER: balancer.url,
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    MAIL_FROM: 'login@example.com',
  },
  { seed: SEED },
)
const two = await startBeside(one)
const [first, second] = [one, two].map(({ settings }) => Number(settings.PORT)) as [number, number]
balancer.sendTo(first, second)
const { users } = one.server.oauth
let count = 0

async function register(): Promise<string> {
  const username = `person-${++count}`
  const email = `${username}@example.com`
  await users.create({ username, email, email_verified: true })
  return email
}

const mailsTo = (email: string) => smtp.mails.filter(({ to }) => to === email)

/** Of the mail that comes, whichever server delivers it. */
async function mailedTo(email: string): Promise<string> {
  await expect.poll(() => mailsTo(email).length).toBe(1)
  const [mail] = mailsTo(email)
  expect(mail!.headers.get('subject')).toBe(CODE_SUBJECT)
  return digitsIn({ text: mail!.text.replaceAll('\r', '') })
}

test('what one server has begun another one ends, and counts tries of the same code', async () => {
  const email = await register()
  const agent = createUserAgent(balancer.url)
  balancer.sendTo(first)
  const page = await askForCode(agent, await agent.get(authorizationUrl({ ...one, url: balancer.url })), email)
  const code = await mailedTo(email)
  balancer.sendTo(second)
  const wrong = await enterCode(agent, page, otherThan(code))
  expect(wrong.status).toBe(403)
  balancer.sendTo(first, second)
  // A double click whose two forms come to two servers.
  const clicks = await Promise.all([1, 2, 3, 4].map(async () => enterCode(agent.clone(), page, code)))
  for (const click of clicks) expect(click.body).toContain('id="consent"')
  const { id } = (await users.findByEmail(email))!
  expect(await one.server.oauth.sessions.list(id)).toHaveLength(1)
}) // prettier-ignore

test('a mail that its server takes too late is given up, and nobody gets a dead code', async () => {
  const email = await register()
  smtp.replies.data = '451 4.3.0 not now'
  const agent = createUserAgent(balancer.url)
  await askForCode(agent, await agent.get(authorizationUrl({ ...one, url: balancer.url })), email)
  const waiting = `select last_error, given_up_at from outbox where kind = 'mail' and last_error is not null`
  await expect.poll(async () => (await one.database.query(waiting)).length).toBe(1)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_001 })
  smtp.replies.data = '250 ok'
  try {
    await one.database.query('update outbox set due_at = now()')
    await one.database.query(`insert into changes (id, kind, key) values (gen_random_uuid(), 'delivery', '')`)
    await expect
      .poll(async () => one.database.query(waiting))
      .toMatchObject([{ last_error: 'it had become of no use before it could be sent' }])
  } finally {
    vi.useRealTimers()
  }
  expect(mailsTo(email)).toEqual([])
})

describe.skipIf(noBrowser)('in a browser', () => {
  test.each([true, false])('with scripts: %s', async (javaScriptEnabled) => {
    const email = await register()
    const person = await newPerson({ javaScriptEnabled })
    const { page } = person
    await page.goto(`${balancer.url}/account`)
    await page.fill('#username', 'a user name')
    await page.click('#mail-code')
    await page.waitForSelector('#mail-code-address')
    await page.click('#other-way')
    await page.waitForSelector('#login')
    // What is typed for the other way in goes along.
    await page.fill('#username', email)
    await page.click('#mail-code')
    const code = await mailedTo(email)
    await page.click('#send-again')
    await page.waitForSelector('#again-error')
    await expect.poll(async () => page.isDisabled('#send-again')).toBe(javaScriptEnabled)
    if (javaScriptEnabled) await assertAccessible(page, 'too soon')
    // Pasted as people copy it.
    await page.fill('#code', ` ${code.slice(0, 3)}-${code.slice(3)} `)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${balancer.url}/account`)
    await page.goto(`${balancer.url}/account/security`)
    expect(await page.textContent('section[aria-labelledby="security-mail-code"]')).toContain(email)
    expect(person.said.filter((line) => !line.includes('429'))).toEqual([])
  })
})
