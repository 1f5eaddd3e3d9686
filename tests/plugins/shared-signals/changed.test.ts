/**
 * Streams that are changed, deleted and made anew at the very moment in which something is stored for them.
 * @needs latchkey-shared-signals
 */
import { decodeJwt } from 'jose'
import { expect, test, vi } from 'vitest'
import { kernelOf } from '../../../src/http/kernel-of.ts'
import { createUuid } from '../../../src/protocol/uuid.ts'
import { startReceiver } from '../../support/receiver.ts'
import * as signals from '../../support/shared-signals.ts'
import { until } from '../../support/until.ts'

const receiver = await startReceiver((_request, response) => response.writeHead(202).end())
const origin = `http://127.0.0.1:${receiver.port}`
const push = { method: signals.PUSH, endpoint_url: `${origin}/events` }
const NAMES = ['resumed', 'asking', 'enabled', 'anew', 'gone', 'whole', 'ended', 'unreadable', 'reader']
const server = await signals.startSignals(
  NAMES.map((name) => signals.app(name)),
  { UNSAFE_OUTBOUND_ORIGINS: origin },
)
const { oauth, sharedSignals } = server.server
const { streams, queue } = sharedSignals

async function streamOf(client: string, delivery: object = { method: signals.POLL }) {
  const call = await signals.signalsAs(server, client)
  const id = await signals.streamOf(call, delivery)
  const become = async (status: string) => call('POST', '/status', { stream_id: id, status })
  return { call, id, become, known: async () => (await streams.find(client))! }
}

const eventOf = (ago = 0) => ({ jti: `${createUuid(Date.now() - ago)}.000`, events: {} })
const came = () => receiver.received.map(({ body }) => decodeJwt(body).jti)

test('what is stored while a stream is enabled is pushed, whatever was known of it before', async () => {
  const { become, known } = await streamOf('resumed', push)
  await become('paused')
  const stream = await known()
  await become('enabled')
  await until(async () =>
    expect(await server.database.query('select from outbox where given_up_at is null')).toEqual([]),
  )
  const claims = eventOf()
  await queue.add([{ stream, claims }])
  await until(() => expect(came()).toContain(claims.jti))
})

test('who asks hears of it, too, where the stream was pushed before', async () => {
  const { call, id, known } = await streamOf('asking', push)
  const stream = await known()
  await call('PATCH', '/stream', { stream_id: id, delivery: { method: signals.POLL } })
  const changes = async () =>
    (await server.database.query(`select from changes where key = 'stream ${id}'`)).length
  const before = await changes()
  const claims = eventOf()
  await queue.add([{ stream, claims }])
  // By which each process has who waits look again.
  expect(await changes()).toBe(before + 1)
  const { body } = await call('POST', `/poll/${id}`, { returnImmediately: true })
  expect(Object.keys(body.sets)).toEqual([claims.jti])
})

test('what happens from the moment on in which a stream is enabled is told, and nothing of before', async () => {
  const { call, id, become, known } = await streamOf('enabled')
  const stream = await known()
  await become('disabled')
  await queue.add([{ stream, claims: eventOf(1000) }])
  const told: string[] = []
  const { change } = streams
  vi.spyOn(streams, 'change').mockImplementationOnce(async (...asked) => {
    const next = await change(...asked)
    const claims = eventOf()
    told.push(claims.jti)
    await queue.add([{ stream: next, claims }])
    return next
  })
  expect(await become('enabled')).toMatchObject({ status: 200 })
  const { body } = await call('POST', `/poll/${id}`, { returnImmediately: true })
  expect(Object.keys(body.sets)).toEqual(told)
})

test('who deletes a stream that another one has replaced meanwhile leaves that one alone', async () => {
  const { id, known } = await streamOf('anew')
  const { delivery } = await known()
  const renew = async () => {
    await streams.delete('anew', (await known()).id)
    await streams.create('anew', { delivery })
  }
  const { findClient } = oauth
  const looked = vi.spyOn(oauth, 'findClient')
  /** The client is looked up once the stream was read. */
  const meanwhile = (answer: typeof findClient) =>
    looked.mockImplementation(async (clientId) => {
      if (clientId !== 'anew') return findClient(clientId)
      looked.mockImplementation(findClient)
      await renew()
      return answer(clientId)
    })
  meanwhile(findClient)
  expect(await streams.delete('anew', id)).toBe(false)
  const { id: next } = await known()
  expect(next).not.toBe(id)
  // As of a client that was gone, and is registered again.
  meanwhile(async () => null)
  await streams.forget('anew')
  expect((await known()).id).not.toBe(next)
  looked.mockRestore()
})

