/** `stream list|pause|enable|delete`. @needs latchkey-shared-signals */
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { createUuid } from '../../src/protocol/uuid.ts'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { startReceiver } from '../support/receiver.ts'
import { startBeside, type TestServer } from '../support/server.ts'
import * as signals from '../support/shared-signals.ts'
import { until } from '../support/until.ts'

test('list says whose the streams are, where they go, and what waits, without secrets; one that is asleep is not enabled, and where it is off there is no list', async () => {
  const server = await signals.startSignals([signals.app('asking'), signals.app('told')])
  const { run, runJson } = commandsHere(server.settings, 'stream')
  expect(await run('list')).toBe('No app has a stream of security events.\n')
  const asking = await signals.signalsAs(server, 'asking')
  const id = await signals.streamOf(asking)
  await asking('POST', '/verify', { stream_id: id })
  const told = await signals.signalsAs(server, 'told')
  const delivery = { method: signals.PUSH, endpoint_url: 'https://told.example/a-canary?key=canary', authorization_header: 'canary' }
  const stream_id = await signals.streamOf(told, delivery, [signals.SESSION_REVOKED])
  await told('POST', '/status', { stream_id, status: 'paused', reason: 'We move.' })
  expect(await runJson('list')).toEqual([
    { client_id: 'asking', stream_id: id, status: 'enabled', method: signals.POLL, events: signals.ALL, waiting: 1, failing_since: null },
    {
      client_id: 'told', stream_id, status: 'paused', reason: 'We move.', method: signals.PUSH, origin: 'https://told.example',
      events: [signals.SESSION_REVOKED], waiting: 0, failing_since: null,
    },
  ])
  expect(await run('list')).toBe('asking  enabled  urn:ietf:rfc:8936  1 wait\ntold  paused  https://told.example  0 wait\n')
  // What was pushed to who is asked now failed before.
  for (const client of ['asking', 'told']) await rest(server, client)
  const since = '2026-01-02T03:04:05.000Z'
  expect(await runJson('list')).toMatchObject([{ client_id: 'asking', failing_since: null }, { client_id: 'told', failing_since: since }])
  expect(await run('list')).toBe(`asking  enabled  urn:ietf:rfc:8936  1 wait\ntold  paused  https://told.example  0 wait  failing since ${since}\n`)
  await server.server.oauth.clients.update('told', { scope: ['read_books'] })
  expect(await runJson('list')).toMatchObject([{ client_id: 'asking' }, { client_id: 'told', status: 'paused', asleep: true }])
  const why = 'asleep: its client has neither ssf.read nor ssf.manage'
  expect(await run('list')).toBe(`asking  enabled  urn:ietf:rfc:8936  1 wait\ntold  paused  https://told.example  0 wait  failing since ${since}  ${why}\n`)
  const enabled = await runCommandHere(['stream', 'enable', 'told'], server.settings)
  expect(enabled).toMatchObject({ status: 1, stderr: expect.stringContaining('neither ssf.read nor ssf.manage') })
  const off = await runCommandHere(['stream', 'list'], { ...server.settings, OIDC_SHARED_SIGNALS: 'off' })
  expect(off).toMatchObject({ status: 1, stderr: expect.stringContaining('OIDC_SHARED_SIGNALS is off') })
}) // prettier-ignore

/** As after many failures, of which its receiver rests. */
const rest = async ({ database }: TestServer, client: string) =>
  database.query(
    `insert into outbox_recipients (kind, recipient, failures, failing_since, rests_until)
      values ('security-events', '${client}', 9, '2026-01-02T03:04:05Z', now() + interval '1 hour')
      on conflict (kind, recipient) do update set failures = 9, rests_until = excluded.rests_until`,
  )

const UPDATED = 'https://schemas.openid.net/secevent/ssf/event-type/stream-updated'

test('streams that are there while the setting is off are told of, by the start and by doctor; none, by neither', async () => {
  const sleeping = 'OIDC_SHARED_SIGNALS is off, though apps have streams'
  const off = { OIDC_SHARED_SIGNALS: 'off' }
  const server = await signals.startSignals([signals.app('asking')])
  const doctor = async (more: object = {}) => (await runCommandHere(['doctor'], { ...server.settings, ...more })).stdout
  expect(await doctor(off)).not.toContain('shared signals')
  await signals.streamOf(await signals.signalsAs(server, 'asking'))
  expect(await doctor(off)).toContain(`warn  shared signals: ${sleeping}`)
  expect(await doctor()).not.toContain('shared signals')
  const beside = await startBeside(server, off)
  await until(() => expect(beside.output()).toContain(sleeping))
  expect(server.output()).not.toContain(sleeping)
}) // prettier-ignore

