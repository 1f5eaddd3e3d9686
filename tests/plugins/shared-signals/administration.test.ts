/** What administrators see of streams of security events, and do about them. @needs latchkey-shared-signals, latchkey-admin */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createUuid } from '../../../src/protocol/uuid.ts'
import { PROGRAMS, ROOT } from '../../support/admin-api.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startServer } from '../../support/server.ts'
import * as signals from '../../support/shared-signals.ts'
import { ALICE, SEED } from '../../support/sign-in.ts'
import { createUserAgent, findForm } from '../../support/user-agent.ts'
import { until } from '../../support/until.ts'
import { alertOf, doneOn, signedIn } from '../admin/administrator.ts'
import { expectSaid, PSEUDO_HEADERS } from '../languages/shown.ts'

const statuses = new Map<string, number>()
const receiver = await startReceiver(({ url }, response) =>
  response.writeHead(statuses.get(url) ?? 202).end(),
)
const origin = `http://127.0.0.1:${receiver.port}`
const NAMES = ['asking', 'told', 'again', 'held']
const server = await startServer(
  { OIDC_SHARED_SIGNALS: 'on', ADMIN_API: 'on', UNSAFE_OUTBOUND_ORIGINS: origin },
  {
    seed: {
      ...SEED,
      users: [...SEED.users, ROOT],
      clients: [
        ...SEED.clients,
        ...PROGRAMS,
        ...NAMES.map((name) => signals.app(name, name === 'told' ? { client_name: 'The <b>shop</b>' } : {})),
      ],
    },
  },
)
const { query } = server.database
const { oauth } = server.server
const { streams, queue } = server.server.sharedSignals
const agent = await signedIn(server)
const HOME = `${server.url}/admin/shared-signals`
const open = async (search = '') => agent.get(`${HOME}${search}`)

/** What waits for it, as if it happened so many minutes ago. */
async function wait(client: string, minutes: number): Promise<void> {
  const stream = (await streams.find(client))!
  const jti = `${createUuid(Date.now() - minutes * 60_000)}.000.${stream.id}`
  await query(
    `insert into security_events (stream, jti, claims, expires_at) values ($1, $2, '{}', now() + interval '7 days' - make_interval(mins => $3))`,
    [stream.id, jti, minutes],
  )
}

test('the list says whose the streams are, where they go, what waits and why it fails; and no secret', async () => {
  expect((await open()).body).toContain('No app has a stream.')
  const asking = await signals.signalsAs(server, 'asking')
  await signals.streamOf(asking)
  await wait('asking', 3)
  const told = await signals.signalsAs(server, 'told')
  statuses.set('/canary?key=canary', 401)
  const stream_id = await signals.streamOf(
    told,
    { method: signals.PUSH, endpoint_url: `${origin}/canary?key=canary`, authorization_header: 'canary' },
    [signals.SESSION_REVOKED],
  )
  await told('POST', '/verify', { stream_id })
  await until(async () => expect((await open()).body).toContain('It answered with 401: it does not let this server in.'))
  await told('POST', '/status', { stream_id, status: 'paused', reason: 'We <b>move</b>.' })
  const { status, body } = await open()
  expect(status).toBe(200)
  const [, first = '', second = ''] = body.replaceAll('<wbr>', '').split(/<tr>\s*<th scope="row">/)
  for (const shown of ['asking', 'Enabled', 'Collected by the app', 'session-revoked', 'account-purged', 'One event waits.', 'The first since '])
    expect(first).toContain(shown)
  expect(first).not.toContain('The receiver has failed since')
  for (const shown of ['The &lt;b&gt;shop&lt;/b&gt;', 'told', 'Paused', 'We &lt;b&gt;move&lt;/b&gt;.', `<code>${origin}</code>`, 'session-revoked', 'The receiver has failed since '])
    expect(second).toContain(shown)
  expect(second).not.toContain('account-purged')
  expect(body).not.toContain('canary')
}) // prettier-ignore

test('the oldest is told apart from what stands before it, and counted are no more than 500', async () => {
  const stream = (await streams.find('asking'))!
  await query(`insert into security_events (stream, jti, claims) select $1, '00000000.' || n, '{}' from generate_series(1, 600) n`, [stream.id])
  const since = (await queue.oldest([stream.id])).get(stream.id)!
  expect(Math.round((Date.now() - since) / 60_000)).toBe(3)
  expect((await open()).body).toContain('More than 500 events wait.')
  await query(`delete from security_events where stream = $1 and jti < '00000001'`, [stream.id])
}) // prettier-ignore

