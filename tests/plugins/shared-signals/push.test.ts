/**
 * Shared signals by push (RFC 8935): a receiver verifies with jose what comes, and is down, slow, changed or gone.
 * @needs latchkey-shared-signals
 */
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import { expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startBeside } from '../../support/server.ts'
import * as signals from '../../support/shared-signals.ts'
import { until } from '../../support/until.ts'

const {
  app,
  PUSH,
  SESSION_REVOKED,
  CREDENTIAL_CHANGE,
  ACCOUNT_DISABLED,
  ACCOUNT_ENABLED,
  ACCOUNT_PURGED,
  VERIFICATION,
} = signals

type Answer = readonly [status: number, body?: string]

/** What an address answers, by its path; 202 where nothing is said. */
const answers = new Map<string, Answer[]>()
/** By the event: what is refused for good is, also where it comes again since the answer was late. */
const refusals = new Map<string, Answer>()
const answered: { url: string; body: string; status: number }[] = []
const receiver = await startReceiver(({ url, body }, response) => {
  const { jti = '' } = decodeJwt(body)
  const answer = refusals.get(jti) ?? answers.get(url)?.shift() ?? [202]
  const [status, text] = answer
  if (status === 400) refusals.set(jti, answer)
  answered.push({ url, body, status })
  if (url !== '/hangs') response.writeHead(status).end(text)
})
const origin = `http://127.0.0.1:${receiver.port}`
const NAMES = [
  'plain',
  'pairwise',
  'stranger',
  'down',
  'held',
  'off',
  'gone',
  'ended',
  'rotated',
  'shared',
  'hangs',
  'last',
  'one-by-one',
]
const server = await signals.startSignals(
  NAMES.map((name) => app(name, name === 'pairwise' ? { subject_type: 'pairwise' } : {})),
  { UNSAFE_OUTBOUND_ORIGINS: origin },
)
const { users, keys } = server.server.oauth
const second = await startBeside(server)

const deliveryTo = (path: string, more: object = {}) => ({
  method: PUSH,
  endpoint_url: `${origin}${path}`,
  ...more,
})

let people = 0
async function person(): Promise<{ id: string; username: string; password: string }> {
  const [username, password] = [`person-${people++}`, 'a long enough password']
  const { id } = await users.create({
    username,
    password,
    email: `${username}@example.com`,
    email_verified: true,
  })
  return { id, username, password }
}

const rawAt = (path: string) => signals.once(receiver.received.filter(({ url }) => url === path))
/** What came at a path, in the order in which it came first. */
async function cameTo(client: string, path = `/${client}`): Promise<JWTPayload[]> {
  return Promise.all(rawAt(path).map(async ({ body }) => signals.verified(server, body, client)))
}
const typeOf = ({ events }: JWTPayload): string => Object.keys(events as object).join(' ')
const payloadOf = (set: JWTPayload): Record<string, unknown> => Object.values(set['events'] as object)[0]
const isAbout = (sub: string) => (set: JWTPayload) => JSON.stringify(set['sub_id']).includes(sub)

test('a verification, and then what happens to who uses the app, come signed with the header of the receiver', async () => {
  const call = await signals.signalsAs(server, 'plain')
  const id = await signals.streamOf(call, deliveryTo('/plain', { authorization_header: 'Bearer of-the-receiver' }))
  expect(await call('POST', '/verify', { stream_id: id, state: 'a state' })).toMatchObject({ status: 204, body: null })
  const [first] = await until(async () => {
    const all = await cameTo('plain')
    expect(all).toHaveLength(1)
    return all
  })
  expect(first).toEqual({
    iss: server.url, aud: 'plain', jti: expect.any(String), txn: expect.any(String), iat: expect.any(Number),
    sub_id: { format: 'opaque', id },
    events: { [VERIFICATION]: { state: 'a state' } },
  })
  expect(rawAt('/plain')[0]!.headers).toMatchObject({ authorization: 'Bearer of-the-receiver', 'content-type': 'application/secevent+jwt' })

  const anna = await person()
  const { agent, sub, sid, id_token } = await signals.signInTo(server, 'plain', anna)
  await agent.get(`${server.url}/end-session?id_token_hint=${id_token}`)
  const session = { format: 'opaque', id: sid }
  const user = { format: 'iss_sub', iss: server.url, sub }
  await until(async () => expect((await cameTo('plain')).map(({ sub_id }) => sub_id)).toContainEqual({ format: 'complex', user, session }))
  const ended = (await cameTo('plain')).find((set) => typeOf(set) === SESSION_REVOKED)!
  expect(payloadOf(ended)).toEqual({
    event_timestamp: expect.any(Number),
    initiating_entity: 'user',
    reason_admin: { en: 'The user signed out.' },
  })

  await users.setPassword(anna.username, 'quite another password')
  await users.disable(anna.username)
  await users.enable(anna.username)
  await users.delete(anna.username)
  const told = () => cameTo('plain').then((all) => all.filter(isAbout(anna.id)).map(typeOf).toSorted())
  await until(async () => expect(await told()).toEqual([SESSION_REVOKED, CREDENTIAL_CHANGE, ACCOUNT_DISABLED, ACCOUNT_ENABLED, ACCOUNT_PURGED].toSorted()))
  const change = (await cameTo('plain')).find((set) => typeOf(set) === CREDENTIAL_CHANGE)!
  expect(change['sub_id']).toEqual(user)
  expect(payloadOf(change)).toMatchObject({ credential_type: 'password', change_type: 'update', initiating_entity: 'system' })
  expect(server.output()).not.toContain('of-the-receiver')
}) // prettier-ignore