test('pause holds what happens, enable lets it go, and the app is told of both at once, whichever way it hears', async () => {
  const receiver = await startReceiver((_request, response) => response.writeHead(202).end())
  const origin = `http://127.0.0.1:${receiver.port}`
  const server = await signals.startSignals([signals.app('asking'), signals.app('told')], { UNSAFE_OUTBOUND_ORIGINS: origin })
  const { run, runJson } = commandsHere({ ...server.settings, LOG_LEVEL: 'error' }, 'stream')
  const asking = await signals.signalsAs(server, 'asking')
  const id = await signals.streamOf(asking)
  const told = await signals.signalsAs(server, 'told')
  const stream_id = await signals.streamOf(told, { method: signals.PUSH, endpoint_url: `${origin}/events` })
  const polled = async () => {
    const { body } = await asking('POST', `/poll/${id}`, { returnImmediately: true })
    return Object.values<string>(body.sets).map((set) => decodeJwt(set)['events'])
  }
  const pushed = () => signals.once(receiver.received).map(({ body }) => decodeJwt(body))
  const [reason, paused] = ['We look into something.', { status: 'paused', reason: 'We look into something.' }]

  await rest(server, 'told')
  const said = await run('pause', 'asking', '--reason', reason)
  expect(said).toBe('asking is paused: what happens is held for a week. The app is told, and may enable its stream itself.\n')
  expect(await runJson('pause', 'told', '--reason', reason)).toEqual({ client_id: 'told', stream_id, ...paused })
  for (const call of [asking, told]) await call('POST', '/verify', { stream_id: call === asking ? id : stream_id })
  expect((await told('GET', `/status?stream_id=${stream_id}`)).body).toEqual({ stream_id, ...paused })
  expect(await polled()).toEqual([{ [UPDATED]: paused }])
  await until(() => expect(pushed()).toMatchObject([{ aud: 'told', sub_id: { format: 'opaque', id: stream_id }, events: { [UPDATED]: paused } }]))

  // What it is already, nobody needs to be told.
  await run('pause', 'asking')
  expect(await polled()).toHaveLength(1)
  await rest(server, 'told')
  for (const client of ['asking', 'told'])
    expect(await run('enable', client)).toBe(`${client} is enabled: what waited is told.\n`)
  const enabled = { [UPDATED]: { status: 'enabled' } }
  expect(await polled()).toEqual([{ [UPDATED]: paused }, enabled, { [signals.VERIFICATION]: {} }])
  await until(() => expect(pushed().map(({ events }) => events)).toEqual([{ [UPDATED]: paused }, enabled, { [signals.VERIFICATION]: {} }]))
  // Of one that is enabled already, what waits is sent.
  await rest(server, 'told')
  const { streams, queue } = server.server.sharedSignals
  const stream = (await streams.find('told'))!
  await queue.add([{ stream, claims: { jti: createUuid(Date.now()), events: { late: {} } } }])
  await run('enable', 'told')
  await until(() => expect(pushed().at(-1)).toMatchObject({ events: { late: {} } }))
  const { events } = await server.server.oauth.audit.list({ client: 'told', type: 'stream.changed' })
  await run('pause', 'asking')
  const mended = { status: 'enabled', reason: 'It is mended.' }
  expect(await runJson('enable', 'asking', '--reason', mended.reason)).toEqual({ client_id: 'asking', stream_id: id, ...mended })
  expect((await polled()).filter((told) => UPDATED in (told as object)).at(-1)).toEqual({ [UPDATED]: mended })
  expect(events.map(({ actor, details }) => [actor.kind, details])).toEqual(
    ['enabled', 'paused'].map((status) => ['command', { changes: ['status'], status }]),
  )
}) // prettier-ignore

test('delete ends a stream for good, also one that nobody can read any more', async () => {
  const server = await signals.startSignals([signals.app('gone'), signals.app('unreadable')])
  for (const client of ['gone', 'unreadable']) {
    const call = await signals.signalsAs(server, client)
    const id = await signals.streamOf(call)
    await call('POST', '/verify', { stream_id: id })
    if (client === 'unreadable') await server.database.query(`update plugin_records set value = to_jsonb('sealed otherwise'::text) where record_key = '${id}'`)
  }
  const refused = async (...args: string[]) => runCommandHere(['stream', ...args], server.settings)
  expect(await refused('delete', 'gone')).toMatchObject({ status: 1, stderr: expect.stringContaining('add --yes') })
  for (const args of [['pause', 'alice'], ['enable', 'alice'], ['delete', 'alice', '--yes']])
    expect(await refused(...args)).toMatchObject({ status: 1, stderr: expect.stringContaining('`latchkey stream list` says which apps have one') })
  const { run, runJson } = commandsHere({ ...server.settings, LOG_LEVEL: 'error' }, 'stream')
  expect(await run('delete', 'gone', '--yes')).toBe('The stream of gone is deleted, with what waited.\n')
  expect(await runJson('delete', 'unreadable', '--yes')).toEqual({ client_id: 'unreadable', deleted: true })
  expect(await server.database.query(`select from plugin_records where kind = 'event-stream'`)).toEqual([])
  expect(await server.database.query('select from security_events')).toEqual([])
}) // prettier-ignore