test('what became of the stream that an app had before is not said of the next one', async () => {
  const again = await signals.signalsAs(server, 'again')
  const delivery = { method: signals.PUSH, endpoint_url: `${origin}/again` }
  const before = await signals.streamOf(again, delivery)
  await kernelOf(server.server).recipients.tell('security-events', 'again', {
    id: 'one', at: Date.now() - 60_000, milliseconds: 1, done: false, text: 'it answered with 500',
  })
  await query(`update outbox_recipients set failures = 9, failing_since = now() - interval '1 minute' where recipient = 'again'`)
  await again('DELETE', `/stream?stream_id=${before}`)
  await signals.streamOf(again, delivery)
  const { body } = await open('?search=ag')
  expect(body).toContain('<code>again</code>')
  expect(body).not.toContain('The receiver has failed since')
  expect(body).not.toContain('<code>told</code>')
}) // prettier-ignore

test('where the setting is off nothing of it stands in the administration', async () => {
  const off = await startServer({ ADMIN_API: 'on' }, { seed: { ...SEED, users: [...SEED.users, ROOT] } })
  const page = await (await signedIn(off)).get(`${off.url}/admin`)
  expect(page.status).toBe(200)
  expect(page.body).not.toContain('shared-signals')
  expect((await off.get('/admin/shared-signals')).status).toBe(404)
  await off.close()
})

const pageOf = async (client: string, query: Record<string, string> = {}) => {
  const { id } = (await streams.find(client))!
  return agent.get(`${HOME}/stream?${new URLSearchParams({ id, ...query }).toString()}`)
}

test('the page of a stream says how it is, what became of the last attempts, and what its app says of it', async () => {
  const told = await signals.signalsAs(server, 'told')
  const stream_id = (await streams.find('told'))!.id
  await told('PATCH', '/stream', { stream_id, description: 'Ours, <i>by us</i>' })
  const { status, body } = await pageOf('told')
  expect(status).toBe(200)
  const shown = body.replaceAll('<wbr>', '')
  for (const one of ['The &lt;b&gt;shop&lt;/b&gt;', 'Paused', 'We &lt;b&gt;move&lt;/b&gt;.', `<code>${origin}</code>`, 'with a header by which it lets them in', 'session-revoked', 'it answered with 401', 'does not let this server in', 'Ours, &lt;i&gt;by us&lt;/i&gt;', 'Everybody who uses the app.'])
    expect(shown).toContain(one)
  expect(body).not.toContain('canary')
  expect((await open()).body).toContain(`stream?id=${stream_id}`)
  const none = await agent.get(`${HOME}/stream?id=none`)
  expect([none.status, none.body]).toEqual([404, expect.stringContaining('There is no such stream')])
}) // prettier-ignore

test('whom its app has removed is counted, listed a page at a time, and found by name, address and subject', async () => {
  const asking = await signals.signalsAs(server, 'asking')
  const { id } = (await streams.find('asking'))!
  const carol = await oauth.users.create({ username: 'carol', email: 'carol@example.com', email_verified: true })
  await asking('POST', '/subjects/remove', { stream_id: id, subject: { format: 'iss_sub', iss: server.url, sub: carol.id } })
  const one = await pageOf('asking')
  expect(one.body).toContain('Everybody who uses the app, but one whom it has removed.')
  expect(one.body).toMatch(new RegExp(`user\\?id=${carol.id}"><bdi>carol`))
  await query(`insert into removed_subjects (stream, subject) select $1, 'zz-' || lpad(n::text, 4, '0') from generate_series(1, 600) n`, [id])
  const first = await pageOf('asking')
  expect(first.body).toContain('Everybody who uses the app, but more than 500')
  expect(first.body).toContain('zz-0049')
  expect(first.body).not.toContain('zz-0050')
  const [, next = ''] = /rel="next" href="([^"]*)"/.exec(first.body) ?? []
  const second = await agent.get(new URL(next.replaceAll('&amp;', '&'), server.url).href)
  expect(second.body).toContain('zz-0050')
  expect(second.body).not.toContain('zz-0049')
  for (const search of ['carol', 'CAROL@example.com', carol.id, ' carol ']) {
    const { body } = await pageOf('asking', { search })
    expect([search, body.includes('<bdi>carol</bdi>'), body.includes('zz-')]).toEqual([search, true, false])
  }
  for (const search of ['alice', 'zz-', "' or true --"])
    expect((await pageOf('asking', { search })).body).toContain('The app has removed nobody of this name.')
  await query(`delete from removed_subjects where stream = $1`, [id])
}) // prettier-ignore