const removedFrom = async (id: string) =>
  server.database.query(`select from removed_subjects where stream = '${id}'`)

test('nothing is remembered of a stream that is gone, nor of one that goes meanwhile', async () => {
  const { call, id } = await streamOf('gone')
  const body = { stream_id: id, subject: { format: 'email', email: 'alice@example.com' } }
  const alice = await oauth.users.findByEmail('alice@example.com')
  expect(alice).not.toBeNull()
  vi.spyOn(oauth.users, 'findByEmail').mockImplementationOnce(async () => {
    await streams.delete('gone', id)
    return alice
  })
  expect(await call('POST', '/subjects/remove', body)).toMatchObject({ status: 404 })
  expect(await removedFrom(id)).toEqual([])
})

test('a stream goes with all that is kept for it, or not at all', async () => {
  const { call, id, known } = await streamOf('whole')
  const body = { stream_id: id, subject: { format: 'iss_sub', iss: server.url, sub: 'somebody' } }
  await call('POST', '/subjects/remove', body)
  await queue.add([{ stream: await known(), claims: eventOf() }])
  await server.database.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$`)
  await server.database.query('create trigger refused before delete on removed_subjects execute function refuse()')
  await expect(streams.delete('whole', id)).rejects.toThrow('not now')
  expect((await known()).id).toBe(id)
  expect((await queue.counts([id])).get(id)).toBe(1)
  await server.database.query('drop trigger refused on removed_subjects')
  expect(await streams.delete('whole', id)).toBe(true)
  expect([await removedFrom(id), await streams.find('whole'), (await queue.counts([id])).get(id)]).toEqual([[], null, undefined])
}) // prettier-ignore

test('a stream goes with its client also where this process does not know yet that the client is gone', async () => {
  const { id } = await streamOf('ended')
  const [row] = await server.database.query(`select created_at from plugin_records where record_key = '${id}'`)
  const madeAt = (row!['created_at'] as Date).getTime()
  const delivery = kernelOf(server.server).doors.owners('delivery').get('shared-signals-client')!
  const deleted = async (enqueuedAt: number) => delivery.deliver({ client: 'ended' }, { id: 'one', attempt: 1, enqueuedAt })
  // Of who had the name before, and then of this one.
  await deleted(madeAt - 1)
  expect(await streams.find('ended')).toMatchObject({ id })
  await deleted(madeAt)
  expect(await streams.find('ended')).toBeNull()
}) // prettier-ignore

test('a stream that no SECRET_KEY fits any more keeps no other from hearing, and makes room for a new one', async () => {
  const { call, id } = await streamOf('unreadable')
  const removed = { stream_id: id, subject: { format: 'iss_sub', iss: server.url, sub: 'somebody' } }
  await call('POST', '/subjects/remove', removed)
  await server.database.query(`update plugin_records set value = to_jsonb('sealed otherwise'::text) where record_key = '${id}'`)
  const listed = (await streams.list()).map(({ client }) => client)
  expect(listed).toContain('enabled')
  expect(listed).not.toContain('unreadable')
  expect(server.output()).toContain('a stream cannot be read')
  expect((await call('GET', '/stream')).body).toEqual([])
  expect(await signals.streamOf(call)).not.toBe(id)
  expect(await removedFrom(id)).toEqual([])
}) // prettier-ignore

test('of who is left ssf.read a paused stream holds what happens, and only others enable it; of who has no scope of it, nothing is held', async () => {
  const { id, become, known } = await streamOf('reader')
  await become('paused')
  const [username, password] = ['known-to-reader', 'a long enough password']
  await oauth.users.create({ username, password })
  await signals.signInTo(server, 'reader', { username, password })
  const settled = async () =>
    until(async () => expect(await server.database.query(`select from outbox where kind = 'shared-signals'`)).toEqual([]))
  const waiting = async () => (await queue.counts([id])).get(id)

  await oauth.clients.update('reader', { scope: ['ssf.read'] })
  expect(await become('enabled')).toMatchObject({ status: 403 })
  await oauth.users.disable(username)
  await settled()
  expect(await waiting()).toBe(2)
  await oauth.clients.update('reader', { scope: ['read_books'] })
  await oauth.users.enable(username)
  await settled()
  expect(await waiting()).toBe(2)
  expect(await streams.find('reader')).toBeNull()
  await oauth.clients.update('reader', { scope: ['ssf.read'] })
  const call = signals.signalsWith(server, await signals.tokenFor(server, 'reader', 'ssf.read'))
  await sharedSignals.setStatus(await known(), { status: 'enabled' })
  const { body } = await call('POST', `/poll/${id}`, { returnImmediately: true })
  expect(Object.keys(body.sets)).toHaveLength(2)
}) // prettier-ignore
