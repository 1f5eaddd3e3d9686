/** What programs see of streams of security events, and do about them, by the interface of the administration. @needs latchkey-shared-signals */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { statements } from '../../../src/store/security-events.ts'
import { tableOf } from '../../../src/store/statement.ts'
import { callerAs, program, PROGRAMS, ROOT, startApi } from '../../support/admin-api.ts'
import { startReceiver } from '../../support/receiver.ts'
import * as signals from '../../support/shared-signals.ts'
import { SEED } from '../../support/sign-in.ts'
import { until } from '../../support/until.ts'

const receiver = await startReceiver((_request, response) => response.writeHead(503).end())
const origin = `http://127.0.0.1:${receiver.port}`
const NAMES = ['asking', 'down', 'managing', 'other', 'lost']
const server = await startApi(
  { OIDC_SHARED_SIGNALS: 'on', UNSAFE_OUTBOUND_ORIGINS: origin },
  {
    seed: {
      ...SEED,
      users: [...SEED.users, ROOT],
      clients: [
        ...SEED.clients,
        ...PROGRAMS,
        program('seer', 'clients:read'),
        ...NAMES.map((name) =>
          signals.app(
            name,
            name === 'managing' ? { scope: ['ssf.manage', 'ssf.read', 'latchkey:users:write'] } : {},
          ),
        ),
      ],
    },
  },
)
const { oauth, sharedSignals } = server.server
const { streams } = sharedSignals
const { query } = server.database
const [all, apps, seer, people] = [
  await callerAs(server, 'all'),
  await callerAs(server, 'apps'),
  await callerAs(server, 'seer'),
  await callerAs(server, 'people'),
]
const calls = Object.fromEntries(
  await Promise.all(NAMES.map(async (name) => [name, await signals.signalsAs(server, name)] as const)),
)
const asking = await signals.streamOf(calls['asking']!)
const down = await signals.streamOf(calls['down']!, {
  method: signals.PUSH,
  endpoint_url: `${origin}/canary`,
  authorization_header: 'canary',
})
const managing = await signals.streamOf(calls['managing']!)
const eventsOf = async (client: string, id: string) => {
  const { body } = await calls[client]!('POST', `/poll/${id}`, { returnImmediately: true })
  return Object.values<string>(body.sets).map((set) => decodeJwt(set)['events'])
}
const UPDATED = 'https://schemas.openid.net/secevent/ssf/event-type/stream-updated'

test('streams are listed by client, a page at a time, with how they are doing, and no secret', async () => {
  await calls['down']!('POST', '/verify', { stream_id: down })
  const last = async () => (await seer('GET', `/event-streams/${down}`)).body
  await until(async () => expect((await last()).attempts[0]).toMatchObject({ taken: false, text: 'it answered with 503' }))
  const { status, body } = await seer('GET', '/event-streams')
  expect(status).toBe(200)
  expect(body.event_streams).toEqual([
    { stream_id: asking, client_id: 'asking', status: 'enabled', method: signals.POLL, events: signals.ALL, waiting: 0, given_up: 0, attempts: [] },
    expect.objectContaining({
      stream_id: down, client_id: 'down', status: 'enabled', method: signals.PUSH, origin, waiting: 1, waiting_since: expect.any(String), failing_since: expect.any(String),
    }),
    expect.objectContaining({ stream_id: managing }),
  ])
  const [, { attempts }] = body.event_streams
  expect(attempts[0].advice).toBe('It answered with 503: it has a failure of its own. See its log.')
  expect(JSON.stringify(body)).not.toContain('canary')
  const ids: string[] = []
  for (let next = ''; next !== undefined;) {
    const page = await seer('GET', `/event-streams?limit=2${next === '' ? '' : `&after=${next}`}`)
    ids.push(...page.body.event_streams.map((one: { stream_id: string }) => one.stream_id))
    next = page.body.next
  }
  expect(ids).toEqual([asking, down, managing])
  const one = await seer('GET', '/event-streams?client_id=down')
  expect(one.body.event_streams).toMatchObject([{ stream_id: down }])
  expect((await seer('GET', '/event-streams?client_id=dow')).body.event_streams).toEqual([])
}) // prettier-ignore

