/**
 * Shared signals by poll (RFC 8936): what waits is asked for, taken and refused, at whichever process.
 * @needs latchkey-shared-signals
 */
import { afterAll, expect, test, vi } from 'vitest'
import { startBeside } from '../../support/server.ts'
import * as signals from '../../support/shared-signals.ts'
import { until } from '../../support/until.ts'

const NAMES = ['asking', 'errs', 'long', 'full', 'other']
const server = await signals.startSignals(NAMES.map((name) => signals.app(name)))
const second = await startBeside(server)
const { users } = server.server.oauth

const NOW = { returnImmediately: true }

/** Whoever waits does so until something happens, however slow the machine is. */
const later = setTimeout
const LONGEST = 15_000
const patience = vi
  .spyOn(globalThis, 'setTimeout')
  .mockImplementation(((work: () => void, delay = 0, ...more: []) =>
    later(work, delay === LONGEST ? 40 * LONGEST : delay, ...more)) as typeof setTimeout)
afterAll(() => patience.mockRestore())

async function streamOf(client: string) {
  const call = await signals.signalsAs(server, client)
  const id = await signals.streamOf(call)
  return { call, id, path: `/poll/${id}` }
}

/** As if the last verification had been long ago, for which a receiver would have to wait. */
async function verify(call: signals.CallSignals, stream: string, state: string): Promise<void> {
  const { streams } = server.server.sharedSignals
  await streams.change(NAMES[0]!, stream, ({ verifiedAt: _had, ...rest }) => rest).catch(() => {})
  expect((await call('POST', '/verify', { stream_id: stream, state })).status).toBe(204)
}

test('events come until they are taken, the same each time, and in their order', async () => {
  const { call, id, path } = await streamOf('asking')
  expect((await call('GET', `/stream?stream_id=${id}`)).body.delivery).toEqual({
    method: signals.POLL,
    endpoint_url: `${server.url}/ssf/poll/${id}`,
  })
  expect((await call('POST', path, NOW)).body).toEqual({ sets: {} })
  for (const state of ['one', 'two', 'three']) await verify(call, id, state)

  const first = await call('POST', path, { ...NOW, maxEvents: 2 })
  expect(first).toMatchObject({ status: 200, body: { moreAvailable: true } })
  const jtis = Object.keys(first.body.sets)
  const told = await Promise.all(Object.values<string>(first.body.sets).map(async (set) => signals.verified(server, set, 'asking')))
  expect(told.map(({ jti }) => jti)).toEqual(jtis)
  expect(told.map(({ events }) => (events as Record<string, unknown>)[signals.VERIFICATION])).toEqual([{ state: 'one' }, { state: 'two' }])
  expect(Object.keys((await call('POST', path, NOW)).body.sets).slice(0, 2)).toEqual(jtis)

  // Acknowledged alone, and with the next.
  expect((await call('POST', path, { ack: [jtis[0]], maxEvents: 0 })).body).toEqual({ sets: {} })
  const rest = await call('POST', path, { ...NOW, ack: [jtis[1]] })
  expect(Object.keys(rest.body.sets)).toHaveLength(1)
  expect(rest.body).not.toHaveProperty('moreAvailable')
  await call('POST', '/status', { stream_id: id, status: 'paused' })
  expect((await call('POST', path, NOW)).body).toEqual({ sets: {} })
  await call('POST', '/status', { stream_id: id, status: 'enabled' })
  expect((await call('POST', path, NOW)).body.sets).toEqual(expect.objectContaining({ [Object.keys(rest.body.sets)[0]!]: expect.any(String) }))

  // Nobody else asks for them, nor with a token that is for something else.
  expect((await (await signals.signalsAs(server, 'other'))('POST', path, NOW)).status).toBe(404)
  for (const token of [undefined, 'not-a-token'])
    expect(await signals.signalsWith(server, token)('POST', path, NOW)).toMatchObject({ status: 401 })
  const reader = signals.signalsWith(server, await signals.tokenFor(server, 'asking', 'ssf.read'))
  expect((await reader('POST', path, NOW)).status).toBe(200)
  for (const body of [{ ack: 'all' }, { maxEvents: -1 }, { ack: Array.from({ length: 1001 }, () => 'x') }, { setErrs: [] }])
    expect((await call('POST', path, body)).status).toBe(400)
  expect((await call('POST', path, { ...NOW, ack: ['unknown'], setErrs: { unknown: { err: 'invalid_key' } } })).status).toBe(200)
}) // prettier-ignore

