/**
 * Receivers that refuse, are slow, or are busy with another process: what becomes of what waits for them.
 * @needs latchkey-shared-signals
 */
import type { ServerResponse } from 'node:http'
import { decodeJwt } from 'jose'
import { expect, onTestFinished, test, vi } from 'vitest'
import { OutboundError } from '../../../src/doors/outbound.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { TooManyUnderWay } from '../../../src/services/outbound/too-many.ts'
import { startReceiver } from '../../support/receiver.ts'
import * as signals from '../../support/shared-signals.ts'
import { until } from '../../support/until.ts'

/** Milliseconds by which the clock of this process has leapt. */
let leapt = 0
const clock = performance.now.bind(performance)
vi.spyOn(performance, 'now').mockImplementation(() => clock() + leapt)

const waiting: ServerResponse[] = []
/** The first event that a receiver does not hear any more; empty while all are up. */
let down = ''
/** Events that are taken now, and were refused before. */
const mended = new Set<string>()
const receiver = await startReceiver(({ url, body }, response) => {
  if (url.startsWith('/held/')) return waiting.push(response)
  const { jti = '' } = decodeJwt(body)
  if (url === '/slow') leapt += 10_000
  if (url === '/silent' && jti.startsWith('refused')) return response.destroy()
  if (down !== '' && jti >= down) return response.destroy()
  if (mended.has(jti)) return response.writeHead(202).end()
  return response.writeHead(jti.includes('refused') ? 500 : 202).end()
})
const origin = `http://127.0.0.1:${receiver.port}`
const NAMES = [
  'refusing',
  'one',
  'slow',
  'silent',
  'busy',
  'stalled',
  'held',
  'resting',
  'crowded',
  'since',
  'down',
  'back',
  'pause',
]
const server = await signals.startSignals(
  NAMES.map((name) => signals.app(name)),
  // Nobody tries anything by itself.
  { UNSAFE_OUTBOUND_ORIGINS: origin, OIDC_JANITOR_INTERVAL: 0 },
)
const { operating, queue, streams } = server.server.sharedSignals
const claimed = queue.claim
const claim = vi.spyOn(queue, 'claim')

async function streamOf(client: string, status = 'enabled') {
  const call = await signals.signalsAs(server, client)
  const id = await signals.streamOf(call, { method: signals.PUSH, endpoint_url: `${origin}/${client}` })
  const become = async (next: string) =>
    expect(await call('POST', '/status', { stream_id: id, status: next })).toMatchObject({ status: 200 })
  await become(status)
  await until(async () => expect(await deliveriesTo(client)).toBe(0))
  return { call, id, become }
}

/** They are there, and nobody was told so. */
async function store(stream: string, jtis: readonly string[]): Promise<void> {
  for (const jti of jtis)
    await server.database.query(
      `insert into security_events (stream, jti, claims) values ('${stream}', '${jti}', '{"jti": "${jti}"}')`,
    )
}

const deliver = async (client: string, stream: string, attempt = 1) =>
  kernelOf(server.server)
    .doors.owners('delivery')
    .get('security-events')!
    .deliver({ client, stream }, { id: 'one', attempt, enqueuedAt: Date.now() })

const putOffOf = async (stream: string): Promise<unknown[]> =>
  (await server.database.query(`select jti from security_events where stream = '${stream}' and due_at is not null order by jti`))
    .map(({ jti }) => jti) // prettier-ignore

const deliveriesTo = async (client: string): Promise<number> =>
  (await server.database.query(`select from outbox where recipient = '${client}' and given_up_at is null`))
    .length

const failuresOf = async (client: string): Promise<unknown> =>
  (await server.database.query(`select failures from outbox_recipients where recipient = '${client}'`))[0]?.[
    'failures'
  ] ?? 0

const cameTo = (client: string): string[] =>
  receiver.received.filter(({ url }) => url === `/${client}`).map(({ body }) => decodeJwt(body).jti ?? '')