const eventsOf = async (client: string) => {
  const call = await signals.signalsAs(server, client)
  const { body } = await call('POST', `/poll/${(await streams.find(client))!.id}`, {
    returnImmediately: true,
  })
  return Object.values<string>(body.sets).map((set) => decodeJwt(set)['events'])
}
const UPDATED = 'https://schemas.openid.net/secevent/ssf/event-type/stream-updated'
/** A stream of its own, which its app asks for its events. */
async function polled(client: string): Promise<signals.CallSignals> {
  const call = await signals.signalsAs(server, client)
  await streams.remove(client)
  await signals.streamOf(call)
  return call
}

test('a stream is paused and enabled, its app is told with the reason, and the audit log says who did it', async () => {
  await polled('held')
  const reason = 'We <b>look</b> into it.'
  const paused = await agent.submit(await pageOf('held'), 'change-status', { reason: ` ${reason} ` })
  expect(doneOn(paused)).toContain('What happens is held for a week')
  expect(paused.body).toContain('We &lt;b&gt;look&lt;/b&gt; into it.')
  expect(await streams.find('held')).toMatchObject({ status: 'paused', reason })
  expect(findForm(paused, 'verify')).toBeUndefined()
  expect(await eventsOf('held')).toEqual([{ [UPDATED]: { status: 'paused', reason } }])
  const enabled = await agent.submit(paused, 'change-status')
  expect(doneOn(enabled)).toContain('What waited is sent.')
  expect(await streams.find('held')).not.toHaveProperty('reason')
  expect((await eventsOf('held')).at(-1)).toEqual({ [UPDATED]: { status: 'enabled' } })
  // The same form twice, as by a button that was pressed twice: nobody is told twice.
  expect(doneOn(await agent.submit(paused, 'change-status'))).toContain('What waited is sent.')
  expect(await eventsOf('held')).toHaveLength(2)
  const { events } = await oauth.audit.list({ client: 'held', type: 'stream.changed' })
  const root = (await oauth.users.find(ROOT.username))!.id
  expect(events.map(({ actor, details }) => [actor, details])).toEqual(
    ['enabled', 'paused'].map((status) => [{ kind: 'user', id: root }, { changes: ['status'], status }]),
  )
}) // prettier-ignore

test('what an app has made of its stream meanwhile is not undone unseen, and what it says of it stays', async () => {
  const held = await polled('held')
  const stream_id = (await streams.find('held'))!.id
  const page = await pageOf('held')
  await held('POST', '/status', { stream_id, status: 'disabled', reason: 'We leave.' })
  const answered = await agent.submit(page, 'change-status', { reason: 'too late' })
  expect(doneOn(answered)).toContain('Nothing was done: the stream or its client has changed meanwhile')
  expect(await streams.find('held')).toMatchObject({ status: 'disabled', reason: 'We leave.' })
  expect(await eventsOf('held')).toEqual([])
  expect(doneOn(await agent.submit(page, 'verify'))).toContain('Nothing was done')
  // At the very same moment one of both is first, and the other sees it.
  await held('POST', '/status', { stream_id, status: 'enabled' })
  const both = await pageOf('held')
  await Promise.all([
    agent.submit(both, 'change-status'),
    held('PATCH', '/stream', { stream_id, description: 'Another one' }),
  ])
  expect(await streams.find('held')).toMatchObject({ status: 'paused', description: 'Another one' })
})

test('a verification event is sent by a button, every ten seconds, and keeps its app from none of its own', async () => {
  await streams.remove('told')
  statuses.clear()
  const told = await signals.signalsAs(server, 'told')
  const stream_id = await signals.streamOf(told, { method: signals.PUSH, endpoint_url: `${origin}/verified` })
  const page = await pageOf('told')
  expect(doneOn(await agent.submit(page, 'verify'))).toContain('A verification event is on its way.')
  await until(() => expect(receiver.received.filter(({ url }) => url === '/verified').map(({ body }) => decodeJwt(body)['events'])).toEqual([{ [signals.VERIFICATION]: {} }]))
  await until(async () => expect((await pageOf('told')).body).toContain('1 taken'))
  // What the app changes of it does not let another one come sooner.
  await told('PATCH', '/stream', { stream_id, description: 'Ours' })
  expect(doneOn(await agent.submit(page, 'verify'))).toContain('Nothing was sent')
  expect((await told('POST', '/verify', { stream_id, state: 'ours' })).status).toBe(204)
  const { events } = await oauth.audit.list({ client: 'told', type: 'stream.verification_sent' })
  expect(events.map(({ actor }) => actor.kind)).toEqual(['user'])
  await polled('held')
  expect(doneOn(await agent.submit(await pageOf('held'), 'verify'))).toContain('waits until the app asks')
  expect(await eventsOf('held')).toEqual([{ [signals.VERIFICATION]: {} }])
}) // prettier-ignore