const { streams, queue } = server.server.sharedSignals
/** Nothing is to be done any more, and nothing is being done. */
const isQuiet = () =>
  until(async () =>
    expect(
      await server.database.query(
        `select kind from outbox where given_up_at is null and recipient <> 'hangs'`,
      ),
    ).toEqual([]),
  )
const waiting = async (id: string) => (await queue.counts([id])).get(id) ?? 0
const setStatus = async (call: signals.CallSignals, stream_id: string, status: string) =>
  expect(await call('POST', '/status', { stream_id, status })).toMatchObject({
    status: 200,
    body: { stream_id, status },
  })

test('a receiver hears of its own people alone, by the names that it knows them by', async () => {
  const call = await signals.signalsAs(server, 'pairwise')
  await signals.streamOf(call, deliveryTo('/pairwise'))
  await signals.streamOf(await signals.signalsAs(server, 'stranger'), deliveryTo('/stranger'))
  const ben = await person()
  const { sub } = await signals.signInTo(server, 'pairwise', ben)
  expect(sub).not.toBe(ben.id)
  await users.disable(ben.username)
  await until(async () => expect(await cameTo('pairwise')).toHaveLength(2))
  for (const set of await cameTo('pairwise'))
    expect(set['sub_id']).toEqual({ format: 'iss_sub', iss: server.url, sub })
  expect(
    rawAt('/pairwise').some(({ body }) => Buffer.from(body.split('.')[1]!, 'base64url').includes(ben.id)),
  ).toBe(false)
  await isQuiet()
  expect(rawAt('/stranger')).toEqual([])
})

test('what is not taken comes again, in its order; what is refused for good does not, and keeps nothing waiting', async () => {
  const call = await signals.signalsAs(server, 'down')
  const id = await signals.streamOf(call, deliveryTo('/down'))
  await setStatus(call, id, 'paused')
  const cleo = await person()
  await signals.signInTo(server, 'down', cleo)
  await users.disable(cleo.username)
  await users.enable(cleo.username)
  await until(async () => expect(await waiting(id)).toBe(3))
  await isQuiet()
  expect(rawAt('/down')).toEqual([])
  answers.set('/down', [[500], [400, '{"err":"invalid_request","description":"no"}'], [401, '{"err":"authentication_failed"}']])
  await setStatus(call, id, 'enabled')
  await until(async () => expect(await waiting(id)).toBe(0))
  expect((await cameTo('down')).map(typeOf)).toEqual([SESSION_REVOKED, ACCOUNT_DISABLED, ACCOUNT_ENABLED])
  const [one, two, three] = (await cameTo('down')).map(({ jti }) => jti)
  const came = answered.filter(({ url }) => url === '/down').map(({ body, status }) => `${status} ${decodeJwt(body).jti}`)
  expect([...new Set(came)]).toEqual([`500 ${one}`, `400 ${two}`, `401 ${three}`, `202 ${one}`, `202 ${three}`])
  expect(server.output() + second.output()).toContain('it answered with 500')
}) // prettier-ignore

