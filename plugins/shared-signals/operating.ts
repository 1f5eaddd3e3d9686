/** What operators do about streams, from pages, by programs and by commands: their receivers are told of it, and the audit log says who did it. */
import type { NewEvent } from '../../src/events.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { notFound } from '../programs/refusals.ts'
import { VERIFICATION } from './events.ts'
import type { Queue } from './queue.ts'
import { queuedOfStream } from './sets.ts'
import { ChangedMeanwhile, type SetStatus, type WantedStatus } from './status.ts'
import { MIN_VERIFICATION_INTERVAL, type Status, type Stream } from './stream.ts'
import type { Streams } from './streams.ts'
import { tooSoon } from './verification.ts'

/** An operator turns a stream on again, or holds what happens: what disables it is its receiver's to say. */
export const OPERATED = ['enabled', 'paused'] as const

export interface Operated extends WantedStatus {
  readonly status: (typeof OPERATED)[number]
  /** How the operator saw it; by default as it is now. */
  readonly from?: Status | undefined
}

/** Each throws `not_found` where there is no such stream any more; but for `remove`, `conflict` (409) where it sleeps. */
export interface Operating {
  /**
   * Its receiver is told (SSF 1.0 §8.1.5). Nobody is told of what is so already, but what waits is sent at once. Throws `ChangedMeanwhile` where its receiver
   * has made it another one.
   */
  setStatus(id: string, wanted: Operated): Promise<Stream>
  /** Throws `conflict` (409) where nothing is sent to it, and 429 within ten seconds of the last one. */
  verify(id: string): Promise<Stream>
  /** With all that waits for it. */
  remove(id: string): Promise<Stream>
}

export interface OperatingParts {
  readonly streams: Streams
  readonly queue: Queue
  readonly setStatus: SetStatus
}

export function createOperating({ streams, queue, setStatus }: OperatingParts): Operating {
  /** To whom something may be told. */
  async function getAwake(id: string): Promise<Stream> {
    const kept = await streams.findKept(id)
    if (kept === null) throw notFound('stream')
    if (kept.isAsleep)
      throw conflict('the client has neither ssf.read nor ssf.manage: give it one of them first')
    return kept.stream
  }

  async function asItIs(stream: Stream): Promise<Stream> {
    // What was given up for a while, as after a day without an answer, is told now.
    if (stream.status === 'enabled') await queue.wake(stream)
    return stream
  }

  return {
    async setStatus(id, { status, reason, from }) {
      const had = await getAwake(id)
      if (had.status === status) return asItIs(had)
      try {
        return await setStatus(had, { status, reason, from: from ?? had.status }, true)
      } catch (error) {
        if (!(error instanceof ChangedMeanwhile)) throw error
        const now = await getAwake(id)
        // Another operator, or the same form twice.
        if (now.status === status) return asItIs(now)
        throw error
      }
    },
    async verify(id) {
      const { client } = await getAwake(id)
      const now = Date.now()
      const event: NewEvent = { type: 'stream.verification_sent', client, details: {} }
      const stream = await streams.change(
        client,
        id,
        (had) => {
          if (had.status !== 'enabled') throw notEnabled(had.status)
          // Not by when its receiver asked: neither keeps the other from it.
          const left = (had.checkedAt ?? -Infinity) + MIN_VERIFICATION_INTERVAL * 1000 - now
          if (left > 0) throw tooSoon(Math.ceil(left / 1000))
          return { ...had, checkedAt: now }
        },
        event,
      )
      // Without a `state`: nobody asked for it (§8.1.4.1).
      await queue.add([queuedOfStream(stream, { type: VERIFICATION, payload: {} })])
      await queue.relieve(stream)
      await queue.retry(stream)
      return stream
    },
    async remove(id) {
      const kept = await streams.findKept(id)
      if (kept === null || !(await streams.deleteKept(kept.stream))) throw notFound('stream')
      return kept.stream
    },
  }
}

function notEnabled(status: Status): OAuthError {
  return conflict(`the stream is ${status}: enable it first`)
}

function conflict(description: string): OAuthError {
  return new OAuthError('conflict', description, { status: 409 })
}
