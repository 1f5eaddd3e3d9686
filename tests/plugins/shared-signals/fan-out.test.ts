/**
 * Who hears of what, where there are many sessions and many apps, and where a name was another's before.
 * @needs latchkey-shared-signals
 */
import { decodeJwt } from 'jose'
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createUuid } from '../../../src/protocol/uuid.ts'
import * as signals from '../../support/shared-signals.ts'
import { until } from '../../support/until.ts'

const NAMES = ['crowded', 'first', 'second', 'zz-last', 'namesake']
const server = await signals.startSignals(NAMES.map((name) => signals.app(name)))
const { users, sessions } = server.server.oauth

async function streamOf(client: string) {
  const call = await signals.signalsAs(server, client)
  return { call, id: await signals.streamOf(call) }
}
const streams = new Map(await Promise.all(NAMES.map(async (name) => [name, await streamOf(name)] as const)))

async function person(username: string): Promise<string> {
  return (await users.create({ username, password: 'a long enough password' })).id
}

/** Each signed in to all of `clients`; the `sid` of the first. */
async function openSessions(user: string, count: number, clients: readonly string[]): Promise<string> {
  const since = Math.floor(Date.now() / 1000)
  const signedInTo = JSON.stringify(Object.fromEntries(clients.map((client) => [client, since])))
  const [first] = await server.database.query(
    `insert into sessions (hash, sid, user_id, authenticated_at, amr, expires_at, ends_at, clients)
      select gen_random_uuid()::text, gen_random_uuid(), '${user}', now(), '{}', now() + interval '1 day', now() + interval '1 day',
        '${signedInTo}' from generate_series(1, ${count}) returning sid`,
  )
  return first!['sid'] as string
}

/** All that happened is told; other notices of it, as of sign-out, may still wait. */
const isQuiet = () =>
  until(async () =>
    expect(
      await server.database.query(`select from outbox where kind = 'shared-signals' and given_up_at is null`),
    ).toEqual([]),
  )

interface About {
  readonly sub?: string
  readonly user?: { readonly sub: string }
  readonly session?: { readonly id: string }
}

/** All that it hears of, which is taken then. */
async function heardBy(client: string): Promise<{ type: string; session?: string; sub: string }[]> {
  await isQuiet()
  const { call, id } = streams.get(client)!
  const heard = []
  for (let ack: string[] = [], more = true; more;) {
    const { body } = await call('POST', `/poll/${id}`, { returnImmediately: true, maxEvents: 100, ack })
    for (const set of Object.values<string>(body.sets)) {
      const { events, sub_id } = decodeJwt<{ events: object; sub_id: About }>(set)
      const { sub = sub_id.user?.sub ?? '', session } = sub_id
      heard.push({ type: Object.keys(events)[0]!, sub, ...(session && { session: session.id }) })
    }
    ack = Object.keys(body.sets)
    more = ack.length > 0
  }
  return heard
}

test('of more sessions than an event names, the app hears that all it has of the user is over', async () => {
  const user = await person('of-many-sessions')
  const except = await openSessions(user, 600, ['crowded'])
  await sessions.endAll(user, { except })
  expect(await heardBy('crowded')).toEqual([{ type: signals.SESSION_REVOKED, sub: user }])
})

test('what one delivery cannot hold is told all the same, of each session', async () => {
  const user = await person('of-many-apps')
  const except = await openSessions(user, 301, ['first', 'second', 'zz-last'])
  await sessions.endAll(user, { except })
  for (const client of ['first', 'second', 'zz-last']) {
    const heard = await heardBy(client)
    expect(heard.every(({ type }) => type === signals.SESSION_REVOKED)).toBe(true)
    expect(new Set(heard.map(({ session }) => session)).size).toBe(300)
    expect(heard).toHaveLength(300)
  }
})

test('of more apps than one delivery can hold, each hears, once', async () => {
  const user = await person('of-a-thousand-apps')
  const others = Array.from({ length: 1000 }, (_, at) => `an-app-of-somebody-else-${at}`)
  await openSessions(user, 1, [...others, 'first', 'zz-last'])
  await users.setPassword('of-a-thousand-apps', 'quite another password')
  for (const client of ['first', 'zz-last'])
    expect((await heardBy(client)).map(({ type }) => type)).toEqual([
      signals.SESSION_REVOKED,
      signals.CREDENTIAL_CHANGE,
    ])
  expect(await heardBy('crowded')).toEqual([])
})

/** As if that had happened so long ago: its delivery was late. */
async function deliver(user: string, type: string, ago = 0, clients: readonly object[] = []): Promise<void> {
  const at = Date.now() - ago
  const cause = { id: createUuid(at), at, type, user, by: 'user', clients }
  const delivery = kernelOf(server.server).doors.owners('delivery').get('shared-signals')!
  await delivery.deliver(cause, { id: cause.id, attempt: 1, enqueuedAt: at })
}

test('each event says when that happened, whenever it is told', async () => {
  const HOUR = 3_600_000
  const user = await person('late')
  const before = Math.floor(Date.now() / 1000)
  // As if this process had the clock of an hour ago.
  await deliver(user, 'user.disabled', -HOUR, [{ client: 'second', sids: [] }])
  const { call, id } = streams.get('second')!
  const { body } = await call('POST', `/poll/${id}`, { returnImmediately: true })
  const told = Object.values<string>(body.sets).map((set) => decodeJwt(set))
  expect(told.map(({ events }) => Object.keys(events as object)[0])).toEqual([signals.SESSION_REVOKED, signals.ACCOUNT_DISABLED])
  for (const { toe, iat } of told) {
    expect(Number.isInteger(toe)).toBe(true)
    expect(toe).toBeGreaterThanOrEqual(before + HOUR / 1000)
    expect(iat).toBeLessThan(before + HOUR / 1000)
  }
  await heardBy('second')
}) // prettier-ignore

test('what a former client of the name had of somebody is not told to who has the name now', async () => {
  const HOUR = 3_600_000
  const authorize = async (user: string, ago: string) =>
    server.database
      .query(`insert into authorizations (id, client_id, subject, scopes, resources, parameters, created_at, kept_until)
      values ('${randomUUID()}', 'namesake', '${user}', '{}', '{}', '{}', now() - interval '${ago}', now() + interval '1 day')`)
  const taken = [{ client: 'namesake', sids: [] }]
  const users = await Promise.all(['known-before', 'taken-before', 'known', 'taken'].map(person))
  await authorize(users[0]!, '1 hour')
  await authorize(users[2]!, '0')
  await deliver(users[0]!, 'user.passkey_added')
  await deliver(users[1]!, 'session.ended', HOUR, taken)
  await deliver(users[2]!, 'user.passkey_added')
  await deliver(users[3]!, 'session.ended', 0, taken)
  expect((await heardBy('namesake')).map(({ sub }) => sub)).toEqual(users.slice(2))
})

test('who was known to an app long ago is, however much has happened to them since', async () => {
  const user = await person('busy')
  const now = Date.now()
  // Half a year of who uses a few apps all day.
  await server.database.query(
    `insert into audit_events (id, at, type, actor_kind, user_id, client_id, details)
      select (lpad(to_hex(at), 12, '0') || '7000' || '8000000000000000')::uuid, to_timestamp(at / 1000.0),
        case n when 0 then 'consent.given' else 'token.issued' end, 'server', '${user}',
        case n when 0 then 'namesake' else 'another' end, '{}'
      from (select n, ${now} + n as at from generate_series(0, 60000) n) given`,
  )
  await deliver(user, 'user.passkey_added')
  expect(await heardBy('namesake')).toMatchObject([{ sub: user }])
})
