/** A stream from its making to its end, and whom it is about. */
import { expect } from 'vitest'
import { ALL, POLL, PUSH, SESSION_REVOKED } from '../../../support/shared-signals.ts'
import type { SsfChecks } from '../plan.ts'
import {
  configurationOf,
  create,
  list,
  manage,
  METHODS,
  remove,
  REQUESTED,
  send,
  setStatus,
  withId,
  type Caller,
  type SentStream,
  type SsfStream,
} from '../receiver.ts'

/** No transmitter knows it. */
const UNKNOWN = 'https://schemas.openid.net/secevent/oidf-conformance-suite/event-type/unknown-event-type'
const EVENTS = new Set([...REQUESTED, ...ALL])

/** What its receiver said of it, which the transmitter may not change (§8.1.1). */
function expectOf(stream: SsfStream, { delivery, description, events_requested }: SentStream): void {
  expect(stream.delivery.method).toBe(delivery.method)
  if (delivery.method === PUSH) expect(stream.delivery.endpoint_url).toBe(delivery.endpoint_url)
  expect(URL.canParse(stream.delivery.endpoint_url)).toBe(true)
  expect(stream.description).toBe(description)
  expect(stream.events_requested).toEqual(events_requested)
  for (const type of stream.events_delivered) {
    expect(events_requested).toContain(type)
    expect(stream.events_supported).toContain(type)
  }
}

/** What is answered is what there is: it is read again. */
async function change(
  caller: Caller,
  method: 'PATCH' | 'PUT',
  sent: Partial<SentStream> & Pick<SsfStream, 'stream_id'>,
): Promise<SsfStream> {
  const { configuration_endpoint, issuer } = caller.metadata
  const answer = await send(caller, method, configuration_endpoint, sent)
  expect(answer).toMatchObject({ status: 200, body: { iss: issuer } })
  const read = await send(caller, 'GET', withId(configuration_endpoint, sent.stream_id))
  expect(read).toMatchObject({ status: 200, body: answer.body })
  return answer.body as SsfStream
}

export const streams = {
  async 'stream-control-happy-path'(suite) {
    const caller = await manage(suite)
    const { configuration_endpoint } = suite.metadata
    const { delivery, ...rest } = configurationOf(suite, 'Bearer push_token')
    // What is shown is what was sent, to the letter.
    const address = suite.mode === 'push' ? { endpoint_url: `http://127.0.0.1:${suite.host.port}` } : {}
    const sent = { ...rest, delivery: { ...delivery, ...address } }
    const asked = { ...sent, events_requested: [...sent.events_requested, UNKNOWN] }
    const stream = await create(caller, asked)
    expectOf(stream, asked)
    expect(stream).toMatchObject({ stream_id: expect.any(String), aud: expect.anything() })
    expect(JSON.stringify(stream)).not.toContain('push_token')
    // Types that this server does not know are let be (§8.1.1).
    for (const type of stream.events_supported) expect([...EVENTS]).toContain(type)
    expect(stream.events_supported).toContain(SESSION_REVOKED)
    expect(stream.events_delivered).toEqual(REQUESTED.slice(0, 2))
    const { stream_id } = stream
    const read = await send(caller, 'GET', withId(configuration_endpoint, stream_id))
    expect(read).toMatchObject({ status: 200, body: stream })
    expect(await list(caller)).toEqual([stream])

    const updated = { ...sent, description: 'Updated' }
    expectOf(await change(caller, 'PATCH', { ...updated, stream_id }), updated)
    const renamed = { ...updated, description: 'Renamed' }
    expectOf(await change(caller, 'PATCH', { description: 'Renamed', stream_id }), renamed)
    const replaced = { ...sent, description: 'Replaced' }
    expectOf(await change(caller, 'PUT', { ...replaced, stream_id }), replaced)
    const { description: _none, ...reduced } = { ...sent, events_requested: [SESSION_REVOKED] }
    expectOf(await change(caller, 'PUT', { ...reduced, stream_id }), reduced)
    // Without any delivery it is by poll again, and nothing is told (§8.1.1.4).
    const bare = await change(caller, 'PUT', { stream_id })
    expect(bare).toMatchObject({ delivery: { method: POLL }, events_delivered: [] })

    const { status_endpoint } = suite.metadata
    expect(await send(caller, 'GET', withId(status_endpoint, stream_id))).toMatchObject({
      status: 200,
      body: { stream_id, status: 'enabled' },
    })
    for (const status of ['enabled', 'paused', 'disabled']) await setStatus(caller, stream, status)
    await remove(caller, stream)
    expect(await list(caller)).toEqual([])
  },

  async 'stream-control-create-stream-without-delivery'(suite) {
    const caller = await manage(suite)
    const { delivery: _none, ...sent } = configurationOf(suite)
    const answer = await send(caller, 'POST', suite.metadata.configuration_endpoint, sent)
    expect(answer).toMatchObject({ status: 201, body: { delivery: { method: POLL } } })
    const stream = answer.body as SsfStream
    expect(stream.delivery.endpoint_url.startsWith(`${suite.metadata.issuer}/`)).toBe(true)
    await remove(caller, stream)
  },

  async 'stream-subject-control'(suite) {
    const caller = await manage(suite)
    const { stream_id, delivery } = await create(caller)
    expect(delivery.method).toBe(METHODS[suite.mode])
    const subject = { format: 'email', email: 'example.user@example.com' }
    const { add_subject_endpoint, remove_subject_endpoint } = suite.metadata
    const added = await send(caller, 'POST', add_subject_endpoint, { stream_id, subject, verified: true })
    expect(added.status).toBe(200)
    const removed = await send(caller, 'POST', remove_subject_endpoint, { stream_id, subject })
    expect(removed).toMatchObject({ status: 204, body: null })
  },
} satisfies SsfChecks
