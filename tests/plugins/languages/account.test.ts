/** One's own pages say all of their words by messages, in each of their states. */
import { describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { runAs } from '../../../src/services/audit/origin.ts'
import type { EventType } from '../../../src/events.ts'
import { setUpFactor } from '../../support/authenticator.ts'
import { linkIn, openMailbox } from '../../support/mailbox.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { ALICE, BOB, getTokens, SEED, WEB } from '../../support/sign-in.ts'
import { createUserAgent, type UserAgent } from '../../support/user-agent.ts'
import { signedIn } from '../account/owner.ts'
import { expectSaid, PSEUDO_HEADERS } from './shown.ts'
import { isThere } from '../../support/left-out.ts'

const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0'
const ROOT = { username: 'root', password: 'a password of an administrator', roles: ['admin'] }
/** As they call themselves. */
const LANGUAGES = ['English', 'Deutsch', 'Español', 'Français']
const STREET = ALICE.address.street_address
const KNOWN = [
  ...LANGUAGES,
  STREET,
  'Firefox',
  'Windows',
  'web',
  'Books',
  'read_books',
  'Read your books',
].toSorted((a, b) => b.length - a.length)
const server = await startServer(
  {},
  {
    seed: {
      ...SEED,
      users: [...SEED.users, ROOT],
      clients: [WEB, { ...WEB, client_id: 'books', client_name: 'Books', require_consent: false }],
      scopes: [{ name: 'read_books', description: 'Read your books' }],
    },
  },
)
const kernel = kernelOf(server.server)
const mailbox = openMailbox(server)

const of = async (person: { username: string; password: string } = ALICE, on: TestServer = server) =>
  signedIn(on, person, { ...PSEUDO_HEADERS, 'user-agent': FIREFOX })
const at = (path: string, on: TestServer = server): string => `${on.url}/account${path}`
/** Submits a form of a page of the account. */
async function submit(agent: UserAgent, path: string, form: string, fields: Record<string, string> = {}) {
  return agent.submit(await agent.get(at(path)), form, fields)
}

test('the overview, with much and with little', async () => {
  const agent = await of()
  await getTokens(server, { scope: 'openid' }, agent)
  expectSaid(await agent.get(at('')), KNOWN)
  await kernel.users.update(BOB.username, { email: null, email_verified: null, name: null })
  expectSaid(await (await of(BOB)).get(at('')), KNOWN)
  await kernel.users.update(BOB.username, { email: BOB.email, email_verified: false })
  expectSaid(await (await of(BOB)).get(at('')), KNOWN)
})

describe('the profile', () => {
  const WRONG = { birthdate: 'x', picture: 'x', locale: '!', zoneinfo: 'x', phone_number: 'x', name: 'x'.repeat(300) } // prettier-ignore

  test('as it is, saved, refused at each field, and changed meanwhile', async () => {
    const agent = await of()
    const page = await agent.get(at('/profile'))
    expectSaid(page, KNOWN)
    const refused = await agent.submit(page, 'profile', WRONG)
    expect(refused.status).toBe(400)
    expectSaid(refused, [...KNOWN, '!'])
    const tooLong = await agent.submit(page, 'profile', { name: 'x'.repeat(300) })
    expect(tooLong.body).toContain('id="name-error"')
    expectSaid(tooLong, KNOWN)
    const saved = await agent.submit(page, 'profile', { nickname: 'Al', gender: '', locale: '' })
    expect(saved.url).toContain('saved=yes')
    expectSaid(saved, KNOWN)
    const late = await agent.submit(page, 'profile', { nickname: 'Ali' })
    expect(late.status).toBe(400)
    expectSaid(late, KNOWN)
  })

  test('with a language that nobody speaks here, and one of an import', async () => {
    for (const locale of ['fr', 'xx_YY', 'no language']) {
      await kernel.users.update(BOB.username, { locale })
      expectSaid(await (await of(BOB)).get(at('/profile')), [...KNOWN, locale])
    }
    await kernel.users.update(BOB.username, { locale: null })
  })
})

test('the email address: confirmed or not, saved, sent, refused, and confirmed by the link', async () => {
  const agent = await of()
  expectSaid(await agent.get(at('/email')), KNOWN)
  expectSaid(await submit(agent, '/email', 'change-email'), KNOWN)
  expectSaid(await submit(agent, '/email', 'change-email', { email: 'nobody' }), KNOWN)
  await kernel.users.update(ALICE.username, { email_verified: false })
  expectSaid(await agent.get(at('/email')), KNOWN)
  expectSaid(await submit(agent, '/email', 'change-email', { email: 'alice@new.example' }), KNOWN)
  const link = linkIn(await mailbox.next('alice@new.example'))
  const stranger = createUserAgent(server.url, PSEUDO_HEADERS)
  const confirm = await stranger.get(link)
  expectSaid(confirm)
  expectSaid(await stranger.submit(confirm, 'confirm'))
  expectSaid(await stranger.get(link))
  await kernel.users.update(ALICE.username, { email: ALICE.email, email_verified: true })
  await submit(agent, '/email', 'change-email', { email: 'contested@new.example' })
  const contested = await stranger.get(linkIn(await mailbox.next('contested@new.example')))
  await kernel.users.update(BOB.username, { email: 'contested@new.example', email_verified: true })
  expectSaid(await stranger.submit(contested, 'confirm'))
  let last = await agent.get(at('/email'))
  for (let tries = 0; last.status !== 429; tries++) {
    if (tries > 30) throw new Error('nobody has to wait')
    last = await submit(agent, '/email', 'change-email', { email: `alice${tries}@new.example` })
  }
  expectSaid(last, KNOWN)
})

test('the email address where no mail can be sent', async () => {
  const mute = await startServer(
    { WITHOUT: 'latchkey-mail,latchkey-notices,latchkey-forgot-password' },
    { seed: SEED },
  )
  const agent = await of(ALICE, mute)
  const page = await agent.get(at('/email', mute))
  expectSaid(page)
  expectSaid(await agent.submit(page, 'change-email', { email: 'alice@new.example' }))
})

test('the password: refused in each way, changed, and removed', async () => {
  const agent = await of()
  const PART = '<section class="part" aria-labelledby="security-password"'
  const change = async (current: string, next: string) =>
    submit(agent, '/password', 'change-password', { current_password: current, new_password: next })
  expectSaid(await agent.get(at('/password')))
  expectSaid(await change('not this one', 'a new password of some length'))
  for (const next of ['short', ALICE.password, 'iloveyou', 'x'.repeat(1025)])
    expectSaid(await change(ALICE.password, next))
  expectSaid(await change(ALICE.password, 'another password of alice'))
  await kernel.users.setPassword(ALICE.username, ALICE.password)
  const again = await of()
  const security = await again.get(at('/security'))
  expectSaid(security, KNOWN, PART)
  expectSaid(await again.get(at('/security?password=last')), KNOWN, PART)
  expectSaid(await again.get(at('/security?password=removed')), KNOWN, PART)
  expectSaid(security, KNOWN, '<section class="part" aria-labelledby="next-step"')
})

test.runIf(isThere('latchkey-second-factor'))(
  'the sessions: this one, others, one that is pending, and what was done',
  async () => {
    await kernel.sessions.endAll((await kernel.users.find(ALICE.username))!.id)
    const agent = await of()
    expectSaid(await agent.get(at('/sessions')), KNOWN)
    await signedIn(server)
    expectSaid(await agent.get(at('/sessions')), KNOWN)
    expectSaid(await submit(agent, '/sessions', 'end-1'), KNOWN)
    await signedIn(server)
    expectSaid(await submit(agent, '/sessions', 'end-others'), KNOWN)
    await setUpFactor(agent, server.url)
    const waiting = createUserAgent(server.url, { 'user-agent': FIREFOX })
    await waiting.submit(await waiting.get(`${server.url}/sign-in`), 'login', {
      username: ALICE.username,
      password: ALICE.password,
    })
    const page = await agent.get(at('/sessions'))
    expect(page.body.match(/class="tag"/g)).toHaveLength(2)
    expectSaid(page, KNOWN)
    await kernel.users.resetFactors((await kernel.users.find(ALICE.username))!.id)
  },
)

test('the apps: none, one and two, a page of many, and what was done', async () => {
  const agent = await of()
  const { id } = (await kernel.users.find(ALICE.username))!
  for (const { clientId } of await kernel.consents.list(id)) await kernel.consents.withdraw(id, clientId)
  expectSaid(await agent.get(at('/apps')), KNOWN)
  await getTokens(
    server,
    { scope: 'openid profile email offline_access read_books', prompt: 'consent' },
    agent,
  )
  const page = await agent.get(at('/apps'))
  expect(page.body).toContain('id="revoke-0"')
  await server.database.query(`insert into clients (client_id, metadata)
    select 'client-' || n::text, '{}' from generate_series(1, 60) n`)
  await server.database.query(`insert into consents (user_id, client_id, scopes, resources)
    select '${id}', client_id, '{read_books}', '{}' from clients where client_id like 'client-%'`)
  const many = await agent.get(at('/apps'))
  const clients = Array.from({ length: 60 }, (_, n) => `client-${60 - n}`)
  expectSaid(many, [...clients, ...KNOWN])
  const next = /rel="next" href="([^"]*)"/.exec(many.body)![1]!.replaceAll('&amp;', '&')
  expectSaid(await agent.get(`${server.url}${next}`), [...clients, ...KNOWN])
  expectSaid(await agent.submit(page, 'revoke-0'), [...clients, ...KNOWN])
  expectSaid(await agent.submit(many, 'revoke-all'), KNOWN)
})

