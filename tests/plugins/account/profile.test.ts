/** A user's own profile and email address: what is typed is kept, what others say of them is not theirs to change. */
import { beforeEach, describe, expect, test } from 'vitest'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, BOB, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type UserAgent } from '../../support/user-agent.ts'
import { age, eventsOf, open, signedIn } from './owner.ts'
import { isThere } from '../../support/left-out.ts'

const server = await startServer({}, { seed: SEED })
const { users } = server.server.oauth
const mailbox = openMailbox(server)
/** With these gone no mail can be sent. */
const LEFT_OUT = 'latchkey-mail,latchkey-notices,latchkey-forgot-password'
let agent: UserAgent

beforeEach(async () => {
  const { username, password: _password, ...claims } = ALICE
  await users.update(username, { ...claims, nickname: null, locale: null, zoneinfo: null, birthdate: null })
  agent = await signedIn(server)
})

async function claimsOf(username = ALICE.username) {
  return (await users.find(username))!.claims
}

async function save(fields: Record<string, string>) {
  return agent.submit(await open(server, agent, '/profile'), 'profile', fields)
}

describe('the profile', () => {
  test('shows what is known, and keeps it when it is saved as it is', async () => {
    const before = await users.find('alice')
    const page = await open(server, agent, '/profile')
    expect(findForm(page, 'profile')!.fields).toMatchObject({
      name: ALICE.name,
      phone_number: ALICE.phone_number,
      locality: 'Springfield',
      nickname: '',
    })
    expect(page.body).toContain(ALICE.email)
    const saved = await agent.submit(page, 'profile')
    expect([saved.status, saved.url]).toEqual([200, `${server.url}/account/profile?saved=yes`])
    expect(await users.find('alice')).toEqual(before)
  })

  test("is changed by the names of the standard, and noted as the user's own doing", async () => {
    const fields = { name: ' Alice E. ', nickname: 'Al', locale: 'en-GB', zoneinfo: 'Europe/Berlin', birthdate: '1990-12-31', website: 'https://alice.example/' } // prettier-ignore
    expect((await save({ ...fields, given_name: '' })).status).toBe(200)
    const claims = await claimsOf()
    expect(claims).toMatchObject({ ...fields, name: 'Alice E.' })
    expect(claims).not.toHaveProperty('given_name')
    const [event] = await eventsOf(server, 'user.changed')
    const { id } = (await users.find('alice'))!
    expect(event).toMatchObject({
      user: id,
      actor: { kind: 'user', id },
      details: { changes: { name: [ALICE.name, 'Alice E.'] } },
    })
  })

  test('of an address keeps nothing that says what it was, and its lines', async () => {
    await users.update('alice', { address: { ...ALICE.address, formatted: '1 Main Street, Springfield' } })
    await save({ street_address: '2 Side Street\r\nBack yard' })
    expect((await claimsOf())['address']).toEqual({ ...ALICE.address, street_address: '2 Side Street\nBack yard' })
    await save({ street_address: '', locality: '', country: '' })
    expect(await claimsOf()).not.toHaveProperty('address')
  }) // prettier-ignore

  test('with another phone number says that nobody verified it', async () => {
    await users.update('alice', { phone_number_verified: true })
    await save({ nickname: 'Al' })
    expect(await claimsOf()).toMatchObject({ phone_number_verified: true })
    await save({ phone_number: '+1 555 0199' })
    expect(await claimsOf()).toMatchObject({ phone_number: '+1 555 0199', phone_number_verified: false })
    await save({ phone_number: '' })
    expect(await claimsOf()).not.toHaveProperty('phone_number_verified')
  })

  test("changes nothing that is not the user's to say, whatever is sent", async () => {
    const before = await users.find('alice')
    const sent = { roles: 'admin', username: 'root', sub: 'x', email: 'x@evil.example', email_verified: 'true', phone_number_verified: 'true', preferred_username: 'root', password: 'x', updated_at: '1' } // prettier-ignore
    expect((await save({ ...sent, nickname: 'Al' })).status).toBe(200)
    const after = await users.find('alice')
    expect({ ...after, updatedAt: 0 }).toEqual({
      ...before,
      updatedAt: 0,
      claims: { ...before!.claims, nickname: 'Al' },
    })
  })

  test.each([
    ['website', 'javascript:alert(1)', 'web address'],
    ['picture', 'picture.png', 'web address'],
    ['profile', 'ftp://a.example/', 'web address'],
    ['birthdate', '1990-02-30', 'date'],
    ['birthdate', '31.12.1990', 'date'],
    ['locale', 'en_GB!', 'language'],
    ['zoneinfo', 'Middle/Earth', 'time zone'],
    ['phone_number', 'call me', 'phone number'],
    ['name', 'x'.repeat(257), 'characters'],
    ['street_address', 'x'.repeat(2049), 'characters'],
  ])('refuses a %s like %j at its field, and keeps what was typed', async (name, value, reason) => {
    const before = await users.find('alice')
    const page = await save({ [name]: value, nickname: 'typed' })
    expect([page.status, findForm(page, 'profile')!.fields]).toMatchObject([400, { [name]: value, nickname: 'typed' }])
    const problem = new RegExp(`id="${name}-error">([^<]*)<`).exec(page.body)?.[1]
    expect(problem).toContain(reason)
    expect(page.body).toMatch(/<title>Error: /)
    expect(await users.find('alice')).toEqual(before)
  }) // prettier-ignore

  test('keeps what was entered elsewhere, in whatever form, until it is changed', async () => {
    await users.update('alice', { locale: 'en_GB', zoneinfo: 'somewhere' })
    expect((await save({ nickname: 'Al' })).status).toBe(200)
    expect(await claimsOf()).toMatchObject({ locale: 'en_GB', zoneinfo: 'somewhere', nickname: 'Al' })
  })

  test('that was changed meanwhile is shown again before it is overwritten', async () => {
    const page = await open(server, agent, '/profile')
    await users.update('alice', { nickname: 'by somebody else' })
    const refused = await agent.submit(page, 'profile', { nickname: 'mine' })
    expect([refused.status, refused.body]).toEqual([400, expect.stringContaining('changed meanwhile')])
    expect(await claimsOf()).toMatchObject({ nickname: 'by somebody else' })
    expect((await agent.submit(refused, 'profile')).status).toBe(200)
    expect(await claimsOf()).toMatchObject({ nickname: 'mine' })
  })
})

