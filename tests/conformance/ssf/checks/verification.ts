/** Verification events (SSF 1.0 §8.1.4), each way that they come, and while the stream is stopped. */
import { expect, vi } from 'vitest'
import { until } from '../../../support/until.ts'
import type { SsfCheck, SsfChecks } from '../plan.ts'
import {
  configurationOf,
  create,
  manage,
  poll,
  pushedTo,
  setStatus,
  untilQuiet,
  verify,
  type Caller,
  type SsfStream,
} from '../receiver.ts'
import { judged, judgedAll, verificationOf } from '../sets.ts'

/** The first verification event that comes to the address, with this header and no other. */
function verifiesByPush(header?: string): SsfCheck {
  return async (suite) => {
    const caller = await manage(suite)
    const stream = await create(caller, configurationOf(suite, header))
    const state = await verify(caller, stream)
    const [set, ...more] = await until(() => {
      const pushed = pushedTo(suite, stream, header)
      expect(pushed).not.toEqual([])
      return pushed
    })
    expect(more).toEqual([])
    expect(await judged(suite, stream, set!)).toEqual(verificationOf(stream, state))
  }
}

/** What comes to a stream that is not stopped any more, from now on, until something does. */
async function comesNow(caller: Caller, stream: SsfStream): Promise<readonly string[]> {
  if (caller.mode === 'poll') return Object.values(await poll(caller, stream))
  await untilQuiet(caller)
  return pushedTo(caller, stream)
}

/** What is told of what happened while the stream was stopped, and of what happened then. */
async function stopped(caller: Caller, status: 'paused' | 'disabled') {
  const stream = await create(caller)
  await setStatus(caller, stream, status)
  const during = await verify(caller, stream)
  expect(await comesNow(caller, stream)).toEqual([])
  await setStatus(caller, stream, 'enabled')
  const after = status === 'disabled' ? await verify(caller, stream) : undefined
  const sets = await comesNow(caller, stream)
  const told = await Promise.all(sets.map(async (set) => judged(caller, stream, set)))
  return { told, expected: [verificationOf(stream, after ?? during)] }
}

export const verification = {
  'transmitter-stream-verification-push': verifiesByPush('Bearer push_token_of_the_check'),
  'transmitter-stream-verification-error-push-no-auth': verifiesByPush(),

  async 'transmitter-stream-verification-poll-only'(suite) {
    const caller = await manage(suite)
    const stream = await create(caller)
    expect(await poll(caller, stream)).toEqual({})
    const state = await verify(caller, stream)
    const sets = await poll(caller, stream)
    expect(await judgedAll(suite, stream, sets)).toEqual([verificationOf(stream, state)])
    // What is not acknowledged comes again, and says the same.
    const again = await poll(caller, stream)
    expect(Object.keys(again)).toEqual(Object.keys(sets))
    expect(await judgedAll(suite, stream, again)).toEqual([verificationOf(stream, state)])
  },

  async 'transmitter-stream-verification-poll-and-ack'(suite) {
    const caller = await manage(suite)
    const stream = await create(caller)
    await verify(caller, stream)
    const ack = Object.keys(await poll(caller, stream))
    const state = await verify(caller, stream)
    const sets = await poll(caller, stream, { ack })
    expect(await judgedAll(suite, stream, sets)).toEqual([verificationOf(stream, state)])
    // Not one more than it was asked for, and whether there are more.
    await verify(caller, stream)
    expect(Object.keys(await poll(caller, stream, { maxEvents: 1 }))).toEqual(Object.keys(sets))
  },

  async 'transmitter-stream-verification-ack-only'(suite) {
    const caller = await manage(suite)
    const stream = await create(caller)
    const state = await verify(caller, stream)
    const sets = await poll(caller, stream)
    expect(await judgedAll(suite, stream, sets)).toEqual([verificationOf(stream, state)])
    expect(await poll(caller, stream, { ack: Object.keys(sets), maxEvents: 0 })).toEqual({})
    expect(await poll(caller, stream)).toEqual({})
  },

  async 'transmitter-stream-verification-long-poll'(suite) {
    const caller = await manage(suite)
    const stream = await create(caller)
    const looked = vi.spyOn(suite.server.server.sharedSignals.queue, 'list')
    try {
      const asked = poll(caller, stream, { returnImmediately: false })
      await until(() => expect(looked).toHaveBeenCalled())
      const state = await verify(caller, stream)
      expect(await judgedAll(suite, stream, await asked)).toEqual([verificationOf(stream, state)])
    } finally {
      looked.mockRestore()
    }
  },

  async 'transmitter-stream-verification-set-errs'(suite) {
    const caller = await manage(suite)
    const stream = await create(caller)
    const state = await verify(caller, stream)
    const sets = await poll(caller, stream)
    expect(await judgedAll(suite, stream, sets)).toEqual([verificationOf(stream, state)])
    const refusal = { err: 'invalid_request', description: 'the check does not want it' }
    const setErrs = Object.fromEntries(Object.keys(sets).map((jti) => [jti, refusal]))
    expect(await poll(caller, stream, { setErrs, maxEvents: 0 })).toEqual({})
    expect(await poll(caller, stream)).toEqual({})
  },

  async 'transmitter-paused-stream-holds-events'(suite) {
    const { told, expected } = await stopped(await manage(suite), 'paused')
    expect(told).toEqual(expected)
  },

  async 'transmitter-disabled-stream-drops-events'(suite) {
    const { told, expected } = await stopped(await manage(suite), 'disabled')
    expect(told).toEqual(expected)
  },
} satisfies SsfChecks