test('a stream is paused and enabled, its app is told, and the audit log names the program', async () => {
  const reason = 'We look into it.'
  const paused = await apps('POST', `/event-streams/${asking}/status`, { status: 'paused', reason })
  expect(paused).toMatchObject({ status: 200, body: { stream_id: asking, status: 'paused', reason } })
  expect(await apps('POST', `/event-streams/${asking}/verification`, {})).toMatchObject({
    status: 409,
    body: { error: 'conflict', error_description: 'the stream is paused: enable it first' },
  })
  // What it is already, nobody is told of.
  await apps('POST', `/event-streams/${asking}/status`, { status: 'paused' })
  await apps('POST', `/event-streams/${asking}/status`, { status: 'enabled' })
  expect((await apps('POST', `/event-streams/${asking}/verification`, {})).status).toBe(202)
  const soon = await apps('POST', `/event-streams/${asking}/verification`, {})
  expect([soon.status, Number(soon.headers.get('retry-after')) > 0]).toEqual([429, true])
  expect(await eventsOf('asking', asking)).toEqual([
    { [UPDATED]: { status: 'paused', reason } },
    { [UPDATED]: { status: 'enabled' } },
    { [signals.VERIFICATION]: {} },
  ])
  const { events } = await oauth.audit.list({ client: 'asking' })
  expect(events.filter(({ type }) => type.startsWith('stream.')).map(({ type, actor }) => [type, actor])).toEqual([
    ...['verification_sent', 'changed', 'changed'].map((type) => [`stream.${type}`, { kind: 'client', id: 'apps' }]),
    ['stream.created', { kind: 'client', id: 'asking' }],
  ])
}) // prettier-ignore

test('what does not fit is refused by its member, and what is not there is not found', async () => {
  const path = `/event-streams/${asking}/status`
  for (const [sent, member] of [
    [{}, 'status'],
    [{ status: 'disabled' }, 'status'],
    [{ status: 'paused', reason: 'x'.repeat(1001) }, 'reason'],
    [{ status: 'paused', from: 'enabled' }, 'from'],
  ] as const) {
    const { status, body } = await apps('POST', path, sent)
    expect([sent, status, body.problems[0].member]).toEqual([sent, 400, member])
  }
  for (const reason of ['nul \0', 'half \ud800'])
    expect((await apps('POST', path, { status: 'paused', reason })).status).toBe(400)
  for (const [method, gone, body] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/status', { status: 'paused' }],
    ['POST', '/verification', {}],
    ['GET', '/removed-subjects'],
  ] as const)
    expect([method, gone, (await all(method, `/event-streams/none${gone}`, body)).status]).toEqual([
      method,
      gone,
      404,
    ])
  expect((await streams.find('asking'))!.status).toBe('enabled')
})

test('who reads clients reads streams, who changes clients changes them, and nobody else does anything', async () => {
  const own = `/event-streams/${asking}`
  for (const [method, path, body] of [
    ['POST', `${own}/status`, { status: 'paused' }],
    ['POST', `${own}/verification`, {}],
    ['DELETE', own],
  ] as const)
    for (const call of [seer, people])
      expect([method, path, (await call(method, path, body)).status]).toEqual([method, path, 403])
  for (const path of ['/event-streams', own])
    expect([path, (await people('GET', path)).status]).toEqual([path, 403])
  // Who somebody is at an app is for who may see people.
  expect([
    (await seer('GET', `${own}/removed-subjects`)).status,
    (await people('GET', `${own}/removed-subjects`)).status,
  ]).toEqual([403, 200])
  // That of a client which administers the server is for whoever may do all.
  const theirs = `/event-streams/${managing}`
  expect((await seer('GET', theirs)).status).toBe(200)
  for (const [method, path, body] of [
    ['POST', `${theirs}/status`, { status: 'paused' }],
    ['POST', `${theirs}/verification`, {}],
    ['DELETE', theirs],
  ] as const)
    expect([method, path, (await apps(method, path, body)).status]).toEqual([method, path, 403])
  expect((await all('POST', `${theirs}/status`, { status: 'paused' })).status).toBe(200)
  expect(await streams.find('asking')).toMatchObject({ status: 'enabled' })
})

test('whom an app has removed is listed a page at a time, and found', async () => {
  const carol = await oauth.users.create({ username: 'carol', email: 'carol@example.com', email_verified: true })
  await query(`insert into removed_subjects (stream, subject) select $1, 'zz-' || lpad(n::text, 3, '0') from generate_series(1, 150) n`, [asking])
  await query(`insert into removed_subjects (stream, subject) values ($1, $2)`, [asking, carol.id])
  const path = `/event-streams/${asking}/removed-subjects`
  const first = await people('GET', path)
  expect([first.status, first.body.removed_subjects.length]).toEqual([200, 100])
  const second = await people('GET', `${path}?after=${first.body.next}`)
  expect([second.body.removed_subjects.length, second.body.next]).toEqual([51, undefined])
  for (const search of ['carol', 'carol%40example.com', carol.id])
    expect((await people('GET', `${path}?search=${search}`)).body).toEqual({ removed_subjects: [{ sub: carol.id }] })
  expect((await people('GET', `${path}?search=alice`)).body).toEqual({ removed_subjects: [] })
}) // prettier-ignore

test('a stream is deleted with what waits, once; and its app has no other one by that', async () => {
  const id = await signals.streamOf(calls['other']!)
  expect(await apps('DELETE', `/event-streams/${id}`)).toMatchObject({ status: 204, body: null })
  expect((await apps('DELETE', `/event-streams/${id}`)).status).toBe(404)
  expect(await streams.find('other')).toBeNull()
  const [event] = (await oauth.audit.list({ client: 'other', type: 'stream.deleted' })).events
  expect(event).toMatchObject({ actor: { kind: 'client', id: 'apps' } })
})

