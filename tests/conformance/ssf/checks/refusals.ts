/** What is refused, and by which status: who has no token or a bad one, what is not JSON, and streams that are not there. */
import { expect } from 'vitest'
import { POLL } from '../../../support/shared-signals.ts'
import type { SsfCheck, SsfChecks } from '../plan.ts'
import {
  configurationOf,
  create,
  createAndRemove,
  intruder,
  list,
  manage,
  onlyRead,
  remove,
  send,
  withId,
  type SsfAnswer,
  type SsfStream,
} from '../receiver.ts'
import type { SsfSuite } from '../suite.ts'

const BROKEN = ';{ broken'

/** RFC 6750 §3: with the error, where there was a token at all. */
function expectChallenge({ status, headers }: SsfAnswer, expected: 401 | 403, error?: string): void {
  expect(status).toBe(expected)
  const [, parameters = ''] = /^Bearer (.*)$/.exec(headers.get('www-authenticate') ?? '') ?? []
  const [, named] = /(?:^|, )error="([^"]*)"/.exec(parameters.split(', DPoP ')[0]!) ?? []
  expect(parameters).not.toBe('')
  expect(named).toBe(error)
}

type Ask = (suite: SsfSuite, stream: Pick<SsfStream, 'stream_id'>) => readonly [string, string, unknown?]

const read: Ask = ({ metadata }, { stream_id }) => ['GET', withId(metadata.configuration_endpoint, stream_id)]
const readStatus: Ask = ({ metadata }, { stream_id }) => ['GET', withId(metadata.status_endpoint, stream_id)]
const erase: Ask = ({ metadata }, { stream_id }) => [
  'DELETE',
  withId(metadata.configuration_endpoint, stream_id),
]
const trigger: Ask = ({ metadata }, { stream_id }) => [
  'POST',
  metadata.verification_endpoint,
  { stream_id, state: 'of nobody' },
]
const write =
  (method: 'PATCH' | 'PUT'): Ask =>
  (suite, { stream_id }) => [
    method,
    suite.metadata.configuration_endpoint,
    { ...configurationOf(suite), stream_id },
  ]

/** The stream is as it was. */
function refusesIntruders(ask: Ask): SsfCheck {
  return async (suite) => {
    const caller = await manage(suite)
    const stream = await create(caller)
    expectChallenge(await send(intruder(suite), ...ask(suite, stream)), 401, 'invalid_token')
    expect(await list(caller)).toEqual([stream])
  }
}

/** Nor does it say whether another has it. */
function knowsNone(ask: Ask): SsfCheck {
  return async (suite) => {
    const caller = await manage(suite)
    const stream_id = await createAndRemove(caller)
    expect(await send(caller, ...ask(suite, { stream_id }))).toMatchObject({ status: 404 })
    expect(await list(caller)).toEqual([])
  }
}

/** As the Foundation's suite does it, without a stream; and with one, which stays as it was. */
function refusesBroken(ask: Ask, body = BROKEN): SsfCheck {
  return async (suite) => {
    const caller = await manage(suite)
    const [method, address] = ask(suite, { stream_id: '' })
    expect(await send(caller, method, address, body)).toMatchObject({ status: 400 })
    const stream = await create(caller)
    expect(await send(caller, method, address, body)).toMatchObject({ status: 400 })
    expect(await list(caller)).toEqual([stream])
  }
}

