/** The administration of users and the audit log say all of their words by messages, in each of their states. */
import { beforeAll, describe, expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { setUpFactor } from '../../support/authenticator.ts'
import { startServer } from '../../support/server.ts'
import { ALICE, getTokens, SEED } from '../../support/sign-in.ts'
import type { Page, UserAgent } from '../../support/user-agent.ts'
import { signedIn as signedInAs } from '../account/owner.ts'
import { ROOT } from '../admin/administrator.ts'
import { expectSaid, PSEUDO_HEADERS } from './shown.ts'
import { isThere } from '../../support/left-out.ts'

const NAMES = Array.from({ length: 120 }, (_, at) => `many-${String(at).padStart(3, '0')}`)
const server = await startServer({}, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
const { users, sessions, clients, audit } = server.server.oauth
const { audit: trail, accountDeletions } = kernelOf(server.server)
const [alice, root] = [(await users.find('alice'))!.id, (await users.find('root'))!.id]
let agent: UserAgent

const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0' }
const KNOWN = [
  'alice-leaves',
  'Alice Example',
  '1 Main Street',
  'Firefox',
  'Linux',
  'alice',
  'root',
  'short-lived',
  'web',
  'admin',
]
const LONG = 'x'.repeat(4000)
function expectUserSaid(page: Page): void {
  expectSaid(page, KNOWN)
}

const open = async (path: string): Promise<Page> => agent.get(`${server.url}/admin${path}`)
const openUser = async (id: string, query = ''): Promise<Page> => open(`/user?id=${id}${query}`)

beforeAll(async () => {
  await clients.create({ client_id: 'short-lived', client_name: 'Short', scope: ['a'] })
  await getTokens(server, { scope: 'openid offline_access read_books' })
  await server.database.query(
    `insert into authorizations (id, client_id, subject, scopes, resources, parameters)
     select gen_random_uuid(), 'short-lived', $1, '{openid}', '{}', '{}' from generate_series(1, 25)`,
    [alice],
  )
  await clients.delete('short-lived')
  if (isThere('latchkey-second-factor')) await setUpFactor(await signedInAs(server), server.url)
  await sessions.endAll(alice)
  for (const username of NAMES) await users.create({ username })
  await users.disable('many-001')
  agent = await signedInAs(server, ROOT, { ...FIREFOX, ...PSEUDO_HEADERS })
})

describe('users', () => {
  test.each([
    ['the first page', ''],
    ['a page further on', '?after=many-001'],
    ['behind the last', '?after=zzz'],
    ['found', '?search=many'],
    ['nobody found', '?search=nobody'],
    ['no more found', '?search=many&at=zzz&after=ffffffff-ffff-ffff-ffff-ffffffffffff'],
  ])('%s', async (_state, query) => expectSaid(await open(`/users${query}`), NAMES))

  test('the form for a new one, and what is wrong with it', async () => {
    const page = await open('/users/new')
    expectSaid(page)
    for (const fields of [
      { username: '' },
      { username: 'alice' },
      { username: 'alice', roles: 'y'.repeat(65) },
    ])
      expectSaid(await agent.submit(page, 'user', { ...fields, password: 'a good password' }))
    expectSaid(await agent.submit(page, 'user', { username: 'many-short', password: 'Password1' }))
  })

  test('with a link, that is shown once', async () => {
    const page = await agent.submit(await open('/users/new'), 'user', { username: 'many-new' })
    expectSaid(page, ['many-new', server.url])
    expectSaid(await agent.get(page.url))
  })
})

describe('a user', () => {
  test.runIf(isThere('latchkey-second-factor'))('with sessions, authorizations and a second factor', async () => {
    await signedInAs(server, ALICE, FIREFOX)
    const page = await openUser(alice)
    for (const id of ['reset-factors', 'end-session-0', 'revoke-0', 'disable', 'make-password-link'])
      expect(page.body).toContain(`id="${id}"`)
    expectUserSaid(page)
    expectUserSaid(await agent.get(new URL(/rel="next" href="([^"]*)"/.exec(page.body)![1]!.replaceAll('&amp;', '&'), page.url)))
  }) // prettier-ignore

  test.each([
    'again',
    'registered',
    'saved',
    'disabled',
    'enabled',
    'session',
    'factors',
    'sessions',
    'revoked',
  ])('what was done: %s', async (done) => {
    const page = await openUser(alice, `&done=${done}`)
    expect(page.body).toContain('role="status"')
    expectUserSaid(page)
  })

  test('without anything, and disabled', async () => {
    expectSaid(await openUser((await users.find('many-001'))!.id), NAMES)
  })

  test('oneself: the role that is lost, and the last administrator', async () => {
    const page = await openUser(root)
    expectUserSaid(page)
    const asked = await agent.submit(page, 'user', { roles: '' })
    expectUserSaid(asked)
    expectUserSaid(await agent.submit(asked, 'user', { roles: '' }))
    expectUserSaid(await agent.submit(page, 'disable'))
    expectUserSaid(await agent.submit(page, 'delete-user', { confirm_username: 'somebody' }))
  })

  test('what is wrong with a change', async () => {
    const page = await openUser(alice)
    for (const fields of [{ email: 'nobody' }, { website: 'nowhere' }, { roles: 'y'.repeat(65) }, { nickname: LONG, given_name: LONG, family_name: LONG }, { version: 'old', nickname: 'nobody' }])
      expectUserSaid(await agent.submit(page, 'user', fields))
  }) // prettier-ignore

  test.runIf(isThere('latchkey-own-data'))('who has asked for the deletion', async () => {
    const { id } = await users.create({ username: 'alice-leaves' })
    await accountDeletions.request(id, 3600)
    const page = await openUser(id)
    expect(page.body).toContain('id="will-be-deleted"')
    expectUserSaid(page)
  })
})

describe('the audit log', () => {
  test('the first page, by everybody and about everything', async () => {
    await trail.transaction(async (_query, note) => {
      note({ type: 'scope.changed', details: { scope: 'a', changes: { description: ['x', 'y'] } } })
      note({ type: 'user.deletion_cancelled', user: alice, details: { reason: 'last administrator' } })
      note({ type: 'made.up' as 'user.enabled', user: alice, details: {} })
    })
    await server.server.oauth.authorizations.listByUser(alice).then(async ({ authorizations: [one] }) =>
      server.server.oauth.authorizations.revoke(one!.id),
    )
    await server.database.query(`update audit_events set count = 12 where type = 'user.disabled'`)
    await server.database.query(`update audit_events set actor_kind = 'command', actor_id = null where type = 'scope.changed'`)
    await server.database.query(`update audit_events set actor_kind = 'command', actor_id = 'op' where type = 'user.registered'`)
    expectSaid(await open('/audit'))
    for (const type of ['user.disabled', 'scope.changed', 'client.registered', 'user.signed_in', 'key.created'])
      expectSaid(await open(`/audit?type=${type}`))
  }) // prettier-ignore

  test.each([
    ['nothing found', '?client_id=nobody'],
    ['what is no day', '?from=yesterday&to=tomorrow'],
    ['nobody of this name', '?user=nobody'],
    ['a type that nobody has', '?type=made.up'],
    ['a page further on', `?before=${'f'.repeat(8)}-ffff-7fff-bfff-${'f'.repeat(12)}`],
  ])('%s', async (_state, query) => expectSaid(await open(`/audit${query}`)))

  test('a search that has looked at enough', async () => {
    await server.database.query(`insert into audit_events (id, at, type, actor_kind, client_id, details)
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
        now(), 'token.issued', 'server', 'busy', '{}' from generate_series(1, 12000) n`)
    await trail.transaction(async (_query, note) =>
      note({ type: 'consent.denied', user: alice, client: 'busy', details: {} }),
    )
    const page = await open('/audit?client_id=busy&type=consent.denied')
    expect(page.body).toContain('id="searched-to"')
    expectSaid(page)
    expect((await audit.list({ type: 'consent.denied' })).events).toHaveLength(1)
  })
})