test('of a receiver and an operator who change a stream at the same moment each change is whole, and neither is lost', async () => {
  const id = await signals.streamOf(calls['other']!)
  for (let round = 0; round < 5; round++) {
    const wanted = round % 2 === 0 ? 'paused' : 'enabled'
    const [operated, described] = await Promise.all([
      apps('POST', `/event-streams/${id}/status`, { status: wanted }),
      calls['other']!('PATCH', '/stream', { stream_id: id, description: `Round ${round}` }),
    ])
    expect([operated.status, described.status]).toEqual([200, 200])
    expect(await streams.find('other')).toMatchObject({ status: wanted, description: `Round ${round}` })
  }
  // Nor does one of several operators who want the same come too late for it.
  const same = await Promise.all(
    Array.from({ length: 4 }, async () => apps('POST', `/event-streams/${id}/status`, { status: 'enabled' })),
  )
  expect(same.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const told = (await eventsOf('other', id)).map((event) => Object.values(event as object)[0])
  expect(told.map(({ status }) => status)).toEqual([
    'paused',
    'enabled',
    'paused',
    'enabled',
    'paused',
    'enabled',
  ])
  const [operated, deleted] = await Promise.all([
    apps('POST', `/event-streams/${id}/status`, { status: 'enabled' }),
    calls['other']!('DELETE', `/stream?stream_id=${id}`),
  ])
  expect([200, 404]).toContain(operated.status)
  expect(deleted.status).toBe(204)
  expect(await streams.find('other')).toBeNull()
})

test('who pauses and enables again and again fills nothing: of what is said of a stream itself the last hundred wait', async () => {
  const id = await signals.streamOf(calls['other']!)
  await query(`insert into security_events (stream, jti, claims) select $1, '00000000.0' || lpad(n::text, 4, '0'), '{}' from generate_series(1, 700) n`, [id])
  await query(`insert into security_events (stream, jti, claims) select $1, '0190' || lpad(n::text, 4, '0'), '{}' from generate_series(1, 150) n`, [id])
  for (const status of ['paused', 'enabled']) await apps('POST', `/event-streams/${id}/status`, { status })
  const [row] = await query(`select count(*) filter (where jti < '00000001')::int as said, count(*) filter (where jti > '00000001')::int as happened,
    bool_or(claims->'events' ? '${UPDATED}') as latest from security_events where stream = $1`, [id])
  expect(row).toEqual({ said: 100, happened: 150, latest: true })
}) // prettier-ignore

test('what waits and who was removed is counted by an index, however much there is and before anything was vacuumed', async () => {
  const ids = ['a', 'b', 'c'].map((name) => `counted-${name}`)
  await query(`insert into security_events (stream, jti, claims) select s, '0190' || lpad(n::text, 8, '0'), '{}' from unnest($1::text[]) s, generate_series(1, 7000) n`, [ids])
  await query(`insert into removed_subjects (stream, subject) select s, 'subject-' || n from unnest($1::text[]) s, generate_series(1, 7000) n`, [ids])
  await query('analyze security_events, removed_subjects')
  const [counts, subjects] = [statements.counts, statements.countSubjects].map(({ build }) => build(tableOf()))
  const plans = await Promise.all([
    query(`explain ${counts!.replace('$1', `'{${ids.join(',')}}'`).replace('$2', '501')}`),
    query(`explain ${subjects!.replace('$1', `'${ids[2]}'`).replace('$2', '501')}`),
  ])
  const text = JSON.stringify(plans)
  expect(text).toContain('security_events_pkey')
  expect(text).toContain('removed_subjects_pkey')
  expect(text).not.toContain('Seq Scan')
  for (const table of ['security_events', 'removed_subjects']) await query(`delete from ${table} where stream = any($1)`, [ids])
}) // prettier-ignore

test('a stream whose client has lost its scopes is listed with why it hears nothing, and can only be removed', async () => {
  const id = await signals.streamOf(calls['lost']!)
  await oauth.clients.update('lost', { scope: ['read_books'] })
  const [listed] = (await seer('GET', '/event-streams?client_id=lost')).body.event_streams
  expect(listed).toMatchObject({ stream_id: id, status: 'enabled', asleep: true })
  expect(listed.advice).toMatch(/^Its client has neither ssf.read nor ssf.manage: .* Give the client one of them/)
  expect((await seer('GET', `/event-streams/${id}`)).body).toEqual(listed)
  for (const [path, body] of [['status', { status: 'paused' }], ['verification', {}]] as const)
    expect(await apps('POST', `/event-streams/${id}/${path}`, body)).toMatchObject({
      status: 409,
      body: { error: 'conflict', error_description: expect.stringMatching(/neither ssf.read nor ssf.manage/) },
    })
  expect((await apps('DELETE', `/event-streams/${id}`)).status).toBe(204)
  expect((await seer('GET', '/event-streams?client_id=lost')).body.event_streams).toEqual([])
}) // prettier-ignore