test('before a stream is removed a page says what that ends, and then it is gone with all of it', async () => {
  const held = await polled('held')
  const { id } = (await streams.find('held'))!
  const removalOf = async () => agent.get(`${HOME}/removal?id=${id}`)
  expect((await pageOf('held')).body).toContain(`/removal?id=${id}`)
  const bare = await removalOf()
  for (const absent of ['is never told', 'are never told', 'is forgotten']) expect(bare.body).not.toContain(absent)
  await wait('held', 1)
  await held('POST', '/subjects/remove', { stream_id: id, subject: { format: 'iss_sub', iss: server.url, sub: 'somebody' } })
  const page = await removalOf()
  for (const said of ['The event that waits is never told.', 'Whom the app has removed is forgotten', 'may make another one at once'])
    expect(page.body).toContain(said)
  expect(await streams.find('held')).not.toBeNull()
  expect(doneOn(await agent.submit(page, 'remove-stream'))).toBe('The stream is removed.')
  expect(await streams.find('held')).toBeNull()
  for (const table of ['security_events', 'removed_subjects'])
    expect(await query(`select from ${table} where stream = $1`, [id])).toEqual([])
  // Once more, and where its app has another one by now: that one stays.
  await signals.streamOf(held)
  expect(doneOn(await agent.submit(page, 'remove-stream'))).toBe('The stream is removed.')
  expect(await streams.find('held')).not.toBeNull()
  expect((await removalOf()).status).toBe(404)
  const { events } = await oauth.audit.list({ client: 'held', type: 'stream.deleted' })
  expect(events[0]).toMatchObject({ actor: { kind: 'user' } })
}) // prettier-ignore

test('a form without its token, of another stream, or of who is no administrator, does nothing', async () => {
  await polled('held')
  await polled('asking')
  const before = await Promise.all(['held', 'asking'].map(streams.find))
  const [own, other] = before.map((stream) => stream!.id)
  const page = await pageOf('held')
  const removal = await agent.get(`${HOME}/removal?id=${own}`)
  const forms = [findForm(page, 'change-status')!, findForm(page, 'verify')!, findForm(removal, 'remove-stream')!]
  const alice = await signedIn(server, ALICE)
  for (const { action, fields } of forms) {
    const { csrf_token: _none, ...bare } = fields
    for (const sent of [bare, { ...fields, id: other! }, { ...fields, csrf_token: 'forged' }])
      expect([action, (await agent.post(action, sent)).status]).toEqual([action, 403])
    expect([action, (await alice.post(action, fields)).status]).toEqual([action, 403])
  }
  // Nor is the token of one form good for another.
  const [change, verify, remove] = forms
  expect((await agent.post(remove!.action, { ...remove!.fields, csrf_token: verify!.fields['csrf_token']! })).status).toBe(403)
  expect((await agent.post(change!.action, { ...change!.fields, csrf_token: remove!.fields['csrf_token']! })).status).toBe(403)
  expect((await alice.get(page.url)).status).toBe(403)
  expect(await Promise.all(['held', 'asking'].map(streams.find))).toEqual(before)
}) // prettier-ignore

test('what is wrong with a form is said at its field, and nothing is done', async () => {
  await polled('held')
  const page = await pageOf('held')
  const refused = await agent.submit(page, 'change-status', { reason: 'x'.repeat(1001) })
  expect([refused.status, alertOf(refused)]).toEqual([
    400,
    expect.stringContaining('1,000 characters at most'),
  ])
  expect(findForm(refused, 'change-status')!.fields['reason']).toHaveLength(1001)
  expect((await agent.submit(page, 'change-status', { status: 'disabled' })).status).toBe(400)
  expect(await streams.find('held')).toMatchObject({ status: 'enabled' })
})

