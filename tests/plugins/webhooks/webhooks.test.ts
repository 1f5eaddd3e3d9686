/** Webhooks: what happens is told to the addresses that ask for it, signed, and until it is taken. */
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { expect, test, vi } from 'vitest'
import type { NewEvent } from '../../../src/events.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { runAs } from '../../../src/services/audit/origin.ts'
import { parseWebhook, type Webhook as Webhook_ } from '../../../src/settings/webhooks.ts'
import { startReceiver, type Received } from '../../support/receiver.ts'
import { startBeside, startServer, type TestServer } from '../../support/server.ts'
import { SEED } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'
import { signedIn } from '../account/owner.ts'

const [FIRST, SECOND, OTHER] = [0, 1, 2].map(() => `whsec_${randomBytes(32).toString('base64')}`)
/** What the address answers, by its path; 204 where nothing is said. */
const answers = new Map<string, number[]>()
const receiver = await startReceiver(({ url }, response) => {
  const head = response.writeHead(answers.get(url)?.shift() ?? 204)
  if (url !== '/hangs') head.end()
})
const origin = `http://127.0.0.1:${receiver.port}`
const UNSAFE_OUTBOUND_ORIGINS = origin

const start = async (...entries: string[]): Promise<TestServer> =>
  startServer({ WEBHOOKS: entries.join(','), UNSAFE_OUTBOUND_ORIGINS }, { seed: SEED })

interface Told {
  readonly type: string
  readonly timestamp: string
  readonly data: Record<string, unknown>
}

/** What came at a path, as a receiver reads it who knows this secret. */
const toldAt = (path: string, secret = FIRST!): Told[] =>
  receiver.received.filter(({ url }) => url === path).map((one) => verified(one, secret))
function verified({ body, headers }: Received, secret: string): Told {
  return new Webhook(secret).verify(body, headers as Record<string, string>) as Told
}

test('what is asked for is told, signed, and nothing else', async () => {
  const server = await start(
    `${origin}/people ${FIRST} user.registered user.deleted`,
    `${origin}/all ${OTHER} user.* client.*`,
  )
  const { users, clients, audit } = server.server.oauth
  const { id } = await users.create({ username: 'zoe', email: 'zoe@example.com' })
  await users.update('zoe', { nickname: 'Zo' })
  await clients.create({ client_id: 'app', redirect_uris: ['https://app.example/'] })
  await users.delete('zoe')
  const about = (told: readonly Told[]) => told.filter(({ data }) => data['user'] === id).map(({ type }) => type)
  await until(() => expect(about(toldAt('/people')).toSorted()).toEqual(['user.deleted', 'user.registered']))
  await until(() => expect(about(toldAt('/all', OTHER)).toSorted()).toEqual(['user.changed', 'user.deleted', 'user.registered']))
  await until(() => expect(toldAt('/all', OTHER).some(({ data }) => data['client_id'] === 'app')).toBe(true))

  const [event] = (await audit.list({ type: 'user.registered', user: id })).events
  const told = toldAt('/people').find(({ type, data }) => type === 'user.registered' && data['user'] === id)
  const at = new Date(event!.at).toISOString()
  expect(told).toEqual({
    type: 'user.registered',
    timestamp: at,
    data: { id: event!.id, at, type: 'user.registered', count: 1, actor: { kind: 'server' }, user: id, details: { changes: ['username', 'roles', 'email'] } },
  })
  expect(server.output()).not.toContain(FIRST)
}) // prettier-ignore

test('that a command did it is told, and not which account ran it', async () => {
  const server = await start(`${origin}/commanded ${FIRST} user.registered`)
  const { id } = await runAs({ kind: 'command', id: 'an-account-of-the-machine' }, async () => server.server.oauth.users.create({ username: 'commanded' }))
  const told = () => toldAt('/commanded').filter(({ data }) => data['user'] === id).map(({ data }) => data['actor'])
  await until(() => expect(told()).toContainEqual({ kind: 'command' }))
  const [event] = (await server.server.oauth.audit.list({ type: 'user.registered', user: id })).events
  expect(event!.actor).toEqual({ kind: 'command', id: 'an-account-of-the-machine' })
}) // prettier-ignore