describe('the activity', () => {
  const DETAILS: readonly [EventType, object][] = [
    ['user.passkey_added', { name: 'Books' }],
    ['user.passkey_removed', { name: 'Books' }],
    ['user.passkey_refused', { reason: 'counter' }],
    ['user.passkey_refused', { reason: 'proof' }],
    ['user.upstream_linked', { upstream: 'Books', issuer: '' }],
    ['user.upstream_unlinked', { upstream: 'Books', issuer: '' }],
    ['user.recovery_code_used', { left: 0 }],
    ['user.recovery_code_used', { left: 1 }],
    ['session.ended', { clients: [], sid: 'x' }],
    ['session.ended', { clients: [], except: 'x' }],
    ['session.ended', { clients: [] }],
    ['user.password_link_made', { expires: 1 }],
    ...(
      [
        'user.password_changed', 'user.tokens_revoked', 'user.password_removed', 'user.invited', 'user.invitation_withdrawn', 'user.disabled',
        'user.enabled', 'user.deletion_requested', 'user.deletion_cancelled', 'user.sign_in_pending', 'user.sign_in_abandoned', 'user.factor_added',
        'user.factor_removed', 'user.recovery_codes_made', 'user.sign_in_failed', 'limit.reached', 'user.signed_out',
        'consent.given', 'consent.denied', 'consent.withdrawn', 'authorization.revoked', 'authorization.replayed',
      ] as const
    ).map((type): [EventType, object] => [type, { clients: [] }]),
  ] // prettier-ignore

  test('of all that can happen, by whomever', async () => {
    const agent = await of(BOB)
    const { id } = (await kernel.users.find(BOB.username))!
    const root = (await kernel.users.find(ROOT.username))!
    await runAs({ kind: 'user', id: root.id }, async () => {
      const every = { given_name: 'B', nickname: 'B', 'name#de': 'B', gender: 'B', birthdate: '1990', address: { country: 'B' } } // prettier-ignore
      await kernel.users.update(BOB.username, { ...every, phone_number: '1', phone_number_verified: true })
      await kernel.users.update(BOB.username, { roles: ['reader'], locale: 'en', zoneinfo: 'UTC', email_verified: false }) // prettier-ignore
      for (const [type, details] of DETAILS)
        await kernel.audit.transaction(async (_query, note) =>
          note({ type, user: id, client: 'web', details } as never),
        )
    })
    await kernel.users.update(BOB.username, { locale: null })
    const first = await agent.get(at('/activity'))
    expectSaid(first, KNOWN)
    const next = /rel="next" href="([^"]*)"/.exec(first.body)?.[1]
    if (next !== undefined) expectSaid(await agent.get(`${server.url}${next}`), KNOWN)
  })
})

test.runIf(isThere('latchkey-own-data'))(
  'one’s own data, its deletion, what is said then, and the way back',
  async () => {
    const someone = { username: 'leaving', password: 'a password of who leaves' }
    await kernel.users.create(someone)
    const agent = await of(someone)
    expectSaid(await agent.get(at('/data')), KNOWN)
    const page = await agent.get(at('/data/delete'))
    expectSaid(page)
    expectSaid(await agent.submit(page, 'delete-account'))
    const back = createUserAgent(server.url, PSEUDO_HEADERS)
    const keep = await back.submit(await back.get(`${server.url}/sign-in`), 'login', someone)
    expect(keep.body).toContain('id="keep-account"')
    expectSaid(keep)
    const last = await of(ROOT)
    expectSaid(await last.submit(await last.get(at('/data/delete')), 'delete-account'))
  },
)