test('of a stream whose client has lost its scopes the list and its page say so and what to do; it can only be removed', async () => {
  const held = await polled('held')
  await held('POST', '/verify', { stream_id: (await streams.find('held'))!.id })
  const before = await pageOf('held')
  const { id } = (await streams.find('held'))!
  await oauth.clients.update('held', { scope: ['read_books'] })
  const why = 'Its client has neither ssf.read nor ssf.manage: the app hears nothing, and nothing is held for it. Give the client one of them, or remove the stream.'
  const list = (await open('?search=held')).body
  for (const shown of ['<code>held</code>', 'Asleep', why, `stream?id=${id}`]) expect(list).toContain(shown)
  const one = await agent.get(`${HOME}/stream?id=${id}`)
  expect([one.status, one.body]).toEqual([200, expect.stringContaining(why)])
  for (const form of ['change-status', 'verify']) expect([form, findForm(one, form)]).toEqual([form, undefined])
  // A page that was open before does nothing.
  for (const form of ['change-status', 'verify'])
    expect(doneOn(await agent.submit(before, form))).toContain('Nothing was done')
  await oauth.clients.update('held', { scope: ['ssf.read'] })
  expect(await streams.find('held')).toMatchObject({ id, status: 'enabled' })
  expect((await open('?search=held')).body).not.toContain('Asleep')
  await oauth.clients.update('held', { scope: ['read_books'] })
  const removal = await agent.get(`${HOME}/removal?id=${id}`)
  expect(doneOn(await agent.submit(removal, 'remove-stream'))).toBe('The stream is removed.')
  expect((await open('?search=held')).body).not.toContain('<code>held</code>')
  expect(await query(`select from security_events where stream = $1`, [id])).toEqual([])
  await oauth.clients.update('held', { scope: ['ssf.manage', 'ssf.read'] })
}) // prettier-ignore

test('who signed in a while ago signs in again before they pause or remove, and finds again what they typed', async () => {
  await polled('held')
  const late = await signedIn(server)
  const { id } = (await streams.find('held'))!
  const page = await late.get(`${HOME}/stream?id=${id}`)
  const removal = await late.get(`${HOME}/removal?id=${id}`)
  await query(`update sessions set authenticated_at = authenticated_at - interval '601 seconds'`)
  for (const [asking, form, fields] of [[page, 'change-status', { reason: 'typed before' }], [removal, 'remove-stream', {}]] as const) {
    const asked = await late.submit(asking, form, fields)
    expect(new URL(asked.url).pathname).toBe('/sign-in')
    expect(await streams.find('held')).toMatchObject({ status: 'enabled' })
    const back = await late.submit(asked, 'login', { username: ROOT.username, password: ROOT.password })
    expect(findForm(back, form)!.fields).toMatchObject(fields)
    await query(`update sessions set authenticated_at = authenticated_at - interval '601 seconds'`)
  }
}) // prettier-ignore

test('the pages say all of their words by messages, whatever state a stream is in', async () => {
  await streams.remove('told')
  const told = await signals.signalsAs(server, 'told')
  statuses.set('/said', 429)
  const stream_id = await signals.streamOf(told, { method: signals.PUSH, endpoint_url: `${origin}/said` })
  await told('PATCH', '/stream', { stream_id, description: 'Ours' })
  await wait('told', 1)
  await told('POST', '/verify', { stream_id })
  await until(async () => expect((await pageOf('told')).body).toContain('it wants fewer events at a time'))
  await query(`insert into removed_subjects (stream, subject) values ($1, 'somebody')`, [stream_id])
  await query(`update outbox_recipients set rests_until = now() + interval '1 hour' where recipient = 'told'`)
  const turned = createUserAgent(server.url, PSEUDO_HEADERS)
  for (const [name, value] of agent.cookies) turned.cookies.set(name, value)
  const one = `stream?id=${stream_id}`
  for (const path of ['', '?search=nothing', '?removed=yes', `/${one}`, `/${one}&search=nobody`, `/removal?id=${stream_id}&again=yes`, '/stream?id=none'])
    expectSaid(await turned.get(`${HOME}${path}`), ['The <b>shop</b>', 'root', 'nobody', 'nothing'])
  for (const done of ['paused', 'enabled', 'sent', 'waits', 'soon', 'changed', 'again'])
    expectSaid(await turned.get(`${HOME}/${one}&done=${done}`), ['The <b>shop</b>', 'root'])
  await told('POST', '/status', { stream_id, status: 'disabled' })
  expectSaid(await turned.get(`${HOME}/${one}`), ['The <b>shop</b>', 'root'])
}) // prettier-ignore