test('held while paused, and told at the address of then, which gets no header of the former one', async () => {
  const call = await signals.signalsAs(server, 'held')
  const id = await signals.streamOf(call, deliveryTo('/held', { authorization_header: 'Basic b2xk' }))
  await setStatus(call, id, 'paused')
  const dora = await person()
  const { sid } = await signals.signInTo(server, 'held', dora)
  await call('POST', '/verify', { stream_id: id })
  await server.server.oauth.sessions.endOne(dora.id, sid)
  await until(async () => expect(await waiting(id)).toBe(2))
  await isQuiet()
  expect(rawAt('/held')).toEqual([])
  const moved = await call('PATCH', '/stream', { stream_id: id, delivery: deliveryTo('/moved') })
  expect(moved.body).toMatchObject({
    delivery: { method: PUSH, endpoint_url: `${origin}/moved` },
    events_requested: signals.ALL,
  })
  expect(rawAt('/moved')).toEqual([])
  await setStatus(call, id, 'enabled')
  await until(async () =>
    expect((await cameTo('held', '/moved')).map(typeOf)).toEqual([VERIFICATION, SESSION_REVOKED]),
  )
  expect((await cameTo('held', '/moved')).map(payloadOf)).toMatchObject([{}, { initiating_entity: 'system' }])
  for (const { headers } of rawAt('/moved')) expect(headers).not.toHaveProperty('authorization')
  expect(rawAt('/held')).toEqual([])
})

test('nobody is told to be enabled who is disabled, or is about to be deleted', async () => {
  const call = await signals.signalsAs(server, 'held')
  await call('DELETE', `/stream?stream_id=${(await streams.find('held'))!.id}`)
  const id = await signals.streamOf(call, deliveryTo('/in-use'), [ACCOUNT_ENABLED, ACCOUNT_DISABLED])
  const [disabled, leaving] = [await person(), await person()]
  for (const one of [disabled, leaving]) await signals.signInTo(server, 'held', one)
  const { accountDeletions } = kernelOf(server.server)
  for (const one of [disabled, leaving]) {
    await accountDeletions.request(one.id, 3600)
    await users.disable(one.username)
  }
  await accountDeletions.cancel(disabled.id)
  await users.enable(leaving.username)
  await isQuiet()
  await users.enable(disabled.username)
  await accountDeletions.cancel(leaving.id)
  const toldOf = async ({ id: sub }: { id: string }) =>
    (await cameTo('held', '/in-use')).filter(isAbout(sub)).map(typeOf)
  for (const one of [disabled, leaving])
    await until(async () => expect(await toldOf(one)).toEqual([ACCOUNT_DISABLED, ACCOUNT_DISABLED, ACCOUNT_ENABLED]))
  await until(async () => expect(await waiting(id)).toBe(0))
}) // prettier-ignore

test('what happens while a stream is disabled is never told', async () => {
  const call = await signals.signalsAs(server, 'off')
  const id = await signals.streamOf(call, deliveryTo('/off'))
  await setStatus(call, id, 'disabled')
  const emil = await person()
  await signals.signInTo(server, 'off', emil)
  expect((await call('POST', '/verify', { stream_id: id, state: 'unheard' })).status).toBe(204)
  await users.disable(emil.username)
  await isQuiet()
  await setStatus(call, id, 'enabled')
  await users.enable(emil.username)
  await until(async () => expect((await cameTo('off')).map(typeOf)).toEqual([ACCOUNT_ENABLED]))

  // Nor is anything told to a client that may have no stream any more.
  await server.server.oauth.clients.update('off', { scope: ['read_books'] })
  await until(async () =>
    expect((await second.server.oauth.findClient('off'))?.scope).toEqual(['read_books']),
  )
  await users.disable(emil.username)
  await isQuiet()
  expect(await waiting(id)).toBe(0)
  expect(rawAt('/off')).toHaveLength(1)
})

test('a stream that is deleted, or whose client is, takes along what waits for it; who has the name next has no stream', async () => {
  const { clients } = server.server.oauth
  for (const client of ['gone', 'ended']) {
    const call = await signals.signalsAs(server, client)
    const id = await signals.streamOf(call, deliveryTo(`/${client}`))
    await setStatus(call, id, 'paused')
    await signals.signInTo(server, client, await person())
    await call('POST', '/subjects/remove', {
      stream_id: id,
      subject: { format: 'email', email: 'alice@example.com' },
    })
    await call('POST', '/verify', { stream_id: id })
    expect(await waiting(id)).toBe(1)
    const ended =
      client === 'gone'
        ? await call('DELETE', `/stream?stream_id=${id}`)
        : { status: 204, body: await clients.delete(client) }
    expect(ended.status).toBe(204)
    await until(async () => expect(await waiting(id)).toBe(0))
    await isQuiet()
    expect(await server.database.query(`select * from removed_subjects where stream = '${id}'`)).toEqual([])
    expect(await streams.find(client)).toBeNull()
  }
  await clients.create(app('ended'))
  expect((await (await signals.signalsAs(server, 'ended'))('GET', '/stream')).body).toEqual([])
  expect([rawAt('/gone'), rawAt('/ended')]).toEqual([[], []])
})

