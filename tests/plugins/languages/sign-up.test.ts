/**
 * Sign-up and invitations say all of their words by messages, and their mails those of who reads them.
 * @needs latchkey-sign-up
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, SEED } from '../../support/sign-in.ts'
import { createUserAgent, type Page, type UserAgent } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'
import { expectSaid, PSEUDO_HEADERS } from './shown.ts'
import { unsaidIn } from './unsaid.ts'
import { isThere } from '../../support/left-out.ts'

const ROOT = { username: 'root', password: 'the long password of root', roles: ['admin'] }
const seed = { ...SEED, users: [...SEED.users, ROOT] }
const server = await startServer({ OIDC_SIGN_UP: 'example.com, example.org' }, { seed })
const { oauth } = server.server
const mailbox = openMailbox(server)
const PASSWORD = 'a password of their own'

beforeEach(async () => {
  await server.database.query('delete from throttles')
})

const form = async (agent: UserAgent): Promise<Page> => agent.get(`${server.url}/sign-up`)
const newcomer = (username: string) => ({ username, email: `${username}@example.com`, password: PASSWORD })
async function ask(accepts: string, username: string, email = `${username}@example.com`) {
  const agent = createUserAgent(server.url, { 'accept-language': accepts })
  const page = await agent.submit(await form(agent), 'sign-up', { ...newcomer(username), email })
  return { agent, page, mail: await mailbox.next(email) }
}

describe('sign-up', () => {
  const KNOWN = ['example.com', 'example.org', 'uma', 'ute']

  test('the form, what is wrong with it, and what comes after', async () => {
    const agent = createUserAgent(server.url, PSEUDO_HEADERS)
    const page = await form(agent)
    expectSaid(page, KNOWN)
    const who = newcomer('uma')
    for (const wrong of [
      { username: '', email: 'uma', password: '' },
      { username: 'uma@elsewhere.example' },
      { username: 'a\u0007b' },
      { email: 'uma@elsewhere.example' },
      { password: 'password' },
    ]) {
      const refused = await agent.submit(page, 'sign-up', { ...who, ...wrong })
      expect(refused.status).toBe(400)
      expectSaid(refused, KNOWN)
    }
    expectSaid(await agent.submit(page, 'sign-up', who), KNOWN)
    let last = page
    for (let asked = 0; last.status !== 429; asked++) {
      if (asked > 20) throw new Error('nobody has to wait')
      last = await agent.submit(page, 'sign-up', who)
    }
    expectSaid(last, KNOWN)
  })

  test('the link, here and in another browser, with a name that is taken and after it', async () => {
    const { agent, mail } = await ask('ar-XB', 'ute')
    expect(unsaidIn(mail.html!, [linkIn(mail), server.url, ...KNOWN, 'Latchkey', '127.0.0.1'])).toEqual([])
    const other = createUserAgent(server.url, PSEUDO_HEADERS)
    const page = await other.get(linkIn(mail))
    expectSaid(page, KNOWN)
    expectSaid(await other.submit(page, 'confirm', { password: 'password' }), KNOWN)
    await oauth.users.create({ username: 'ute' })
    expectSaid(await agent.get(linkIn(mail)), KNOWN)
    const chosen = { username: 'ute-too', password: PASSWORD }
    expectSaid(await other.submit(await other.get(linkIn(mail)), 'confirm', chosen), KNOWN)
    expectSaid(await agent.get(linkIn(mail)), KNOWN)
    expectSaid(await agent.get(`${server.url}/sign-up/confirm?done=yes`))
    expectSaid(await agent.get(`${server.url}/sign-up/confirm?token=none`))
  })

  test('an address that has an account by now', async () => {
    const { agent, mail } = await ask('ar-XB', 'una')
    const page = await agent.get(linkIn(mail))
    await oauth.users.create({ username: 'quick', email: 'una@example.com', email_verified: true })
    const refused = await agent.submit(page, 'confirm')
    expect(refused.status).toBe(410)
    expectSaid(refused)
  })

  test.each([
    ['de-AT', 'Bestätigen Sie Ihre E‑Mail-Adresse', 'Sie haben schon ein Konto'],
    ['es', 'Confirme su dirección de correo', 'Ya tiene una cuenta'],
    ['fr', 'Confirm your email address', 'You have an account already'],
  ])('its mails are in the language of the page: %s', async (accepts, subject, existing) => {
    const tag = accepts.slice(0, 2)
    const { page, mail } = await ask(accepts, `new-${tag}`)
    expect(mail.subject).toBe(subject)
    const known = await ask(accepts, `other-${tag}`, ALICE.email)
    expect(known.mail.subject).toBe(existing)
    // Nothing else tells them apart.
    expect([known.page.url, known.page.body]).toEqual([page.url, page.body])
  })

  test('who has an account and has chosen a language is written to in that one', async () => {
    await oauth.users.create({
      username: 'sofia',
      email: 'sofia@example.com',
      email_verified: true,
      locale: 'es-MX',
    })
    const { mail } = await ask('de', 'soraya', 'sofia@example.com')
    expect(mail.subject).toBe('Ya tiene una cuenta')
  })

  test('a mail that waits since an earlier version, which knew no languages, is sent all the same', async () => {
    const { username, email } = newcomer('early')
    const asked = { username, email, passwordHash: 'a hash', browser: 'a browser', back: '' }
    await oauth.enqueue('sign-up', asked)
    expect((await mailbox.next(email)).subject).toBe('Confirm your email address')
  })
})

describe.runIf(isThere('latchkey-invitation'))('an invitation', () => {
  const PART = '<section class="part" aria-labelledby="invitation"'
  const adminOf = async (headers: Record<string, string>) => signedIn(server, ROOT, headers)
  const openUser = async (admin: UserAgent, id: string): Promise<Page> =>
    admin.get(`${server.url}/admin/user?id=${id}`)

  test('is sent, sent once more and withdrawn on the page of a user', async () => {
    const { id } = await oauth.users.create({ username: 'guest', email: 'guest@example.com' })
    const admin = await adminOf(PSEUDO_HEADERS)
    const page = await openUser(admin, id)
    expectSaid(page, ['guest@example.com'], PART)
    expectSaid(await admin.submit(page, 'send-invitation'), ['guest@example.com'], PART)
    const mail = await mailbox.next('guest@example.com')
    expect(unsaidIn(mail.html!, [linkIn(mail), server.url, 'guest', 'Latchkey', '127.0.0.1'])).toEqual([])
    const invited = await openUser(admin, id)
    expectSaid(invited, ['guest@example.com'], PART)
    expectSaid(await admin.submit(invited, 'withdraw-invitation'), ['guest@example.com'], PART)
    const spent = await createUserAgent(server.url, PSEUDO_HEADERS).get(linkIn(mail))
    expect(spent.status).toBe(410)
    expectSaid(spent)
    await oauth.users.setPassword({ id }, PASSWORD)
    const refused = await admin.submit(invited, 'send-invitation')
    expect(refused.status).toBe(409)
    expectSaid(refused)
  })

  test('is refused in the form for a new user', async () => {
    const admin = await adminOf(PSEUDO_HEADERS)
    const page = await admin.get(`${server.url}/admin/users/new`)
    expect(page.body).toMatch(/id="invite"/)
    for (const email of ['nowhere', ALICE.email]) {
      const refused = await admin.submit(page, 'user', { username: 'nobody', email, way: 'invite' })
      const [, said = ''] = /<p class="problem" id="email-error">([^<]*)</.exec(refused.body) ?? []
      expect([refused.status, said === '', unsaidIn(said, [])]).toEqual([400, false, []])
    }
  })

  test.each([
    ['of the invited, who have chosen one', 'es', 'de', 'Su cuenta en'],
    ['of the administrator, for who has not', undefined, 'de', 'Ihr Konto bei'],
  ])('is written in the language %s', async (_whose, locale, accepts, subject) => {
    const username = `guest-${locale ?? accepts}`
    const email = `${username}@example.com`
    const { id } = await oauth.users.create({ username, email, ...(locale === undefined ? {} : { locale }) })
    const admin = await adminOf({ 'accept-language': accepts })
    // What an app asked for in this browser is not what the administration is read in.
    admin.cookies.set('latchkey-ui-locales', 'en')
    await admin.submit(await openUser(admin, id), 'send-invitation')
    expect((await mailbox.next(email)).subject).toBe(`${subject} ${new URL(server.url).host}`)
  })

  test('that waits since an earlier version is sent all the same', async () => {
    const { id: user } = await oauth.users.create({ username: 'early', email: 'early-guest@example.com' })
    await oauth.enqueue('invitation', { user })
    expect((await mailbox.next('early-guest@example.com')).subject).toMatch(/^Your account at /)
  })
})