test('what a receiver refuses is not offered again', async () => {
  const { call, id, path } = await streamOf('errs')
  await verify(call, id, 'refused')
  const [jti] = Object.keys((await call('POST', path, NOW)).body.sets)
  const setErrs = { [jti!]: { err: 'invalid_state', description: 'that was not asked for' } }
  expect((await call('POST', path, { setErrs, maxEvents: 0 })).body).toEqual({ sets: {} })
  expect((await call('POST', path, NOW)).body).toEqual({ sets: {} })
  expect(server.output()).toContain('a receiver refused security events')
})

test('who waits is answered when something happens, at another process too; and when the server stops', async () => {
  const { call, path } = await streamOf('long')
  const elsewhere = signals.signalsWith(second, await signals.tokenFor(server, 'long'))
  const [username, password] = ['long', 'a long enough password']
  const { id: user } = await users.create({ username, password })
  const { sub, sid } = await signals.signInTo(server, 'long', { username, password })
  const asked = elsewhere('POST', path, {})
  await server.server.oauth.sessions.endOne(user, sid)
  const { body } = await asked
  const [set] = await Promise.all(Object.values<string>(body.sets).map(async (one) => signals.verified(server, one, 'long')))
  expect(set!['sub_id']).toMatchObject({ format: 'complex', user: { sub }, session: { id: sid } })
  await call('POST', path, { ack: [set!.jti], maxEvents: 0 })

  // As many of a stream wait as a receiver has processes, or the first is answered; and none while the server stops.
  const looked = vi.spyOn(second.server.sharedSignals.queue, 'list')
  const asking: Promise<signals.SignalsAnswer>[] = []
  const answered: number[] = []
  for (let at = 0; at < 12; at++) {
    // By how many each asks for, it is known which of them waits.
    asking.push(elsewhere('POST', path, { maxEvents: at + 1 }).finally(() => answered.push(at)))
    await until(() => expect(looked).toHaveBeenCalledWith(expect.anything(), at + 2))
  }
  await Promise.all(asking.slice(0, 2))
  expect(answered.toSorted((a, b) => a - b)).toEqual([0, 1])
  await second.close()
  for (const answer of await Promise.all(asking)) expect(answer).toMatchObject({ status: 200, body: { sets: {} } })
}) // prettier-ignore

test('who waits while the stream becomes one that is pushed is told so, and is given nothing', async () => {
  const { call, id, path } = await streamOf('other')
  const looked = vi.spyOn(server.server.sharedSignals.queue, 'list')
  const asked = call('POST', path, {})
  await until(() => expect(looked).toHaveBeenCalled())
  const delivery = { method: signals.PUSH, endpoint_url: 'https://receiver.example/events' }
  await call('PATCH', '/stream', { stream_id: id, delivery })
  expect(await asked).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  await call('DELETE', `/stream?stream_id=${id}`)
})

test('no more than ten thousand wait for a receiver: the youngest', async () => {
  const { call, id, path } = await streamOf('full')
  await server.database.query(`insert into security_events (stream, jti, claims)
    select '${id}', '00000001-' || lpad(n::text, 8, '0'), '{}' from generate_series(1, 10000) n`)
  await verify(call, id, 'youngest')
  const [{ count, first }] = (await server.database.query(
    `select count(*)::int as count, min(jti) as first from security_events where stream = '${id}'`,
  )) as [{ count: number; first: string }]
  expect([count, first]).toEqual([10_000, '00000001-00000002'])
  expect((await call('POST', path, { ...NOW, maxEvents: 1000 })).body.moreAvailable).toBe(true)
  expect(server.output()).toContain('too many security events wait')
})