test('what waited is signed by the key of now, after a rotation and the end of the former key', async () => {
  const call = await signals.signalsAs(server, 'rotated')
  const id = await signals.streamOf(call, deliveryTo('/rotated'))
  await setStatus(call, id, 'paused')
  await call('POST', '/verify', { stream_id: id, state: 'from before' })
  const former = keys.keys().find(({ algorithm }) => algorithm === 'RS256')!
  await keys.rotate('RS256', 0)
  await keys.revoke(former.kid)
  // Either process may be the one that tells it, and what comes later.
  await until(() => expect(second.server.oauth.keys.keys().map(({ kid }) => kid)).not.toContain(former.kid))
  await setStatus(call, id, 'enabled')
  await until(async () =>
    expect((await cameTo('rotated')).map(payloadOf)).toEqual([{ state: 'from before' }]),
  )
  expect(rawAt('/rotated').map(({ body }) => decodeProtectedHeader(body).kid)).not.toContain(former.kid)
})

test('of two processes, one tells it, once; an address that never answers keeps no other waiting', async () => {
  const call = await signals.signalsAs(second, 'shared')
  await signals.streamOf(call, deliveryTo('/shared'))
  await signals.streamOf(await signals.signalsAs(second, 'hangs'), deliveryTo('/hangs'))
  await signals.streamOf(await signals.signalsAs(second, 'last'), deliveryTo('/last'))
  const frida = await person()
  for (const client of ['shared', 'hangs', 'last', 'one-by-one'])
    await signals.signInTo(server, client, frida)
  await users.disable(frida.username)
  await second.server.oauth.users.enable(frida.username)
  const wanted = [SESSION_REVOKED, ACCOUNT_DISABLED, ACCOUNT_ENABLED]
  for (const client of ['shared', 'last'])
    await until(async () => expect((await cameTo(client)).map(typeOf).toSorted()).toEqual(wanted))
  await until(() => expect(rawAt('/hangs').length).toBeGreaterThan(0))
})

test('while one process sends, no other does; what one had begun that was killed is sent after a while', async () => {
  const call = await signals.signalsAs(server, 'one-by-one')
  const id = await signals.streamOf(call, deliveryTo('/one-by-one'))
  await setStatus(call, id, 'paused')
  await call('POST', '/verify', { stream_id: id })
  const claim = async (until: string) =>
    server.database.query(`update security_events set claimed_until = now() ${until} where stream = '${id}'`)
  const looked = [server, second].map((one) => vi.spyOn(one.server.sharedSignals.queue, 'claim'))
  await claim("+ interval '20 seconds'")
  await setStatus(call, id, 'enabled')
  for (const spy of looked) await until(async () => expect(await Promise.all(spy.mock.results.map(({ value }) => value))).toContain('busy'))
  expect(rawAt('/one-by-one')).toEqual([])
  await claim("- interval '1 second'")
  await until(() => expect(rawAt('/one-by-one')).toHaveLength(1))
  const gus = await person()
  await signals.signInTo(second, 'one-by-one', gus)
  await users.disable(gus.username)
  await until(async () => expect((await cameTo('one-by-one')).map(typeOf)).toEqual([VERIFICATION, SESSION_REVOKED, ACCOUNT_DISABLED]))
}) // prettier-ignore

test('no header of a receiver is shown, logged, or stored as it is', async () => {
  const call = await signals.signalsAs(server, 'plain')
  const { body } = await call('GET', '/stream')
  expect(body).toMatchObject([{ delivery: { method: PUSH, endpoint_url: `${origin}/plain` } }])
  const stored = await server.database.query(`select value from plugin_records where kind = 'event-stream'`)
  expect(stored.length).toBeGreaterThan(5)
  for (const text of [JSON.stringify(body), JSON.stringify(stored), server.output(), second.output()])
    expect(text).not.toContain('of-the-receiver')
})