test('however many are refused, what is behind them comes', async () => {
  const { id, become } = await streamOf('refusing', 'paused')
  const refused = Array.from({ length: 45 }, (_, at) => `refused-${String(at).padStart(2, '0')}`)
  await store(id, [...refused, 'taken'])
  await become('enabled')
  const stream = (await streams.find('refusing'))!
  await until(() => expect(cameTo('refusing')).toContain('taken'))
  // The first is tried each time: where that is taken, all go on in their order.
  const before = cameTo('refusing').slice(0, cameTo('refusing').indexOf('taken'))
  expect(before.filter((jti) => jti === refused[0]).length).toBeGreaterThan(2)
  expect(before.filter((jti) => jti === refused[1])).toHaveLength(1)
  await until(async () => expect((await queue.list(stream, 100)).map(({ jti }) => jti)).toEqual(refused))
  await become('paused')
})

test('one event that is never taken comes again by itself, later each time, and makes none of the others late', async () => {
  const { id, become } = await streamOf('one')
  await store(id, ['refused', 'taken'])
  expect(await deliver('one', id)).toBe('1 taken')
  expect(cameTo('one')).toEqual(['refused', 'taken'])
  // Nothing else happens.
  await until(() => expect(cameTo('one').filter((jti) => jti === 'refused').length).toBeGreaterThan(2))
  const putOff = `update security_events set due_at = now() + interval '1 hour' where stream = '${id}' and claimed_until is null returning attempts`
  const [{ attempts }] = (await until(async () => {
    const rows = await server.database.query(putOff)
    expect(rows).toHaveLength(1)
    return rows
  })) as [{ attempts: number }]
  expect(attempts).toBeGreaterThan(1)
  receiver.received.length = 0
  await store(id, ['sooner'])
  await queue.goOn((await streams.find('one'))!)
  await until(() => expect(cameTo('one')).toContain('sooner'))
  expect(cameTo('one')).not.toContain('refused')
  expect(await failuresOf('one')).toBe(0)
  // Until somebody says that it is mended.
  await become('enabled')
  await until(() => expect(cameTo('one')).toContain('refused'))
  await become('paused')
}) // prettier-ignore

test('an event at which the receiver says nothing keeps none behind it waiting; of several, the rest is left for later', async () => {
  const { id, become } = await streamOf('silent')
  await store(id, ['refused', 'taken'])
  expect(await deliver('silent', id)).toBe('1 taken')
  expect(cameTo('silent')).toEqual(['refused', 'taken'])
  expect(await deliveriesTo('silent')).toBeGreaterThan(0)
  await queue.remove(id, ['refused'])
  await until(async () => expect(await deliveriesTo('silent')).toBe(0))
  await store(id, ['refused-one', 'refused-two', 'taken-too'])
  await expect(deliver('silent', id)).rejects.toThrow(OutboundError)
  expect(cameTo('silent').slice(-2)).toEqual(['refused-one', 'refused-two'])
  await become('paused')
})

test('where too much is asked of others, nothing is held against the receiver, nor against an event', async () => {
  const { id, become } = await streamOf('crowded')
  const stream = (await streams.find('crowded'))!
  const held = Array.from({ length: 10 }, async (_, n) => server.server.oauth.fetch(`${origin}/held/${n}`))
  await until(() => expect(waiting).toHaveLength(10))
  await store(id, ['first'])
  await expect(deliver('crowded', id)).rejects.toBeInstanceOf(TooManyUnderWay)
  for (const response of waiting.splice(0)) response.end()
  await Promise.all(held)
  // In the middle of a round: what was told is told, and the rest is for later.
  await store(id, ['second'])
  let more: Promise<Response>[] = []
  claim.mockImplementationOnce(claimed).mockImplementationOnce(async (...of) => {
    more = Array.from({ length: 10 }, async (_, n) => server.server.oauth.fetch(`${origin}/held/${n}-more`))
    await until(() => expect(waiting).toHaveLength(10))
    return claimed(...of)
  })
  expect(await deliver('crowded', id)).toBe('1 taken')
  expect(await failuresOf('crowded')).toBe(0)
  expect(
    await server.database.query(`select jti from security_events where attempts > 0 and stream = '${id}'`),
  ).toEqual([])
  for (const response of waiting.splice(0)) response.end()
  await Promise.all(more)
  await until(async () => expect(await queue.list(stream, 10)).toEqual([]))
  expect(cameTo('crowded')).toEqual(['first', 'second'])
  await become('paused')
})

