/**
 * Invitations: an administrator has a link mailed, by which somebody chooses a password and confirms their address.
 * @needs latchkey-invitation
 */
import { expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { endedWhileItWaits } from '../../support/away-mail.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../../support/user-agent.ts'
import { eventsOf, signedIn } from '../account/owner.ts'

const ROOT = { username: 'root', password: 'the long password of root', roles: ['admin'] }
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { oauth } = server.server
const mailbox = openMailbox(server)
const admin = await signedIn(server, ROOT)
const SUBJECT = `Your account at ${new URL(server.url).host}`
const CHOSEN = 'what the guest has chosen'
let count = 0

const guest = () => {
  const username = `guest-${++count}`
  return { username, email: `${username}@example.com` }
}
const invite = async (fields: Record<string, string>): Promise<Page> =>
  admin.submit(await admin.get(`${server.url}/admin/users/new`), 'user', { ...fields, way: 'invite' })
const pageOf = async (username: string): Promise<Page> =>
  admin.get(`${server.url}/admin/user?id=${(await oauth.users.find(username))!.id}`)
const next = async (email: string): Promise<string> => linkIn(await mailbox.next(email, SUBJECT))

test('who is invited chooses a password, has a confirmed address, and signs in by either name', async () => {
  const { username, email } = guest()
  const page = await invite({ username, email, roles: 'staff' })
  expect([page.status, page.body]).toEqual([200, expect.stringContaining('The invitation is on its way.')])
  const mail = await mailbox.next(email, SUBJECT)
  expect(mail.text).toContain(`User name: ${username}`)
  expect(await oauth.users.find(username)).toMatchObject({ roles: ['staff'], claims: { email } })
  expect((await oauth.users.find(username))!.claims['email_verified']).not.toBe(true)
  expect((await pageOf(username)).body).toContain('good until <time')

  const agent = createUserAgent(server.url)
  const form = await agent.get(linkIn(mail))
  expect(form.body).toContain('Choose the password of your new account.')
  for (const password of ['password', 'seven c'])
    expect((await agent.submit(form, 'accept-invitation', { password })).status).toBe(400)
  const done = await agent.submit(form, 'accept-invitation', { password: CHOSEN })
  expect(done.body).toContain('Your password is set')
  expect(done.body).toContain('You can sign in with it now.')
  // They were nowhere, and had no other one.
  expect(form.body + done.body).not.toMatch(/signed out|signs you out|former password/)
  const user = await oauth.users.find(username)
  expect(user!.claims).toMatchObject({ email, email_verified: true })
  expect(await oauth.users.authenticate(email, CHOSEN)).toMatchObject({ username })
  expect((await agent.get(linkIn(mail))).status).toBe(410)
  expect((await pageOf(username)).body).not.toContain('send-invitation')
  const root = (await oauth.users.find('root'))!.id
  await expect
    .poll(async () => (await eventsOf(server, 'user.invited')).find((event) => event.user === user!.id))
    .toMatchObject({ actor: { kind: 'user', id: root } })
})

test('an address is needed, and not another’s; nobody is registered before', async () => {
  const { username, email } = guest()
  await oauth.users.create({ username: 'holder', email, email_verified: true })
  for (const [fields, words] of [
    [{ username }, 'the invitation goes there'],
    [{ username, email: 'nowhere' }, 'the invitation goes there'],
    [{ username, email: email.toUpperCase() }, 'the confirmed address of another user'],
    [{ username, email: 'a@b.example', password: 'a password after all' }, 'they choose their own'],
  ] as const) {
    const page = await invite(fields)
    expect([page.status, page.body]).toEqual([400, expect.stringContaining(words)])
  }
  expect(await oauth.users.find(username)).toBeNull()
})

test.each<[string, (who: { username: string; email: string }) => Promise<unknown>]>([
  ['is withdrawn', async ({ username }) => admin.submit(await pageOf(username), 'withdraw-invitation')],
  ['is of an address that was changed', async ({ username }) => oauth.users.update(username, { email: 'other@example.com' })],
  ['is of somebody who was disabled', async ({ username }) => oauth.users.disable(username)],
  ['is of somebody who was deleted', async ({ username }) => oauth.users.delete(username)],
  ['comes after a password', async ({ username }) => oauth.users.setPassword(username, 'a password from elsewhere')],
])('one that %s is good for nothing', async (_why, work) => {
  const who = guest()
  await invite(who)
  const agent = createUserAgent(server.url)
  const form = await agent.get(await next(who.email))
  expect(findForm(form, 'accept-invitation')).toBeDefined()
  await work(who)
  expect((await agent.submit(form, 'accept-invitation', { password: CHOSEN })).status).toBe(410)
  expect(await oauth.users.authenticate(who.username, CHOSEN)).toBeNull()
}) // prettier-ignore

test('who has got a password since the page was shown is sent none, and the page says why', async () => {
  const who = guest()
  await oauth.users.create(who)
  const page = await pageOf(who.username)
  await oauth.users.setPassword(who.username, 'a password from elsewhere')
  const answer = await admin.submit(page, 'send-invitation')
  expect([answer.status, answer.body]).toEqual([409, expect.stringContaining('No invitation was sent')])
  expect(await mailbox.all(who.email)).toEqual([])
})

test('who gets a password while they are judged is sent none', async () => {
  const who = guest()
  await oauth.users.create(who)
  const { canSignInByPassword } = oauth.users
  const page = await pageOf(who.username)
  const spy = vi.spyOn(oauth.users, 'canSignInByPassword').mockImplementationOnce(async (username) => {
    const before = await canSignInByPassword(username)
    await oauth.users.setPassword(username, 'a password from elsewhere')
    return before
  })
  expect((await admin.submit(page, 'send-invitation')).status).toBe(409)
  spy.mockRestore()
  expect(await mailbox.all(who.email)).toEqual([])
})

test.each<[string, (who: { username: string; email: string }) => Promise<unknown>]>([
  ['is withdrawn', async ({ username }) => admin.submit(await pageOf(username), 'withdraw-invitation')],
  ['is of somebody who gets a password', async ({ username }) => oauth.users.setPassword(username, 'a password from elsewhere')],
  ['is of somebody who is disabled for a while', async ({ username }) => { await oauth.users.disable(username); await oauth.users.enable(username) }],
  ['is of somebody who is signed out everywhere', async ({ username }) => oauth.users.revokeTokens(username)],
])('one that %s while its mail waits is not sent', async (_why, work) => {
  const who = guest()
  await endedWhileItWaits(server, 'invitation', { cause: async () => invite(who), ending: async () => work(who) })
}) // prettier-ignore

test('one is withdrawn as soon as it was asked for, and either is told of once', async () => {
  const who = guest()
  const { id } = await oauth.users.create(who)
  const told = async () =>
    server.database.query(`select type from audit_events where user_id = '${id}' order by at, id`)
  const before = (await told()).length
  const send = await admin.submit(await pageOf(who.username), 'send-invitation')
  const page = await admin.submit(send, 'withdraw-invitation')
  expect(page.body).toContain('The invitation is withdrawn')
  // With what they are of, and not some time after it.
  expect((await told()).slice(before)).toMatchObject([
    { type: 'user.invited' },
    { type: 'user.invitation_withdrawn' },
  ])
})

test('whoever is signed out everywhere is invited anew: that theirs has ended is told with that', async () => {
  const who = guest()
  await invite(who)
  const link = await next(who.email)
  const { id } = (await oauth.users.find(who.username))!
  const page = await admin.submit(await pageOf(who.username), 'revoke-tokens')
  expect(page.status).toBe(200)
  expect((await createUserAgent(server.url).get(link)).status).toBe(410)
  expect(findForm(page, 'withdraw-invitation')).toBeUndefined()
  const told = await Promise.all(
    ['user.tokens_revoked', 'user.invitation_withdrawn'].map(async (type) => eventsOf(server, type)),
  )
  const [revoked, withdrawn] = told.map((events) => events.filter(({ user }) => user === id))
  const { actor, requestId } = revoked![0]!
  expect(withdrawn).toMatchObject([{ actor, requestId, details: {} }])
  await admin.submit(page, 'send-invitation')
  const form = await createUserAgent(server.url).get(await next(who.email))
  expect(findForm(form, 'accept-invitation')).toBeDefined()
})

test('an invitation that was good no more is not told of when all ends', async () => {
  const who = guest()
  await invite(who)
  await next(who.email)
  const { id } = (await oauth.users.find(who.username))!
  await kernelOf(server.server).passwordResets.make(id, '')
  await oauth.users.update(who.username, { email: `other-${who.email}` })
  await oauth.users.revokeTokens({ id })
  const withdrawn = await eventsOf(server, 'user.invitation_withdrawn')
  expect(withdrawn.filter(({ user }) => user === id)).toEqual([])
})

test('an address that somebody else confirmed meanwhile stays theirs', async () => {
  const who = guest()
  await invite(who)
  const agent = createUserAgent(server.url)
  const form = await agent.get(await next(who.email))
  await oauth.users.create({ username: `other-${count}`, email: who.email, email_verified: true })
  expect((await agent.submit(form, 'accept-invitation', { password: CHOSEN })).status).toBe(410)
  expect((await oauth.users.findByEmail(who.email))!.username).toBe(`other-${count}`)
  // Nobody is asked for a password that would come to nothing, nor told that the link is good.
  const again = await agent.get(form.url)
  expect([again.status, again.body]).toEqual([
    410,
    expect.stringContaining('another account has its address'),
  ])
  expect((await pageOf(who.username)).body).not.toContain('id="withdraw-invitation"')
})

test('one is sent again from the page of the user, and used once by two browsers at the same moment', async () => {
  const who = guest()
  await oauth.users.create(who)
  const sent = await admin.submit(await pageOf(who.username), 'send-invitation')
  expect(sent.body).toContain('The invitation is on its way.')
  const link = await next(who.email)
  const agents = [createUserAgent(server.url), createUserAgent(server.url)]
  const forms = await Promise.all(agents.map(async (agent) => agent.get(link)))
  const ends = await Promise.all(
    agents.map(async (agent, at) =>
      agent.submit(forms[at]!, 'accept-invitation', { password: `${CHOSEN} ${at}` }),
    ),
  )
  expect(ends.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 410])
})