export const refusals = {
  async 'stream-control-error-read-stream-without-token'(suite) {
    const { configuration_endpoint } = suite.metadata
    // No error code: there was nothing to be in error (RFC 6750 §3.1).
    expectChallenge(await send(suite, 'GET', configuration_endpoint), 401)
  },

  async 'stream-control-error-token-in-uri-query'(suite) {
    const { token } = await manage(suite)
    const address = `${suite.metadata.configuration_endpoint}?access_token=${token}`
    expectChallenge(await send(suite, 'GET', address), 401)
  },

  async 'stream-control-error-create-stream-with-read-only-token'(suite) {
    const caller = await onlyRead(suite)
    const { configuration_endpoint } = suite.metadata
    const refused = await send(caller, 'POST', configuration_endpoint, configurationOf(suite))
    expectChallenge(refused, 403, 'insufficient_scope')
    expect(await list(caller)).toEqual([])
  },

  async 'transmitter-poll-endpoint-authorization'(suite) {
    const { delivery } = await create(await manage(suite))
    const body = { maxEvents: 10, returnImmediately: true }
    expectChallenge(await send(suite, 'POST', delivery.endpoint_url, body), 401)
    const refused = await send(intruder(suite), 'POST', delivery.endpoint_url, body)
    expectChallenge(refused, 401, 'invalid_token')
  },

  async 'stream-control-error-create-stream-with-broken-input'(suite) {
    const caller = await manage(suite)
    const { configuration_endpoint } = suite.metadata
    expect(await send(caller, 'POST', configuration_endpoint, BROKEN)).toMatchObject({ status: 400 })
    expect(await list(caller)).toEqual([])
  },

  async 'stream-control-error-create-stream-with-invalid-token'(suite) {
    const { configuration_endpoint } = suite.metadata
    const refused = await send(intruder(suite), 'POST', configuration_endpoint, configurationOf(suite))
    expectChallenge(refused, 401, 'invalid_token')
    expect(await list(await manage(suite))).toEqual([])
  },

  /** A receiver has one stream here, which is one of two answers that the module takes. */
  async 'stream-control-error-create-stream-with-duplicate-config'(suite) {
    const caller = await manage(suite)
    const stream = await create(caller)
    const { configuration_endpoint } = suite.metadata
    const again = await send(caller, 'POST', configuration_endpoint, configurationOf(suite))
    expect(again.status).toBe(409)
    expect(await list(caller)).toEqual([stream])
  },

  /** The module ends at the 409; another stream of the same receiver later has an address of its own all the same (§6.1.2). */
  async 'transmitter-poll-endpoint-url-unique-per-stream'(suite) {
    const caller = await manage(suite)
    const [first, { configuration_endpoint }] = [await create(caller), suite.metadata]
    const second = await send(caller, 'POST', configuration_endpoint, configurationOf(suite))
    expect(second.status).toBe(409)
    await remove(caller, first)
    const next = await create(caller)
    expect(next.delivery).toEqual({ method: POLL, endpoint_url: expect.any(String) })
    expect(next.delivery.endpoint_url).not.toBe(first.delivery.endpoint_url)
  },

  'stream-control-error-read-stream-with-invalid-token': refusesIntruders(read),
  'stream-control-error-read-stream-status-with-invalid-token': refusesIntruders(readStatus),
  'stream-control-error-update-stream-with-invalid-token': refusesIntruders(write('PATCH')),
  'stream-control-error-replace-stream-with-invalid-token': refusesIntruders(write('PUT')),
  'stream-control-error-delete-stream-with-invalid-token': refusesIntruders(erase),
  'transmitter-stream-verification-error-invalid-token': refusesIntruders(trigger),

  'stream-control-error-read-unknown-stream': knowsNone(read),
  'stream-control-error-read-status-of-unknown-stream': knowsNone(readStatus),
  'stream-control-error-update-unknown-stream': knowsNone(write('PATCH')),
  'stream-control-error-replace-unknown-stream': knowsNone(write('PUT')),
  'stream-control-error-delete-unknown-stream': knowsNone(erase),
  'transmitter-stream-verification-error-unknown-stream': knowsNone(trigger),

  'stream-control-error-update-stream-with-invalid-body': refusesBroken(write('PATCH')),
  'stream-control-error-replace-stream-with-invalid-body': refusesBroken(write('PUT')),
  'transmitter-stream-verification-error-invalid-body': refusesBroken(trigger, '{"stream_id": '),
} satisfies SsfChecks