test('only what was sent is put off: what was stored since, also with an id of before, goes on at once', async () => {
  const { id, become } = await streamOf('since')
  await store(id, ['b-refused', 'c-taken'])
  claim.mockImplementationOnce(claimed).mockImplementationOnce(async (...of) => {
    // By a process whose clock is behind.
    await store(id, ['a-late'])
    return claimed(...of)
  })
  expect(await deliver('since', id)).toBe('1 taken')
  const rows = await server.database.query(`select jti from security_events where stream = '${id}' and attempts > 0`)
  expect(rows).toEqual([{ jti: 'b-refused' }])
  await until(() => expect(cameTo('since')).toContain('a-late'))
  await become('paused')
}) // prettier-ignore

test('a receiver that goes down within a round fails, and nothing behind that is put off; what it had passed over is', async () => {
  const { id, become } = await streamOf('down')
  await store(id, ['a-refused', 'b', 'c', 'd'])
  onTestFinished(() => void (down = ''))
  down = 'c'
  await expect(deliver('down', id)).rejects.toThrow(OutboundError)
  expect(cameTo('down')).toEqual(['a-refused', 'b', 'c', 'd'])
  expect(await putOffOf(id)).toEqual(['a-refused'])
  down = ''
  await queue.goOn((await streams.find('down'))!)
  await until(async () => expect((await queue.list((await streams.find('down'))!, 10)).map(({ jti }) => jti)).toEqual(['a-refused']))
  await become('paused')
}) // prettier-ignore

test('what was put off is sent again at once when the receiver takes what it had failed at, and when it, or an administrator, asks for an event', async () => {
  const { call, id, become } = await streamOf('back')
  const acts: [string, () => Promise<unknown>][] = [
    ['a', async () => store(id, ['a-later']).then(async () => deliver('back', id, 2))],
    ['b', async () => call('POST', '/verify', { stream_id: id })],
    ['c', async () => operating.verify(id)],
  ]
  for (const [name, act] of acts) {
    const jti = `${name}-refused`
    await until(async () => expect(await deliveriesTo('back')).toBe(0))
    await store(id, [jti, `${name}-taken`])
    await deliver('back', id)
    expect(await putOffOf(id)).toEqual([jti])
    await server.database.query(`update security_events set attempts = 12, due_at = now() + interval '1 hour' where stream = '${id}'`)
    // Nor does the delivery that waits for it try it by itself.
    await server.database.query(`delete from outbox where recipient = 'back'`)
    mended.add(jti)
    await act()
    await until(async () => expect(await queue.list((await streams.find('back'))!, 10)).toEqual([]))
  }
  await become('paused')
}) // prettier-ignore

test('nothing is put off for more than an hour', async () => {
  const { id, become } = await streamOf('pause', 'paused')
  await store(id, ['refused'])
  const pauses: number[] = []
  for (let n = 0; n < 12; n++) {
    await server.database.query(`update security_events set attempts = 15, due_at = null where stream = '${id}'`)
    await queue.putOff({ client: 'pause', id }, ['refused'])
    const [row] = await server.database.query(`select extract(epoch from due_at - now())::float8 as left from security_events where stream = '${id}'`)
    pauses.push(Number(row!['left']))
  }
  expect(Math.min(...pauses)).toBeGreaterThan(1000)
  expect(Math.max(...pauses)).toBeLessThanOrEqual(3600)
  await become('paused')
}) // prettier-ignore