describe('the email address', () => {
  const change = async (email: string) =>
    agent.submit(await open(server, agent, '/email'), 'change-email', { email })

  test('has to be one, where there was none', async () => {
    await users.update('alice', { email: null, email_verified: null })
    const page = await open(server, agent, '/email')
    expect(page.body).toMatch(/<input id="email"[^>]* required/)
    const refused = await agent.submit(page, 'change-email', { email: ' ' })
    expect([refused.status, refused.body]).toEqual([
      400,
      expect.stringContaining('This must be an email address, such as alice@example.com.'),
    ])
  })

  test('is taken away once by a form that comes twice, as by a double click', async () => {
    await users.update('alice', { email: ALICE.email, email_verified: true })
    const changes = async () => (await eventsOf(server, 'user.changed')).length
    const before = await changes()
    const page = await open(server, agent, '/email')
    for (const again of [await agent.submit(page, 'change-email', { email: '' }), await agent.submit(page, 'change-email', { email: '' })])
      expect([again.status, again.url]).toEqual([200, `${server.url}/account/email?saved=yes`])
    expect(await claimsOf()).not.toHaveProperty('email')
    expect(await changes()).toBe(before + 1)
  }) // prettier-ignore

  test.runIf(isThere('latchkey-notices'))(
    'is changed once the link was followed that came to it, and hears of it where it was before',
    async () => {
      const page = await change('alice@new.example')
      expect([page.url, page.body]).toEqual([
        expect.stringContaining(`${server.url}/account/email?sent=`),
        expect.stringContaining('A mail with a link is on its way to <bdi>alice@new.example</bdi>.'),
      ])
      const madeUp = await open(server, agent, '/email?sent=alice@evil.example')
      expect([madeUp.status, madeUp.body]).toEqual([200, expect.not.stringContaining('evil.example')])
      // Neither does what another session was told.
      const elsewhere = await (await signedIn(server)).get(page.url)
      expect([elsewhere.status, elsewhere.body]).toEqual([200, expect.not.stringContaining('new.example')])
      expect(await claimsOf()).toMatchObject({ email: ALICE.email, email_verified: true })
      const { subject, text } = await mailbox.next('alice@new.example', 'Confirm your email address')
      expect([subject, text]).toEqual(['Confirm your email address', expect.not.stringContaining('alice')])
      const link = linkIn({ text })
      // Also with another browser; and opening it does nothing.
      const other = createUserAgent(server.url)
      for (let time = 0; time < 2; time++) expect((await other.get(link)).status).toBe(200)
      expect(await claimsOf()).toMatchObject({ email: ALICE.email })
      const confirm = await other.get(link)
      expect(confirm.body).toContain('<button class="primary" id="confirm-link"')
      const both = await Promise.all([1, 2].map(async () => other.clone().submit(confirm, 'confirm')))
      // The same form twice, which does it once; then the link is good no more.
      expect(both.map(({ status }) => status)).toEqual([200, 200])
      expect((await createUserAgent(server.url).get(link)).status).toBe(410)
      expect(await claimsOf()).toMatchObject({ email: 'alice@new.example', email_verified: true })
      expect((await eventsOf(server, 'user.changed'))[0]).toMatchObject({
        details: { changes: { email: [ALICE.email, 'alice@new.example'] } },
      })
      // There may be one of the test before, by which they had it again.
      await mailbox.next(ALICE.email, 'Your email address was changed', 'until now')
      expect(other.cookies.has('latchkey-session')).toBe(false)
    },
  )

  test('that is somebody else’s is mailed of to them, and the page says what it says to all', async () => {
    await users.update('bob', { email_verified: true })
    const page = await change(BOB.email.toUpperCase())
    expect(page.url).toContain(`${server.url}/account/email?sent=`)
    const mail = await mailbox.next(BOB.email.toUpperCase())
    expect(mail.subject).toBe('Somebody gave your email address as theirs')
    expect(mail.text).not.toContain('/confirm-email')
    // Who confirms it first has it.
    await change('contested@new.example')
    const link = linkIn(await mailbox.next('contested@new.example', 'Confirm your email address'))
    await users.update('bob', { email: 'contested@new.example', email_verified: true })
    const late = createUserAgent(server.url)
    const refused = await late.submit(await late.get(link), 'confirm')
    expect([refused.status, refused.body]).toEqual([410, expect.stringContaining('another account’s')])
    expect(await claimsOf()).toMatchObject({ email: ALICE.email, email_verified: true })
    await users.update('bob', { email: BOB.email, email_verified: false })
  })

  test('is confirmed by the last link alone, within a day, and not after a new password', async () => {
    const [one, two, three] = ['one@new.example', 'two@new.example', 'three@new.example']
    await change(one)
    await change(two)
    const links = [linkIn(await mailbox.next(one)), linkIn(await mailbox.next(two))]
    const statuses = async () =>
      Promise.all(links.map(async (link) => (await createUserAgent(server.url).get(link)).status))
    expect(await statuses()).toEqual([410, 200])
    await server.database.query(
      `update artifacts set expires_at = now() where kind = 'email-link' and expires_at < now() + interval '25 hours'`,
    )
    expect(await statuses()).toEqual([410, 410])
    await change(three)
    links.push(linkIn(await mailbox.next(three)))
    expect(await statuses()).toEqual([410, 410, 200])
    await users.setPassword('alice', 'another password of alice')
    expect(await statuses()).toEqual([410, 410, 410])
    await users.setPassword('alice', ALICE.password)
    agent = await signedIn(server)
    expect(await claimsOf()).toMatchObject({ email: ALICE.email, email_verified: true })
  })

  test('that nobody confirmed is confirmed by request', async () => {
    await users.update('alice', { email_verified: false })
    const page = await open(server, agent, '/email')
    expect(page.body).toContain('>Send the link</button>')
    expect(page.body).toContain('<nav class="back" aria-label="Back"><a href="/account/profile">Profile</a></nav>')
    await agent.submit(page, 'change-email')
    const other = createUserAgent(server.url)
    await other.submit(await other.get(linkIn(await mailbox.next(ALICE.email, 'Confirm your email address'))), 'confirm')
    expect(await claimsOf()).toMatchObject({ email: ALICE.email, email_verified: true })
  }) // prettier-ignore

  test('is taken as it is where no mail can be sent, and then confirmed by nobody', async () => {
    const mute = await startServer({ WITHOUT: LEFT_OUT }, { seed: SEED })
    const own = await signedIn(mute)
    const page = await own.submit(await open(mute, own, '/email'), 'change-email', {
      email: 'alice@new.example',
    })
    expect([page.url, page.body]).toEqual([
      `${mute.url}/account/email?saved=yes`,
      expect.stringContaining('not confirmed'),
    ])
    expect((await mute.server.oauth.users.find('alice'))!.claims).toMatchObject({
      email: 'alice@new.example',
      email_verified: false,
    })
  })

  test('that is the same stays confirmed; one that is taken away leaves nothing', async () => {
    await change(ALICE.email)
    expect(await claimsOf()).toMatchObject({ email: ALICE.email, email_verified: true })
    await change('')
    expect(await claimsOf()).not.toHaveProperty('email')
    expect(await claimsOf()).not.toHaveProperty('email_verified')
  })

  test.each(['alice', 'a b@c.example', 'a@b@c', `${'x'.repeat(250)}@y.example`, 'a@\u0007b'])(
    'is refused as %j',
    async (email) => {
      const page = await change(email)
      expect([page.status, page.body]).toEqual([400, expect.stringContaining('id="email-error"')])
      expect(await claimsOf()).toMatchObject({ email: ALICE.email, email_verified: true })
    },
  )

  test('asks who signed in more than ten minutes ago to do so once more, and leads back', async () => {
    const former = await open(server, agent, '/email')
    await age(server, 601)
    const asked = await open(server, agent, '/email')
    expect(asked.body).toContain('Confirm it is you')
    expect(findForm(asked, 'login')!.fields).toMatchObject({ username: 'alice' })
    // A form from before is not taken either.
    const late = await agent.submit(former, 'change-email', { email: 'x@evil.example' })
    expect(late.body).toContain('Confirm it is you')
    expect(decodeURIComponent(late.url)).toContain('/account/email?typed=')
    expect(await claimsOf()).toMatchObject({ email: ALICE.email })
    const wrong = await agent.submit(asked, 'login', { password: BOB.password })
    expect([wrong.status, wrong.body]).toEqual([403, expect.stringContaining('Confirm it is you')])
    const back = await agent.submit(wrong, 'login', { password: ALICE.password })
    expect(back.url).toBe(`${server.url}/account/email`)
    const sent = await agent.submit(back, 'change-email', { email: 'alice@new.example' })
    expect(sent.url).toContain(`${server.url}/account/email?sent=`)
  })

  test('of a form that was sent too late, what was typed stands there after the sign-in', async () => {
    const page = await open(server, agent, '/email')
    await age(server, 601)
    const late = await agent.submit(page, 'change-email', { email: 'alice@typed.example' })
    const back = await agent.submit(late, 'login', { password: ALICE.password })
    expect([back.status, back.body]).toEqual([
      200,
      expect.stringContaining('<p class="notice" role="status">Nothing is saved yet'),
    ])
    expect(findForm(back, 'change-email')!.fields['email']).toBe('alice@typed.example')
    const sent = await agent.submit(back, 'change-email')
    expect(sent.url).toContain(`${server.url}/account/email?sent=`)
  })

  test('needs no second sign-in within ten minutes', async () => {
    await age(server, 540)
    expect((await open(server, agent, '/email')).url).toBe(`${server.url}/account/email`)
  })

  test('one address gets so many mails that confirm it, whoever asks: others get theirs', async () => {
    const askers: UserAgent[] = []
    for (const username of ['first-asker', 'second-asker']) {
      await users.create({ username, password: BOB.password })
      askers.push(await signedIn(server, { username, password: BOB.password }))
    }
    const [first, second] = askers as [UserAgent, UserAgent]
    const ask = async (asker: UserAgent, email: string) => asker.submit(await open(server, asker, '/email'), 'change-email', { email })
    for (let times = 0; times < 10; times++) expect((await ask(first, 'victim@new.example')).status).toBe(200)
    const refused = await ask(second, 'Victim@new.example')
    expect([refused.status, refused.body]).toEqual([429, expect.stringContaining('id="email-error"')])
    expect((await ask(second, 'second@new.example')).status).toBe(200)
  }) // prettier-ignore
})