test('a sign-in and what it leads to are told; what is tried in vain is not', async () => {
  const server = await start(`${origin}/sign-ins ${FIRST} user.* session.*`)
  await signedIn(server)
  await expect(signedIn(server, { username: 'alice', password: 'wrong' })).rejects.toThrow('not signed in')
  const alice = (await server.server.oauth.users.find('alice'))!
  await server.server.oauth.users.disable('alice')
  await until(() =>
    expect(
      toldAt('/sign-ins')
        .filter(({ data }) => data['user'] === alice.id)
        .map(({ type }) => type),
    ).toEqual(expect.arrayContaining(['user.signed_in', 'user.disabled'])),
  )
  expect(toldAt('/sign-ins').map(({ type }) => type)).not.toContain('user.sign_in_failed')
})

test('what is not taken comes again, as the same, and from any process; in the middle of a rotation by both secrets', async () => {
  const server = await start(`${origin}/again ${SECOND} ${FIRST} user.registered`)
  await startBeside(server)
  // Those of SEED_FILE are told, too.
  await until(() => expect(toldAt('/again')).toHaveLength(SEED.users.length))
  answers.set('/again', [500, 302])
  const { id } = await server.server.oauth.users.create({ username: 'again' })
  const came = () => receiver.received.filter(({ url, body }) => url === '/again' && body.includes(id))
  await until(() => expect(came()).toHaveLength(3))
  expect(new Set(came().map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  for (const secret of [FIRST!, SECOND!]) expect(came().map((one) => verified(one, secret).type)).toHaveLength(3)
  expect(() => verified(came()[0]!, OTHER!)).toThrow('No matching signature found')
  expect(() => verified({ ...came()[0]!, body: '{}' }, FIRST!)).toThrow('No matching signature found')
}) // prettier-ignore

test('an address that is gone is given up, and that is told to others alone', async () => {
  const server = await start(
    `${origin}/gone ${FIRST} user.registered delivery.*`,
    `${origin}/watch ${FIRST} delivery.*`,
  )
  answers.set('/gone', [410, 410, 410])
  await server.server.oauth.users.create({ username: 'gone' })
  const { givenUpDeliveries } = kernelOf(server.server)
  const [one] = await until(async () => {
    const { deliveries } = await givenUpDeliveries.list()
    expect(deliveries).not.toHaveLength(0)
    return deliveries
  })
  expect(one).toMatchObject({ kind: 'webhook', lastError: `${origin} answered with 410: the address is gone` })
  await until(async () => expect((await server.server.oauth.audit.list({ type: 'delivery.given_up' })).events).not.toHaveLength(0))
  expect(toldAt('/watch')).toEqual([])
}) // prettier-ignore

test('what a plugin tells of something that it calls a webhook is no delivery, and is told', async () => {
  const server = await start(`${origin}/shop ${FIRST} shop.changed`)
  const { audit } = server.server.oauth
  audit.observe({ type: 'shop.changed', details: { kind: 'webhook' } } as unknown as NewEvent)
  await until(() => expect(toldAt('/shop').map(({ data }) => data['details'])).toEqual([{ kind: 'webhook' }]))
})

test('an address that lets everybody wait keeps no other waiting', async () => {
  const server = await start(`${origin}/hangs ${FIRST} user.*`, `${origin}/well ${FIRST} client.registered`)
  const { users, clients } = server.server.oauth
  for (let n = 0; n < 40; n++) await users.create({ username: `waits-${n}` })
  await clients.create({ client_id: 'hurried', redirect_uris: ['https://app.example/'] })
  await expect.poll(() => toldAt('/well').some(({ data }) => data['client_id'] === 'hurried')).toBe(true)
})

test('where too much is asked of others, nothing is held against an address', async () => {
  const held: ServerResponse[] = []
  const crowded = await startReceiver(({ url }, response) => (url === '/told' ? response.end() : held.push(response)))
  const there = `http://127.0.0.1:${crowded.port}`
  const settings = { WEBHOOKS: `${there}/told ${FIRST} user.disabled`, UNSAFE_OUTBOUND_ORIGINS: there }
  const { server } = await startServer(settings, { seed: SEED })
  const { database } = kernelOf(server)
  const asked = Array.from({ length: 10 }, async (_, n) => server.oauth.fetch(`${there}/held/${n}`))
  await until(() => expect(held).toHaveLength(10))
  const queries = vi.spyOn(database, 'query')
  await server.oauth.users.disable('alice')
  const claimed = async () => Promise.all(queries.mock.results.filter((_, at) => queries.mock.calls[at]![0].name === 'outbox-claim').map(({ value }) => value))
  await until(async () => expect((await claimed()).flat()).not.toHaveLength(0))
  for (const response of held) response.end()
  await Promise.all(asked)
  const outcomes = async () => (await server.webhooks.list()).flatMap((one) => one.outcomes)
  await until(async () => expect((await outcomes()).map(({ done }) => done)).toEqual([true]))
}) // prettier-ignore

test('what waits for an address that is taken out is given up', async () => {
  const entry = `${origin}/taken ${FIRST} user.registered`
  const server = await start(entry)
  answers.set(
    '/taken',
    Array.from({ length: 100 }, () => 500),
  )
  await server.server.oauth.users.create({ username: 'waiting' })
  await until(() => expect(receiver.received.some(({ url }) => url === '/taken')).toBe(true))
  await server.server.close()
  await server.database.query(`update outbox set enqueued_at = now() - interval '61 minutes'`)
  const next = await startServer(
    { ...server.settings, WEBHOOKS: `${origin}/other ${FIRST} user.registered`, UNSAFE_OUTBOUND_ORIGINS },
    { database: server.database },
  )
  await until(async () => {
    const { deliveries } = await kernelOf(next.server).givenUpDeliveries.list()
    expect(deliveries[0]).toMatchObject({ lastError: 'its address is in WEBHOOKS no more' })
  })
})

test('while processes are restarted one by one, a former one gives nothing up that it does not know yet', async () => {
  const server = await start(`${origin}/known ${FIRST} client.deleted`)
  const next = await startBeside(server, {
    WEBHOOKS: `${origin}/known ${FIRST} client.deleted,${origin}/fresh ${FIRST} user.registered`,
  })
  const { users } = next.server.oauth
  const names = Array.from({ length: 30 }, (_, n) => `fresh-${n}`)
  const made = await Promise.all(names.map(async (username) => users.create({ username })))
  const came = () => new Set(toldAt('/fresh').map(({ data }) => data['user']))
  await until(() => expect(made.filter(({ id }) => !came().has(id))).toEqual([]))
  expect((await kernelOf(server.server).givenUpDeliveries.list()).deliveries).toEqual([])
})

test('neither an address nor a name stands in details', async () => {
  const server = await start(`${origin}/bare ${FIRST} user.passkey_added device.* ciba.*`)
  const { users, audit } = server.server.oauth
  const { id: user } = await users.create({ username: 'bare' })
  audit.observe({ type: 'user.passkey_added', user, details: { name: 'Phone of Zoe Example' } })
  audit.observe({ type: 'device.allowed', user, details: { device: '203.0.113.9' } })
  audit.observe({ type: 'ciba.asked', user, details: { address: '203.0.113.9', request: 'x' } })
  await until(() => expect(toldAt('/bare')).toHaveLength(3))
  const details = toldAt('/bare').map(({ type, data }) => [type, data['details']])
  expect(Object.fromEntries(details)).toEqual({
    'user.passkey_added': {},
    'device.allowed': {},
    'ciba.asked': { request: 'x' },
  })
})

test('what has quotes is shortened before it does not fit any more', async () => {
  const server = await start(`${origin}/quoted ${FIRST} consent.given`)
  const scopesOf = (many: number) => Array.from({ length: many }, () => 'abc')
  for (const many of [3500, 4500])
    server.server.oauth.audit.observe({
      type: 'consent.given',
      user: crypto.randomUUID(),
      details: { scopes: scopesOf(many), resources: [] },
    })
  await until(() => expect(toldAt('/quoted')).toHaveLength(2))
  expect(toldAt('/quoted').map(({ data }) => [data['details'], data['shortened']])).toEqual(
    expect.arrayContaining([
      [{ scopes: scopesOf(3500), resources: [] }, undefined],
      [{}, true],
    ]),
  )
})

test('nothing of a person is told but their id, and details that are very long are left out', async () => {
  const server = await start(`${origin}/long ${FIRST} user.changed session.ended`)
  const { users, audit } = server.server.oauth
  const { id } = await users.create({ username: 'long', email: 'long@example.com' })
  await users.update('long', { email: 'longer@example.com' })
  const clients = Array.from({ length: 500 }, (_, n) => ({ client: `client-${n}`, sids: ['s'.repeat(64)] }))
  audit.observe({ type: 'session.ended', user: id, details: { clients } })
  const mine = () => toldAt('/long').filter(({ data }) => data['user'] === id)
  await until(() => expect(mine()).toHaveLength(2))
  expect(mine().map(({ data }) => [data['details'], data['shortened']])).toEqual(
    expect.arrayContaining([
      [{ changes: ['email'] }, undefined],
      [{}, true],
    ]),
  )
  for (const { url, body } of receiver.received) if (url === '/long') expect(body).not.toContain('@') // oxlint-disable-line vitest/no-conditional-expect -- of all that came there.
})

test.each([
  ['', 'must begin with an address'],
  ['ftp://x.example whsec_x user.*', 'must begin with an address'],
  ['https://a:b@x.example/ SECRET user.*', 'must begin with an address'],
  ['https://:b@x.example/ SECRET user.*', 'must begin with an address'],
  [`https://x.example/${'a'.repeat(2000)} SECRET user.*`, 'must begin with an address'],
  ['https://x.example/', 'needs a secret'],
  ['https://x.example/ user.*', 'needs a secret'],
  ['https://x.example/ whsec_c2hvcnQ= user.*', 'needs a secret'],
  ['https://x.example/ whsec_?? user.*', 'needs a secret'],
  // What some of the libraries would read, and others refuse: copied without its end, or with more.
  ['https://x.example/ CUT user.*', 'needs a secret'],
  ['https://x.example/ SECRET= user.*', 'needs a secret'],
  ['https://x.example/ SECRET', 'names no events'],
  ['https://x.example/ SECRET user*', 'names what is no event'],
  ['https://x.example/ SECRET user.*.*', 'names what is no event'],
  ['https://x.example/ SECRET user.nothing_*', 'no such events'],
  ['https://x.example/ SECRET webhook.*', 'no such events'],
  ['https://x.example/ SECRET user', 'names what is no event'],
  ['https://x.example/ SECRET usr.*', 'no such events'],
  ['https://x.example/ SECRET token.issued', 'the audit log alone'],
  ['https://x.example/ SECRET user.sign_in_failed', 'the audit log alone'],
  ['https://x.example/ SECRET UNMARKED user.*', 'names what is no event'],
  ['https://x.example/ SECRET user.UNMARKED', 'names what is no event'],
  ['https://x.example/ SECRET UNMARKED.*', 'names what is no event'],
  ['https://x.example/ SECRET UNMARKED_failed', 'names what is no event'],
])('the entry %j is refused: %s', (entry, why) => {
  const unmarked = SECOND!.slice('whsec_'.length)
  const problem = parseWebhook(
    entry.replace('SECRET', FIRST!).replace('UNMARKED', unmarked).replace('CUT', FIRST!.slice(0, -1)),
  )
  expect(problem).toContain(why)
  for (const secret of [FIRST!, unmarked]) expect(problem).not.toContain(secret.slice(0, 10))
})

test('a beginning stands for all that begin so, and a star for all that are told', () => {
  const typesOf = (name: string) => (parseWebhook(`https://x.example/ ${FIRST} ${name}`) as Webhook_).types
  expect(typesOf('user.passkey_*')).toEqual(['user.passkey_added', 'user.passkey_removed'])
  expect(typesOf('user.*')).toContain('user.passkey_added')
  const all = typesOf('*')
  expect(all).toEqual(expect.arrayContaining(['user.signed_in', 'client.deleted', 'key.revoked', 'session.ended']))
  for (const untold of ['token.issued', 'limit.reached', 'webhook.tested', 'user.sign_in_failed', 'user.link_refused'])
    expect(all).not.toContain(untold)
}) // prettier-ignore

test.each([
  [`http://app.example/ ${FIRST} user.*`, 'must be https'],
  [`https://app.example/ ${FIRST} user.*,https://app.example/ ${FIRST} client.*`, 'is there already'],
  [
    `https://app.example/ ${FIRST} user.registred`,
    'WEBHOOKS: There is no event user.registred: the nearest is user.registered',
  ],
])('a server does not start where %#', async (WEBHOOKS, why) => {
  const failure = await startServer({ WEBHOOKS }).then(
    () => '',
    (error: unknown) => String(error),
  )
  expect(failure).toContain(why)
  expect(failure).not.toContain(FIRST)
})
