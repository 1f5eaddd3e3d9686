/** How streams are doing, as operators see it: what waits, since when, and whether their receivers take it. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Outcome, RecipientState } from '../../src/services/outbox/recipients.ts'
import { KIND, type Queue } from './queue.ts'
import { PUSH, type Stream } from './stream.ts'
import type { KeptStream } from './streams.ts'

/** Instants are milliseconds since the epoch. */
export interface StreamState {
  readonly stream: Stream
  readonly isAsleep: boolean
  /** 501 stands for more. */
  readonly waiting: number
  /** Null where nothing waits. */
  readonly waitingSince: number | null
  /** Null where the last attempt did well, and where its app asks by itself. */
  readonly failingSince: number | null
  /** It is not tried before; null where it is tried as anybody. */
  readonly restsUntil: number | null
  /** The last 20 attempts since the stream was made, the latest first. */
  readonly outcomes: readonly Outcome[]
  /** Deliveries; 501 stands for more. */
  readonly givenUp: number
}

/** In the order of the streams. */
export type Overview = (kept: readonly KeptStream[]) => Promise<readonly StreamState[]>

export function createOverview(fastify: FastifyInstance, queue: Queue): Overview {
  const { recipients } = kernelOf(fastify)
  return async (kept) => {
    const ids = kept.map(({ stream }) => stream.id)
    const clients = kept.map(({ stream }) => stream.client)
    const [counts, oldest, states] = await Promise.all([
      queue.counts(ids),
      queue.oldest(ids),
      recipients.list(KIND, clients),
    ])
    return kept.map((one, at) => ({
      stream: one.stream,
      isAsleep: one.isAsleep,
      waiting: counts.get(one.stream.id) ?? 0,
      waitingSince: oldest.get(one.stream.id) ?? null,
      ...healthOf(one, states[at]!),
    }))
  }
}

type Health = Pick<StreamState, 'failingSince' | 'restsUntil' | 'outcomes' | 'givenUp'>

/** Receivers are known by their clients: what became of a stream that the client had before is not this one's. */
function healthOf({ stream, createdAt }: KeptStream, state: RecipientState): Health {
  if (stream.delivery.method !== PUSH)
    return { failingSince: null, restsUntil: null, outcomes: [], givenUp: 0 }
  const { failingSince, restsUntil, givenUp } = state
  const outcomes = state.outcomes.filter(({ at }) => at >= createdAt)
  const isOfThis = failingSince !== null && (failingSince >= createdAt || outcomes.some(({ done }) => !done))
  return {
    failingSince: isOfThis ? Math.max(failingSince, createdAt) : null,
    restsUntil: isOfThis && restsUntil !== null && restsUntil > Date.now() ? restsUntil : null,
    outcomes,
    givenUp,
  }
}