test('who is slow is asked again at once where it takes what comes, and not where it refuses', async () => {
  const { id, become } = await streamOf('slow')
  await store(id, ['refused', 'refused-too'])
  await expect(deliver('slow', id)).rejects.toThrow('it answered with 500')
  expect(cameTo('slow')).toEqual(['refused'])
  expect(await deliveriesTo('slow')).toBe(0)
  await queue.remove(id, ['refused', 'refused-too'])
  await store(id, ['one', 'two'])
  expect(await deliver('slow', id)).toBe('1 taken')
  await until(() => expect(cameTo('slow')).toEqual(['refused', 'one', 'two']))
  await become('paused')
})

test('while another process is at a stream nothing is done, nor is it taken for well; when that is over, it is', async () => {
  const { id, become } = await streamOf('busy', 'paused')
  await store(id, ['refused'])
  const claimed = async (until: string) =>
    server.database.query(`update security_events set claimed_until = now() ${until} where stream = '${id}'`)
  await claimed("+ interval '1 hour'")
  await become('enabled')
  await server.database.query(
    `insert into outbox_recipients (kind, recipient, failures) values ('security-events', 'busy', 3)
      on conflict (kind, recipient) do update set failures = 3`,
  )
  claim.mockClear()
  await until(() => expect(claim.mock.calls.length).toBeGreaterThan(1))
  expect(await deliveriesTo('busy')).toBe(1)
  expect(await failuresOf('busy')).toBe(3)
  expect(cameTo('busy')).toEqual([])
  await claimed("- interval '1 second'")
  await until(() => expect(cameTo('busy')).not.toEqual([]))
  await become('paused')
})

test('what waits is pushed also when all deliveries of it were given up, as after a day; what is held is not', async () => {
  const { id, become } = await streamOf('stalled')
  const held = await streamOf('held', 'paused')
  await server.database.query(`insert into outbox (id, kind, recipient, payload, tries_until, given_up_at)
    values (gen_random_uuid(), 'security-events', 'stalled', 'sealed', now(), now())`)
  for (const stream of [id, held.id]) await store(stream, ['one'])
  const { janitor } = kernelOf(server.server)
  expect((await janitor.round())['stalledStreams']).toBe(1)
  await until(() => expect(cameTo('stalled')).toEqual(['one']))
  await until(async () => expect(await deliveriesTo('stalled')).toBe(0))
  expect((await janitor.round())['stalledStreams']).toBe(0)
  expect(cameTo('held')).toEqual([])
  await become('paused')
}) // prettier-ignore

test('whose receiver rests after failures is asked at once when somebody says that it is mended, or asks for an event', async () => {
  const { call, id, become } = await streamOf('resting')
  const stream = (await streams.find('resting'))!
  const acts: [string, () => Promise<unknown>][] = [
    ['changed', async () => call('PATCH', '/stream', { stream_id: id, description: 'It is mended.' })],
    ['enabled', async () => become('enabled')],
    ['verified', async () => call('POST', '/verify', { stream_id: id })],
  ]
  for (const [jti, act] of acts) {
    await server.database.query(
      `insert into outbox_recipients (kind, recipient, failures, failing_since, rests_until)
        values ('security-events', 'resting', 9, now(), now() + interval '1 hour')
        on conflict (kind, recipient) do update set failures = 9, failing_since = now(), rests_until = excluded.rests_until`,
    )
    await store(id, [jti])
    await queue.goOn(stream)
    expect(cameTo('resting')).not.toContain(jti)
    await act()
    await until(() => expect(cameTo('resting')).toContain(jti))
    await until(async () => expect(await deliveriesTo('resting')).toBe(0))
  }
  await become('paused')
}) // prettier-ignore