test('whoever sends the form again, as its answer was lost, has them invited where they were not, and once', async () => {
  const { action, fields } = findForm(await admin.get(`${server.url}/admin/users/new`), 'user')!
  const cookie = [...admin.cookies].map((pair) => pair.join('=')).join('; ')
  const who = guest()
  const send = async () => {
    const form = { ...fields, ...who, way: 'invite' }
    const { status, headers } = await server.post(action, form, { cookie, origin: server.url })
    return [status, headers.get('location')]
  }
  // Cut off behind the registration.
  const { invitations } = kernelOf(server.server)
  const cut = vi.spyOn(invitations, 'invite').mockRejectedValueOnce(new Error('cut off'))
  expect((await send())[0]).toBe(500)
  const sent = [303, expect.stringContaining('&invitation=sent')]
  expect([await send(), await send()]).toEqual([sent, sent])
  expect(cut).toHaveBeenCalledTimes(2)
  cut.mockRestore()
  const agent = createUserAgent(server.url)
  const form = await agent.get(await next(who.email))
  expect((await agent.submit(form, 'accept-invitation', { password: CHOSEN })).status).toBe(200)
})

test('left out, or without mails, nothing of it is there', async () => {
  const bare = await startServer({ WITHOUT: 'latchkey-invitation' }, { seed: { ...SEED, users: [ROOT] } })
  const mailless = await startServer(
    { WITHOUT: 'latchkey-mail,latchkey-notices,latchkey-forgot-password' },
    { seed: { ...SEED, users: [ROOT] } },
  )
  for (const one of [bare, mailless]) {
    const agent = await signedIn(one, ROOT)
    expect((await agent.get(`${one.url}/admin/users/new`)).body).not.toContain('id="invite"')
    expect((await one.get('/invitation')).status).toBe(404)
  }
})
